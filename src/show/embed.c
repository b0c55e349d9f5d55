/* Lines to vectors. Easy to get wrong: lines are read in order of length, and every vector must go to its
   own line. */
#include "show/embed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nn/pixels.h"
#include "task/label/labeler.h"

#define X(NAME, name, text, reduction) reduction,
static const hd_reduction reductions[HD_POOLINGS] = {HD_POOLING_LIST(X)};
#undef X

typedef struct sentence {
    size_t line, begin, size; /* what is read of it: ids of all lines */
} sentence;

typedef struct job {
    hd_run *r;
    const hd_model_folder *by;
    hd_model body;    /* whose rows they are */
    hd_embed_opt opt; /* settled */
    hd_embeddings *out;
    sentence *at; /* those with tokens */
    size_t count;
} job;

/* Defaults from the model folder for options that were not given. */
static hd_embed_opt settle(const hd_model_folder *m, const hd_embed_opt *asked)
{
    hd_embed_opt o = *asked;
    if (o.pool != HD_POOLING_AUTO) return o;
    bool sentences = m->pool != HD_POOLING_AUTO;
    if (m->pictures && hd_labeler_kind(m) && hd_model_folder_classifier(m)->opt.pool == HD_POOL_first) {
        o.pool = HD_POOLING_FIRST; /* the class token */
        return o;
    }
    o.pool = sentences ? m->pool : HD_POOLING_MEAN;
    o.normalize |= sentences && m->normalize;
    return o;
}

hd_status hd_embed_check(const hd_model_folder *f, const hd_embed_opt *asked, hd_err *err)
{
    const hd_model body = hd_model_body(&f->model), *m = &body;
    const hd_embed_opt settled = settle(f, asked), *opt = &settled;
    const char *kind = m->type->name;
    const hd_model_sizes sizes = m->type->sizes(m->self);
    int layers = sizes.layers;
    bool last = !opt->table && (!opt->layer || opt->layer == layers);
    if (opt->table && !m->type->table)
        return hd_err_set(err, HD_EARG, "a model of kind %s has no embedding table", kind);
    if (!opt->table && !m->type->rows)
        return hd_err_set(
            err, HD_EARG,
            "a model of kind %s has no hidden states: use rnn, gru, lstm, gpt, bert or a translator", kind);
    if (!opt->table && (opt->layer < 0 || opt->layer > layers))
        return hd_err_set(err, HD_ELIMIT,
                          "there is no layer %d: the model has %d, and 0 is its embedding table", opt->layer,
                          layers);
    if (opt->pool == HD_POOLING_POOLER && !(sizes.pooler && last))
        return hd_err_set(err, HD_ELIMIT,
                          "there is no pooler %s: only a BERT that was published with one has it, behind its "
                          "last layer",
                          last ? "in this model" : "behind this layer");
    return HD_OK;
}

/* -- lines as ids -- */

static hd_status refuse(hd_embedded *to, hd_status status, const char *why)
{
    to->status = status, to->why = why;
    return HD_OK;
}

/* Cuts a line to `most` tokens and returns its size: the end token is kept. */
static size_t cut(job *j, size_t begin, size_t size, size_t most)
{
    hd_ids *ids = &j->out->ids;
    if (j->by->end) ids->at[begin + most - 1] = ids->at[begin + size - 1];
    ids->count = begin + most;
    return most;
}

static hd_status add_line(job *j, size_t number, hd_line line, hd_err *err)
{
    hd_embedded *to = &j->out->of[number];
    hd_ids *ids = &j->out->ids;
    size_t begin = ids->count, around = (size_t)j->by->start + j->by->end;
    if (hd_utf8_good(line.text, line.size) < line.size) return refuse(to, HD_EFORMAT, "not UTF-8");
    if (memchr(line.text, 0, line.size)) return refuse(to, HD_EFORMAT, "holds a zero byte");
    hd_status s = hd_model_folder_encode(j->by, line, ids, err);
    if (s) return s;
    size_t size = ids->count - begin, most = j->by->longest;
    if (j->opt.cut && size > most && most > around) size = cut(j, begin, size, most);
    if (size > around && size <= most) {
        j->at[j->count++] = (sentence){number, begin, size};
        return HD_OK;
    }
    ids->count = begin;
    return size > around ? refuse(to, HD_ELIMIT, "longer than the model can take") : HD_OK;
}

