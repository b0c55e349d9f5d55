/* Attention over a picture: its cells have names by row and column, and of the queries of a detector only
   those that found something are kept. Over sound the cells are times. */
#include <stdio.h>
#include <string.h>

#include "show/picture/scene.h"
#include "nn/frames.h"
#include "show/picture/picture.h"
#include "show/sound/spectrogram.h"

hd_status hd_attention_scene_begin(hd_attention_maps *a, const hd_model *m, const hd_attention_ask *q,
                                   const size_t layers[HD_ATTENTION_KINDS],
                                   const size_t heads[HD_ATTENTION_KINDS], hd_err *err)
{
    *a = (hd_attention_maps){.score = q->score, .place = q->place};
    hd_arena_init(&a->memory, hd_allocator_host, 1 << 14);
    for (int k = 0; k < HD_ATTENTION_KINDS; k++)
        a->part[k] = (hd_attention_part){.layers = layers[k], .heads = heads[k]};
    if (q->sound) {
        const hd_frames_host *in = q->sound->frames;
        size_t all = (size_t)in->frames[0], heard = q->sound->heard ? q->sound->heard : all;
        a->scene.height = 1, a->scene.seconds = q->sound->seconds, a->scene.begin = q->sound->begin;
        return hd_spectrogram(&a->scene.image, in->value, heard < all ? heard : all, in->bins, err);
    }
    return hd_picture_seen(&a->scene.image, q->picture, m->type->sizes(m->self).image, err);
}

bool hd_attention_scene_grid(hd_attention_maps *a, hd_run *r, const hd_seg *keys)
{
    hd_attention_scene *s = &a->scene;
    if (!keys->host_grid)
        return hd_fail(r, HD_EMISSING, "attention: the rows of the picture have no grid") != NULL;
    size_t height = (size_t)keys->host_grid[0], width = (size_t)keys->host_grid[1];
    if (s->height && (s->height != height || s->width != width || s->lead != keys->lead))
        return hd_fail(r, HD_EMISSING, "attention: the model looks at %zu x %zu and at %zu x %zu cells",
                       s->width, s->height, width, height) != NULL;
    s->height = height, s->width = width, s->lead = keys->lead;
    return true;
}

bool hd_attention_scene_times(hd_attention_maps *a, hd_run *r, size_t times)
{
    hd_attention_scene *s = &a->scene;
    if (s->width && s->width != times)
        return hd_fail(r, HD_EMISSING, "attention: the model listens to %zu and to %zu times", s->width,
                       times) != NULL;
    s->width = times;
    return true;
}

static hd_status name_token(hd_shown_token *t, hd_arena *memory, const char *name, hd_err *err)
{
    *t = (hd_shown_token){.id = -1, .piece = hd_shown_text(memory, (hd_line){name, strlen(name)}, err)};
    return t->piece ? HD_OK : HD_ENOMEM;
}

/* "class", then "row 1, column 1" and so on; of sound the middles of the times, "0.32 s". */
static hd_status name_sources(hd_attention_maps *a, hd_err *err)
{
    static const char *const leads[] = {"[class]", "[distillation]"};
    char name[64];
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < a->sources; i++) {
        size_t cell = i - a->scene.lead, width = a->scene.width;
        if (a->scene.seconds > 0)
            snprintf(name, sizeof name, "%.2f s",
                     a->scene.begin + ((double)i + 0.5) * a->scene.seconds / (double)width);
        else if (i < a->scene.lead)
            snprintf(name, sizeof name, "%s", leads[i < 2 ? i : 1]);
        else
            snprintf(name, sizeof name, "row %zu, column %zu", cell / width + 1, cell % width + 1);
        s = name_token(&a->source[i], &a->memory, name, err);
    }
    return s;
}

/* Of a detector: "query 17" finds "cat 0.98". */
static hd_status name_queries(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err)
{
    char name[64];
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < a->targets; i++) {
        snprintf(name, sizeof name, "query %zu", (q->boxes ? q->box[i].query : i) + 1);
        const char *found = q->boxes && q->box[i].name ? q->box[i].name : name;
        s = name_token(&a->input[i], &a->memory, name, err);
        if (!s) s = name_token(&a->output[i], &a->memory, found, err);
        if (!s) a->input[i].id = (int32_t)(q->boxes ? q->box[i].query : i);
    }
    return s;
}

