/* What the decoder of a DETR begins with. Easy to get wrong: queries must not see the groups, which know the
   truth, and a group no other group; they are segments of their own over copies of the rows they may see. */
#include <math.h>

#include "model/vision/detr.h"

enum { BOX = 4 };

typedef struct shape { /* of a batch, in host memory */
    size_t pictures, queries, groups, rows, seen;
    size_t *objects; /* [pictures] in each group */
} shape;

static bool shape_of(hd_run *r, shape *s, const hd_detr *m, size_t pictures, const hd_detr_truth *truth,
                     const hd_detr_noise *noise)
{
    *s = (shape){.pictures = pictures,
                 .queries = m->opt.queries,
                 .groups = noise && m->opt.anchors ? (size_t)noise->groups : 0,
                 .objects = hd_host_take(r, (pictures + 1) * sizeof *s->objects)};
    if (!s->objects) return false;
    for (size_t i = 0; i < pictures; i++) {
        if (s->groups) s->objects[i] = truth->first[i + 1] - truth->first[i];
        s->rows += s->queries + s->groups * s->objects[i];
        s->seen += s->queries + s->groups * (s->queries + s->objects[i]);
    }
    return true;
}

/* Pictures as rows of the decoder; as many items as the memory has. */
static const hd_seg *picture_rows(hd_run *r, const shape *s, const hd_seg *memory)
{
    int32_t *len = hd_host_take(r, (s->pictures + 1) * sizeof *len);
    hd_bounds b = {.items = memory->items, .rows = s->rows};
    if (!len) return NULL;
    for (size_t i = 0; i < s->pictures; i++) {
        size_t n = s->queries + s->groups * s->objects[i];
        len[i] = (int32_t)n;
        if (n > b.longest) b.longest = n;
    }
    hd_seg *seg = hd_seg_within(r, len, s->pictures, NULL, b);
    if (seg) seg->key = memory->key;
    return seg;
}

/* Groups of rows, and the rows they see: of a picture the queries, then each group with the queries. */
static hd_sight groups_of(hd_run *r, const shape *s)
{
    size_t items = s->pictures * (1 + s->groups), n = 0, at = 0, i = 0;
    int32_t *asking = hd_host_take(r, 2 * (items + 1) * sizeof *asking),
            *asked = asking ? asking + items : NULL, *seen = hd_host_take(r, (s->seen + 1) * sizeof *seen);
    if (!s->groups || !asking || !seen) return (hd_sight){0};
    for (size_t k = 0; k < s->pictures; k++) {
        size_t first = at;
        for (size_t g = 0; g <= s->groups; g++, i++) {
            size_t own = g ? s->objects[k] : s->queries;
            asking[i] = (int32_t)own, asked[i] = (int32_t)(own + (g ? s->queries : 0));
            for (size_t j = 0; g && j < s->queries; j++) seen[n++] = (int32_t)(first + j);
            for (size_t j = 0; j < own; j++) seen[n++] = (int32_t)at++;
        }
    }
    return (hd_sight){.rows = hd_ints(r, seen, s->seen),
                      .asking = hd_seg_of(r, asking, items, NULL),
                      .asked = hd_seg_of(r, asked, items, NULL)};
}

static hd_real logit(double x)
{
    const double least = 1e-4;
    x = x < least ? least : x > 1 - least ? 1 - least : x;
    return (hd_real)log(x / (1 - x));
}

static double around(hd_rng *rng)
{
    return 2 * hd_rng_unit(rng) - 1;
}

/* An object with its label replaced at random and its box moved; returns the label. */
static int32_t noised(hd_real box[BOX], const hd_detr_object *o, const hd_detr_noise *how, size_t labels,
                      hd_rng *rng)
{
    double w = (double)o->width, h = (double)o->height, most = (double)how->box;
    int32_t any = (int32_t)hd_rng_below(rng, (uint32_t)labels);
    bool replaced = hd_rng_unit(rng) < (double)how->label;
    double x = (double)o->x + around(rng) * most * w / 2, y = (double)o->y + around(rng) * most * h / 2;
    box[0] = logit(x), box[1] = logit(y);
    box[2] = logit(w * (1 + around(rng) * most)), box[3] = logit(h * (1 + around(rng) * most));
    return replaced ? any : o->label;
}

hd_detr_queries hd_detr_ask(hd_run *r, const hd_detr *m, const hd_seg *memory, size_t pictures,
                            const hd_detr_truth *truth, const hd_detr_noise *noise)
{
    shape s;
    if (!memory || !shape_of(r, &s, m, pictures, truth, noise)) return (hd_detr_queries){0};
    int32_t *query = hd_host_take(r, 2 * (s.rows + 1) * sizeof *query), *content = query + s.rows;
    hd_real *box = hd_host_take(r, (s.rows * BOX + 1) * sizeof *box);
    if (!query || !box) return (hd_detr_queries){0};
    for (size_t k = 0, at = 0; k < pictures; k++) {
        for (size_t j = 0; j < s.queries; j++, at++) query[at] = content[at] = (int32_t)j;
        if (!s.groups) continue;
        hd_rng rng = hd_rng_make(noise->seed, noise->key ? noise->key[k] : k);
        const hd_detr_object *o = truth->object + truth->first[k];
        for (size_t j = 0; j < s.groups * s.objects[k]; j++, at++) {
            query[at] = -1;
            content[at] =
                (int32_t)s.queries + noised(box + at * BOX, &o[j % s.objects[k]], noise, m->opt.labels, &rng);
        }
    }
    return (hd_detr_queries){.seg = picture_rows(r, &s, memory),
                             .query = hd_ints(r, query, s.rows),
                             .content = hd_ints(r, content, s.rows),
                             .anchor = hd_from(r, s.rows, BOX, box),
                             .groups = groups_of(r, &s)};
}
