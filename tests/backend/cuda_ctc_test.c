/* CTC with its gradient on the device against the cpu. */
#include "backend/pair.h"

static const struct {
    size_t items, cols;
    int frames[2], labels[2];
} batches[] = {
    {1, 2, {1, 1}, {1, 1}},       {3, 3, {4, 9}, {0, 4}},           {6, 5, {0, 12}, {0, 5}},
    {5, 31, {10, 60}, {1, 20}},   {4, 33, {30, 80}, {20, 40}},      {8, 100, {100, 200}, {10, 60}},
    {3, 1000, {20, 50}, {5, 20}}, {3, 12, {900, 1000}, {150, 300}}, {2, 9, {3300, 3500}, {3000, 3100}}};
enum { LARGE = 7 }; /* the last is too long for shared memory */

#define EACH_BATCH(p, i)                                        \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++) \
        for (size_t i = 0; i < COUNT_OF(batches); i++)          \
            if (i < LARGE || (!small_only() && (p)->layout == DENSE))

/* Labels with repeats; of every fifth item one that is the blank: it is left out. */
static twin_ints *some_labels(pair *p, const twin_seg *of, size_t classes, int32_t blank)
{
    int32_t *label = pair_take(p, 2, (of->rows + 1) * sizeof *label);
    hd_rng rng = hd_rng_make(31, p->seed++);
    for (size_t i = 0; i < of->items; i++)
        for (int32_t u = 0; u < of->len[i]; u++) {
            int32_t *at = label + of->begin[i] + u, c = (int32_t)hd_rng_below(&rng, (uint32_t)classes - 1);
            *at = u && hd_rng_below(&rng, 8) == 0 ? at[-1] : c + (c >= blank);
            if (i % 5 == 4 && u == 1) *at = blank;
        }
    return ints_from(p, label, of->rows);
}

static void ctc(void **state)
{
    pair *p = pair_of(state);
    const int hows[] = {0, GAPS | FILL, LOOSE | KEYS};
    EACH_BATCH(p, i)
    for (size_t h = 0; h < COUNT_OF(hows); h++)
        for (int how = 0; how < 4; how++) {
            size_t n = batches[i].cols, items = batches[i].items;
            bool weighted = how & 1, logp = how & 2;
            if (i >= LARGE && how != 3) continue;
            begin_case(p, "ctc %zu items of %d-%d frames, %d-%d labels, %zu columns, how %zu %d", items,
                       batches[i].frames[0], batches[i].frames[1], batches[i].labels[0], batches[i].labels[1],
                       n, h, how);
            twin_seg *seg = seg_from(p, lengths(p, items, batches[i].frames[0], batches[i].frames[1]), items,
                                     hows[h]),
                     *labels = seg_from(p, lengths(p, items, batches[i].labels[0], batches[i].labels[1]),
                                        items, hows[h] & LOOSE);
            int32_t blank = how & 1 ? 0 : (int32_t)n - 1;
            twin_ints *label = some_labels(p, labels, n, blank);
            float *w = normals(p, items, 1);
            for (size_t k = 0; k < items; k++) w[k] = fabsf(w[k]) + 0.1f;
            size_t states = 2 * labels->on[0].longest + 1;
            twin *x = twin_owned(p, "x", seg, n, ACT, 2),
                 *weight = weighted ? twin_from(p, "weight", items, 1, REAL | FLAT, w) : NULL,
                 *loss = twin_result(p, "loss", items, 1, REAL | FLAT, false),
                 *lp = logp ? twin_result(p, "logp", items, 1, REAL | FLAT, false) : NULL,
                 *forward = twin_result(p, "forward", seg->rows, states, REAL | FLAT, false),
                 *lse = twin_result(p, "lse", seg->rows, 1, REAL | FLAT, false),
                 *dx = twin_result(p, "dx", seg->rows, n, ACT, true);
#define OF \
    (hd_alignment){ON(x), ON(forward), ON(lse), ON(seg), ON(labels), label->on[side], blank, ON(weight)}
            RUN(p, ctc, .loss = ON(loss), .logp = ON(lp), .of = OF);
            check(p, loss);
            check(p, lp);
            RUN(p, ctc_back, .dx = ON(dx), .of = OF, .coef = 0.5f);
            check_rows(p, dx, seg->owned);
        }
    pair_done(p);
}

PAIR_MAIN(PAIR_TEST(ctc))
