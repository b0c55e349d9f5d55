/* The items of a batch, made one group at a time. Everything is a function of the seed, the epoch and the
   items; where a picture lies follows from its place in the batch. */
#include "data/image/slot.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/image/augment/warp.h"

/* What the keys of items and of pairs are drawn for. */
enum { KEY_ITEM = 0x696d67, KEY_PAIR = 0x6d6978 };

hd_status hd_image_slot_init(hd_image_slot *s, const hd_image_maker *m, hd_err *err)
{
    const size_t n = m->opt.batch;
    size_t bytes;
    *s = (hd_image_slot){0};
    if (!hd_size_mul(n, m->stride, &bytes) || bytes > INT32_MAX)
        return hd_err_set(err, HD_ELIMIT,
                          "a batch of %zu pictures of %zu bytes is too large: a smaller batch is needed", n,
                          m->stride);
    s->state = hd_mem_array(n, sizeof *s->state);
    s->which = hd_mem_array(n, sizeof *s->which);
    s->other = hd_mem_array(n, sizeof *s->other);
    s->share = hd_mem_array(n, sizeof *s->share);
    s->image = hd_mem_array(n, sizeof *s->image);
    s->box = hd_mem_array(n, sizeof *s->box);
    s->boxes = hd_mem_array(n, sizeof *s->boxes);
    s->bytes = hd_mem_new(bytes);
    if (s->state && s->which && s->other && s->share && s->image && s->box && s->boxes && s->bytes)
        return HD_OK;
    hd_image_slot_release(s);
    return hd_err_nomem(err, bytes + n * sizeof *s->image);
}

void hd_image_slot_clear(hd_image_slot *s)
{
    for (size_t i = 0; i < s->items; i++) {
        hd_image_release(&s->image[i]);
        hd_mem_free(s->box[i]);
        s->box[i] = NULL;
    }
    s->items = 0;
    s->open = false;
}

void hd_image_slot_release(hd_image_slot *s)
{
    hd_image_slot_clear(s);
    hd_mem_free(s->state);
    hd_mem_free(s->which);
    hd_mem_free(s->other);
    hd_mem_free(s->share);
    hd_mem_free(s->image);
    hd_mem_free(s->box);
    hd_mem_free(s->boxes);
    hd_mem_free(s->bytes);
    *s = (hd_image_slot){0};
}

static hd_status copy_boxes(hd_image_slot *s, const hd_image_set *set, size_t i, hd_err *err)
{
    s->boxes[i] = 0;
    if (!set->box) return HD_OK;
    const size_t first = set->first_box[s->which[i]], count = set->first_box[s->which[i] + 1] - first;
    hd_mem_free(s->box[i]);
    s->box[i] = hd_mem_array(count, sizeof **s->box);
    if (!s->box[i]) return hd_err_nomem(err, count * sizeof **s->box);
    memcpy(s->box[i], set->box + first, count * sizeof **s->box);
    s->boxes[i] = count;
    return HD_OK;
}

/* The part of a picture that augmentation begins with. */
typedef struct beginning {
    const hd_image_loader_opt *opt;
    uint64_t key;
} beginning;

static hd_image_part part_of(const void *context, int width, int height)
{
    const beginning *b = context;
    return hd_augment_part(b->opt->augment, b->opt->prepare, b->key, width, height);
}

static hd_status make_item(hd_image_slot *s, const hd_image_maker *m, uint64_t epoch, size_t i, hd_err *err)
{
    hd_image picture, made = {0};
    bool own, cut;
    const uint64_t key = hd_rng_row_key(m->opt.seed, (uint32_t)epoch, KEY_ITEM, s->which[i], 0);
    const hd_image_ask ask = {part_of, &(beginning){&m->opt, key}};
    const bool parts = m->stride && !m->opt.set->box && hd_augment_cuts(m->opt.augment);
    s->other[i] = -1, s->share[i] = 1;
    hd_image_release(&s->image[i]);
    hd_status st = copy_boxes(s, m->opt.set, i, err);
    if (!st) st = hd_kept_picture(m->kept, s->which[i], parts ? &ask : NULL, &picture, &own, &cut, err);
    if (st) return st;
    const int32_t *size = m->opt.set->size + 2 * (size_t)s->which[i]; /* boxes are of the picture as it is */
    hd_boxes_move((hd_boxes){s->box[i], s->boxes[i]}, (double)picture.width / size[1],
                  (double)picture.height / size[0], 0, 0);
    st = cut ? hd_augmented_part(&made, &picture, m->opt.augment, m->opt.prepare, key, err)
             : hd_augmented(&made, &picture, s->box[i], &s->boxes[i], m->opt.augment, m->opt.prepare, key,
                            err);
    if (own) hd_image_release(&picture);
    if (!st) s->image[i] = made;
    return st;
}

static void mix_pair(hd_image_slot *s, const hd_image_maker *m, uint64_t epoch, size_t i)
{
    const uint32_t a = s->which[i], b = s->which[i + 1];
    float share;
    hd_augment_mix(&s->image[i], &s->image[i + 1], m->opt.augment,
                   hd_rng_row_key(m->opt.seed, (uint32_t)epoch, KEY_PAIR, a, b), &share);
    if (!(share < 1)) return;
    s->other[i] = (int32_t)b, s->other[i + 1] = (int32_t)a;
    s->share[i] = s->share[i + 1] = (hd_real)share;
}

hd_status hd_image_slot_make(hd_image_slot *s, const hd_image_maker *m, size_t group, hd_err *err)
{
    const size_t begin = group * m->group, last = begin + m->group < s->items ? begin + m->group : s->items;
    const uint64_t epoch = s->number / m->batches;
    hd_status st = HD_OK;
    for (size_t i = begin; !st && i < last; i++) st = make_item(s, m, epoch, i, err);
    if (st) return st;
    if (last - begin == 2) mix_pair(s, m, epoch, begin);
    for (size_t i = begin; m->stride && i < last; i++) {
        memcpy(s->bytes + i * m->stride, s->image[i].pixel, m->stride);
        hd_mem_free(s->image[i].pixel);
        s->image[i].pixel = NULL;
    }
    return HD_OK;
}
