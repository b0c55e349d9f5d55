/* Chains of operations on the tape, pairs by a probe, time by the clock. */
#include "lab/memory/wait.h"

#include <math.h>
#include <string.h>

#include "base/system/clock.h"
#include "op/probe.h"
#include "op/tape.h"

enum { WIDTH = HD_WAIT_WIDTH, PASSES = 7 };

/* The longest chain of recorded operations that ends in t, among those up to `last`. */
static size_t depth_of(const hd_tensor *t, const hd_node *last)
{
    if (t && t->base) t = t->base;
    while (last && last->y != t && last->also != t) last = last->before;
    if (!t || !last) return 0;
    size_t most = 0;
    for (size_t i = 0; i < last->inputs; i++) {
        size_t d = depth_of(last->in[i], last->before);
        if (d > most) most = d;
    }
    return most + 1;
}

static hd_rows words(hd_run *r, const hd_real *x, int n)
{
    return (hd_rows){hd_from(r, (size_t)n, WIDTH, x), hd_seg_of(r, &(int32_t){n}, 1, NULL)};
}

/* Recurrent layers word by word, each from the state that the one before ended with: what their walk over all
   words is, bit for bit (tests/lecture/depth_test.c). */
hd_status hd_wait_depths(double *depth, hd_net *n, const hd_real *x, const int32_t *lengths, int count,
                         hd_err *err)
{
    hd_run *r = n->course.run;
    hd_status s = HD_OK;
    for (int c = 0; !s && c < count; c++) {
        hd_tensor *last = NULL;
        hd_run_begin(r, HD_TRAIN);
        if (n->kind == HD_NET_attention)
            last = hd_net_of(n, words(r, x, lengths[c])).t;
        else
            for (int t = 0; t < lengths[c]; t++)
                hd_recurrent_of(r, &n->cell, words(r, x + t * WIDTH, 1), &last, &last, NULL);
        s = hd_run_status(r, err);
        depth[c] = (double)depth_of(last, r->last);
    }
    return s;
}

/* Pairs of words that are compared, as a probe sees them. */
static void count_pairs(void *context, hd_run *r, const hd_offer *offer)
{
    (void)r;
    if (strstr(offer->name, "softmax")) *(double *)context += (double)hd_count_of(offer->t);
}

hd_status hd_wait_pairs(double *pairs, hd_net *n, const hd_real *x, const int32_t *lengths, int count,
                        hd_err *err)
{
    hd_run *r = n->course.run;
    hd_status s = HD_OK;
    for (int c = 0; !s && c < count; c++) {
        const hd_probe probe = {.take = count_pairs, .context = &pairs[c]};
        pairs[c] = 0;
        hd_run_begin(r, HD_INFERENCE);
        r->probe = &probe;
        hd_net_of(n, words(r, x, lengths[c]));
        r->probe = NULL;
        s = hd_run_status(r, err);
    }
    return s;
}

hd_status hd_wait_times(double *ms, hd_net *n, const hd_real *x, const int32_t *lengths, int count,
                        hd_err *err)
{
    hd_run *r = n->course.run;
    hd_status s = HD_OK;
    for (int c = 0; !s && c < count; c++) {
        ms[c] = 1e9;
        for (int i = 0; !s && i < PASSES; i++) {
            hd_real last[WIDTH];
            double begun = hd_seconds();
            hd_run_begin(r, HD_INFERENCE);
            hd_rows y = hd_net_of(n, words(r, x, lengths[c]));
            hd_read(r, hd_reduce(r, y.t, y.seg, HD_LAST), last);
            s = hd_run_status(r, err);
            ms[c] = fmin(ms[c], 1000 * (hd_seconds() - begun));
        }
    }
    return s;
}
