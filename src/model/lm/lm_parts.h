/* What the language models share: the output layer, and the stepper of those that look back at a fixed number
   of tokens. */
#ifndef HD_MODEL_LM_LM_PARTS_H
#define HD_MODEL_LM_LM_PARTS_H

#include "model/encoder/body.h"
#include "model/lm/lm.h"
#include "model/lm/look_back.h"
#include "nn/layer.h"

enum { HD_LM_ORDER_MOST = 256 }; /* of maxent and ffnn */

/* The faults of options that several have. */
hd_status hd_lm_check_order(const hd_lm_opt *o, hd_err *err);
hd_status hd_lm_check_width(const hd_lm_opt *o, hd_err *err);

/* Token vectors [V, in] and the output layer [V, out] with its bias; tied they are one, which in == out must
   allow. Named as in PyTorch's word_language_model. A failure stays in p->err. */
typedef struct hd_lm_words {
    hd_param *table;
    hd_dense out;
} hd_lm_words;

hd_lm_words hd_lm_words_make(hd_params *p, const hd_lm_opt *o, size_t in, size_t out);

/* Fields of hd_model_type that are the same for all of them. */
#define HD_LM_COMMON \
    .free = hd_lm_free_self, .title = hd_lm_title, .sizes = hd_lm_sizes, .as_body = &hd_body_lm
void hd_lm_free_self(void *self);
const char *hd_lm_title(const void *self, char *buf, size_t size);
hd_model_sizes hd_lm_sizes(const void *self);

/* hd_lm_batch.before of windows [live, order - 1], in backend memory. */
const int32_t *hd_lm_before(hd_run *r, const hd_lm *m, const int32_t *window, size_t live);
/* The stepper of a model that looks back; m is that of its logits. */
hd_status hd_lm_looking_stepper(hd_stepper *out, const hd_lm *m, hd_look_back_fn *logits, const int32_t *ids,
                                const int32_t *len, size_t items, hd_err *err);
/* The stepper of GPT, which reads again when it has used up its positions. */
hd_status hd_lm_gpt_stepper(hd_stepper *out, const void *self, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err);

#endif
