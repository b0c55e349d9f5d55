/* What has to wait for what: operations one behind the other, their number, and time, by the length. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/system/clock.h"
#include "lab/memory/net.h"
#include "lab/sweep.h"
#include "op/probe.h"
#include "op/tape.h"

static const int lengths[] = {8, 16, 32, 64, 128, 256};
enum { LENGTHS = sizeof lengths / sizeof *lengths, WIDTH = 128, LONGEST = 256, PASSES = 7, MIDDLE = 3 };

static const hd_net_kind kinds[] = {HD_NET_tanh, HD_NET_gru, HD_NET_lstm, HD_NET_attention};
enum { KINDS = sizeof kinds / sizeof *kinds, ATTENTION = KINDS - 1 };

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
static hd_status depths_of(double *depth, hd_net *n, const hd_real *x, hd_err *err)
{
    hd_run *r = n->run;
    hd_status s = HD_OK;
    for (int c = 0; !s && c < LENGTHS; c++) {
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

static hd_status pairs_of(double *pairs, hd_net *n, const hd_real *x, hd_err *err)
{
    hd_run *r = n->run;
    hd_status s = HD_OK;
    for (int c = 0; !s && c < LENGTHS; c++) {
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

/* Milliseconds until the last word's row is known, the least of several passes. */
static hd_status times_of(double *ms, hd_net *n, const hd_real *x, hd_err *err)
{
    hd_run *r = n->run;
    hd_status s = HD_OK;
    for (int c = 0; !s && c < LENGTHS; c++) {
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

typedef struct sweeps {
    hd_sweep depth, pairs, time;
} sweeps;

static hd_status measure(double *depth, const hd_lab *lab, size_t k, uint64_t seed, void *context,
                         hd_err *err)
{
    sweeps *w = context;
    const size_t i = (size_t)(seed - lab->seed);
    hd_real x[LONGEST * WIDTH];
    hd_rng rng = hd_rng_make(seed, 1);
    hd_net n;
    for (size_t c = 0; c < LONGEST * WIDTH; c++) x[c] = (hd_real)hd_rng_normal(&rng);
    hd_status s = hd_net_open(&n, lab->run,
                              &(hd_net_opt){.kind = kinds[k], .width = WIDTH, .words = 1, .seed = seed}, err);
    if (!s) s = depths_of(depth, &n, x, err);
    if (!s) s = pairs_of(w->pairs.value[k][i], &n, x, err);
    if (!s) s = times_of(w->time.value[k][i], &n, x, err);
    hd_net_close(&n);
    return s;
}

static void judge(hd_paper *to, const sweeps *w, const hd_lab *lab)
{
    bool chain = true, flat = true, square = true;
    double faster = INFINITY;
    for (int c = 0; c < LENGTHS; c++) {
        for (int k = 0; k < ATTENTION; k++) chain = chain && w->depth.spread[k][c].low >= lengths[c];
        flat = flat && w->depth.spread[ATTENTION][c].high == w->depth.spread[ATTENTION][0].low;
        square = square && w->pairs.spread[ATTENTION][c].mean == (double)lengths[c] * lengths[c];
    }
    for (int i = 0; i < lab->seeds; i++) {
        const double *own = w->time.value[ATTENTION][i], *gru = w->time.value[1][i];
        faster = fmin(faster, gru[MIDDLE] / own[MIDDLE]);
    }
    hd_paper_claim(
        to, "In a recurrent network every word waits for the one before; in self-attention none does.",
        chain && flat,
        "Of %d words, %.0f operations stand one behind the other in a recurrent network and %.0f in "
        "self-attention, however many words there are.",
        LONGEST, w->depth.spread[0][LENGTHS - 1].mean, w->depth.spread[ATTENTION][LENGTHS - 1].mean);
    hd_paper_claim(to, "Self-attention compares every word with every word: N times N products.", square,
                   "Of %d words %.0f pairs are compared.", LONGEST,
                   w->pairs.spread[ATTENTION][LENGTHS - 1].mean);
    hd_paper_claim(to, "What need not wait is faster.", faster > 1,
                   "Of %d words, self-attention takes at most 1/%.1f of the time of a GRU of the same width.",
                   lengths[MIDDLE], faster);
    const double more =
        w->pairs.spread[ATTENTION][LENGTHS - 1].mean / w->pairs.spread[ATTENTION][MIDDLE].mean;
    hd_paper_claim(to, "There is no loss for long sentences.", more <= (double)LONGEST / lengths[MIDDLE],
                   "%d times the words are %.0f times the pairs.", LONGEST / lengths[MIDDLE], more);
    hd_paper_note(to, "Nothing is lost of what far words say, but all pairs have a price: from some length "
                      "on the layer that "
                      "waits is the cheaper one.");
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    const char *names[KINDS];
    double x[LENGTHS];
    sweeps *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    for (int k = 0; k < KINDS; k++) names[k] = hd_net_names[kinds[k]];
    for (int c = 0; c < LENGTHS; c++) x[c] = lengths[c];
    w->depth = (hd_sweep){.title = "Operations that wait for each other",
                          .across = "words",
                          .upward = "operations one behind the other",
                          .caption = "Operations one behind the other, by the number of words",
                          .corner = "layer",
                          .format = "%.0f",
                          .log_x = true,
                          .log_y = true,
                          .kind = names,
                          .kinds = KINDS,
                          .x = x,
                          .points = LENGTHS};
    w->pairs = w->time = w->depth;
    w->pairs.title = "Pairs of words that are compared", w->pairs.upward = "pairs";
    w->pairs.caption = NULL;
    w->time.title = "Time of a layer",
    w->time.upward = "milliseconds (least of 7 passes; mean and spread of all seeds)";
    w->time.caption = "Milliseconds, by the number of words", w->time.format = "%.3f";
    hd_status s = hd_sweep_measure(&w->depth, lab, measure, w, err);
    if (!s) {
        hd_paper_say(
            to,
            "One layer of each kind, %d wide, reads one sentence of random vectors. Operations are counted "
            "on "
            "the tape that training records, pairs by a probe, and time until the last row is known.",
            WIDTH);
        hd_sweep_put(to, &w->depth, lab);
        hd_sweep_put(to, &w->pairs, lab);
        hd_sweep_put(to, &w->time, lab);
        judge(to, w, lab);
    }
    hd_mem_free(w);
    return s;
}

const hd_experiment hd_experiment_parallel = {
    .name = "parallel",
    .title = "What has to wait",
    .lecture = 0,
    .rows = "21, 129, 130",
    .claim = "A recurrent network reads word by word and cannot be parallelized over a sentence; "
             "self-attention compares all "
             "pairs of words at once.",
    .run = run,
};
