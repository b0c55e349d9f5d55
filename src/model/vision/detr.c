/* The detection transformer. Easy to get wrong: positions go to queries and keys of every layer, the norm
   behind the decoder is of a copy, and boxes are kept as numbers before the sigmoid, to which layers add. */
#include "model/vision/detr.h"

#include <math.h>

#include "base/mem.h"
#include "model/vision/image_encoder.h"

static const hd_init XAVIER = {HD_INIT_XAVIER, 1, 0}, TORCH = {HD_INIT_TORCH, 1, 0},
                     ZERO = {HD_INIT_ZERO, 0, 0};

enum { BOX = 4, MOST_LAYERS = 64, MOST_CELLS = 1 << 15 };

/* -- making -- */

static hd_status complete(hd_detr_opt *o, hd_err *err)
{
    hd_stack_opt *k = &o->stack;
    if (o->encoder_layers < 0 || o->decoder_layers < 1 || o->encoder_layers > MOST_LAYERS ||
        o->decoder_layers > MOST_LAYERS || k->heads < 1 || !k->width || k->width % 4 || !o->queries ||
        !o->labels)
        return hd_err_set(
            err, HD_EARG,
            "detr: %d and %d layers, %d heads, width %zu (a multiple of 4), %zu queries, %zu labels "
            "is not a valid model",
            o->encoder_layers, o->decoder_layers, k->heads, k->width, o->queries, o->labels);
    if (!(k->dropout >= 0 && k->dropout < 1))
        return hd_err_set(err, HD_EARG, "detr: dropout %g is not in [0, 1)", (double)k->dropout);
    if (!(o->reach >= 0 && o->reach < 1e6f) || (o->reach > 0 && !o->anchors))
        return hd_err_set(err, HD_EARG,
                          "detr: a reach of %g: anchors have one from 0 on, learned queries none",
                          (double)o->reach);
    if (!k->inner) k->inner = 4 * k->width;
    if (!(k->eps > 0)) k->eps = 1e-5f;
    if (k->act == HD_IDENTITY) k->act = HD_relu;
    if (!(o->scale > 0)) o->scale = o->anchors ? 64 : 6.283185307179586f;
    if (!(o->temperature > 0)) o->temperature = o->anchors ? 20 : 10000;
    k->pre_norm = k->causal = false, k->init = XAVIER, k->names = &hd_stack_marian;
    return hd_stack_check(k, err);
}

static hd_status make_stacks(hd_detr *m, hd_err *err)
{
    hd_stack_opt k = m->opt.stack;
    k.name = "model.encoder", k.layers = m->opt.encoder_layers, k.cross = false;
    hd_status s = hd_stack_make(&m->encoder, &m->params, &k, err);
    k.name = "model.decoder", k.layers = m->opt.decoder_layers, k.cross = true;
    if (!s) s = hd_stack_make(&m->decoder, &m->params, &k, err);
    m->norm = hd_norm_make(&m->params, k.width, k.eps, false, HD_AFFINE, "model.decoder.layernorm");
    return s;
}

static void make_queries(hd_detr *m)
{
    const hd_detr_opt *o = &m->opt;
    size_t d = o->stack.width;
    hd_params *p = &m->params;
    if (!o->anchors) {
        m->query = hd_param_add(p, o->queries, d, (hd_init){HD_INIT_NORMAL, 1, 0},
                                "model.query_position_embeddings.weight");
        return;
    }
    m->query = hd_param_add(p, o->queries, BOX, ZERO, "model.query_anchors.weight");
    m->content = hd_param_add(p, o->queries + o->labels, d, (hd_init){HD_INIT_NORMAL, 1, 0},
                              "model.query_contents.weight");
    if (m->query) m->query->decay = false;
    if (m->content) m->content->decay = false;
    m->place[0] =
        hd_dense_make(p, 2 * d, d, &(hd_dense_opt){.init = TORCH}, "model.anchor_positions.layers.0");
    m->place[1] = hd_dense_make(p, d, d, &(hd_dense_opt){.init = TORCH}, "model.anchor_positions.layers.1");
}

