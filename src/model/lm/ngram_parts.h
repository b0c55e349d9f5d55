/* How n-grams are kept, for the files of this folder: a tree of sorted arrays. Node i of level l is an n-gram
   of l tokens, in the order of their ids from the first on; its children are the n-grams one token longer
   that begin with it, nodes first[i] .. first[i+1]-1 of the next level, sorted by their last token. */
#ifndef HD_MODEL_LM_NGRAM_PARTS_H
#define HD_MODEL_LM_NGRAM_PARTS_H

#include "model/lm/ngram.h"

typedef struct hd_ngram_level {
    uint32_t count;
    uint32_t *token;        /* [count] the last of the n-gram */
    uint32_t *seen;         /* [count] how often; below the full order of Kneser-Ney: after how many tokens */
    uint32_t *first;        /* [count + 1]; these and the next not of the last level */
    uint32_t *total;        /* [count] of the children's seen */
    uint32_t *once, *twice; /* [count] children seen once and twice; three discounts only */
} hd_ngram_level;

struct hd_ngram {
    hd_ngram_opt opt;
    uint32_t *text; /* documents, each behind a start; NULL once finished */
    size_t used, room;
    bool finished;
    hd_ngram_level level[HD_NGRAM_MOST + 1]; /* level 0 is the one empty n-gram */
    uint32_t unseen;                         /* nodes of level 1 with nothing seen: the start token's */
    double discount[HD_NGRAM_MOST + 1][3];
};

hd_status hd_ngram_check(const hd_ngram_opt *opt, hd_err *err); /* the first fault */
/* One that was cleared: room for `count` n-grams, zeroed. */
hd_status hd_ngram_level_new(hd_ngram_level *l, size_t count, bool last, hd_err *err);
/* Totals and discounts, from levels that are otherwise complete. */
hd_status hd_ngram_settle(hd_ngram *m, hd_err *err);

#endif
