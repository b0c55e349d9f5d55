/* heed_embed. */
#include "api/api.h"
#include "base/mem.h"
#include "show/embed.h"

_Static_assert((int)HEED_POOLING_AUTO == (int)HD_POOLING_AUTO &&
                   (int)HEED_POOLING_MEAN == (int)HD_POOLING_MEAN &&
                   (int)HEED_POOLING_LAST == (int)HD_POOLING_LAST &&
                   (int)HEED_POOLING_MAX == (int)HD_POOLING_MAX &&
                   (int)HEED_POOLING_FIRST == (int)HD_POOLING_FIRST,
               "heed_pooling and hd_pooling differ");

static const heed_embed_options defaults = {.size = sizeof defaults};

void heed_embed_options_init(heed_embed_options *options, size_t size)
{
    hd_api_defaults(options, size, &defaults, sizeof defaults);
}

static const float *floats_of(hd_api_held *h, const hd_real *x, size_t count)
{
    float *to = hd_api_take(h, count, sizeof *to);
    for (size_t i = 0; to && i < count; i++) to[i] = (float)x[i];
    return to;
}

static hd_status give(heed_vectors **out, heed_model *m, const hd_embeddings *e, hd_err *err)
{
    hd_api_held *h;
    heed_vectors *shown = hd_api_hold(&h, sizeof *shown, m, err);
    if (!shown) return HD_ENOMEM;
    heed_vector *all = hd_api_take(h, e->count, sizeof *all);
    const heed_vector **at = hd_api_take(h, e->count, sizeof *at);
    for (size_t i = 0; at && i < e->count; i++) {
        const hd_embedded *v = &e->of[i];
        all[i] = (heed_vector){.status = (heed_status)v->status,
                               .error = v->status ? v->why : "",
                               .tokens = v->tokens,
                               .value = v->vectors ? floats_of(h, v->vector, e->width) : NULL};
        at[i] = &all[i];
    }
    *shown = (heed_vectors){.count = e->count, .width = e->width, .vector = at};
    return hd_api_give(out, shown, h, HD_OK, err);
}

void heed_vectors_free(heed_vectors *vectors)
{
    hd_api_drop(vectors);
}

static hd_status embed(heed_vectors **out, heed_context *c, const char *const *text, size_t count,
                       const heed_embed_options *given, hd_err *err)
{
    heed_embed_options o = defaults;
    hd_embeddings found = {0};
    hd_status s = hd_api_options(&o, sizeof o, given, "heed_embed_options", err);
    if (!s && (unsigned)o.pooling > HEED_POOLING_FIRST)
        s = hd_err_set(err, HD_EARG, "there is no pooling %d", (int)o.pooling);
    const hd_embed_opt opt = {.pool = (hd_pooling)o.pooling, .normalize = o.normalize, .cut = !o.whole};
    if (!s) s = hd_embed_check(&c->model->folder, &opt, err);
    hd_line *line = s ? NULL : hd_mem_array(count, sizeof *line);
    if (!s && !line) s = hd_err_nomem(err, count * sizeof *line);
    if (!s) s = hd_api_lines(line, text, o.line_size, count, "line", false, err);
    if (!s) s = hd_embed_lines(&found, &c->run, &c->model->folder, line, count, &opt, err);
    if (!s) s = give(out, c->model, &found, err);
    hd_embeddings_release(&found);
    hd_mem_free(line);
    return s;
}

heed_status heed_embed(heed_context *context, const char *const *lines, size_t count,
                       const heed_embed_options *options, heed_vectors **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !lines && count ? "lines" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_embed", missing, &err);
    const bool entered = !s;
    if (!s) s = embed(out, context, lines, count, options, &err);
    return hd_api_leave(context, entered, error, &err, s);
}
