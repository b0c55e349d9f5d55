/* Random sounds and texts, and speech recognizers that learn from them: what a training step is measured
   with, apart from how sounds get there; and how fast sounds become features. */
#ifndef HD_TASK_BENCH_SOUNDS_H
#define HD_TASK_BENCH_SOUNDS_H

#include "nn/frames.h"
#include "task/seq2seq/seq2seq.h"

enum { HD_BENCH_LETTERS = 40 }; /* of each text */

typedef struct hd_bench_sounds {
    hd_encdec *model;
    hd_frames_host host; /* the sounds, whose arrays are owned */
    hd_targets texts;
    uint32_t *which; /* [items] */
    struct {
        hd_frames frames;
        hd_targets_sent text;
    } sent;
} hd_bench_sounds;

/* The sizes of the presets las and speech-ctc. */
hd_encdec_opt hd_bench_las(void);
hd_encdec_opt hd_bench_speech_ctc(void);

/* A model of these options with weights drawn, and so many sounds of so many frames. To be released, also
   after a failure. */
hd_status hd_bench_sounds_make(hd_bench_sounds *out, hd_backend *b, const hd_encdec_opt *o, size_t items,
                               size_t frames, hd_err *err);
void hd_bench_sounds_release(hd_bench_sounds *s); /* accepts {0} */

/* Sends the batch of a step that has begun; then its losses. */
void hd_bench_sounds_send(hd_run *r, hd_bench_sounds *s);
hd_tensor *hd_bench_sounds_loss(hd_run *r, const hd_bench_sounds *s, float smoothing);

/* -- features, on one core -- */

typedef struct hd_bench_features {
    hd_features *features;
    float *sample, *frame;
    size_t samples, frames;
} hd_bench_features;

/* Noise of so many seconds at 16 kHz, to become what a Whisper reads. To be released, also after a failure.
 */
hd_status hd_bench_features_make(hd_bench_features *out, size_t seconds, hd_err *err);
void hd_bench_features_release(hd_bench_features *f); /* accepts {0} */
hd_status hd_bench_features_run(hd_bench_features *f, hd_err *err);
/* Multiply-adds times two of the transform of all frames. */
double hd_bench_features_flops(const hd_bench_features *f);

#endif