static void make_heads(hd_detr *m)
{
    size_t d = m->opt.stack.width;
    hd_params *p = &m->params;
    m->label =
        hd_dense_make(p, d, m->opt.labels + 1, &(hd_dense_opt){.init = TORCH}, "class_labels_classifier");
    for (int i = 0; i < 3; i++) {
        char name[48];
        snprintf(name, sizeof name, "bbox_predictor.layers.%d", i);
        hd_init init = i == 2 && m->opt.anchors ? ZERO : TORCH; /* anchors begin as they are */
        m->box[i] = hd_dense_make(p, d, i == 2 ? BOX : d, &(hd_dense_opt){.init = init}, name);
    }
}

/* The input projection is a convolution of 1 x 1 in files. */
static hd_status make_input(hd_detr *m, hd_err *err)
{
    hd_image_encoder_opt o = m->opt.image;
    o.name = "model.backbone.conv_encoder.model";
    hd_status s = hd_image_encoder_make(&m->image, &m->params, &o, err);
    if (s) return s;
    m->opt.image = m->image.opt;
    size_t in = hd_image_encoder_width(&m->image.opt), d = m->opt.stack.width;
    if (hd_image_encoder_lead(&m->image.opt))
        return hd_err_set(err, HD_EARG, "detr: a backbone has rows of cells alone, without a class token");
    m->input = hd_dense_make(&m->params, in, d, &(hd_dense_opt){.init = XAVIER}, "model.input_projection");
    if (m->input.w) hd_param_shape(m->input.w, 4, (const size_t[]){d, in, 1, 1});
    return HD_OK;
}

hd_status hd_detr_new(hd_detr **out, hd_backend *backend, const hd_detr_opt *opt, bool training, hd_err *err)
{
    hd_detr *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    m->opt = *opt;
    hd_params_init(&m->params, backend);
    hd_status s = complete(&m->opt, err);
    if (!s) s = make_input(m, err);
    if (!s) s = make_stacks(m, err);
    if (!s) make_queries(m), make_heads(m);
    if (!s) s = hd_params_ready(&m->params, training, err);
    if (s)
        hd_detr_free(m);
    else
        *out = m;
    return s;
}

void hd_detr_free(hd_detr *m)
{
    if (!m) return;
    hd_image_encoder_release(&m->image);
    hd_stack_release(&m->encoder);
    hd_stack_release(&m->decoder);
    hd_params_release(&m->params);
    hd_mem_free(m);
}

/* -- weights to begin with -- */

static float logit(double x)
{
    return (float)log(x / (1 - x));
}

/* Anchors lie evenly over the picture (the additive recurrence of the plastic number), of three sizes. */
static hd_status draw_anchors(hd_detr *m, hd_err *err)
{
    static const double sizes[] = {0.1, 0.2, 0.35};
    const double g = 1.32471795724474602596;
    size_t n = m->opt.queries;
    hd_real *box = hd_mem_array(n * BOX, sizeof *box);
    if (!box) return hd_err_nomem(err, n * BOX * sizeof *box);
    for (size_t i = 0; i < n; i++) {
        double x = fmod(0.5 + (double)(i + 1) / g, 1), y = fmod(0.5 + (double)(i + 1) / (g * g), 1);
        double size = sizes[i % 3];
        const double at[BOX] = {0.02 + 0.96 * x, 0.02 + 0.96 * y, size, size};
        for (size_t k = 0; k < BOX; k++) box[i * BOX + k] = (hd_real)logit(at[k]);
    }
    hd_status s = hd_params_set(&m->params, m->query, box);
    hd_mem_free(box);
    return s ? hd_err_set(err, s, "detr: the anchors could not be set") : HD_OK;
}

/* Keys of cross-attention begin as queries do: then a box looks first at the cells whose code is like its
   own, which are those around its center. */
static hd_status draw_keys(hd_detr *m, hd_err *err)
{
    size_t d = m->opt.stack.width, bytes = d * d * sizeof(hd_real);
    hd_real *w = hd_mem_new(bytes);
    if (!w) return hd_err_nomem(err, bytes);
    hd_status s = HD_OK;
    for (int l = 0; !s && l < m->opt.decoder_layers; l++) {
        const hd_mha *a = &m->decoder.block[l].cross;
        s = hd_params_get(&m->params, a->q, &a->q->t, w);
        if (!s) s = hd_params_set(&m->params, a->k, w);
    }
    hd_mem_free(w);
    return s ? hd_err_set(err, s, "detr: the keys could not be set") : HD_OK;
}

