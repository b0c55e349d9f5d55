/* Gradients of words that are said, by what the encoder gave. */
#include "lab/decoder/reach.h"

#include <math.h>

#include "base/rng.h"
#include "op/op.h"

enum { WORDS = HD_REACH_WORDS, SOURCE = HD_REACH_SOURCE, INPUTS = HD_REACH_INPUTS };

typedef struct pair {
    int32_t source[SOURCE], target[WORDS];
} pair;

/* A copy of t that takes a gradient and has nothing before it. */
static hd_tensor *cut_off(hd_run *r, const hd_tensor *t)
{
    hd_real *x = t ? hd_host_take(r, hd_count_of(t) * sizeof *x) : NULL;
    hd_tensor *leaf = x && hd_read(r, t, x) ? hd_from(r, hd_rows_of(t), hd_cols_of(t), x) : NULL;
    if (leaf) leaf->wants_grad = true;
    return leaf;
}

static double squares_of(hd_run *r, const hd_tensor *leaf)
{
    const hd_tensor *g = leaf ? leaf->grad : NULL;
    double sum = 0;
    hd_real *x = g ? hd_host_take(r, hd_count_of(g) * sizeof *x) : NULL;
    if (x && hd_read(r, g, x))
        for (size_t i = 0; i < hd_count_of(g); i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* |d row t of the decoder / d all that the encoder gave|, for the last of t + 1 words. */
static hd_status reach_of(double *norm, hd_run *r, const hd_encdec *m, const pair *p, int32_t t, hd_err *err)
{
    const int32_t source = SOURCE, target = t + 1;
    hd_run_begin(r, HD_TRAIN);
    r->training = false; /* no dropout */
    hd_encoded e = hd_encdec_encode(
        r, m, &(hd_items){.seg = hd_seg_of(r, &source, 1, NULL), .ids = hd_ints(r, p->source, SOURCE)});
    const int layers = e.last && e.cells ? e.cells->layers * e.cells->directions : 0;
    e.rows.t = cut_off(r, e.rows.t);
    for (int i = 0; i < layers; i++) e.last[i] = cut_off(r, e.last[i]);
    hd_rows y = hd_encdec_decode(r, m, hd_ints(r, p->target, (size_t)target), hd_seg_of(r, &target, 1, NULL),
                                 e, NULL);
    hd_sum_loss(r, hd_reduce(r, y.t, y.seg, HD_LAST), 1);
    hd_backward(r);
    hd_status s = hd_run_status(r, err);
    if (s) return s;
    double sum = squares_of(r, e.rows.t);
    for (int i = 0; i < layers; i++) sum += squares_of(r, e.last[i]);
    *norm += sqrt(sum) / INPUTS;
    return hd_run_status(r, err);
}

hd_status hd_reach_of(double *share, hd_run *r, const hd_encdec *m, uint64_t seed, hd_err *err)
{
    hd_rng rng = hd_rng_make(seed, 7);
    hd_status s = HD_OK;
    for (int t = 0; t < WORDS; t++) share[t] = 0;
    for (int i = 0; i < INPUTS; i++) {
        pair p;
        for (int k = 0; k < SOURCE; k++)
            p.source[k] = (int32_t)hd_rng_below(&rng, (uint32_t)m->opt.source_vocab);
        for (int k = 0; k < WORDS; k++)
            p.target[k] = (int32_t)hd_rng_below(&rng, (uint32_t)m->opt.target_vocab);
        for (int32_t t = 0; !s && t < WORDS; t++) s = reach_of(&share[t], r, m, &p, t, err);
    }
    for (int t = WORDS; t-- > 0;) share[t] /= share[0];
    return s;
}
