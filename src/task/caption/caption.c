/* Captions of pictures. */
#include "task/caption/caption.h"

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

hd_status hd_caption_of(hd_written_all *out, hd_run *r, const hd_model_folder *f,
                        const hd_image_batch *pictures, const hd_caption_opt *opt, hd_err *err)
{
    hd_found *found = NULL;
    hd_status s = pictures->items ? search_all(&found, r, f, pictures, opt, err) : HD_OK;
    if (!s) s = hd_written_make(out, found, pictures->items, f->tokenizer[1], err);
    hd_found_free(found);
    return s;
}
