/* Sounds: reading WAV and, with libsndfile, FLAC, OGG, MP3; whole or piece by piece; at another rate. Files
   are hostile: what a header says is checked before anything is allocated for the samples, and readers fail
   with a text that names the file. */
#ifndef HD_DATA_SOUND_SOUND_H
#define HD_DATA_SOUND_SOUND_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    HD_SOUND_LEAST_RATE = 1000, /* samples a second */
    HD_SOUND_MOST_RATE = 768000,
    HD_SOUND_MOST_CHANNELS = 1024,
    HD_SOUND_MOST_SAMPLES = 1 << 28, /* of a sound in memory: 4.6 hours at 16 kHz */
};

/* One channel, the mean of all that the file has. Whole numbers are scaled to -1 .. 1 (those of 16 bits by
   1 / 32768), floats are taken as they are; all are finite. */
typedef struct hd_sound {
    float *sample; /* hd_mem */
    size_t count;  /* at least 1 */
    int rate;      /* samples a second */
} hd_sound;

void hd_sound_release(hd_sound *s); /* accepts {0} */

/* The whole file; a longer one than HD_SOUND_MOST_SAMPLES is HD_ELIMIT. */
hd_status hd_sound_read(hd_sound *out, const char *path, hd_err *err);
/* The same of a file in memory; `name` is for messages. */
hd_status hd_sound_decode(hd_sound *out, const void *bytes, size_t size, const char *name, hd_err *err);

/* At another rate, by torchaudio's rule (a sinc of six zero crossings under a squared cosine, rolloff 0.99).
   out is another sound than in. */
hd_status hd_sound_resampled(hd_sound *out, const hd_sound *in, int rate, hd_err *err);
/* Samples that a sound of so many has at another rate. */
size_t hd_sound_resampled_count(size_t count, int from, int to);

/* -- piece by piece: memory does not grow with the length -- */

typedef struct hd_sound_file hd_sound_file;

/* `rate`: what the samples are converted to; 0: that of the file. Looks at the header alone: a file without
   a sample is an error, one that is cut short also. */
hd_status hd_sound_file_open(hd_sound_file **out, const char *path, int rate, hd_err *err);
/* The same of a file in memory, which is borrowed. */
hd_status hd_sound_file_over(hd_sound_file **out, const void *bytes, size_t size, const char *name, int rate,
                             hd_err *err);
void hd_sound_file_close(hd_sound_file *f); /* accepts NULL */

int hd_sound_file_rate(const hd_sound_file *f);     /* of the samples that are read */
size_t hd_sound_file_count(const hd_sound_file *f); /* samples at that rate, at least 1 */
const char *hd_sound_file_name(const hd_sound_file *f);

/* Samples from .. from+count-1, all of which are there. The same values in whatever pieces they are read (of
   formats with losses but for rounding); one
   thread at a time. */
hd_status hd_sound_file_read(hd_sound_file *f, size_t from, size_t count, float *to, hd_err *err);

#endif
