/* The parameters of a recurrent decoder; how it runs is in recurrent_decoder_run.c. */
#include "model/encdec/recurrent_decoder.h"

#include <stdio.h>

const char *const hd_context_names[HD_CONTEXTS + 1] = {
#define X(name, text) #name,
    HD_CONTEXT_LIST(X)
#undef X
};
const char *const hd_beginning_names[HD_BEGINNINGS + 1] = {
#define X(name, text) #name,
    HD_BEGINNING_LIST(X)
#undef X
};
const char *const hd_query_names[HD_QUERIES + 1] = {
#define X(name, text) #name,
    HD_QUERY_LIST(X)
#undef X
};
const char *const hd_reading_names[HD_READINGS + 1] = {
#define X(name, text) #name,
    HD_READING_LIST(X)
#undef X
};

enum { WINDOW = 10 };

static const hd_init xavier = {HD_INIT_XAVIER, 1, 0};

static hd_dense dense(hd_params *p, const char *name, const char *what, int layer, size_t in, size_t out,
                      bool bias)
{
    char full[160];
    snprintf(full, sizeof full, layer < 0 ? "%s.%s" : "%s.%s_l%d", name, what, layer);
    return hd_dense_make(p, in, out, &(hd_dense_opt){.init = xavier, .no_bias = !bias}, full);
}

static const hd_recurrent *last_cells(const hd_encoder *e)
{
    for (int i = e->stages - 1; i >= 0; i--)
        if (e->stage[i].cells.layers) return &e->stage[i].cells;
    return NULL;
}

/* Whether the encoder's last states are the decoder's first ones as they are. */
static bool fits(const hd_recurrent *from, const hd_recurrent_decoder *d)
{
    return from && from->directions == 1 && from->layers == d->is.layers && from->width == d->width &&
           from->cell == hd_stage_cell(&d->is);
}

static void fail(hd_params *p, const char *text)
{
    if (!p->err.status) hd_err_set(&p->err, HD_EARG, "decoder: %s", text);
}

static void check(hd_params *p, const hd_recurrent_decoder *d, const hd_recurrent *cells)
{
    const hd_recurrent_decoder_opt *o = &d->opt;
    if (d->is.layers < 1 || d->is.layers > HD_RECURRENT_LAYERS)
        fail(p, "recurrent layers must be 1 to 16");
    else if (d->is.both_ways)
        fail(p, "a decoder cannot be bidirectional");
    else if ((o->begin == HD_BEGINNING_final || o->context == HD_CONTEXT_everywhere) && !cells)
        fail(p, "the encoder has no final state: use --decoder-init map and --decoder-context "
                "mean or attention");
    else if (o->begin == HD_BEGINNING_mean && d->memory != d->width)
        fail(p, "the mean of the encoder's states has another width: use --decoder-init map or linear");
    else if (o->penalty > 0 && o->order > 0)
        fail(p, "--attention-penalty and --attention-order exclude each other");
    else if (o->feed_context && (o->context != HD_CONTEXT_attention || o->query != HD_QUERY_current ||
                                 o->read == HD_READING_state))
        fail(p, "--input-feeding feeds back what is read of state and context: it needs --decoder-context "
                "attention, "
                "--attention-query current and --readout tanh, deep or sum");
    else if (o->context == HD_CONTEXT_attention && o->query == HD_QUERY_current &&
             o->read == HD_READING_state)
        fail(p, "with --attention-query current nothing reads the context: use --readout tanh, deep or sum");
    else if (o->context == HD_CONTEXT_fixed &&
             (o->begin == HD_BEGINNING_zeros || o->begin == HD_BEGINNING_ones ||
              o->begin == HD_BEGINNING_learned))
        fail(p, "with --decoder-context fixed and a first state of --decoder-init zeros, ones or learned the "
                "decoder never sees the source: use --decoder-init final, mean, linear or map");
}

static void make_gates(hd_params *p, hd_recurrent_decoder *d, int l, size_t context, const char *name)
{
    hd_recurrent_decoder_layer *a = &d->layer[l];
    hd_init init = {HD_INIT_TORCH, 1, d->width};
    size_t gates = hd_cell_gates(hd_stage_cell(&d->is)) * d->width;
    a->w_in = hd_param_add(p, gates, l ? d->width : d->in, init, "%s.rnn.weight_ih_l%d", name, l);
    a->w = hd_param_add(p, gates, d->width, init, "%s.rnn.weight_hh_l%d", name, l);
    a->b_in = hd_param_add(p, gates, 0, init, "%s.rnn.bias_ih_l%d", name, l);
    a->b = hd_param_add(p, gates, 0, init, "%s.rnn.bias_hh_l%d", name, l);
    if (l && d->opt.skips) a->skip = hd_param_add(p, gates, d->in, init, "%s.rnn.weight_skip_l%d", name, l);
    if (context && (!l || d->opt.skips))
        a->context = hd_param_add(p, gates, context, init, "%s.rnn.weight_context_l%d", name, l);
    if (!l && d->opt.feed_context) a->fed = hd_param_add(p, gates, d->in, init, "%s.rnn.weight_fed_l0", name);
}

