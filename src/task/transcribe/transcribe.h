/* Speech in, texts out. What a sound gives depends neither on the others nor on the number of threads. */
#ifndef HD_TASK_TRANSCRIBE_TRANSCRIBE_H
#define HD_TASK_TRANSCRIBE_TRANSCRIBE_H

#include "data/sound/features.h"
#include "nn/frames.h"
#include "task/fusion.h"
#include "task/model_folder.h"
#include "task/written.h"

typedef struct hd_transcribe_opt {
    hd_search_opt search; /* end, banned and key are filled in */
    size_t batch;         /* hypotheses searched side by side; 0: HD_TRANSCRIBE_BATCH */
    size_t first;         /* number of the first sound, for draws */
    double ctc;           /* share of CTC in scores, 0 to 1; below 0: that of training */
    const hd_fusion *lm;  /* a language model whose scores are added; NULL: none */
    double lm_weight;     /* times this */
} hd_transcribe_opt;

enum { HD_TRANSCRIBE_BATCH = 256 };

/* The sounds are frames as the model reads them (hd_transcribe_sounds). */
hd_status hd_transcribe_of(hd_written_all *out, hd_run *r, const hd_model_folder *f,
                           const hd_frames_host *sounds, const hd_transcribe_opt *opt, hd_err *err);

/* -- sounds for it, one behind the other -- */

typedef struct hd_transcribe_sounds {
    hd_frames_host batch;
    float *value;
    int32_t *frames;
    size_t rows, row_room, room;
} hd_transcribe_sounds;

/* Appends the frames of a file. One that is longer than the model reads is an error that names it. */
hd_status hd_transcribe_sounds_read(hd_transcribe_sounds *s, const hd_model_folder *f,
                                    const hd_features *features, const char *path, hd_err *err);
void hd_transcribe_sounds_clear(hd_transcribe_sounds *s);
void hd_transcribe_sounds_release(hd_transcribe_sounds *s); /* accepts {0} */

/* How the model reads sound. */
const hd_features_opt *hd_transcribe_features(const hd_model_folder *f);

#endif
