/* What is asked of a masked language model (BERT): a folder whose config.json says "task": "mlm". A text is
   read with the start token before it and the end token behind it. "[MASK]" in a text stands for what is
   missing; where the tokenizer has no piece for it, its id comes behind the tokenizer's last. */
#ifndef HD_TASK_MASKED_MASKED_H
#define HD_TASK_MASKED_MASKED_H

#include "base/arena.h"
#include "model/encoder/bert.h"
#include "task/model_folder.h"
#include "text/tokenizer.h"

#define HD_MASK_TEXT "[MASK]"

int32_t hd_masked_id(const hd_tokenizer *t);                    /* of [MASK] */
const char *hd_masked_piece(const hd_tokenizer *t, int32_t id); /* that of [MASK] too; NULL: it has none */
size_t hd_masked_vocab(const hd_tokenizer *t); /* V of the model: the tokenizer's, and [MASK] */
/* Whether it is no piece of a text: what begins, ends or fills one, [MASK] and <unk>. */
bool hd_masked_is_special(const hd_tokenizer *t, int32_t id);

/* Appends the start, the pieces and masks of a text, and the end. again: of a text that was encoded before;
   what is unknown in it is not counted again. */
hd_status hd_masked_pieces(const hd_tokenizer *t, hd_line text, bool again, hd_pieces *out, hd_err *err);
/* Their ids alone. */
hd_status hd_masked_encode(const hd_tokenizer *t, hd_line text, hd_ids *out, hd_err *err);
/* The same of a text that was encoded before. */
hd_status hd_masked_encode_again(const hd_tokenizer *t, hd_line text, hd_ids *out, hd_err *err);

typedef struct hd_filling {
    int32_t id;
    double p; /* probability */
} hd_filling;

typedef struct hd_filled {
    size_t masks, top;  /* top: as many as asked for, or all pieces there are */
    hd_filling *choice; /* [masks, top], the likeliest first; no specials among them */
} hd_filled;

/* HD_EARG where the model has no head that predicts words. */
hd_status hd_masked_fill_check(const hd_model_folder *f, hd_err *err);
/* What most likely stands at each [MASK]; masks do not know of each other's answers. HD_EARG where there is
   none, HD_EFORMAT where the text is not UTF-8, HD_ELIMIT where it is longer than the model can take. */
hd_status hd_masked_fill(hd_filled *out, hd_run *r, const hd_model_folder *f, hd_line text, size_t top,
                         hd_err *err);
void hd_filled_release(hd_filled *f); /* accepts {0} */

#endif
