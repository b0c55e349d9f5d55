/* Sounds to learn from or to judge by, with what is said in them: what files say, checked when they are
   opened. Samples stay in their files and are decoded when a sound is asked for. */
#ifndef HD_DATA_SOUND_SET_H
#define HD_DATA_SOUND_SET_H

#include <stdbool.h>

#include "base/file/lines.h"
#include "data/sound/features.h"
#include "text/vocab.h"

typedef struct hd_sound_set {
    size_t count;
    hd_line *text;   /* [count] what is said, each followed by a zero byte; NULL: the list has files alone */
    size_t *samples; /* [count] of the file, at its rate */
    int32_t *rate;   /* [count] */
    uint64_t hash;   /* tells changed data from the same: names, sizes, lengths, texts */
    size_t skipped;  /* sounds left out because they are invalid */
    hd_vocab name;   /* [count] below root */
    uint64_t *mark;  /* [count] hash of name, length and rate */
    char *root;      /* the folder of the sounds */
    char *letters;   /* of the texts */
} hd_sound_set;

void hd_sound_set_release(hd_sound_set *s); /* accepts {0} */

/* With `skip`, sounds that cannot be read are left out and counted, otherwise the first is an error; their
   headers are what is looked at. Each fails where nothing is left. */

/* A file a line, relative to the folder of the list, and behind a tab what is said; or no texts at all. */
hd_status hd_sound_set_list(hd_sound_set *out, const char *path, bool skip, hd_err *err);

/* All sounds of a folder and those below, each with its text beside it: a.wav and a.txt, whose lines become
   one. Names that begin with a dot do not count; every other file is a sound, and one without a text is
   invalid. */
hd_status hd_sound_set_folder(hd_sound_set *out, const char *folder, bool skip, hd_err *err);

/* Either of them, by what the path is. */
hd_status hd_sound_set_open(hd_sound_set *out, const char *path, bool skip, hd_err *err);

static inline const char *hd_sound_set_name(const hd_sound_set *s, size_t i)
{
    return hd_vocab_piece(&s->name, (int32_t)i);
}

/* Samples that it has at a rate. */
static inline size_t hd_sound_set_samples(const hd_sound_set *s, size_t i, int rate)
{
    return hd_sound_resampled_count(s->samples[i], s->rate[i], rate);
}

/* Reads it, at a rate (0: its own). Threads may do so at the same time. */
hd_status hd_sound_set_sound(const hd_sound_set *s, size_t i, int rate, hd_sound *out, hd_err *err);

/* Sounds without a frame, or with more than `most` of them, are left out and counted with `skip`, otherwise
   the first is an error. Fails where nothing is left. */
hd_status hd_sound_set_limit(hd_sound_set *s, const hd_features_opt *o, size_t most, bool skip, hd_err *err);

/* Moves a share of the sounds to out. Which ones depends on the seed and the sounds, not on their order. At
   least one on either side; HD_EARG where there are too few. */
hd_status hd_sound_set_split(hd_sound_set *s, double fraction, uint64_t seed, hd_sound_set *out, hd_err *err);

#endif
