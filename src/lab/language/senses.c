/* A BERT that reads sentences about fruit and about phones. */
#include "lab/language/senses.h"

#include <math.h>

#include "base/rng.h"
#include "lab/desk.h"
#include "lab/pretrained/filler.h"

enum {
    MASK,
    AMBIGUOUS,
    FIRST,
    SENSE = 6,
    VOCAB = FIRST + 2 * SENSE,
    LENGTH = 6,
    ITEMS = 32,

    WIDTH = 32
};

typedef struct lot {
    int32_t ids[ITEMS * LENGTH], len[ITEMS], place[ITEMS], target[ITEMS],
        at[ITEMS]; /* at: the row of apple */
} lot;

/* Each sentence has words of one sense, the first half of fruit; "apple" stands in it somewhere. */
static void draw(lot *l, hd_rng *rng, bool masked)
{
    for (int i = 0; i < ITEMS; i++) {
        int32_t *ids = l->ids + i * LENGTH, sense = i < ITEMS / 2 ? 0 : SENSE;
        for (int k = 0; k < LENGTH; k++) ids[k] = FIRST + sense + (int32_t)hd_rng_below(rng, SENSE);
        uint32_t at = hd_rng_below(rng, LENGTH), hidden = (at + 1 + hd_rng_below(rng, LENGTH - 1)) % LENGTH;
        ids[at] = AMBIGUOUS;
        l->len[i] = LENGTH, l->at[i] = i * LENGTH + (int32_t)at, l->place[i] = i * LENGTH + (int32_t)hidden;
        l->target[i] = ids[hidden];
        for (int k = 0; masked && k < LENGTH; k++) /* few words are left to tell the sense by */
            if ((uint32_t)k == hidden || ((uint32_t)k != at && hd_rng_below(rng, 2))) ids[k] = MASK;
    }
}

static hd_bert_batch batch_of(hd_run *r, const lot *l)
{
    return (hd_bert_batch){.seg = hd_seg_of(r, l->len, ITEMS, NULL),
                           .ids = hd_ints(r, l->ids, ITEMS * LENGTH),
                           .place = hd_ints(r, l->place, ITEMS),
                           .target = hd_ints(r, l->target, ITEMS),
                           .count = ITEMS};
}

/* Mean cosines of "apple" in two sentences: of one sense, of two. */
static hd_status compare(double cosine[2], hd_bert *m, const hd_lab *lab, uint64_t seed, hd_err *err)
{
    hd_run *r = lab->run;
    hd_rng rng = hd_rng_make(seed, 12);
    lot l;
    double x[ITEMS * ITEMS];
    size_t pairs[2] = {0};
    draw(&l, &rng, false);
    hd_run_begin(r, HD_INFERENCE);
    hd_bert_batch b = batch_of(r, &l);
    hd_tensor *rows = hd_bert_rows(r, m, &(hd_items){.seg = b.seg, .ids = b.ids}).t;
    hd_tensor *a = hd_gather(r, rows, hd_ints(r, l.at, ITEMS), ITEMS, 1);
    hd_desk_read(x, r, hd_linear(r, a, a, NULL, HD_IDENTITY));
    cosine[0] = cosine[1] = 0;
    hd_status s = hd_run_status(r, err);
    for (int i = 0; !s && i < ITEMS; i++)
        for (int k = 0; k < i; k++) {
            int across = i / (ITEMS / 2) != k / (ITEMS / 2);
            cosine[across] += x[i * ITEMS + k] / sqrt(x[i * ITEMS + i] * x[k * ITEMS + k]), pairs[across]++;
        }
    for (int k = 0; k < 2; k++) cosine[k] /= (double)pairs[k];
    return s;
}

hd_status hd_senses_read(double cosine[2], const hd_lab *lab, uint64_t seed, hd_err *err)
{
    const int updates = lab->full ? 1000 : 200;
    const hd_bert_opt o = {.stack = {.layers = 2, .heads = 2, .width = WIDTH, .inner = 2 * WIDTH},
                           .vocab = VOCAB,
                           .positions = LENGTH,
                           .no_types = true};
    hd_filler f;
    hd_rng rng = hd_rng_make(seed, 11);
    hd_status s = hd_filler_open(&f, lab->run, &o, seed, err);
    for (int t = 0; !s && t < updates; t++) {
        lot l;
        draw(&l, &rng, true);
        hd_bert_batch b = batch_of(hd_course_begin(&f.course), &l);
        s = hd_filler_learn(&f, &b, ITEMS, err);
    }
    if (!s) s = compare(cosine, f.model, lab, seed, err);
    hd_filler_close(&f);
    return s;
}
