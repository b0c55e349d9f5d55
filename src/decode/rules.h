/* Which tokens may stand where in a text: never, not at first, not as the end of a short one, only at the
   end. They are those of generation_config.json, and mean what transformers makes of them. */
#ifndef HD_DECODE_RULES_H
#define HD_DECODE_RULES_H

#include "op/op.h"

typedef struct hd_token_set {
    const int32_t *at;
    size_t count;
} hd_token_set;

typedef struct hd_rules {
    hd_token_set never;       /* suppress_tokens */
    hd_token_set never_first; /* begin_suppress_tokens: not as the first one drawn */
    const hd_token_set *runs; /* [run_count], bad_words_ids: none of these runs is completed */
    size_t run_count;
    hd_token_set ends;            /* not drawn before: */
    size_t min_length, min_drawn; /* tokens of a whole text, and of what was drawn */
    size_t max_length;            /* most tokens of a whole text; 0: no such limit */
    hd_token_set first, last; /* forced_bos_token_id: behind a single token; forced_eos_token_id: as the last
                                 token that may be drawn; empty: any */
} hd_rules;

/* A text, the prompt included. */
typedef struct hd_history {
    const int32_t *ids;
    size_t count;
    size_t length; /* of the whole text, which may have a token more than what counts as said */
    size_t drawn;  /* of it */
    size_t left;   /* tokens that may still be drawn, the next one included */
} hd_history;

/* Marks tokens that no text may have. banned [vocab]; ids are below it. */
void hd_rules_ban(const hd_rules *r, bool *banned);
/* Whether some text may not draw all tokens at some place. */
bool hd_rules_vary(const hd_rules *r);
/* Adds -INFINITY to what the text may not draw next. row [vocab] */
void hd_rules_mask(const hd_rules *r, const hd_history *of, hd_real *row, size_t vocab);

#endif
