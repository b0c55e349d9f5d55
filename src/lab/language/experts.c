/* Experts: how even their loads are, with and without something that balances them. */
#include <math.h>

#include "lab/language/pupil.h"
#include "lab/sweep.h"

enum { SENTENCES = 400, WIDTH = 32, EXPERTS = 8, USED = 2, PARTS = 6, UPDATES = 40 };

static const struct {
    const char *name;
    float balance; /* coefficient of the loss */
    float rate;    /* of the bias */
} kinds[] = {{"nothing", 0, 0}, {"a balance loss", 0.02f, 0}, {"a bias on the choice", 0, 0.02f}};
enum { KINDS = sizeof kinds / sizeof *kinds, NOTHING = 0, LOSS, BIAS };

typedef struct study {
    hd_story text;
    double nats[KINDS][HD_LAB_SEEDS];
} study;

/* The load of the fullest expert over the mean of all, of the last update. */
static hd_status load_of(double *load, const hd_pupil *p, hd_err *err)
{
    const hd_params *params = p->model->params;
    hd_real was[EXPERTS];
    double most = 0, sum = 0;
    const hd_tensor *t = params->balances ? &params->balanced[0].was->t : NULL;
    hd_backend *b = p->course.run->backend;
    if (!t || hd_count_of(t) != EXPERTS) return hd_err_set(err, HD_EARG, "loads are not counted");
    b->download(b, was, t->data, sizeof was);
    for (int e = 0; e < EXPERTS; e++) sum += (double)was[e], most = fmax(most, (double)was[e]);
    *load = sum > 0 ? most * EXPERTS / sum : NAN;
    return HD_OK;
}

static hd_status learn(double *load, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    study *y = context;
    const uint32_t part = lab->full ? 8 * UPDATES : UPDATES;
    hd_lm_opt o = hd_pupil_model(HD_LM_moe, WIDTH, y->text.vocab);
    o.stack.experts = (hd_experts_opt){.count = EXPERTS,
                                       .used = USED,
                                       .inner = WIDTH / 2,
                                       .normalized = true,
                                       .router = HD_ROUTER_SIGMOID,
                                       .bias = true, /* of rate 0 it stays where it is; loads are counted */
                                       .bias_rate = kinds[k].rate,
                                       .balance = kinds[k].balance};
    hd_pupil p;
    hd_status s = hd_pupil_open(&p, lab->run, &o, seed, err);
    for (int i = 0; !s && i < PARTS; i++) {
        double sum = 0;
        for (uint32_t t = 0; !s && t < part; t++) { /* one update a time: loads are of the last one */
            double one = 0;
            s = hd_pupil_learn(&p, y->text.ids, y->text.count, 1, 0.005, err);
            if (!s) s = load_of(&one, &p, err);
            sum += one / part;
        }
        load[i] = sum;
    }
    if (!s)
        s = hd_pupil_judge(&y->nats[k][seed - lab->seed], &p, y->text.ids, y->text.count, HD_PUPIL_WINDOW,
                           err);
    hd_pupil_close(&p);
    return s;
}

static void judge(hd_paper *to, const hd_sweep *w, const study *y, const hd_lab *lab)
{
    const hd_spread *end[KINDS];
    hd_spread nats[KINDS];
    for (int k = 0; k < KINDS; k++)
        end[k] = &w->spread[k][PARTS - 1], nats[k] = hd_spread_of(y->nats[k], (size_t)lab->seeds);
    hd_paper_claim(to, "Left alone, a router prefers some experts.", end[NOTHING]->low > 1.3,
                   "In the end the fullest of %d has %.2f times the mean load (%.2f to %.2f).", EXPERTS,
                   end[NOTHING]->mean, end[NOTHING]->low, end[NOTHING]->high);
    hd_paper_claim(
        to, "A bias that follows the loads evens them out, without a loss of its own.",
        end[BIAS]->high < end[NOTHING]->low,
        "The fullest has %.2f times the mean load (%.2f to %.2f); with a balance loss it is %.2f (%.2f to "
        "%.2f).",
        end[BIAS]->mean, end[BIAS]->low, end[BIAS]->high, end[LOSS]->mean, end[LOSS]->low, end[LOSS]->high);
    hd_paper_claim(to, "It costs no quality.", nats[BIAS].mean < nats[NOTHING].mean + 0.1,
                   "The loss is %.2f nats a word, %.2f without any balance and %.2f with the loss.",
                   nats[BIAS].mean, nats[NOTHING].mean, nats[LOSS].mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    const int32_t updates = lab->full ? 8 * UPDATES : UPDATES;
    int32_t at[PARTS];
    study y = {0};
    hd_sweep *w = NULL;
    for (int i = 0; i < PARTS; i++) at[i] = (i + 1) * updates;
    hd_status s = hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, at, PARTS, err);
    if (s) return s;
    w->title = "The fullest expert", w->across = "updates";
    w->upward = "its load over the mean of all (mean and spread of all seeds; 1 is even)";
    w->caption = "Load of the fullest expert over the mean, by the updates", w->corner = "balanced by";
    w->format = "%.2f";
    s = hd_story_draw(&y.text, SENTENCES, lab->seed, err);
    if (!s) s = hd_sweep_measure(w, lab, learn, &y, err);
    if (!s) {
        hd_paper_say(to,
                     "A language model of one block with %d experts, of which each word uses %d, learns "
                     "sentences of a small "
                     "grammar. Loads are those of training, in the mean of %d updates.",
                     EXPERTS, USED, updates);
        hd_sweep_put(to, w, lab);
        judge(to, w, &y, lab);
    }
    hd_story_release(&y.text);
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_experts = {
    .name = "experts",
    .title = "Loads of experts",
    .lecture = 1,
    .rows = "184, 185",
    .claim = "Of many experts each word uses a few; so that none is idle, a bias that follows the loads is "
             "added to the choice "
             "alone, and no loss is needed.",
    .run = run,
};