hd_status hd_detr_draw(hd_detr *m, uint64_t seed, hd_err *err)
{
    hd_status s = hd_params_draw(&m->params, seed, err);
    if (!s && m->opt.anchors) s = draw_anchors(m, err);
    return s || !m->opt.anchors ? s : draw_keys(m, err);
}

/* -- forward -- */

/* Where cells lie, as shares of their picture. DETR counts them from 1 to nearly 1; anchors want centers. */
static hd_tensor *places_of_cells(hd_run *r, const hd_detr *m, const hd_seg *seg)
{
    hd_real *at = hd_host_take(r, (2 * seg->rows + 1) * sizeof *at);
    if (!seg->host_grid) return hd_fail(r, HD_EARG, "detr: the backbone gives rows without a grid");
    if (!at) return NULL;
    double from = m->opt.anchors ? 0.5 : 1, more = m->opt.anchors ? 0 : 1e-6;
    size_t n = 0;
    for (size_t i = 0; i < seg->items; i++) {
        const int32_t *size = seg->host_grid + 2 * i;
        for (int32_t y = 0; y < size[0]; y++)
            for (int32_t x = 0; x < size[1]; x++, n++) {
                at[2 * n] = (hd_real)((x + from) / (size[1] + more));
                at[2 * n + 1] = (hd_real)((y + from) / (size[0] + more));
            }
    }
    return hd_sine(r, hd_from(r, seg->rows, 2, at), m->opt.stack.width / 2, m->opt.scale, m->opt.temperature);
}

hd_rows hd_detr_encode_cells(hd_run *r, const hd_detr *m, hd_rows cells, hd_tensor **place)
{
    if (!cells.t || !cells.seg) return (hd_rows){0};
    hd_probe_enter(r, "enc");
    hd_rows x = hd_rows_with(cells, hd_dense_of(r, &m->input, cells.t, HD_IDENTITY));
    *place = places_of_cells(r, m, cells.seg);
    x = hd_stack_placed(r, &m->encoder, 0, m->opt.encoder_layers, x, (hd_rows){0},
                        &(hd_places){.query = *place});
    hd_probe_leave(r);
    return x;
}

/* Cells see each other: what a picture costs grows with the square of their number. */
static bool small_enough(hd_run *r, const hd_detr *m, const hd_pixels *in)
{
    for (size_t i = 0; in && i < in->items; i++) {
        const int32_t *size = in->host_size + 2 * i;
        int cells[2];
        m->image.type->grid(&m->image.opt, size[0], size[1], cells);
        if ((double)cells[0] * cells[1] > MOST_CELLS)
            return hd_fail(r, HD_ELIMIT,
                           "a picture of %d x %d pixels becomes %d x %d cells, of which the model takes %d: "
                           "scale it "
                           "down",
                           size[1], size[0], cells[1], cells[0], MOST_CELLS) != NULL;
    }
    return true;
}

hd_rows hd_detr_encode(hd_run *r, const hd_detr *m, const hd_items *in, hd_tensor **place)
{
    if (!small_enough(r, m, in->pixels)) return (hd_rows){0};
    hd_probe_enter(r, "backbone"); /* whose layers are no layers of the encoder */
    hd_rows cells = hd_image_encoder_rows(r, &m->image, hd_image_encoder_layers(&m->image.opt), in);
    hd_probe_leave(r);
    return hd_detr_encode_cells(r, m, cells, place);
}

/* The same numbers, through which nothing flows back. */
static hd_tensor *constant(hd_run *r, const hd_tensor *x)
{
    hd_tensor *y = x ? hd_host_take(r, sizeof *y) : NULL;
    if (y) *y = *x, y->wants_grad = false, y->grad = y->base = NULL;
    return y;
}

/* The position of boxes: the code of their centers, which is that of cells, and what a layer makes of all
   four numbers. */
