/* What a model reads of a sound: a row of mel bins every few milliseconds. The Fourier transform is a product
   with a matrix. A frame depends on the samples under its window alone (but for the loudest of the clip and
   the normalization), so that pieces give what the whole gives. */
#ifndef HD_DATA_SOUND_FEATURES_H
#define HD_DATA_SOUND_FEATURES_H

#include <stdbool.h>

#include "data/sound/sound.h"

/*     kind, name in files */
#define HD_FEATURES_LIST(X)                                                                               \
    X(WHISPER, whisper) /* Hann window in the middle of a frame, Slaney's mels, log10, 8 below the top */ \
    X(KALDI, kaldi)     /* as Kaldi's fbank and Speech2Text: whole windows only, preemphasis, ln */       \
    X(LOG_MEL, log_mel) /* as WHISPER's mels, but ln and no floor that depends on the clip */

typedef enum hd_features_kind {
#define X(name, text) HD_FEATURES_##name,
    HD_FEATURES_LIST(X)
#undef X
        HD_FEATURES_KINDS
} hd_features_kind;

typedef struct hd_features_opt {
    hd_features_kind kind;
    int rate;         /* samples a second */
    int window, hop;  /* samples; of KALDI the transform has the next power of two */
    int mels;         /* bins of a frame */
    double low, high; /* Hz that the bins span; high 0: half the rate */
    double chunk;     /* seconds that a sound is padded with zeros or cut to; 0: it stays as long as it is */
    bool normalize;   /* each bin to mean 0 and deviation 1 over the sound */
    bool together;    /* where they are: all bins together, so that one still differs from another, and none
                         more than 8 decades below the largest (of energy), as Whisper has it */
} hd_features_opt;

enum { HD_FEATURES_MOST_WINDOW = 4096, HD_FEATURES_MOST_MELS = 512, HD_FEATURES_MOST_HOP = 65536 };

/* WHISPER: 25 and 10 ms, 80 mels, chunks of 30 s. KALDI: 25 and 10 ms, 80 mels from 20 Hz on, normalized.
   LOG_MEL: 25 and 10 ms, 40 mels, normalized. */
hd_features_opt hd_features_usual(hd_features_kind kind, int rate);
hd_status hd_features_check(const hd_features_opt *o, hd_err *err);

const char *hd_features_name(hd_features_kind kind);
/* HD_FEATURES_KINDS: there is none of that name. */
hd_features_kind hd_features_kind_of(const char *name);

/* Frames of a sound of so many samples; 0: it is too short (shorter than a window of KALDI or a hop of
   WHISPER; LOG_MEL has a frame for any sample). */
size_t hd_features_frames(const hd_features_opt *o, size_t samples);

/* The matrices of the options. Threads may use one at the same time. */
typedef struct hd_features hd_features;

hd_status hd_features_new(hd_features **out, const hd_features_opt *o, hd_err *err);
void hd_features_free(hd_features *f); /* accepts NULL */
const hd_features_opt *hd_features_options(const hd_features *f);

/* All frames of a sound into out [frames, mels]. HD_EARG where there are none. */
hd_status hd_features_make(const hd_features *f, float *out, const float *sample, size_t count, hd_err *err);
/* The same without a hd_features at hand. */
hd_status hd_features_of(float *out, const hd_features_opt *o, const float *sample, size_t count,
                         hd_err *err);

/* -- a long sound, a few frames at a time -- */

typedef struct hd_features_input {
    hd_sound_file *file; /* opened at the rate of the features; NULL: the samples are in memory */
    const float *sample;
    size_t count; /* of samples, in either */
    size_t total; /* at least count: zeros follow up to here, then what is before is reflected */
} hd_features_input;

/* Frames first .. first+frames-1: logarithms, before what depends on the whole sound. */
hd_status hd_features_part(const hd_features *f, float *out, const hd_features_input *in, size_t first,
                           size_t frames, hd_err *err);
/* WHISPER's last step in place: nothing is less than the largest of the clip - 8; (x + 4) / 4. */
void hd_features_scale(float *x, size_t count, float largest);

#endif