static hd_status name_targets(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err)
{
    if (!q->targets) return name_queries(a, q, err);
    hd_status s =
        hd_shown_tokens(a->input, &a->memory, &q->start, 1, q->target_pieces, (hd_line){0}, false, err);
    return s ? s
             : hd_shown_tokens(a->output, &a->memory, q->target, q->targets, q->target_pieces, q->target_text,
                               false, err);
}

/* Only the rows of these queries; of attention among queries the columns, too. */
static hd_status keep_rows(hd_attention_part *p, hd_arena *memory, const hd_attention_ask *q, bool both,
                           hd_err *err)
{
    hd_attention_part kept = *p;
    if (!p->layers) return HD_OK;
    kept.rows = q->boxes, kept.cols = both ? q->boxes : p->cols;
    hd_status s = hd_attention_part_make(&kept, memory, err);
    for (size_t i = 0; !s && i < q->boxes; i++)
        if (q->box[i].query >= p->rows)
            s = hd_err_set(err, HD_EARG, "attention: there is no query %zu among %zu", q->box[i].query,
                           p->rows);
    for (size_t k = 0; !s && k < p->layers * p->heads; k++)
        for (size_t i = 0; i < kept.rows; i++) {
            const float *from = p->weight + (k * p->rows + q->box[i].query) * p->cols;
            float *to = kept.weight + (k * kept.rows + i) * kept.cols;
            for (size_t j = 0; j < kept.cols; j++) to[j] = from[both ? q->box[j].query : j];
        }
    if (!s) *p = kept;
    return s;
}

static hd_status keep_boxes(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err)
{
    float *box = hd_arena_array(&a->memory, 4 * q->boxes + 1, sizeof *box, err);
    if (!box) return HD_ENOMEM;
    for (size_t i = 0; i < q->boxes; i++) {
        const hd_attention_box *b = &q->box[i];
        memcpy(box + 4 * i, (const float[]){b->x, b->y, b->width, b->height}, 4 * sizeof *box);
    }
    a->scene.box = box;
    hd_status s = keep_rows(&a->part[HD_ATTENTION_CROSS], &a->memory, q, false, err);
    return s ? s : keep_rows(&a->part[HD_ATTENTION_DECODER], &a->memory, q, true, err);
}

static hd_status keep_aligned(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err)
{
    hd_attention_head *kept = hd_arena_array(&a->memory, q->alignings, sizeof *kept, err);
    if (!kept) return HD_ENOMEM;
    memcpy(kept, q->aligned, q->alignings * sizeof *kept);
    a->aligned = kept, a->alignings = a->part[HD_ATTENTION_CROSS].layers ? q->alignings : 0;
    return HD_OK;
}

hd_status hd_attention_scene_names(hd_attention_maps *a, const hd_attention_ask *q, hd_err *err)
{
    hd_status s = q->boxes ? keep_boxes(a, q, err) : HD_OK;
    if (s) return s;
    /* an encoder whose later layers have fewer rows attends to other times than the decoder */
    if (q->sound && a->part[HD_ATTENTION_ENCODER].cols != a->scene.width)
        a->part[HD_ATTENTION_ENCODER] = (hd_attention_part){0};
    a->sources = a->scene.lead + a->scene.height * a->scene.width;
    a->targets = q->targets                           ? q->targets
                 : a->part[HD_ATTENTION_CROSS].layers ? a->part[HD_ATTENTION_CROSS].rows
                                                      : 0;
    a->source = hd_arena_array(&a->memory, a->sources + 2 * a->targets + 1, sizeof *a->source, err);
    if (!a->source) return HD_ENOMEM;
    /* a caption's output is its input one later; what queries ask and find is told apart */
    a->input = a->source + a->sources, a->output = q->targets ? a->input + 1 : a->input + a->targets;
    s = q->alignings ? keep_aligned(a, q, err) : HD_OK;
    if (!s) s = name_sources(a, err);
    if (!s && a->targets) s = name_targets(a, q, err);
    const hd_line given[] = {{q->name, q->name ? strlen(q->name) : 0}, q->sentence, q->translation};
    const char **const text[] = {&a->scene.name, &a->sentence, &a->translation};
    for (size_t i = 0; !s && i < sizeof text / sizeof *text; i++)
        if (given[i].text && !(*text[i] = hd_shown_text(&a->memory, given[i], err))) s = HD_ENOMEM;
    if (!s && !a->sentence) a->sentence = a->scene.name;
    return s;
}
