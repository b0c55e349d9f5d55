/* Encoder-decoders, one decoder row a step. */
#include "model/encdec/encdec.h"

#include "base/mem.h"
#include "model/encdec/narrowing.h"
#include "model/stepper_parts.h"
#include "nn/frames.h"
#include "nn/pixels.h"

static hd_tensor *decode(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg,
                         hd_encoded memory)
{
    const hd_encdec *m = s->model;
    hd_rows x = hd_encdec_decode(r, m, ids, seg, memory, s->cache);
    return hd_stepping_end(r, s,
                           s->narrow ? hd_narrowing_logits(r, s->narrow, hd_encdec_output_rows(r, m, x))
                                     : hd_encdec_logits(r, m, x));
}

/* The item of a picture is one token, its number in the batch; they join in order. */
static hd_encoded read_pictures(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_encdec *m = s->model;
    const hd_image_batch *all = s->pictures;
    size_t first = (size_t)a->ids[0], behind = first + a->items;
    size_t from = (size_t)all->begin[first],
           to = behind < all->items ? (size_t)all->begin[behind] : all->byte_count;
    int32_t *begin = hd_host_take(r, a->items * sizeof *begin);
    hd_pixels pixels;
    if (!begin) return (hd_encoded){0};
    for (size_t i = 0; i < a->items; i++) begin[i] = all->begin[first + i] - (int32_t)from;
    const hd_image_batch part = {.items = a->items,
                                 .bytes = all->bytes + from,
                                 .byte_count = to - from,
                                 .begin = begin,
                                 .size = all->size + 2 * first,
                                 .channels = all->channels};
    if (!hd_pixels_send(r, &pixels, &part, &m->opt.image.prepare)) return (hd_encoded){0};
    return hd_encdec_encode(r, m, &(hd_items){.pixels = &pixels});
}

/* The same of sound. */
static hd_encoded read_sounds(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_encdec *m = s->model;
    const hd_frames_host *all = s->sounds;
    size_t first = (size_t)a->ids[0], from = 0;
    hd_frames frames;
    for (size_t i = 0; i < first; i++) from += (size_t)all->frames[i];
    const hd_frames_host part = {.value = all->value + from * all->bins,
                                 .frames = all->frames + first,
                                 .items = a->items,
                                 .bins = all->bins,
                                 .grid = hd_sound_encoder_grid(&m->opt.sound)};
    if (!hd_frames_send(r, &frames, &part)) return (hd_encoded){0};
    return hd_encdec_encode(r, m, &(hd_items){.frames = &frames});
}

static hd_encoded read_tokens(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    return hd_encdec_encode(
        r, s->model,
        &(hd_items){.seg = hd_seg_of(r, a->len, a->items, NULL), .ids = hd_ints(r, a->ids, a->rows)});
}

/* Encoder rows live in step memory, which is why they are made in the step that puts them into the cache. */
static hd_encoded read_items(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    return s->pictures ? read_pictures(r, s, a) : s->sounds ? read_sounds(r, s, a) : read_tokens(r, s, a);
}

static hd_tensor *read(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    int32_t *start = hd_host_take(r, (a->items + 1) * sizeof *start);
    for (size_t i = 0; start && i < a->items; i++) start[i] = s->start;
    hd_encoded memory = read_items(r, s, a);
    return decode(r, s, start ? hd_ints(r, start, a->items) : NULL, hd_single_rows(r, a->items), memory);
}

/* One stack of blocks asks nothing else of the source than its keys and values. */
static bool keeps(const hd_encdec *m)
{
    return !hd_encdec_recurs(m) && m->stacks == 1 && hd_stack_fills(&m->stack[0]);
}

static bool keep(hd_run *r, const hd_stepping *s, const hd_arrivals *a)
{
    const hd_encdec *m = s->model;
    hd_rows rows = read_items(r, s, a).rows;
    if (m->fit.w && rows.t) rows.t = hd_dense_of(r, &m->fit, rows.t, HD_IDENTITY);
    return hd_stack_fill(r, &m->stack[0], rows, hd_cache_slot(s->cache, 0));
}

static hd_tensor *forward(hd_run *r, const hd_stepping *s, const int32_t *ids, const hd_seg *seg)
{
    return decode(r, s, ids, seg, (hd_encoded){0});
}

