/* Sounds with what is said in them, as a speech recognizer learns them: texts in ids. */
#ifndef HD_TASK_TRANSCRIBE_SPEECH_H
#define HD_TASK_TRANSCRIBE_SPEECH_H

#include "data/sound/features.h"
#include "data/sound/set.h"
#include "task/seq2seq/targets.h"

/* How texts are learned. */
typedef enum hd_speech_form {
    HD_SPEECH_LOWER,
    HD_SPEECH_CASED, /* they keep their capital letters */
    HD_SPEECH_SPACED /* these too, and a space stands before each, as a Whisper has them */
} hd_speech_form;

typedef struct hd_speech {
    hd_sound_set set;
    hd_speech_form form;
    hd_targets texts; /* one of each sound */
    size_t frames;    /* of all sounds, as the model reads them */
    double seconds;   /* of them as they are: windows are filled up */
} hd_speech;

/* skip: sounds that cannot be read. */
hd_status hd_speech_open(hd_speech *out, const char *path, bool skip, hd_speech_form form, hd_err *err);
/* Moves a share of the sounds to `out`. */
hd_status hd_speech_split(hd_speech *s, double fraction, uint64_t seed, hd_speech *out, hd_err *err);
void hd_speech_release(hd_speech *s); /* accepts {0} */

/* Sets the ids. HD_EARG where a text has more than `longest`: it would not be what is said. */
hd_status hd_speech_encode(hd_speech *s, const hd_tokenizer *t, size_t longest, hd_err *err);
/* Counts frames. HD_EARG where a sound has none, or more than `most` or than a window of the model. */
hd_status hd_speech_measure(hd_speech *s, const hd_features_opt *o, size_t most, hd_err *err);

#endif
