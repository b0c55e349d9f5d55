/* A body and a linear layer. */
#include "model/encoder/classifier.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/prepare.h"
#include "model/vision/image_model.h"

#define X(name, text) #name,
const char *const hd_pool_names[HD_POOLS + 1] = {HD_POOL_LIST(X) NULL};
#undef X

/* -- making -- */

static hd_status make(hd_classifier *m, hd_backend *backend, hd_err *err)
{
    const hd_classifier_opt *o = &m->opt;
    m->opt.body.bert.headless = true;
    m->opt.body.bert.pooler = o->pool == HD_POOL_first;
    m->opt.body.image.pooler &= !o->classes; /* classes are told from the class token itself */
    hd_status s = hd_body_make(&m->body, &m->opt.body, backend, err);
    if (s) return s;
    m->params = m->body.params;
    const hd_init own = m->body.type->head_init, init = own.kind ? own : (hd_init){HD_INIT_TORCH, 1, 0};
    const hd_dense_opt dense = {.init = init};
    size_t width = m->body.type->width(m->body.self, 0);
    if (o->classes)
        m->out =
            hd_dense_make(m->params, width, o->classes, &dense, o->teacher ? "cls_classifier" : "classifier");
    if (o->teacher)
        m->second = hd_dense_make(m->params, width, o->classes, &dense, "distillation_classifier");
    return hd_params_freeze(m->params, o->frozen, err);
}

static hd_status check(const hd_classifier_opt *o, hd_err *err)
{
    const hd_head *h = o->head;
    bool bare = !o->classes && hd_body_reads_pictures(&o->body);
    bool fits =
        (o->classes >= h->least && o->classes <= h->most && (h->each || o->pool != HD_POOL_each)) || bare;
    if (o->teacher && !(o->classes && o->body.image.distilled && o->pool == HD_POOL_first))
        return hd_err_set(err, HD_EARG, "a second layer of labels needs a distillation token and pool first");
    return fits ? HD_OK : hd_err_set(err, HD_EARG, "%s", h->wants);
}

hd_status hd_classifier_new(hd_classifier **out, hd_backend *backend, const hd_classifier_opt *opt,
                            bool training, hd_err *err)
{
    hd_classifier *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    if (!m->opt.head) m->opt.head = &hd_head_classes;
    hd_status s = check(&m->opt, err);
    if (!s) s = make(m, backend, err);
    m->opt.frozen = (hd_frozen){0};
    if (!s) s = hd_params_ready(m->params, training, err);
    if (!s && m->body.type->fill_tables) s = m->body.type->fill_tables(m->body.self, err);
    if (s)
        hd_classifier_free(m);
    else
        *out = m;
    return s;
}

void hd_classifier_free(hd_classifier *m)
{
    if (!m) return;
    hd_model_free(&m->body);
    hd_mem_free(m);
}

/* -- running -- */

/* Where the last stage recurs, each direction ends at an end of its own. */
static hd_tensor *ends(hd_run *r, const hd_model *body, hd_rows x)
{
    size_t width = body->type->sizes(body->self).backward;
    if (!width) return hd_reduce(r, x.t, x.seg, HD_LAST);
    hd_tensor *forth = hd_reduce(r, hd_slice_cols(r, x.t, 0, width), x.seg, HD_LAST);
    hd_tensor *back = hd_reduce(r, hd_slice_cols(r, x.t, width, width), x.seg, HD_FIRST);
    return forth && back ? hd_concat_cols(r, (hd_tensor *const[]){forth, back}, 2) : NULL;
}

static bool has_pooler(const hd_classifier *m)
{
    return m->opt.pool == HD_POOL_first && m->body.type->sizes(m->body.self).pooler;
}

static hd_tensor *pooled(hd_run *r, const hd_classifier *m, hd_rows x)
{
    static const hd_reduction kinds[] = {
        [HD_POOL_mean] = HD_MEAN, [HD_POOL_max] = HD_MAX, [HD_POOL_first] = HD_FIRST};
    if (m->opt.pool == HD_POOL_last) return ends(r, &m->body, x);
    if (has_pooler(m)) return m->body.type->pooled(r, m->body.self, x);
    return hd_reduce(r, x.t, x.seg, kinds[m->opt.pool]);
}

/* The vectors that get a class. */
static hd_tensor *vectors(hd_run *r, const hd_classifier *m, const hd_class_batch *b, hd_rows x)
{
    float dropout = hd_body_dropout(&m->opt.body);
    hd_head_dropout of = m->body.type->head_dropout;
    if (!x.t) return NULL;
    bool each = m->opt.pool == HD_POOL_each;
    if (of == HD_HEAD_DROPOUT_ROWS || (each && of == HD_HEAD_DROPOUT_POOLED))
        x.t = hd_dropout(r, x.t, dropout, x.seg);
    if (each) return b->row ? hd_gather(r, x.t, b->row, b->rows, 1) : x.t;
    hd_tensor *y = pooled(r, m, x);
    if (!has_pooler(m)) hd_probe_offer(r, "pooled", y, NULL);
    return of == HD_HEAD_DROPOUT_POOLED ? hd_dropout(r, y, dropout, b->items) : y;
}

