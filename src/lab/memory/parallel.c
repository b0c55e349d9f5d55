/* What has to wait for what: operations one behind the other, their number, and time, by the length. */
#include <math.h>

#include "base/rng.h"
#include "lab/memory/wait.h"
#include "lab/sweep.h"

static const int32_t lengths[] = {8, 16, 32, 64, 128, 256};
enum {
    LENGTHS = sizeof lengths / sizeof *lengths,
    LONGEST = HD_WAIT_LONGEST,
    WIDTH = HD_WAIT_WIDTH,
    MIDDLE = 3
};
enum { KINDS = HD_NET_COMPARED, ATTENTION = KINDS - 1 };

typedef struct sweeps {
    hd_sweep *depth, *pairs, *time;
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
    hd_status s = hd_net_open(
        &n, lab->run,
        &(hd_net_opt){.kind = (hd_net_kind)(HD_NET_FIRST + k), .width = WIDTH, .words = 1, .seed = seed},
        err);
    if (!s) s = hd_wait_depths(depth, &n, x, lengths, LENGTHS, err);
    if (!s) s = hd_wait_pairs(w->pairs->value[k][i], &n, x, lengths, LENGTHS, err);
    if (!s) s = hd_wait_times(w->time->value[k][i], &n, x, lengths, LENGTHS, err);
    hd_net_close(&n);
    return s;
}

static void judge(hd_paper *to, const sweeps *w, const hd_lab *lab)
{
    bool chain = true, flat = true, square = true;
    double faster = INFINITY;
    for (int c = 0; c < LENGTHS; c++) {
        for (int k = 0; k < ATTENTION; k++) chain = chain && w->depth->spread[k][c].low >= lengths[c];
        flat = flat && w->depth->spread[ATTENTION][c].high == w->depth->spread[ATTENTION][0].low;
        square = square && w->pairs->spread[ATTENTION][c].mean == (double)lengths[c] * lengths[c];
    }
    for (int i = 0; i < lab->seeds; i++) {
        const double *own = w->time->value[ATTENTION][i], *gru = w->time->value[1][i];
        faster = fmin(faster, gru[MIDDLE] / own[MIDDLE]);
    }
    hd_paper_claim(
        to, "In a recurrent network every word waits for the one before; in self-attention none does.",
        chain && flat,
        "Of %d words, %.0f operations stand one behind the other in a recurrent network and %.0f in "
        "self-attention, however many words there are.",
        LONGEST, w->depth->spread[0][LENGTHS - 1].mean, w->depth->spread[ATTENTION][LENGTHS - 1].mean);
    hd_paper_claim(to, "Self-attention compares every word with every word: N times N products.", square,
                   "Of %d words %.0f pairs are compared.", LONGEST,
                   w->pairs->spread[ATTENTION][LENGTHS - 1].mean);
    hd_paper_claim(to, "What need not wait is faster.", faster > 1,
                   "Of %d words, self-attention takes at most 1/%.1f of the time of a GRU of the same width.",
                   lengths[MIDDLE], faster);
    const double more =
        w->pairs->spread[ATTENTION][LENGTHS - 1].mean / w->pairs->spread[ATTENTION][MIDDLE].mean;
    hd_paper_claim(to, "There is no loss for long sentences.", more <= (double)LONGEST / lengths[MIDDLE],
                   "%d times the words are %.0f times the pairs.", LONGEST / lengths[MIDDLE], more);
    hd_paper_note(to, "Nothing is lost of what far words say, but all pairs have a price: from some length "
                      "on the layer that "
                      "waits is the cheaper one.");
}

/* A sweep over the lengths; with a table where it has a caption. */
static hd_status sweep_of(hd_sweep **out, const char *title, const char *upward, const char *caption,
                          const char *format, hd_err *err)
{
    hd_status s =
        hd_sweep_new(out, hd_net_names + HD_NET_FIRST, sizeof *hd_net_names, KINDS, lengths, LENGTHS, err);
    if (s) return s;
    (*out)->title = title, (*out)->upward = upward, (*out)->caption = caption, (*out)->format = format;
    (*out)->across = "words", (*out)->corner = "layer", (*out)->log_x = (*out)->log_y = true;
    return HD_OK;
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    sweeps w = {0};
    hd_status s = sweep_of(&w.depth, "Operations that wait for each other", "operations one behind the other",
                           "Operations one behind the other, by the number of words", "%.0f", err);
    if (!s) s = sweep_of(&w.pairs, "Pairs of words that are compared", "pairs", NULL, NULL, err);
    if (!s)
        s = sweep_of(&w.time, "Time of a layer",
                     "milliseconds (least of 7 passes; mean and spread of all seeds)",
                     "Milliseconds, by the number of words", "%.3f", err);
    if (!s) s = hd_sweep_measure(w.depth, lab, measure, &w, err);
    if (!s) {
        hd_paper_say(
            to,
            "One layer of each kind, %d wide, reads one sentence of random vectors. Operations are counted "
            "on "
            "the tape that training records, pairs by a probe, and time until the last row is known. "
            "Recurrent layers compare no pairs: on an axis of "
            "powers 0 has no place.",
            WIDTH);
        hd_sweep_put(to, w.depth, lab);
        hd_sweep_put(to, w.pairs, lab);
        hd_sweep_put(to, w.time, lab);
        judge(to, &w, lab);
    }
    hd_sweep_free(w.depth), hd_sweep_free(w.pairs), hd_sweep_free(w.time);
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