static hd_tensor *step_looking(hd_run *r, void *context, const int32_t *ids, size_t seats)
{
    const hd_stepping *s = context;
    const hd_encdec *m = s->model;
    hd_tensor *y = hd_stepping_step(r, context, ids, seats);
    /* here and not in the decoder: a captured step is replayed without it */
    hd_recurrent_decoder_drop_look(&m->cells, hd_cache_slot(s->cache, 0));
    return y;
}

/* The parents that live on, each once, and for every hypothesis the place of its own among them; how many. */
static size_t distinct(const int32_t *parent, size_t n, int32_t *place, size_t items, int32_t *once,
                       int32_t *of)
{
    size_t count = 0;
    for (size_t i = 0; i < items; i++) place[i] = -1;
    for (size_t i = 0; i < n; i++) {
        if (parent[i] < 0 || (size_t)parent[i] >= items) return n; /* the cache will refuse it */
        if (place[parent[i]] < 0) place[parent[i]] = (int32_t)count, once[count++] = parent[i];
        of[i] = place[parent[i]];
    }
    return count;
}

/* Siblings have the state of their parent, and so its context: it is computed once for all of them (the
   lecture's second pseudocode of beam search), but only for parents that live on. */
static hd_status pick_looking(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    hd_stepping *s = context;
    const hd_encdec *m = s->model;
    size_t items = s->cache->items;
    int32_t *place = hd_host_take(r, (items + 2 * n + 1) * sizeof *place), *once = place + items,
            *of = once + n;
    if (!place) return r->err.status;
    size_t count = distinct(parent, n, place, items, once, of);
    if (count == n) return hd_stepping_pick(r, s, parent, n);
    hd_status st = hd_stepping_pick(r, s, once, count);
    if (!st) hd_recurrent_decoder_look(r, &m->cells, hd_cache_slot(s->cache, 0));
    if (!st) st = r->err.status;
    return st ? st : hd_stepping_pick(r, s, of, n);
}

/* Keys and values of blocks would be copied twice, which costs more than asking again. */
static bool shares_look(const hd_encdec *m)
{
    return hd_encdec_recurs(m) && !m->stacks && hd_recurrent_decoder_shares(&m->cells);
}

static hd_status open_stepper(hd_stepper *out, const hd_encdec *m, const hd_stepping_ask *q, int32_t start,
                              hd_stepping **opened, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    bool recurs = hd_encdec_recurs(m);
    hd_stepping *s = NULL;
    if (!hd_encdec_decodes(o)) return hd_err_set(err, HD_EARG, "the model has no decoder: it is CTC alone");
    if (start < 0 || (size_t)start >= o->target_vocab)
        return hd_err_set(err, HD_EARG, "there is no start token %d in a vocabulary of %zu", start,
                          o->target_vocab);
    hd_status st = hd_stepping_new(&s, m, q, err);
    if (!st) st = hd_encdec_cache(&s->cache, m, 0, err);
    if (st) return hd_stepping_free(s), st;
    s->serial = m->params.serial, s->positions = o->positions, s->start = start;
    s->read = read, s->forward = forward, s->keep = keeps(m) ? keep : NULL;
    s->sends = recurs && o->recurrent.score == HD_SCORING_mlp;
    for (size_t i = 0; i < q->items; i++) s->room[i] = (int32_t)o->positions;
    *out = hd_stepping_stepper(s, o->target_vocab);
    if (recurs) out->step = step_looking;
    if (shares_look(m)) out->pick = pick_looking;
    if (opened) *opened = s;
    return HD_OK;
}

static hd_status wait_sources(hd_stepper *out, const int32_t *ids, const int32_t *len, size_t n, hd_err *err)
{
    hd_stepping *s = out->context;
    const hd_encdec_opt *o = &((const hd_encdec *)s->model)->opt;
    const hd_stepping_ask q = {"source", ids, len, n, o->source_vocab, o->positions};
    hd_status st = hd_stepping_wait(out, s, &q, err);
    for (size_t i = s->items - n; !st && i < s->items; i++) s->room[i] = (int32_t)o->positions;
    return st;
}

