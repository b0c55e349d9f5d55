/* How well a translator predicts given translations, and how well it translates. */
#ifndef HD_TASK_TRANSLATE_JUDGE_H
#define HD_TASK_TRANSLATE_JUDGE_H

#include "data/batch.h"
#include "model/encdec/encdec.h"
#include "task/model_folder.h"

/* A batch of sentence pairs in backend memory, as long as its step. */
typedef struct hd_pair_batch {
    const hd_seg *in, *out;
    const int32_t *source, *input, *output;
} hd_pair_batch;

/* Sends sentences from .. to-1 of a batch, laid out as m needs them; the number tells the shape it is filled
   up to. Everything is sent before the first kernel is called, always in the same order: the rest can then be
   captured. */
uint64_t hd_pair_batch_send(hd_run *r, hd_pair_batch *out, const hd_encdec *m, const hd_batch *b, size_t from,
                            size_t to);
/* Losses of its target tokens, [R,1]; also a start of backward. */
hd_tensor *hd_pair_batch_loss(hd_run *r, const hd_encdec *m, const hd_pair_batch *b, float smoothing);

/* The sum of the losses of all target tokens, and how many there are. Takes the batches from the first on;
   m is fed the truth. With graded heads (nn/block/heads.h) also their derivatives. */
hd_status hd_translate_judge(double *nats, double *tokens, hd_run *r, const hd_encdec *m, hd_batches *batches,
                             hd_err *err);

/* BLEU of greedy translations of the first `most` pairs: cheap, and it ranks models as a beam would. */
hd_status hd_translate_bleu(double *out, hd_run *r, const hd_model_folder *f, const hd_sentences *pairs,
                            size_t most, hd_err *err);

#endif
