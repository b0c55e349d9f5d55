/* Latent attention: what a cache keeps of a word, and what that costs, by the rank. */
#include <math.h>

#include "lab/pretrained/echo.h"
#include "lab/pretrained/twins.h"

static const size_t ranks[] = {1, 2, 4, 8, 16};
enum {
    RANKS = sizeof ranks / sizeof *ranks,
    ORDINARY = RANKS,
    KINDS,
    WIDTH = 32,
    HEAD = WIDTH / 2,
    ROTATED = 8
};
enum { UPDATES = 200, STREAM = 4000, HELD_BACK = 960 };

/* rank 0: ordinary attention. */
static hd_lm_opt model_of(size_t rank)
{
    hd_lm_opt o = hd_pupil_model(HD_LM_llama, WIDTH, HD_PUPIL_FIRST + HD_ECHO_WORDS);
    if (rank)
        o.stack.latent =
            (hd_latent_opt){.rank = rank, .plain = HEAD - ROTATED, .rotated = ROTATED, .value = HEAD};
    return o;
}

/* Numbers of a word in the cache, once a few words are in it. */
static hd_status numbers_of(size_t *to, hd_pupil *p, const int32_t *ids, hd_err *err)
{
    hd_run *r = p->course.run;
    hd_cache *cache = NULL;
    hd_status s = hd_gpt_cache(&cache, p->model->model, 1, err);
    if (s) return s;
    hd_run_begin(r, HD_INFERENCE);
    hd_gpt_forward(r, p->model->model, hd_ints(r, ids, 8), hd_seg_of(r, &(int32_t){8}, 1, NULL), cache);
    s = hd_run_status(r, err);
    *to = 0;
    for (size_t i = 0; !s && i < cache->slots; i++) *to += hd_cols_of(&cache->slot[i].t);
    hd_cache_free(cache);
    return s;
}

static hd_status learn(double *nats, size_t *numbers, const hd_lab *lab, size_t rank, uint64_t seed,
                       hd_err *err)
{
    const hd_lm_opt o = model_of(rank);
    int32_t ids[STREAM];
    hd_pupil p;
    hd_echo_draw(ids, STREAM, seed);
    hd_status s = hd_pupil_open(&p, lab->run, &o, seed, err);
    if (!s) s = hd_pupil_learn(&p, ids, STREAM - HELD_BACK, hd_lab_times(lab) * UPDATES, 0.01, err);
    if (!s) s = hd_pupil_judge(nats, &p, ids + STREAM - HELD_BACK, HELD_BACK, HD_PUPIL_WINDOW, err);
    if (!s) s = numbers_of(numbers, &p, ids, err);
    hd_pupil_close(&p);
    return s;
}

static void put(hd_paper *to, const hd_spread *nats, const size_t *numbers)
{
    double x[KINDS];
    for (int i = 0; i < KINDS; i++) x[i] = (double)(numbers[i] * sizeof(float));
    hd_paper_plot(
        to, &(hd_series_plot){.title = "What a cache has to keep",
                              .across = "bytes of a word and layer in the cache (f32)",
                              .upward = "nats a word of text held back (mean and spread of all seeds)"});
    hd_spread_line(to, "latent attention, of rank 1 to 16", x, nats, RANKS);
    hd_spread_line(to, "ordinary attention", x + ORDINARY, nats + ORDINARY, 1);
    hd_paper_table_of(to, "What a cache keeps, and what is predicted", 4, 1);
    hd_paper_row(to, "attention\tnumbers of a word\tbytes\tnats a word");
    for (int i = 0; i < KINDS; i++) {
        if (i == ORDINARY)
            hd_paper_cell(to, "ordinary");
        else
            hd_paper_cell(to, "latent, rank %zu", ranks[i]);
        hd_paper_cell(to, "%zu", numbers[i]), hd_paper_cell(to, "%.0f", x[i]);
        hd_spread_cell(to, "%.2f", nats[i]);
    }
}

static void judge(hd_paper *to, const hd_spread *nats, const size_t *numbers, double gap)
{
    const hd_spread *full = &nats[ORDINARY];
    int enough = RANKS;
    while (enough && nats[enough - 1].mean < full->mean + 0.1) enough--;
    hd_paper_claim(
        to, "A cache of short vectors is nearly as good as one of all keys and values.",
        enough < RANKS && 3 * numbers[enough] <= numbers[ORDINARY] &&
            full->high < (hd_echo_floor() + log(HD_ECHO_WORDS)) / 2,
        "From rank %zu on the loss is within 0.1 nats of that of ordinary attention, with %zu numbers of a "
        "word in place of %zu.",
        ranks[enough < RANKS ? enough : RANKS - 1], numbers[enough < RANKS ? enough : RANKS - 1],
        numbers[ORDINARY]);
    hd_paper_claim(
        to, "What is too short does not do.", nats[0].low > full->high + 0.3,
        "With rank 1 the loss is %.2f nats, with ordinary attention %.2f; what can be known leaves %.2f. One "
        "number that is made 1 long is a sign: it tells two words apart, not %d.",
        nats[0].mean, full->mean, hd_echo_floor(), HD_ECHO_WORDS);
    hd_paper_claim(to, "With a vector as wide as the model it is ordinary attention.", gap < 1e-5,
                   "With the same weights the two differ by %.1g nats.", gap);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    double nats[KINDS][HD_LAB_SEEDS], gap = 0, one = 0;
    size_t numbers[KINDS];
    hd_spread spread[KINDS];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < lab->seeds; i++) {
        const uint64_t seed = lab->seed + (uint64_t)i;
        for (int k = 0; !s && k < KINDS; k++)
            s = learn(&nats[k][i], &numbers[k], lab, k == ORDINARY ? 0 : ranks[k], seed, err);
        if (!s) s = hd_twins_differ(&one, lab, seed, err);
        gap = fmax(gap, one);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (s) return s;
    for (int k = 0; k < KINDS; k++) spread[k] = hd_spread_of(nats[k], (size_t)lab->seeds);
    hd_paper_say(
        to,
        "A Transformer of one block, %d wide, reads words of which most are those %d places before: it has "
        "to look back and say what it finds. Ordinary attention keeps keys and values of all heads; latent "
        "attention keeps one short vector that they are made of, and %d numbers that tell places. "
        "DeepSeek-V3 keeps 576 numbers of a word and layer where its 128 heads have 40,960.",
        WIDTH, HD_ECHO_PERIOD, ROTATED);
    put(to, spread, numbers);
    judge(to, spread, numbers, gap);
    return HD_OK;
}

const hd_experiment hd_experiment_latent = {
    .name = "latent",
    .title = "A cache of short vectors",
    .lecture = 1,
    .rows = "183",
    .claim = "Keys and values of all heads can come from one short vector, so that a cache keeps a fraction "
             "of the bytes.",
    .run = run,
};
