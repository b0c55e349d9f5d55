/* An encoder and a linear layer. */
#include "model/classifier.h"

#include <math.h>

#include "base/mem.h"
#include "nn/position.h"

#define X(name, text) #name,
const char *const hd_pool_names[HD_POOLS + 1] = {HD_POOL_LIST(X) NULL};
#undef X

/* -- making -- */

/* Blocks need positions, and vectors as long as those. */
static hd_embedding make_embedding(hd_classifier *m)
{
    const hd_classifier_opt *o = &m->opt;
    bool blocks = o->encoder.at[0].kind == HD_STAGE_transformer;
    float scale = blocks ? (float)sqrt((double)o->width) : 1;
    hd_init init = {HD_INIT_NORMAL, 1 / scale, 0};
    if (blocks)
        m->positions = hd_param_hidden(&m->params, o->positions, o->width, (hd_init){HD_INIT_TABLE, 0, 0});
    return (hd_embedding){
        .table = hd_param_add(&m->params, o->vocab, o->width, init, "model.encoder.embed_tokens.weight"),
        .position = m->positions,
        .scale = scale,
        .dropout = o->dropout};
}

static hd_status make(hd_classifier *m, hd_err *err)
{
    const hd_classifier_opt *o = &m->opt;
    hd_encoder_opt e = {.stages = o->encoder,
                        .stack = {.heads = o->heads,
                                  .width = o->width,
                                  .inner = o->inner,
                                  .pre_norm = !o->post_norm,
                                  .eps = 1e-5f,
                                  .act = o->act,
                                  .dropout = o->dropout},
                        .name = "model.encoder"};
    hd_status s = hd_encoder_make(&m->encoder, &m->params, &e, make_embedding(m), err);
    m->out = hd_dense_make(&m->params, m->encoder.out, o->classes,
                           &(hd_dense_opt){.init = {HD_INIT_TORCH, 1, 0}}, "classifier");
    return s;
}

static hd_status fill_positions(hd_classifier *m, hd_err *err)
{
    size_t rows = m->opt.positions, cols = m->opt.width;
    if (!m->positions) return HD_OK;
    hd_real *table = hd_mem_array(rows * cols, sizeof *table);
    if (!table) return hd_err_nomem(err, rows * cols * sizeof *table);
    hd_sinusoid_fill(table, rows, cols, &(hd_sinusoid){.halves = true});
    hd_status s = hd_params_set(&m->params, m->positions, table);
    hd_mem_free(table);
    return s;
}

static hd_status check(const hd_classifier_opt *o, hd_err *err)
{
    if (!o->width || !o->inner || !o->vocab || !o->positions || !o->encoder.count)
        return hd_err_set(err, HD_EARG,
                          "a classifier needs an encoder, width, inner width, vocabulary and positions");
    if (o->classes < 2) return hd_err_set(err, HD_EARG, "a classifier needs at least 2 classes");
    if (hd_stages_have(&o->encoder, HD_STAGE_transformer) && (o->heads < 1 || o->width % (size_t)o->heads))
        return hd_err_set(err, HD_EARG, "a width of %zu cannot be split over %d heads", o->width, o->heads);
    for (int i = 0; i < o->encoder.count; i++)
        if (o->encoder.at[i].kind != HD_STAGE_none && o->encoder.at[i].layers < 1)
            return hd_err_set(err, HD_EARG, "a classifier's encoder needs at least 1 layer in each stage");
    return HD_OK;
}

hd_status hd_classifier_new(hd_classifier **out, hd_backend *backend, const hd_classifier_opt *opt,
                            bool training, hd_err *err)
{
    hd_status s = check(opt, err);
    hd_classifier *m = s ? NULL : hd_mem_zero(sizeof *m);
    if (!m) return s ? s : hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    hd_params_init(&m->params, backend);
    s = make(m, err);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (!s) s = fill_positions(m, err);
    if (s)
        hd_classifier_free(m);
    else
        *out = m;
    return s;
}

void hd_classifier_free(hd_classifier *m)
{
    if (!m) return;
    hd_encoder_release(&m->encoder);
    hd_params_release(&m->params);
    hd_mem_free(m);
}

/* -- running -- */

/* Where the last stage recurs, each direction ends at an end of its own. */
static hd_tensor *ends(hd_run *r, const hd_classifier *m, hd_rows x)
{
    const hd_encoder_stage *s = &m->encoder.stage[m->encoder.stages - 1];
    if (!hd_stage_recurs(&s->is) || s->cells.directions == 1) return hd_reduce(r, x.t, x.seg, HD_LAST);
    size_t width = s->cells.width;
    hd_tensor *forth = hd_reduce(r, hd_slice_cols(r, x.t, 0, width), x.seg, HD_LAST);
    hd_tensor *back = hd_reduce(r, hd_slice_cols(r, x.t, width, width), x.seg, HD_FIRST);
    return forth && back ? hd_concat_cols(r, (hd_tensor *const[]){forth, back}, 2) : NULL;
}

/* The vectors that get a class. */
static hd_tensor *vectors(hd_run *r, const hd_classifier *m, const hd_class_batch *b)
{
    static const hd_reduction kinds[] = {
        [HD_POOL_mean] = HD_MEAN, [HD_POOL_max] = HD_MAX, [HD_POOL_first] = HD_FIRST};
    hd_rows x = hd_encoder_of(r, &m->encoder, b->ids, b->seg).rows;
    if (!x.t) return NULL;
    x.t = hd_dropout(r, x.t, m->opt.dropout, x.seg);
    if (m->opt.pool == HD_POOL_each) return b->row ? hd_gather(r, x.t, b->row, b->rows, 1) : x.t;
    return m->opt.pool == HD_POOL_last ? ends(r, m, x) : hd_reduce(r, x.t, x.seg, kinds[m->opt.pool]);
}

hd_tensor *hd_classifier_loss(hd_run *r, const hd_classifier *m, const hd_class_batch *b,
                              const hd_loss_opt *opt)
{
    return hd_linear_cross_entropy(r, vectors(r, m, b), &m->out.w->t, &m->out.b->t, b->target, opt);
}

hd_tensor *hd_classifier_logp(hd_run *r, const hd_classifier *m, const hd_class_batch *b)
{
    hd_tensor *y = hd_dense_of(r, &m->out, vectors(r, m, b), HD_IDENTITY);
    return hd_log_softmax(r, hd_probe_offer(r, "logits", y, NULL));
}

double hd_classifier_flops(const hd_classifier *m, double items, double length)
{
    double vectors_of = m->opt.pool == HD_POOL_each ? items * length : items;
    return hd_encoder_flops(&m->encoder, items, length) +
           2 * vectors_of * (double)m->encoder.out * (double)m->opt.classes;
}