static hd_rows rows_of(hd_run *r, const hd_classifier *m, const hd_class_batch *b)
{
    const hd_model *body = &m->body;
    bool first = m->opt.pool == HD_POOL_first && !m->second.w && body->type->first;
    return first ? body->type->first(r, body->self, &b->in) : hd_model_rows(r, body, &b->in);
}

hd_tensor *hd_classifier_loss(hd_run *r, const hd_classifier *m, const hd_class_batch *b,
                              const hd_loss_opt *opt)
{
    if (!m->out.w || m->second.w)
        return hd_fail(r, HD_EARG, "the model has %s: it is for inference only",
                       m->out.w ? "a second layer of labels" : "no labels");
    hd_rows x = rows_of(r, m, b);
    if (b->next && m->body.type->lm.loss_of) {
        hd_loss_opt words = {.coef = opt->coef, .weight = b->share};
        if (!m->body.type->lm.loss_of(r, m->body.self, x, b->next, &words)) return NULL;
    }
    return m->opt.head->loss(r, &m->out, vectors(r, m, b, x), b, opt);
}

/* The mean of y and what the second layer makes of the second rows. */
static hd_tensor *with_teacher(hd_run *r, const hd_classifier *m, hd_rows x, hd_tensor *y)
{
    const int32_t *len = x.t ? hd_seg_lens(r, x.seg) : NULL;
    int32_t *second = len ? hd_host_take(r, (x.seg->items + 1) * sizeof *second) : NULL, at = 0;
    if (!second) return NULL;
    for (size_t i = 0; i < x.seg->items; at += len[i++]) second[i] = at + 1;
    hd_tensor *v = hd_gather(r, x.t, hd_ints(r, second, x.seg->items), x.seg->items, 1);
    return hd_scale(r, hd_add(r, y, hd_dense_of(r, &m->second, v, HD_IDENTITY)), 0.5f);
}

static hd_tensor *logits(hd_run *r, const hd_classifier *m, const hd_class_batch *b)
{
    if (!m->out.w)
        return hd_fail(r, HD_EARG, "the model has no labels: train it with --task classify --from");
    hd_rows x = rows_of(r, m, b);
    hd_tensor *y = hd_dense_of(r, &m->out, vectors(r, m, b, x), HD_IDENTITY);
    if (m->second.w) y = with_teacher(r, m, x, y);
    return hd_probe_offer(r, "logits", y, NULL);
}

hd_tensor *hd_classifier_answer(hd_run *r, const hd_classifier *m, const hd_class_batch *b)
{
    hd_tensor *y = logits(r, m, b);
    return m->opt.head->answer ? m->opt.head->answer(r, y) : y;
}

hd_tensor *hd_classifier_logp(hd_run *r, const hd_classifier *m, const hd_class_batch *b)
{
    hd_tensor *y = logits(r, m, b);
    return m->opt.head->logp ? m->opt.head->logp(r, y) : y;
}

/* A language model counts the words of all rows, too, which are not asked for. */
static double body_flops(const hd_classifier *m, double items, double length, double width)
{
    const hd_model *b = &m->body;
    if (!b->type->lm.loss_of) return b->type->flops(b->self, items, length, 0);
    double n = floor(items), rows = floor(length);
    return b->type->flops(b->self, n, rows, 0) - 2 * n * rows * width * (double)hd_body_vocab(&m->opt.body);
}

double hd_classifier_flops(const hd_classifier *m, double items, double length)
{
    double vectors_of = m->opt.pool == HD_POOL_each ? items * length : items;
    double width = (double)m->body.type->width(m->body.self, 0);
    return body_flops(m, items, length, width) + 2 * vectors_of * width * (double)m->opt.classes;
}

/* -- heads -- */

static hd_tensor *class_loss(hd_run *r, const hd_dense *out, hd_tensor *v, const hd_class_batch *b,
                             const hd_loss_opt *opt)
{
    if (!b->other) return hd_linear_cross_entropy(r, v, &out->w->t, &out->b->t, b->target, opt);
    hd_loss_opt own = *opt, other = *opt;
    own.weight = b->own_share, other.weight = b->other_share;
    hd_tensor *y = hd_linear_cross_entropy(r, v, &out->w->t, &out->b->t, b->target, &own);
    hd_tensor *z = hd_linear_cross_entropy(r, v, &out->w->t, &out->b->t, b->other, &other);
    return y && z ? hd_add(r, y, z) : NULL; /* each has begun its own way back */
}

