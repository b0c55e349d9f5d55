/* Sums with blanks. */
#include "lab/pretrained/blanks.h"

#include <stdio.h>
#include <string.h>

enum { ITEMS = 32 };

const int32_t hd_blanks_place[HD_BLANKS_PLACES] = {2, 4, 6};

static bool next_sum(void *context, hd_line *line)
{
    static _Thread_local char text[32];
    int *at = context, a = *at / HD_BLANKS_NUMBERS, b = *at % HD_BLANKS_NUMBERS;
    *line = (hd_line){text, (size_t)snprintf(text, sizeof text, "so %d plus %d is %d .", a, b, a + b)};
    return ++*at <= HD_BLANKS_SUMS;
}

hd_status hd_blanks_open(hd_blanks *y, hd_err *err)
{
    *y = (hd_blanks){0};
    int at = 0;
    hd_line line;
    hd_ids ids = {0};
    hd_status s = hd_tokenizer_train(&y->words, HD_TOKENIZER_words, (hd_feed){next_sum, &at},
                                     &(hd_tokenizer_opt){0}, err);
    for (at = 0; !s && next_sum(&at, &line); ids.count = 0)
        if (!(s = hd_masked_encode(y->words, line, &ids, err)))
            memcpy(y->ids[at - 1], ids.at, sizeof y->ids[0]);
    hd_ids_release(&ids);
    return s;
}

void hd_blanks_close(hd_blanks *y)
{
    hd_tokenizer_free(y->words);
    *y = (hd_blanks){0};
}

hd_status hd_blanks_learn(hd_filler *f, hd_blanks *y, int updates, hd_rng *rng, hd_err *err)
{
    const hd_masking how = {y->words, false};
    hd_masked_rows m;
    hd_status s = hd_masked_rows_init(&m, ITEMS, HD_BLANKS_ROWS, err);
    for (int t = 0; !s && t < updates; t++) {
        hd_bert_batch b;
        hd_masked_rows_clear(&m);
        for (int i = 0; i < ITEMS; i++)
            hd_masked_rows_add(&m, &how, y->ids[hd_rng_below(rng, HD_BLANKS_SUMS)] + 1, HD_BLANKS_TOKENS,
                               rng);
        for (size_t i = 0; i < m.rows; i++) y->hidden += m.ids[i] == hd_masked_id(y->words);
        y->tokens += ITEMS * HD_BLANKS_TOKENS, y->asked += m.asked;
        hd_masked_rows_send(hd_course_begin(&f->course), &b, &m, 0, ITEMS);
        s = hd_filler_learn(f, &b, (double)m.asked, err);
    }
    hd_masked_rows_release(&m);
    return s;
}

hd_bert_batch hd_blanks_batch(hd_run *r, const hd_blanks *y, int32_t blank, bool all, bool last)
{
    int32_t ids[HD_BLANKS_SUMS * HD_BLANKS_ROWS], len[HD_BLANKS_SUMS], place[HD_BLANKS_SUMS * HD_BLANKS_ROWS],
        target[HD_BLANKS_SUMS * HD_BLANKS_ROWS];
    size_t n = 0;
    for (int32_t i = 0, at = 0; i < HD_BLANKS_SUMS; i++) {
        len[i] = HD_BLANKS_ROWS;
        for (int32_t k = 0; k < HD_BLANKS_ROWS; k++, at++) {
            int32_t was =
                y->ids[last && k == hd_blanks_place[HD_BLANKS_PLACES - 1] ? (i + 1) % HD_BLANKS_SUMS : i][k];
            ids[at] = k == blank ? hd_masked_id(y->words) : was;
            if (all || k == blank) place[n] = at, target[n++] = k == blank ? was : -1;
        }
    }
    return (hd_bert_batch){.seg = hd_seg_of(r, len, HD_BLANKS_SUMS, NULL),
                           .ids = hd_ints(r, ids, HD_BLANKS_SUMS * HD_BLANKS_ROWS),
                           .place = hd_ints(r, place, n),
                           .target = hd_ints(r, target, n),
                           .count = n};
}
