/* Attention maps: their names, their memory, and the one that is picked to be drawn. */
#include "show/attention.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

const char *const hd_attention_choices[] = {"auto",
#define X(id, name, stack, sublayer, title) name,
                                            HD_ATTENTION_LIST(X)
#undef X
                                                NULL};

void hd_attention_release(hd_attention_maps *a)
{
    hd_arena_release(&a->memory);
    hd_image_release(&a->scene.image);
    *a = (hd_attention_maps){0};
}

hd_status hd_attention_part_make(hd_attention_part *p, hd_arena *memory, hd_err *err)
{
    size_t layer, cells, all;
    if (!hd_size_mul(p->rows, p->cols, &cells) || !hd_size_mul(cells, p->heads, &layer) ||
        !hd_size_mul(layer, p->layers, &all))
        return hd_err_set(err, HD_ELIMIT, "attention of %zu over %zu tokens does not fit in memory", p->rows,
                          p->cols);
    p->weight = hd_arena_array(memory, all, sizeof *p->weight, err);
    return p->weight ? HD_OK : HD_ENOMEM;
}

hd_status hd_attention_init(hd_attention_maps *out, size_t sources, size_t targets,
                            const size_t layers[HD_ATTENTION_KINDS], const size_t heads[HD_ATTENTION_KINDS],
                            hd_err *err)
{
    hd_attention_maps a = {.sources = sources, .targets = targets};
    hd_arena_init(&a.memory, hd_allocator_host, 1 << 14);
    a.source = hd_arena_array(&a.memory, sources + targets + 1, sizeof *a.source, err);
    hd_status s = a.source ? HD_OK : HD_ENOMEM;
    if (!s) a.input = a.source + sources, a.output = a.input + 1;
    for (int k = 0; !s && k < HD_ATTENTION_KINDS; k++) {
        a.part[k] = (hd_attention_part){.layers = layers[k],
                                        .heads = heads[k],
                                        .rows = k == HD_ATTENTION_ENCODER ? sources : targets,
                                        .cols = k == HD_ATTENTION_DECODER ? targets : sources,
                                        .masked = k == HD_ATTENTION_DECODER};
        s = hd_attention_part_make(&a.part[k], &a.memory, err);
    }
    if (s) hd_attention_release(&a);
    *out = a;
    return s;
}

hd_status hd_attention_pick_check(const hd_attention_pick *p, hd_attention_kind k, size_t layers,
                                  size_t heads, hd_err *err)
{
    if (!layers) return hd_err_set(err, HD_EARG, "the model has no %s", hd_attention_title(k));
    if (p->layer < 0 || (size_t)p->layer > layers)
        return hd_err_set(err, HD_EARG, "there is no layer %d in %s: they are 1 to %zu", p->layer,
                          hd_attention_title(k), layers);
    if (p->head < 0 || (size_t)p->head > heads)
        return hd_err_set(err, HD_EARG, "there is no head %d in %s: they are 1 to %zu", p->head,
                          hd_attention_title(k), heads);
    return HD_OK;
}

/* A model with only an encoder or a decoder has its own self-attention; one with both shows
   cross-attention. */
static hd_attention_kind kind_of(const hd_attention_maps *a, const hd_attention_pick *p)
{
    if (p->kind) return (hd_attention_kind)(p->kind - 1);
    return !a->targets ? HD_ATTENTION_ENCODER : !a->sources ? HD_ATTENTION_DECODER : HD_ATTENTION_CROSS;
}

static void mean_of_heads(float *to, const hd_attention_part *p, size_t layer)
{
    for (size_t i = 0; i < p->rows * p->cols; i++) {
        double sum = 0;
        for (size_t h = 0; h < p->heads; h++) sum += (double)hd_attention_at(p, layer, h)[i];
        to[i] = (float)(sum / (double)p->heads);
    }
}

static void mean_of_aligned(float *to, const hd_attention_part *p, const hd_attention_maps *a)
{
    for (size_t i = 0; i < p->rows * p->cols; i++) {
        double sum = 0;
        for (size_t k = 0; k < a->alignings; k++)
            sum += (double)hd_attention_at(p, (size_t)a->aligned[k].layer, (size_t)a->aligned[k].head)[i];
        to[i] = (float)(sum / (double)a->alignings);
    }
}

