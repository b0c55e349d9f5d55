/* Sets of pictures in memory. */
#include "data/image/set.h"

#include <stdio.h>
#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "data/image/set/build.h"

void hd_image_set_release(hd_image_set *s)
{
    if (s->block && !--s->block->users) {
        hd_mem_free(s->block->pixel);
        hd_mem_free(s->block);
    }
    void *const all[] = {s->size,    s->label, s->first_box, s->box,  s->first_caption,
                         s->caption, s->mark,  s->root,      s->text, s->place};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_mem_free(all[i]);
    hd_vocab_release(&s->name);
    *s = (hd_image_set){0};
}

static hd_status copy_place(const hd_image_set *s, size_t i, const hd_image_ask *ask, hd_image *out,
                            hd_err *err)
{
    const hd_image_block *b = s->block;
    hd_image all = {.width = b->width, .height = b->height, .channels = b->channels};
    hd_image_part p = {0, 0, b->width, b->height};
    all.pixel = (uint8_t *)b->pixel + s->place[i] * hd_image_bytes(&all);
    if (ask) p = ask->part(ask->context, b->width, b->height);
    return hd_image_crop(out, &all, p.x, p.y, p.width, p.height, err);
}

hd_status hd_image_set_picture_scaled(const hd_image_set *s, size_t i, int side, const hd_image_ask *ask,
                                      hd_image *out, hd_err *err)
{
    char below[HD_PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    const char *path;
    if (s->block) return copy_place(s, i, ask, out, err);
    *out = (hd_image){0};
    hd_status status = hd_set_path(&path, below, s->root, hd_image_set_name(s, i), err);
    if (!status) status = hd_file_read(&bytes, &size, path, HD_IMAGE_MOST_BYTES, err);
    if (!status) status = hd_image_decode_scaled(out, bytes, size, side, ask, path, err);
    hd_mem_free(bytes);
    return status;
}

hd_status hd_image_set_picture(const hd_image_set *s, size_t i, hd_image *out, hd_err *err)
{
    return hd_image_set_picture_scaled(s, i, 0, NULL, out, err);
}

void hd_set_hash(hd_image_set *s)
{
    uint64_t h = hd_set_hash_bytes(HD_SET_HASH, &s->count, sizeof s->count);
    h = hd_set_hash_bytes(h, s->mark, s->count * sizeof *s->mark);
    h = hd_set_hash_bytes(h, s->size, 2 * s->count * sizeof *s->size);
    if (s->label) h = hd_set_hash_bytes(h, s->label, s->count * sizeof *s->label);
    if (s->box) {
        h = hd_set_hash_bytes(h, s->first_box, (s->count + 1) * sizeof *s->first_box);
        h = hd_set_hash_bytes(h, s->box, s->first_box[s->count] * sizeof *s->box);
    }
    for (size_t i = 0; s->caption && i < s->first_caption[s->count]; i++)
        h = hd_set_hash_bytes(h, s->caption[i].text, s->caption[i].size + 1);
    s->hash = h;
}