const hd_head hd_head_classes = {.least = 2,
                                 .most = SIZE_MAX,
                                 .wants = "a classifier needs at least 2 classes",
                                 .each = true,
                                 .loss = class_loss,
                                 .answer = hd_log_softmax,
                                 .logp = hd_log_softmax};

static hd_tensor *number_loss(hd_run *r, const hd_dense *out, hd_tensor *v, const hd_class_batch *b,
                              const hd_loss_opt *opt)
{
    return hd_squared_error(r, hd_dense_of(r, out, v, HD_IDENTITY), b->value,
                            &(hd_loss_opt){.coef = opt->coef, .weight = b->weight});
}

const hd_head hd_head_number = {
    .least = 1, .most = 1, .wants = "a regression has one number per item", .loss = number_loss};

/* -- among other models -- */

static void drop(void *self)
{
    hd_classifier_free(self);
}

static hd_model body_of(const void *self)
{
    return ((const hd_classifier *)self)->body;
}

static const char *title(const void *self, char *buf, size_t size)
{
    const hd_model body = body_of(self);
    return body.type->title(body.self, buf, size);
}

static void describe(const void *self, hd_details *to)
{
    const hd_classifier_opt *o = &((const hd_classifier *)self)->opt;
    const hd_body_opt *b = &o->body;
    const hd_model body = body_of(self);
    char stages[HD_STAGES_TEXT];
    hd_details_text(to, "encoder", hd_body_text(b, stages));
    if (*b->bert.family) hd_details_text(to, "family", b->bert.family);
    if (o->pool != HD_POOL_each) hd_details_text(to, "pool", hd_pool_names[o->pool]);
    hd_details_whole(to, "width", hd_body_width(b));
    if (b->cell == HD_sigmoid) hd_details_text(to, "cell", hd_unary_name(b->cell));
    if (b->one_hot) hd_details_flag(to, "one_hot", true);
    size_t heads = body.type->attention ? body.type->attention(body.self, body.type->attends).heads : 0;
    if (heads) hd_details_whole(to, "heads", heads);
    if (b->encoder.count && hd_stages_have(&b->encoder, HD_STAGE_transformer)) {
        hd_details_whole(to, "heads", (uint64_t)b->stack.heads);
        hd_details_whole(to, "inner", b->stack.inner);
        hd_details_text(to, "norm", b->stack.pre_norm ? "pre" : "post");
        hd_details_text(to, "activation", hd_unary_name(b->stack.act));
    }
    if (hd_body_reads_pictures(b))
        hd_image_encoder_describe(&b->image, to);
    else
        hd_details_whole(to, "positions", b->positions);
    if (o->head->logp) hd_details_whole(to, "classes", o->classes);
}

static hd_model_sizes sizes(const void *self)
{
    const hd_classifier_opt *o = &((const hd_classifier *)self)->opt;
    const hd_model body = body_of(self);
    hd_model_sizes s = body.type->sizes(body.self);
    s.positions = o->body.positions, s.bare = o->bare;
    return s;
}

static void prepare(hd_preparing *p, const void *self)
{
    const hd_model body = body_of(self);
    if (body.type->prepare) body.type->prepare(p, body.self);
    hd_prepare(p, ((const hd_classifier *)self)->out.w);
    hd_prepare(p, ((const hd_classifier *)self)->second.w);
}

static const char *pooled_formula(const hd_classifier *m)
{
    static const char *const kinds[HD_POOLS] = {[HD_POOL_last] = "the last row",
                                                [HD_POOL_mean] = "the mean of the rows",
                                                [HD_POOL_max] = "the largest of each column",
                                                [HD_POOL_first] = "the first row"};
    const hd_model body = m->body;
    if (m->opt.pool == HD_POOL_last && body.type->sizes(body.self).backward)
        return "the ends: the last row of one direction, the first of the other";
    return has_pooler(m) ? body.type->formula(body.self, "pooled") : kinds[m->opt.pool];
}

static const char *formula(const void *self, const char *name)
{
    const hd_model body = body_of(self);
    const hd_head *head = ((const hd_classifier *)self)->opt.head;
    if (!strcmp(name, "pooled")) return pooled_formula(self);
    if (!strcmp(name, "probs") && head->probs) return head->probs;
    if (!strcmp(name, "logits")) return "y W + b: y is the row above";
    return body.type->formula ? body.type->formula(body.self, name) : NULL;
}

static double flops(const void *self, double items, double length, double outputs)
{
    (void)outputs;
    return hd_classifier_flops(self, items, length);
}

const hd_model_type hd_model_classifier = {
    .name = "classifier",
    .free = drop,
    .title = title,
    .describe = describe,
    .sizes = sizes,
    .body = body_of,
    .prepare = prepare,
    .formula = formula,
    .flops = flops,
};