hd_status hd_encdec_stepper(hd_stepper *out, const hd_encdec *m, const int32_t *ids, const int32_t *len,
                            size_t items, int32_t start, hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    const hd_stepping_ask q = {"source", ids, len, items, o->source_vocab, o->positions};
    if (!hd_encdec_reads_tokens(o))
        return hd_err_set(err, HD_EARG, "the model reads %s, not tokens", o->pictures ? "pictures" : "sound");
    hd_status s = open_stepper(out, m, &q, start, NULL, err);
    if (!s) out->wait = wait_sources;
    return s;
}

/* -- with a shortlist -- */

static hd_tensor *join_narrow(hd_run *r, void *context, size_t n)
{
    hd_stepping *s = context;
    hd_arrivals a = hd_stepping_next(r, s, n);
    hd_narrowing_join(r, s->narrow, &a);
    return hd_stepping_join(r, s, &a);
}

static hd_status pick_narrow(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    hd_stepping *s = context;
    const hd_encdec *m = s->model;
    hd_status st = (shares_look(m) ? pick_looking : hd_stepping_pick)(r, context, parent, n);
    if (!st) hd_narrowing_pick(r, s->narrow, parent, n);
    return st ? st : r->err.status;
}

static const hd_columns *const *columns(void *context)
{
    return hd_narrowing_columns(((hd_stepping *)context)->narrow);
}

static void free_narrow(void *context)
{
    hd_narrowing_free(((hd_stepping *)context)->narrow);
    hd_stepping_free(context);
}

hd_status hd_encdec_narrow(hd_stepper *out, const hd_shortlist *list, const int32_t *prefix,
                           const int32_t *prefix_len, hd_err *err)
{
    hd_stepping *s = out->context;
    hd_status st = hd_narrowing_new(&s->narrow, s->model, list, s->items, prefix, prefix_len, err);
    if (st) return st;
    s->sends = true;   /* rows of the output layer */
    out->enter = NULL; /* columns are chosen by who joins */
    out->join = join_narrow, out->pick = pick_narrow, out->columns = columns, out->free = free_narrow;
    return HD_OK;
}

/* Items that are no tokens: each is one, its number. */
static hd_status open_numbered(hd_stepper *out, const hd_encdec *m, const char *what, size_t n, int32_t start,
                               hd_stepping **opened, hd_err *err)
{
    int32_t *ids = hd_mem_array(2 * n + 1, sizeof *ids), *len = ids + n;
    if (!ids) return hd_err_nomem(err, 2 * n * sizeof *ids);
    for (size_t i = 0; i < n; i++) ids[i] = (int32_t)i, len[i] = 1;
    const hd_stepping_ask q = {what, ids, len, n, n, 1};
    hd_status s = open_stepper(out, m, &q, start, opened, err);
    hd_mem_free(ids);
    return s;
}

hd_status hd_encdec_picture_stepper(hd_stepper *out, const hd_encdec *m, const hd_image_batch *pictures,
                                    int32_t start, hd_err *err)
{
    hd_stepping *opened = NULL;
    if (!m->opt.pictures) return hd_err_set(err, HD_EARG, "the model does not read pictures");
    hd_status s = open_numbered(out, m, "picture", pictures->items, start, &opened, err);
    if (!s) opened->pictures = pictures;
    return s;
}

/* Nobody says more tokens than that: a decoder that goes in circles ends there. */
enum { FRAMES_OF_A_TOKEN = 2, LEAST_ROOM = 16 };

hd_status hd_encdec_sound_stepper(hd_stepper *out, const hd_encdec *m, const hd_frames_host *sounds,
                                  int32_t start, hd_err *err)
{
    hd_stepping *opened = NULL;
    size_t most = hd_sound_encoder_frames(&m->opt.sound);
    if (!m->opt.sounds) return hd_err_set(err, HD_EARG, "the model does not read sound");
    for (size_t i = 0; i < sounds->items; i++)
        if (sounds->frames[i] < 1 || (size_t)sounds->frames[i] > most)
            return hd_err_set(err, HD_EARG, "sound %zu has %d frames: the model reads 1 to %zu", i,
                              sounds->frames[i], most);
    hd_status s = open_numbered(out, m, "sound", sounds->items, start, &opened, err);
    if (s) return s;
    opened->sounds = sounds;
    for (size_t i = 0; i < sounds->items; i++) {
        int32_t room = LEAST_ROOM + sounds->frames[i] / FRAMES_OF_A_TOKEN;
        if (opened->room[i] > room) opened->room[i] = room;
    }
    return HD_OK;
}
