/* Captions of pictures. */
#include "task/caption/caption.h"

#include <string.h>

#include "base/mem.h"
#include "model/encdec/encdec.h"

const hd_image_prepare *hd_caption_prepare(const hd_model_folder *f)
{
    return &hd_model_folder_encdec(f)->opt.image.prepare;
}

/* -- pictures -- */

static bool make_room(hd_caption_pictures *p)
{
    if (p->batch.items < p->room) return true;
    size_t room = p->room ? 2 * p->room : 16;
    int32_t *begin = hd_mem_grow(p->begin, room * sizeof *begin);
    if (begin) p->begin = begin;
    int32_t *size = begin ? hd_mem_grow(p->size, 2 * room * sizeof *size) : NULL;
    if (!size) return false;
    p->size = size, p->room = room;
    return true;
}

hd_status hd_caption_pictures_add(hd_caption_pictures *p, const hd_image *im, const hd_image_prepare *how,
                                  hd_err *err)
{
    hd_image ready = {0};
    hd_status s = hd_image_prepared(&ready, im, how, err);
    size_t at = p->batch.items, bytes = hd_image_bytes(&ready);
    if (!s && !make_room(p)) s = hd_err_nomem(err, p->room * sizeof *p->begin);
    if (!s && p->bytes.size + bytes > INT32_MAX)
        s = hd_err_set(err, HD_ELIMIT, "more pictures than fit into a batch of 2 GiB");
    if (!s) {
        p->begin[at] = (int32_t)p->bytes.size;
        p->size[2 * at] = ready.height, p->size[2 * at + 1] = ready.width;
        hd_text_add(&p->bytes, (const char *)ready.pixel, bytes);
        s = hd_text_status(&p->bytes, err);
    }
    if (!s)
        p->batch = (hd_image_batch){.items = at + 1,
                                    .bytes = (const uint8_t *)p->bytes.data,
                                    .byte_count = p->bytes.size,
                                    .begin = p->begin,
                                    .size = p->size,
                                    .channels = how->channels};
    hd_image_release(&ready);
    return s;
}

void hd_caption_pictures_clear(hd_caption_pictures *p)
{
    p->bytes.size = 0;
    p->batch = (hd_image_batch){0};
}

void hd_caption_pictures_release(hd_caption_pictures *p)
{
    hd_text_release(&p->bytes);
    hd_mem_free(p->begin);
    hd_mem_free(p->size);
    *p = (hd_caption_pictures){0};
}

/* -- captions -- */

static hd_status put_caption(hd_captioned *to, hd_caption *c, const hd_guess *g, const hd_tokenizer *t,
                             hd_err *err)
{
    hd_text text = {0};
    int32_t *ids = hd_arena_array(&to->memory, g->length + 1, sizeof *ids, err);
    hd_real *logp = ids ? hd_arena_array(&to->memory, g->length + 1, sizeof *logp, err) : NULL;
    if (!logp) return HD_ENOMEM;
    if (g->length) memcpy(ids, g->ids, g->length * sizeof *ids);
    if (g->length) memcpy(logp, g->logp, g->length * sizeof *logp);
    hd_status s = hd_tokenizer_decode(t, g->ids, g->length, &text, err);
    if (!s) s = hd_text_status(&text, err);
    char *copy = s ? NULL : hd_arena_array(&to->memory, text.size + 1, 1, err);
    if (!s && !copy) s = HD_ENOMEM;
    if (copy && text.size) memcpy(copy, text.data, text.size);
    if (copy) copy[text.size] = 0;
    hd_text_release(&text);
    *c = (hd_caption){.text = copy,
                      .ids = ids,
                      .logp = logp,
                      .length = g->length,
                      .sum = g->sum,
                      .score = g->score,
                      .finished = g->finished};
    return s;
}

static hd_status put_all(hd_captioned *to, const hd_found *found, const hd_tokenizer *t, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < to->count; i++) {
        size_t n = hd_found_count(found, i);
        to->of[i] = hd_arena_array(&to->memory, n + 1, sizeof **to->of, err);
        if (!to->of[i]) return HD_ENOMEM;
        for (; !s && to->found[i] < n; to->found[i] += !s)
            s = put_caption(to, &to->of[i][to->found[i]], hd_found_at(found, i) + to->found[i], t, err);
    }
    return s;
}

static hd_status search_all(hd_found **out, hd_run *r, const hd_model_folder *f,
                            const hd_image_batch *pictures, const hd_caption_opt *opt, hd_err *err)
{
    const hd_special special = hd_tokenizer_special(f->tokenizer[1]);
    int32_t banned[3], *key = hd_mem_array(pictures->items + 1, sizeof *key);
    hd_search_opt o = opt->search;
    hd_stepper stepper = {0};
    if (!key) return hd_err_nomem(err, pictures->items * sizeof *key);
    for (size_t i = 0; i < pictures->items; i++) key[i] = (int32_t)(opt->first + i);
    o.end = special.end, o.key = key;
    o.banned = banned, o.banned_count = hd_tokenizer_unwritten(f->tokenizer[1], banned);
    o.seats = opt->batch ? opt->batch : HD_CAPTION_BATCH;
    o.max_ratio = 0;
    if (!o.max_length) o.max_length = HD_CAPTION_LONGEST;
    hd_status s =
        hd_encdec_picture_stepper(&stepper, hd_model_folder_encdec(f), pictures, special.start, err);
    if (!s) s = hd_search(out, r, &stepper, &o, err);
    hd_stepper_release(&stepper);
    hd_mem_free(key);
    return s;
}

hd_status hd_caption_of(hd_captioned *out, hd_run *r, const hd_model_folder *f,
                        const hd_image_batch *pictures, const hd_caption_opt *opt, hd_err *err)
{
    hd_captioned c = {.count = pictures->items};
    hd_found *found = NULL;
    hd_arena_init(&c.memory, hd_allocator_host, 1 << 16);
    c.of = hd_arena_array(&c.memory, c.count + 1, sizeof *c.of, err);
    c.found = c.of ? hd_arena_array(&c.memory, c.count + 1, sizeof *c.found, err) : NULL;
    hd_status s = c.found ? HD_OK : HD_ENOMEM;
    if (!s) memset(c.found, 0, (c.count + 1) * sizeof *c.found);
    if (!s && c.count) s = search_all(&found, r, f, pictures, opt, err);
    if (!s && c.count) s = put_all(&c, found, f->tokenizer[1], err);
    hd_found_free(found);
    if (s)
        hd_captioned_release(&c);
    else
        *out = c;
    return s;
}

void hd_captioned_release(hd_captioned *c)
{
    if (c->memory.chunks) hd_arena_release(&c->memory);
    *c = (hd_captioned){0};
}