static hd_tensor *places_of_boxes(hd_run *r, const hd_detr *m, hd_tensor *box)
{
    size_t d = m->opt.stack.width;
    hd_tensor *code = hd_sine(r, hd_apply(r, box, HD_sigmoid), d / 2, m->opt.scale, m->opt.temperature);
    hd_tensor *more = hd_dense_of(r, &m->place[0], code, HD_relu);
    return code ? hd_add(r, hd_dense_of(r, &m->place[1], more, HD_IDENTITY), hd_slice_cols(r, code, 0, d))
                : NULL;
}

static hd_tensor *box_offsets(hd_run *r, const hd_detr *m, hd_tensor *x)
{
    for (int i = 0; i < 3; i++) x = hd_dense_of(r, &m->box[i], x, i < 2 ? HD_relu : HD_IDENTITY);
    return x;
}

/* Of the last rows, or of those of all layers. */
static hd_tensor *joined(hd_run *r, hd_tensor *const *of, size_t layers, bool all)
{
    return all && layers > 1 ? hd_concat_rows(r, of, layers) : of[layers - 1];
}

static hd_tensor *zeros(hd_run *r, hd_tensor *x)
{
    hd_clear(r, x);
    return x;
}

hd_detr_found hd_detr_decode(hd_run *r, const hd_detr *m, hd_rows memory, hd_tensor *place,
                             const hd_detr_queries *q, bool all)
{
    size_t rows = q->seg ? q->seg->rows : 0, layers = (size_t)m->opt.decoder_layers;
    hd_tensor *y[MOST_LAYERS] = {0}, *box[MOST_LAYERS] = {0}, *at = q->anchor;
    if (!memory.t || !q->seg || !at) return (hd_detr_found){0};
    hd_places p = {.self = q->groups, .memory = place};
    hd_rows x = {NULL, q->seg};
    if (m->opt.anchors)
        at = hd_gather_add(r, at, &m->query->t, q->query),
        x.t = hd_gather(r, &m->content->t, q->content, rows, 1);
    else
        x.t = zeros(r, hd_new(r, rows, m->opt.stack.width)),
        p.query = hd_gather(r, &m->query->t, q->query, rows, 1);
    hd_probe_enter(r, "dec");
    for (size_t l = 0; l < layers; l++) {
        if (m->opt.anchors) p.query = places_of_boxes(r, m, at);
        if (m->opt.reach > 0) p.cross = hd_detr_near(r, m, memory.seg, q->seg, at);
        x = hd_stack_placed(r, &m->decoder, (int)l, 1, x, memory, &p);
        y[l] = hd_norm_of(r, &m->norm, x).t;
        if (!m->opt.anchors) continue;
        at = hd_add(r, at, box_offsets(r, m, y[l]));
        box[l] = hd_apply(r, at, HD_sigmoid);
        at = constant(r, at);
    }
    hd_probe_leave(r);
    hd_detr_found f = {.last = {y[layers - 1], q->seg}, .layers = all ? layers : 1};
    hd_tensor *read = joined(r, y, layers, all);
    f.logits = hd_probe_offer(r, "logits", hd_dense_of(r, &m->label, read, HD_IDENTITY), NULL);
    if (m->opt.anchors)
        f.box = joined(r, box, layers, all);
    else if (read)
        f.box =
            hd_apply(r, hd_add(r, zeros(r, hd_new_reals(r, hd_rows_of(read), BOX)), box_offsets(r, m, read)),
                     HD_sigmoid);
    hd_probe_offer(r, "box", f.box, NULL);
    return f;
}

double hd_detr_flops(const hd_detr *m, double pictures, double cells, double queries)
{
    double d = (double)m->opt.stack.width, in = (double)hd_image_encoder_width(&m->image.opt);
    hd_stack_opt encoder = m->opt.stack, decoder = m->opt.stack;
    encoder.layers = m->opt.encoder_layers, encoder.cross = false;
    decoder.layers = m->opt.decoder_layers, decoder.cross = true;
    return hd_image_encoder_flops(&m->image, pictures) + pictures * cells * 2 * d * in +
           hd_stack_flops(&encoder, pictures, cells, 0) + hd_stack_flops(&decoder, pictures, queries, cells) +
           pictures * queries * decoder.layers * (4 * d * d + 2 * d * ((double)m->opt.labels + 5));
}