/* Longest first: a recurrent layer runs as many steps as the longest line of a batch, and later batches
   reuse the memory. */
static int by_length(const void *a, const void *b)
{
    const sentence *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* -- rows -- */

static hd_rows read_batch(const job *j, const int32_t *ids, const hd_seg *seg)
{
    const hd_model *m = &j->body;
    int layers = j->opt.layer ? j->opt.layer : m->type->sizes(m->self).layers;
    if (!seg) return (hd_rows){0};
    if (!j->opt.table) return m->type->rows(j->r, m->self, layers, &(hd_items){.seg = seg, .ids = ids});
    return (hd_rows){hd_embed(j->r, &m->type->table(m->self)->t, ids, seg->rows, 1), seg};
}

/* The rows to return: all, or those after the first of each line. len: of the lines; updated to match. */
static hd_rows kept_rows(const job *j, hd_rows x, int32_t *len, size_t items)
{
    if (!j->by->drops_start || !x.t) return x;
    int32_t *index = hd_host_take(j->r, hd_rows_of(x.t) * sizeof *index), row = 0;
    size_t n = 0;
    for (size_t i = 0; index && i < items; row += len[i++])
        for (int32_t k = 1; k < len[i]; k++) index[n++] = row + k;
    for (size_t i = 0; i < items; i++) len[i]--;
    hd_tensor *kept = hd_gather(j->r, x.t, hd_ints(j->r, index, n), n, 1);
    return (hd_rows){kept, hd_seg_of(j->r, len, items, NULL)};
}

/* Pools the rows of a batch. */
static hd_tensor *pooled(const job *j, hd_rows x)
{
    hd_pooling pool = j->opt.pool;
    if (pool == HD_POOLING_NONE) return x.t;
    return pool == HD_POOLING_POOLER ? j->body.type->pooled(j->r, j->body.self, x)
                                     : hd_reduce(j->r, x.t, x.seg, reductions[pool]);
}

static void scale(hd_real *v, size_t width, double by)
{
    for (size_t c = 0; c < width; c++) v[c] = (hd_real)((double)v[c] * by);
}

static void normalize(hd_real *v, size_t width)
{
    double sum = 0;
    for (size_t c = 0; c < width; c++) sum += (double)v[c] * (double)v[c];
    scale(v, width, sum > 0 ? 1 / sqrt(sum) : 0);
}

static hd_status hand_out(job *j, const sentence *q, size_t items, const hd_real *all, hd_err *err)
{
    size_t width = j->out->width, before = j->by->drops_start;
    for (size_t i = 0; i < items; i++) {
        hd_embedded *to = &j->out->of[q[i].line];
        size_t tokens = q[i].size - before, vectors = j->opt.pool == HD_POOLING_NONE ? tokens : 1;
        hd_real *v = hd_arena_array(&j->out->memory, vectors * width, sizeof *v, err);
        if (!v) return HD_ENOMEM;
        memcpy(v, all, vectors * width * sizeof *v);
        all += vectors * width;
        if (j->opt.pool == HD_POOLING_SQRT) scale(v, width, sqrt((double)tokens));
        for (size_t k = 0; j->opt.normalize && k < vectors; k++) normalize(v + k * width, width);
        *to = (hd_embedded){
            .ids = j->out->ids.at + q[i].begin + before, .tokens = tokens, .vectors = vectors, .vector = v};
    }
    return HD_OK;
}

static hd_status embed_batch(job *j, const sentence *q, size_t items, size_t rows, hd_err *err)
{
    hd_run *r = j->r;
    hd_run_begin(r, HD_INFERENCE);
    int32_t *ids = hd_host_take(r, rows * sizeof *ids), *len = hd_host_take(r, items * sizeof *len);
    if (!ids || !len) return hd_run_status(r, err);
    for (size_t i = 0, row = 0; i < items; row += q[i++].size) {
        memcpy(ids + row, j->out->ids.at + q[i].begin, q[i].size * sizeof *ids);
        len[i] = (int32_t)q[i].size;
    }
    hd_rows x = read_batch(j, hd_ints(r, ids, rows), hd_seg_of(r, len, items, NULL));
    hd_tensor *y = pooled(j, kept_rows(j, x, len, items));
    hd_real *all = y ? hd_host_take(r, hd_count_of(y) * sizeof *all) : NULL;
    if (all) hd_read_output(r, y, all);
    hd_status s = hd_run_status(r, err);
    return s ? s : hand_out(j, q, items, all, err);
}

static hd_status embed_all(job *j, hd_err *err)
{
    size_t most = j->opt.rows ? j->opt.rows : HD_EMBED_ROWS;
    hd_status s = HD_OK;
    for (size_t from = 0, to; !s && from < j->count; from = to) {
        size_t rows = j->at[from].size;
        for (to = from + 1; to < j->count && rows + j->at[to].size <= most; to++) rows += j->at[to].size;
        s = embed_batch(j, j->at + from, to - from, rows, err);
    }
    return s;
}

hd_status hd_embed_lines(hd_embeddings *out, hd_run *r, const hd_model_folder *m, const hd_line *line,
                         size_t count, const hd_embed_opt *opt, hd_err *err)
{
    job j = {.r = r, .by = m, .body = hd_model_body(&m->model), .opt = settle(m, opt), .out = out};
    *out = (hd_embeddings){.count = count};
    hd_arena_init(&out->memory, hd_allocator_host, 1 << 16);
    hd_status s = hd_embed_check(m, opt, err);
    if (!s)
        out->width = opt->table ? hd_cols_of(&j.body.type->table(j.body.self)->t)
                                : j.body.type->width(j.body.self, opt->layer);
    if (!s && !(out->of = hd_arena_array(&out->memory, count, sizeof *out->of, err))) s = HD_ENOMEM;
    if (!s && !(j.at = hd_mem_array(count + 1, sizeof *j.at))) s = hd_err_nomem(err, count * sizeof *j.at);
    for (size_t i = 0; !s && i < count; i++) s = add_line(&j, i, line[i], err);
    if (!s) qsort(j.at, j.count, sizeof *j.at, by_length);
    if (!s) s = embed_all(&j, err);
    hd_mem_free(j.at);
    if (s) hd_embeddings_release(out);
    return s;
}

/* -- pictures -- */

static hd_status embed_picture(job *j, const hd_image *read, const hd_image_prepare *p, hd_err *err)
{
    hd_run *r = j->r;
    const hd_model *m = &j->body;
    hd_pixels pixels;
    hd_run_begin(r, HD_INFERENCE);
    hd_pixels_send_images(r, &pixels, &read, 1, p);
    int layers = j->opt.layer ? j->opt.layer : m->type->sizes(m->self).layers;
    hd_rows x =
        r->err.status ? (hd_rows){0} : m->type->rows(r, m->self, layers, &(hd_items){.pixels = &pixels});
    hd_tensor *y = x.t ? pooled(j, x) : NULL;
    hd_real *all = y ? hd_host_take(r, hd_count_of(y) * sizeof *all) : NULL;
    if (all) hd_read_output(r, y, all);
    hd_status s = hd_run_status(r, err);
    const sentence one = {.size = s ? 0 : hd_rows_of(x.t)};
    return s ? s : hand_out(j, &one, 1, all, err);
}

hd_status hd_embed_picture(hd_embeddings *out, hd_run *r, const hd_model_folder *m, const hd_image *picture,
                           const hd_embed_opt *opt, hd_err *err)
{
    job j = {.r = r, .by = m, .body = hd_model_body(&m->model), .opt = settle(m, opt), .out = out};
    const hd_image_prepare *p = j.body.type->sizes(j.body.self).image;
    hd_image read = {0};
    *out = (hd_embeddings){.count = 1, .width = j.body.type->width(j.body.self, opt->layer)};
    hd_arena_init(&out->memory, hd_allocator_host, 1 << 16);
    hd_status s = (out->of = hd_arena_array(&out->memory, 1, sizeof *out->of, err)) ? HD_OK : HD_ENOMEM;
    if (!s) s = hd_image_prepared(&read, picture, p, err);
    if (!s) s = embed_picture(&j, &read, p, err);
    hd_image_release(&read);
    if (s) hd_embeddings_release(out);
    return s;
}

void hd_embeddings_release(hd_embeddings *e)
{
    hd_arena_release(&e->memory);
    hd_ids_release(&e->ids);
    *e = (hd_embeddings){0};
}
