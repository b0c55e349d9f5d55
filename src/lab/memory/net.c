/* One layer of any kind between words and an answer. */
#include "lab/memory/net.h"

#include "base/mem.h"
#include "lab/desk.h"

const char *const hd_net_names[HD_NETS] = {
#define X(name, title, cell, act) title,
    HD_NET_LIST(X)
#undef X
};

static const struct {
    hd_cell cell;
    hd_unary act;
} cells[] = {
#define X(name, title, cell, act) {cell, act},
    HD_NET_LIST(X)
#undef X
};

enum { KEEPING = 1 }; /* the gate that keeps: z of a GRU, f of an LSTM */

static hd_status lean(hd_net *n, double by, hd_err *err)
{
    hd_param *b = n->cell.pass[0][0].b;
    size_t count = hd_count_of(&b->t);
    hd_real *value = hd_mem_array(count, sizeof *value);
    if (!value) return hd_err_nomem(err, count * sizeof *value);
    hd_status s = hd_params_get(&n->params, b, &b->t, value);
    for (size_t i = 0; i < n->width; i++) value[KEEPING * n->width + i] += (hd_real)by;
    if (!s) s = hd_params_set(&n->params, b, value);
    hd_mem_free(value);
    return s ? hd_err_set(err, s, "the device did not take a bias") : HD_OK;
}

hd_status hd_net_open(hd_net *n, hd_run *run, const hd_net_opt *o, hd_err *err)
{
    const hd_init even = {HD_INIT_XAVIER, 1, 0};
    *n = (hd_net){.kind = o->kind, .width = o->width};
    hd_params *p = &n->params;
    hd_params_init(p, run->backend);
    n->words = hd_param_add(p, o->words, o->width, (hd_init){HD_INIT_NORMAL, 1, 0}, "words");
    if (o->kind == HD_NET_attention)
        n->attention = hd_mha_make(p, &(hd_mha_opt){.width = o->width,
                                                    .heads = 1,
                                                    .init = even,
                                                    .name = "attention",
                                                    .query = "q",
                                                    .key = "k",
                                                    .value = "v",
                                                    .out = "out"});
    else
        n->cell = hd_recurrent_make(p, &(hd_recurrent_opt){.cell = cells[o->kind].cell,
                                                           .act = cells[o->kind].act,
                                                           .in = o->width,
                                                           .width = o->width,
                                                           .layers = 1,
                                                           .name = "rnn"});
    n->out = hd_dense_make(p, o->width, o->words, &(hd_dense_opt){.init = even}, "out");
    hd_status s = hd_params_ready(p, true, err);
    if (!s) s = hd_course_open(&n->course, run, p, o->seed, err);
    bool gated = o->kind == HD_NET_gru || o->kind == HD_NET_lstm;
    if (!s && gated && o->remember > 0) s = lean(n, o->remember, err);
    return s;
}

void hd_net_close(hd_net *n)
{
    if (!n->params.backend) return;
    hd_course_close(&n->course);
    hd_params_release(&n->params);
    *n = (hd_net){0};
}

hd_rows hd_net_of(hd_net *n, hd_rows x)
{
    if (n->kind == HD_NET_attention) return hd_mha_of(n->course.run, &n->attention, x, x, HD_FULL, NULL);
    return hd_recurrent_of(n->course.run, &n->cell, x, NULL, NULL, NULL);
}

hd_tensor *hd_net_answers(hd_net *n, const int32_t *ids, const int32_t *len, size_t items)
{
    hd_run *r = n->course.run;
    size_t rows = 0;
    for (size_t i = 0; i < items; i++) rows += (size_t)len[i];
    hd_rows x = {hd_embed(r, &n->words->t, hd_ints(r, ids, rows), rows, 1), hd_seg_of(r, len, items, NULL)};
    return hd_dense_of(r, &n->out, hd_reduce(r, hd_net_of(n, x).t, x.seg, HD_LAST), HD_IDENTITY);
}

hd_status hd_net_learn(hd_net *n, const int32_t *ids, const int32_t *len, const int32_t *target, size_t items,
                       double rate, hd_err *err)
{
    hd_run *r = hd_course_begin(&n->course);
    hd_cross_entropy(r, hd_net_answers(n, ids, len, items), hd_ints(r, target, items),
                     &(hd_loss_opt){.coef = 1});
    return hd_course_end(&n->course, rate, (double)items, err);
}

hd_status hd_net_judge(size_t *right, hd_net *n, const int32_t *ids, const int32_t *len,
                       const int32_t *target, size_t items, hd_err *err)
{
    hd_run *r = n->course.run;
    hd_run_begin(r, HD_INFERENCE);
    int32_t *said = hd_host_take(r, items * sizeof *said);
    if (said) hd_desk_best(said, r, hd_net_answers(n, ids, len, items));
    hd_status s = hd_run_status(r, err);
    *right = 0;
    for (size_t i = 0; !s && i < items; i++) *right += said[i] == target[i];
    return s;
}
