/* What CTC says of sounds, row by row, and searches that ask it: alone, or beside a decoder. */
#ifndef HD_TASK_TRANSCRIBE_HEARD_H
#define HD_TASK_TRANSCRIBE_HEARD_H

#include "decode/joint/ctc.h"
#include "task/transcribe/transcribe.h"

typedef struct hd_heard {
    hd_ctc_said said; /* of all sounds */
    hd_real *logp;
    int32_t *frames;
} hd_heard;

/* Runs the encoder over all sounds, some at a time. */
hd_status hd_heard_make(hd_heard *out, hd_run *r, const hd_model_folder *f, const hd_frames_host *sounds,
                        hd_err *err);
void hd_heard_release(hd_heard *h); /* accepts {0} */

/* Who is asked in a search. */
typedef struct hd_hearing {
    const hd_model_folder *model;
    const hd_frames_host *sounds;
    const hd_heard *heard; /* NULL: the share of CTC is 0 */
    double share;
    const hd_fusion *lm; /* NULL: none */
    double lm_weight;
} hd_hearing;

/* Scores of the decoder and of CTC, weighted by its share, and those of the language model. */
hd_status hd_heard_stepper(hd_stepper *out, const hd_hearing *h, hd_err *err);

#endif
