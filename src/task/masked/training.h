/* Training a masked language model: its options, and items with some of their tokens masked, as BERT learns
   from them: of every item 15 % of the tokens are asked for. Of those 80 % are read as [MASK], 10 % as any
   token, 10 % as they are. */
#ifndef HD_TASK_MASKED_TRAINING_H
#define HD_TASK_MASKED_TRAINING_H

#include "base/rng.h"
#include "model/encoder/bert.h"
#include "run/recipe.h"
#include "task/language/language.h"
#include "task/masked/masked.h"

/* -- options -- */

/* HD_EARG where options do not go together. */
hd_status hd_masked_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary. */
hd_status hd_masked_model(hd_bert_opt *to, const hd_train_options *o, hd_err *err);

extern const hd_recipe hd_recipe_mlm;

/* -- masked rows -- */

#define HD_MASKED_SHARE 0.15

typedef struct hd_masking {
    const hd_tokenizer *tokenizer;
    bool whole_words; /* all tokens of a word are asked for, or none */
} hd_masking;

typedef struct hd_masked_rows {
    int32_t *ids;    /* [rows] as they are read, each item behind a start token */
    int32_t *target; /* [rows] what was there, where it is asked for; else -1 */
    int32_t *len;    /* [items] */
    size_t items, rows, asked;
    size_t most_items, most_rows; /* there is room for */
    size_t *word;                 /* of an item: where its words begin */
} hd_masked_rows;

/* Room for so many items of up to `length` rows, the start token among them. */
hd_status hd_masked_rows_init(hd_masked_rows *m, size_t items, size_t length, hd_err *err);
void hd_masked_rows_release(hd_masked_rows *m); /* accepts {0} */
void hd_masked_rows_clear(hd_masked_rows *m);

/* Adds n tokens as an item, n < length; rng says what is masked. An item has at least one that is asked for
   unless all its tokens are special. */
void hd_masked_rows_add(hd_masked_rows *m, const hd_masking *how, const int32_t *ids, size_t n, hd_rng *rng);

/* Sends items from .. to-1. The number tells the shape they are filled up to. A failure stays in the run. */
uint64_t hd_masked_rows_send(hd_run *r, hd_bert_batch *out, const hd_masked_rows *m, size_t from, size_t to);

/* Tokens from `from` on that make an item of a text: whole lines as far as `room` goes, else `room` of them
   or what is left. end: the token that ends lines. */
size_t hd_masked_window(const int32_t *ids, size_t count, size_t from, size_t room, int32_t end);

/* -- judging -- */

typedef struct hd_masked_judged {
    size_t asked, right; /* tokens; those whose likeliest is what was there */
    double nats;         /* minus the sum of log-probabilities of what was there */
} hd_masked_judged;

/* Window after window; what is masked is the same every time. HD_EARG where there is nothing to mask. */
hd_status hd_masked_judge(hd_masked_judged *out, hd_run *r, const hd_model_folder *f, const hd_masking *how,
                          const hd_stream_text *text, hd_err *err);

#endif