static void make_beginning(hd_params *p, hd_recurrent_decoder *d, int l, const hd_recurrent *cells,
                           const char *name)
{
    hd_recurrent_decoder_layer *a = &d->layer[l];
    size_t state = d->width * (d->is.kind == HD_STAGE_lstm ? 2 : 1);
    if (d->opt.begin == HD_BEGINNING_learned)
        a->learned = hd_param_add(p, state, 1, (hd_init){HD_INIT_NORMAL, 0.1f, 0}, "%s.begin_l%d", name, l);
    if (d->opt.begin == HD_BEGINNING_linear)
        a->begin = dense(p, name, "begin", l, d->memory, d->width, false);
    if (d->opt.begin == HD_BEGINNING_map) a->begin = dense(p, name, "begin", l, d->memory, d->width, true);
    if (d->opt.begin == HD_BEGINNING_maps) a->begin = dense(p, name, "begin", l, d->memory, state, true);
    if (d->opt.begin == HD_BEGINNING_final && !fits(cells, d))
        a->begin = dense(p, name, "begin", l, hd_recurrent_out(cells), d->width, true);
}

static void make_reading(hd_params *p, hd_recurrent_decoder *d, size_t context, const char *name)
{
    hd_reading read = d->opt.read;
    int top = d->is.layers - 1;
    d->out = read == HD_READING_state ? d->width : d->in;
    if (read == HD_READING_state) return;
    for (int l = read == HD_READING_sum ? 0 : top; l <= top; l++)
        d->layer[l].read = dense(p, name, "read", l, d->width, d->in, l == top);
    if (context) d->read_context = dense(p, name, "read_context", -1, context, d->in, false);
    if (read == HD_READING_deep) d->read_token = dense(p, name, "read_token", -1, d->in, d->in, false);
}

hd_recurrent_decoder hd_recurrent_decoder_make(hd_params *p, const hd_recurrent_decoder_opt *o,
                                               const hd_recurrent_decoder_sizes *s)
{
    const hd_recurrent *cells = last_cells(s->encoder);
    hd_recurrent_decoder d = {.opt = *o,
                              .is = s->stage,
                              .cell = s->cell == HD_IDENTITY ? HD_tanh : s->cell,
                              .in = s->in,
                              .width = s->width,
                              .memory = s->encoder->out,
                              .dropout = s->dropout};
    char name[160];
    if (!d.opt.window) d.opt.window = WINDOW;
    if (!d.opt.heads) d.opt.heads = 1;
    check(p, &d, cells);
    if (p->err.status) return d;
    snprintf(name, sizeof name, "%s.attention", s->name);
    if (o->context == HD_CONTEXT_attention)
        d.look = hd_look_make(p, &(hd_look_opt){.query = d.width,
                                                .memory = d.memory,
                                                .width = d.width,
                                                .heads = d.opt.heads,
                                                .score = o->score,
                                                .locality = o->locality,
                                                .window = d.opt.window,
                                                .positions = s->positions,
                                                .project = o->project,
                                                .dropout = s->attention_dropout,
                                                .gate = o->gate,
                                                .weighed = o->penalty > 0 || o->order > 0 ? s->length : 0,
                                                .summed = o->order > 0,
                                                .name = name});
    size_t context = o->context == HD_CONTEXT_attention    ? d.look.out
                     : o->context == HD_CONTEXT_everywhere ? hd_recurrent_out(cells)
                     : o->context == HD_CONTEXT_mean       ? d.memory
                                                           : 0;
    bool late = o->context == HD_CONTEXT_attention && o->query == HD_QUERY_current;
    for (int l = 0; l < d.is.layers; l++) {
        make_gates(p, &d, l, late ? 0 : context, s->name);
        make_beginning(p, &d, l, cells, s->name);
    }
    make_reading(p, &d, context, s->name);
    return d;
}

bool hd_recurrent_decoder_unrolls(const hd_recurrent_decoder *d)
{
    return d->opt.context == HD_CONTEXT_attention &&
           (d->opt.query == HD_QUERY_previous || d->opt.feed_context || d->opt.score == HD_SCORING_mlp ||
            d->opt.order > 0);
}

bool hd_recurrent_decoder_shares(const hd_recurrent_decoder *d)
{
    return d->opt.context == HD_CONTEXT_attention && d->opt.query == HD_QUERY_previous;
}

size_t hd_recurrent_decoder_slots(const hd_recurrent_decoder *d, hd_slot_kind *kinds)
{
    size_t states = (size_t)d->is.layers + 3, n = states + HD_LOOK_SLOTS;
    for (size_t i = 0; kinds && i < n; i++) kinds[i] = i < states ? HD_STATE : HD_FIXED;
    return n;
}

static double product(const hd_param *w)
{
    return w ? 2 * (double)hd_count_of(&w->t) : 0;
}

double hd_recurrent_decoder_flops(const hd_recurrent_decoder *d, double items, double source, double target)
{
    const hd_look *k = &d->look;
    double row = 0, said = items * target;
    for (int l = 0; l < d->is.layers; l++) {
        const hd_recurrent_decoder_layer *a = &d->layer[l];
        row += product(a->w_in) + product(a->w) + product(a->skip) + product(a->context) + product(a->fed) +
               product(a->read.w);
    }
    row += product(d->read_context.w) + product(d->read_token.w) + product(k->q.w) + product(k->place.w) +
           product(k->gate.w);
    double pair = d->opt.context == HD_CONTEXT_attention
                      ? 2 * (double)(k->opt.width + k->out) + product(k->hidden.w)
                      : 0;
    return said * (row + source * pair) + items * source * (product(k->k.w) + product(k->v.w));
}
