/* Statements of the polls on attention, searches, heads and masks. */
#include <math.h>
#include <string.h>

#include "lab/attention/glance.h"
#include "lab/attention/leak.h"
#include "lab/decoding/chain.h"
#include "lab/worked/polls.h"

enum { D = HD_GLANCE_WIDTH, STATES = HD_GLANCE_STATES, WIDTH = 8, HEADS = 2, LENGTH = 5 };

/* What is larger than sums of floats in another order make of nothing. */
static const double something = 1e-3;

static double gap(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* -- poll 1, and values -- */

typedef struct looked {
    double weight[STATES], context[D];
} looked;

/* The example of the score table, with a number added to the decoder's state, to the encoder's first state
   or to all values. */
static hd_status look(looked *to, hd_run *r, double query, double key, double value, hd_err *err)
{
    double q[D], k[STATES * D], v[STATES * D];
    for (int i = 0; i < D; i++) q[i] = hd_glance_h_dec[i] + query;
    for (int i = 0; i < STATES * D; i++)
        k[i] = hd_glance_h_enc[i] + (i < D ? key : 0), v[i] = hd_glance_h_enc[i] + value * (i + 1);
    hd_run_begin(r, HD_INFERENCE);
    hd_desk_read(to->context, r,
                 hd_desk_attend(r, hd_desk_rows(r, 1, D, q), hd_desk_rows(r, STATES, D, k),
                                hd_desk_rows(r, STATES, D, v), &(hd_attend_opt){.heads = 1, .scale = 1},
                                "softmax", to->weight));
    return hd_run_status(r, err);
}

hd_status hd_poll_contexts_differ(hd_run *r, bool *held, double *number, hd_err *err)
{
    looked a, b;
    hd_status s = look(&a, r, 0, 0, 0, err);
    if (!s) s = look(&b, r, 1, 0, 0, err);
    if (!s) *number = gap(a.context, b.context, D), *held = *number > something;
    return s;
}

hd_status hd_poll_context_is_a_state(hd_run *r, bool *held, double *number, hd_err *err)
{
    looked a;
    int best = 0;
    hd_status s = look(&a, r, 0, 0, 0, err);
    for (int i = 1; !s && i < STATES; i++)
        if (a.weight[i] > a.weight[best]) best = i;
    if (!s) *number = gap(a.context, hd_glance_h_enc + best * D, D), *held = *number < something;
    return s;
}

hd_status hd_poll_weights_follow(hd_run *r, bool *held, double *number, hd_err *err)
{
    looked a, q, k;
    hd_status s = look(&a, r, 0, 0, 0, err);
    if (!s) s = look(&q, r, 1, 0, 0, err);
    if (!s) s = look(&k, r, 0, 1, 0, err);
    if (!s) *number = fmin(gap(a.weight, q.weight, STATES), gap(a.weight, k.weight, STATES));
    if (!s) *held = *number > something;
    return s;
}

hd_status hd_poll_values_weigh(hd_run *r, bool *held, double *number, hd_err *err)
{
    looked a, v;
    hd_status s = look(&a, r, 0, 0, 0, err);
    if (!s) s = look(&v, r, 0, 0, 1, err);
    if (!s) *number = gap(a.weight, v.weight, STATES), *held = *number > 0;
    return s;
}

/* -- searches -- */

/* How much less likely what it finds is than the best there is, in the worse example. */
static hd_status search(hd_run *r, int beam, double *number, hd_err *err)
{
    static hd_chain c;
    hd_status s = HD_OK;
    *number = 0;
    for (size_t e = 0; !s && e < HD_CHAIN_EXAMPLES; e++) {
        hd_found *f = NULL;
        const hd_search_opt o = hd_chain_options(beam, 3);
        hd_chain_begin(&c, &hd_chain_examples[e]);
        s = hd_chain_search(&f, &c, r, &o, err);
        if (!s) *number = fmax(*number, hd_chain_examples[e].all[0].product - exp(f->guess[0].sum));
        hd_found_free(f);
    }
    return s;
}

hd_status hd_poll_full_search(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = search(r, -1, number, err);
    *held = *number < something;
    return s;
}

hd_status hd_poll_beam_search(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = search(r, 2, number, err);
    *held = *number < something;
    return s;
}

/* -- heads and masks -- */

/* An intermediate of a layer: its numbers, and how many there are. */
typedef struct taken {
    const char *name;
    double value[LENGTH * LENGTH * WIDTH];
    size_t count;
} taken;

static void take(void *context, hd_run *r, const hd_offer *offer)
{
    taken *t = context;
    if (strcmp(offer->name, t->name) || hd_count_of(offer->t) > sizeof t->value / sizeof *t->value) return;
    hd_desk_read(t->value, r, offer->t);
    t->count = hd_count_of(offer->t);
}

static hd_status taken_of(taken *t, hd_run *r, hd_err *err)
{
    hd_params p;
    hd_rng rng = hd_rng_make(1, 2);
    const hd_probe probe = {.take = take, .context = t}, *before = r->probe;
    hd_params_init(&p, r->backend);
    const hd_mha layer = hd_mha_make(&p, &(hd_mha_opt){.width = WIDTH,
                                                       .heads = HEADS,
                                                       .init = {HD_INIT_XAVIER, 1, 0},
                                                       .name = "self",
                                                       .query = "q",
                                                       .key = "k",
                                                       .value = "v",
                                                       .out = "out"});
    hd_status s = hd_params_ready(&p, false, err);
    if (!s) s = hd_params_draw(&p, 1, err);
    hd_run_begin(r, HD_INFERENCE);
    r->probe = &probe;
    hd_rows x = hd_desk_item(r, hd_desk_normal(r, LENGTH, WIDTH, &rng));
    if (!s) hd_mha_of(r, &layer, x, x, HD_FULL, NULL);
    r->probe = before;
    if (!s) s = hd_run_status(r, err);
    hd_params_release(&p);
    return s;
}

/* How far the parts of two heads in a row of "Q", "K" or "V" are apart. */
static hd_status heads_apart(hd_run *r, const char *name, double *number, hd_err *err)
{
    taken t = {.name = name};
    hd_status s = taken_of(&t, r, err);
    *number = t.count ? gap(t.value, t.value + WIDTH / HEADS, WIDTH / HEADS) : 0;
    return s;
}

hd_status hd_poll_keys_per_head(hd_run *r, bool *held, double *number, hd_err *err)
{
    double keys = 0;
    hd_status s = heads_apart(r, "K", &keys, err);
    if (!s) s = heads_apart(r, "V", number, err);
    *number = fmin(*number, keys), *held = *number > something;
    return s;
}

hd_status hd_poll_queries_per_head(hd_run *r, bool *held, double *number, hd_err *err)
{
    hd_status s = heads_apart(r, "Q", number, err);
    *held = *number > something;
    return s;
}

hd_status hd_poll_square_weights(hd_run *r, bool *held, double *number, hd_err *err)
{
    taken t = {.name = "softmax"};
    hd_status s = taken_of(&t, r, err);
    *number = (double)t.count, *held = t.count == (size_t)HEADS * LENGTH * LENGTH;
    return s;
}

/* How far the first row moves when the last one is another. */
hd_status hd_poll_first_mask(hd_run *r, bool *held, double *number, hd_err *err)
{
    double moved[HD_LEAK_LENGTH * HD_LEAK_LENGTH] = {0};
    hd_status s = hd_leak_of(moved, r, (const hd_mask[]){HD_CAUSAL, HD_FULL}, 1, err);
    *number = moved[(HD_LEAK_LENGTH - 1) * HD_LEAK_LENGTH], *held = *number < something;
    return s;
}
