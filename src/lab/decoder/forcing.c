/* What a decoder is fed while it learns: the truth, its own words, or either by a coin. */
#include <math.h>

#include "base/system/clock.h"
#include "lab/decoder/answer.h"
#include "lab/sweep.h"

enum { LENGTH = 3, WORDS = 10, WIDTH = 24, PARTS = 6, UPDATES = 60 }; /* updates of a part */

static const struct {
    const char *name;
    hd_feeding feeding;
} kinds[] = {
    {"teacher forcing", {HD_FEEDING_teacher, 0, 1}},
    {"scheduled sampling, 1 word in 4", {HD_FEEDING_scheduled, 0.25f, 1}},
    {"free running", {HD_FEEDING_free, 0, 1}},
};
enum { KINDS = sizeof kinds / sizeof *kinds, TEACHER = 0, SCHEDULED, FREE };

typedef struct cost {
    double loss[KINDS][HD_LAB_SEEDS]; /* in the end of the first part */
    double seconds[KINDS];            /* of an update, the least of all parts and seeds */
    double gap[HD_LAB_SEEDS]; /* of teacher forcing: right after right words less right after its own */
} cost;

static uint32_t updates_of(const hd_lab *lab)
{
    return hd_lab_times(lab) * UPDATES;
}

static hd_status learn(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    cost *c = context;
    const uint32_t part = updates_of(lab);
    hd_learner_opt o = {.encoder = "gru:1",
                        .decoder = "gru:1",
                        .exercise = HD_EXERCISE_expand,
                        .plain = WORDS,
                        .shortest = 1,
                        .longest = LENGTH,
                        .seed = seed,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    o.model.recurrent = (hd_recurrent_decoder_opt){.context = HD_CONTEXT_fixed};
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    if (!s) s = hd_encdec_feed(l.model, &kinds[k].feeding, err);
    share[0] = 0;
    if (!s) s = hd_answer_judge(&share[0], &l, LENGTH, err);
    for (int i = 1; !s && i <= PARTS; i++) {
        double loss, begun = hd_seconds();
        s = hd_learner_learn(&l, part, PARTS * part, 0.01, &loss, err);
        begun = (hd_seconds() - begun) / part;
        c->seconds[k] = c->seconds[k] > 0 ? fmin(c->seconds[k], begun) : begun;
        if (i == 1) c->loss[k][seed - lab->seed] = loss;
        if (!s) s = hd_answer_judge(&share[i], &l, LENGTH, err);
    }
    double told = 0;
    if (!s && k == TEACHER) s = hd_learner_judge(&told, &l, LENGTH, err);
    if (k == TEACHER) c->gap[seed - lab->seed] = told - share[PARTS];
    hd_learner_close(&l);
    return s;
}

static void put_costs(hd_paper *to, const cost *c, const hd_lab *lab)
{
    hd_paper_table_of(to, "What learning costs", 3, 1);
    hd_paper_cell(to, "fed");
    hd_paper_cell(to, "loss of the first updates, nats a word");
    hd_paper_cell(to, "ms an update");
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", kinds[k].name);
        hd_paper_cell(to, "%.2f", hd_spread_of(c->loss[k], (size_t)lab->seeds).mean);
        hd_paper_cell(to, "%.1f", 1000 * c->seconds[k]);
    }
}

static void judge(hd_paper *to, const hd_sweep *w, const cost *c, const hd_lab *lab)
{
    const hd_spread truth = hd_spread_of(c->loss[TEACHER], (size_t)lab->seeds),
                    own = hd_spread_of(c->loss[FREE], (size_t)lab->seeds),
                    gap = hd_spread_of(c->gap, (size_t)lab->seeds);
    double gain = 1;
    for (int i = 0; i < lab->seeds; i++)
        gain = fmin(gain, w->value[SCHEDULED][i][PARTS] - w->value[TEACHER][i][PARTS]);
    hd_paper_claim(
        to, "What a model says at first is noise, and teaches less than the truth.", own.low > truth.high,
        "After the first updates the loss is %.2f with its own words (%.2f to %.2f) and %.2f with the "
        "truth (%.2f to %.2f).",
        own.mean, own.low, own.high, truth.mean, truth.low, truth.high);
    hd_paper_claim(
        to, "The truth is cheating: a model that is fed it does not learn to go on from its own words.",
        gap.low > 0.03,
        "In the end it says %.0f points fewer words right after its own words than after right ones (%.0f "
        "to %.0f).",
        100 * gap.mean, 100 * gap.low, 100 * gap.high);
    hd_paper_claim(to, "Scheduled sampling helps against that.", gain > 0.01,
                   "Fed its own word once in four, it says at least %.0f points more words right in the end "
                   "than with the "
                   "truth alone, with every seed.",
                   100 * gain);
    hd_paper_claim(to, "Own words must be said before they can be fed: all steps wait for each other.",
                   c->seconds[FREE] > 1.1 * c->seconds[TEACHER],
                   "An update takes %.1f times as long as with the truth, whose words are known at once.",
                   c->seconds[FREE] / c->seconds[TEACHER]);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    int32_t at[PARTS + 1];
    cost c = {0};
    hd_sweep *w = NULL;
    for (int i = 0; i <= PARTS; i++) at[i] = i * (int32_t)updates_of(lab);
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, at, PARTS + 1, err);
    if (s) return s;
    w->title = "Learning from the truth, or from one's own words", w->across = "updates";
    w->upward = "words said right when it goes on from its own, % (mean and spread of all seeds)";
    w->caption = "Words said right, %, by the updates", w->corner = "fed while learning", w->every = 2;
    w->format = "%.0f", w->scale = 100;
    s = hd_sweep_measure(w, lab, learn, &c, err);
    if (!s) {
        hd_paper_say(
            to,
            "Up to %d words with a number behind each are to be said as often as the number says, by a GRU "
            "that knows "
            "them by one vector, %d wide: what was said before tells how often it still is. While it learns, "
            "the "
            "word before is the right one, a sample of what the model said, or one of both by a coin. All "
            "are judged alike, by greedy search, which has only its own words.",
            LENGTH, WIDTH);
        hd_sweep_put(to, w, lab);
        put_costs(to, &c, lab);
        judge(to, w, &c, lab);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_forcing = {
    .name = "forcing",
    .title = "Teacher forcing",
    .lecture = 4,
    .rows = "87-89",
    .claim = "A decoder may learn from the right word before each one, from its own words as when it is "
             "used, or by a "
             "coin from either; each has its price.",
    .run = run,
};