/* to = (A + I) / 2 times from, both [n, n]. */
static void follow(float *to, const float *a, const float *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) to[i * n + j] = from[i * n + j] / 2;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n; j++) to[i * n + j] += a[i * n + k] / 2 * from[k * n + j];
    }
}

hd_status hd_attention_rollout(float **out, const hd_attention_part *p, hd_err *err)
{
    size_t n = p->rows, cells = n * n; /* hd_attention_part_make checked that it does not overflow */
    float *room = hd_mem_array(3 * cells + 1, sizeof *room);
    if (!room) return hd_err_nomem(err, 3 * cells * sizeof *room);
    float *now = room, *next = room + cells, *mean = next + cells;
    for (size_t i = 0; i < cells; i++) now[i] = i % (n + 1) ? 0 : 1;
    for (size_t l = 0; l < p->layers; l++) {
        mean_of_heads(mean, p, l);
        follow(next, mean, now, n);
        float *t = now;
        now = next, next = t;
    }
    if (now != room) memcpy(room, now, cells * sizeof *room);
    *out = room;
    return HD_OK;
}

static bool has_unknown(const hd_shown_token *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (t[i].word) return true;
    return false;
}

hd_status hd_attention_map_of(hd_attention_map *out, const hd_attention_maps *a,
                              const hd_attention_pick *pick, hd_err *err)
{
    hd_attention_kind k = kind_of(a, pick);
    const hd_attention_part *p = &a->part[k];
    hd_status s = hd_attention_pick_check(pick, k, p->layers, p->heads, err);
    if (s) return s;
    const hd_shown_token *own = k == HD_ATTENTION_DECODER ? a->input : a->source;
    hd_attention_map m = {.kind = k,
                          .place = a->place,
                          .alone = !a->sources || !a->targets,
                          .masked = p->masked,
                          .layer = pick->layer ? (size_t)pick->layer : p->layers,
                          .layers = p->layers,
                          .head = (size_t)pick->head,
                          .heads = p->heads,
                          .aligned =
                              k == HD_ATTENTION_CROSS && !pick->layer && !pick->head ? a->alignings : 0,
                          .rows = p->rows,
                          .cols = p->cols,
                          .row = k == HD_ATTENTION_CROSS ? a->output : own,
                          .col = own};
    m.unknown = has_unknown(m.row, m.rows) || has_unknown(m.col, m.cols);
    size_t cells = p->rows * p->cols; /* hd_attention_part_make checked that it does not overflow */
    m.weight = hd_mem_array(cells, sizeof *m.weight);
    if (!m.weight) return hd_err_nomem(err, cells * sizeof *m.weight);
    if (m.aligned)
        mean_of_aligned(m.weight, p, a);
    else if (m.head)
        memcpy(m.weight, hd_attention_at(p, m.layer - 1, m.head - 1), cells * sizeof *m.weight);
    else
        mean_of_heads(m.weight, p, m.layer - 1);
    *out = m;
    return HD_OK;
}

void hd_attention_map_release(hd_attention_map *m)
{
    hd_mem_free(m->weight);
    *m = (hd_attention_map){0};
}

const char *hd_attention_map_title(const hd_attention_map *m, char *buf, size_t size)
{
    char place[80] = "";
    if (m->place.parts > 1)
        snprintf(place, sizeof place, "line %zu, part %zu of %zu: ", m->place.line, m->place.part,
                 m->place.parts);
    int n = snprintf(buf, size, "%s%s, ", place, hd_attention_title(m->kind));
    if (n >= 0 && (size_t)n < size && !m->aligned)
        n += snprintf(buf + n, size - (size_t)n, "layer %zu of %zu, ", m->layer, m->layers);
    size_t at = n < 0 || (size_t)n >= size ? size : (size_t)n;
    if (m->aligned)
        snprintf(buf + at, size - at, "mean of %zu alignment heads", m->aligned);
    else if (m->head || m->heads == 1)
        snprintf(buf + at, size - at, "head %zu of %zu", m->head ? m->head : 1, m->heads);
    else
        snprintf(buf + at, size - at, "mean of %zu heads", m->heads);
    if (size) buf[0] = (char)toupper((unsigned char)buf[0]);
    return buf;
}
