/* Decoded pictures, kept while there is room. A picture is published by one store of its state; two threads
   that decode the same one at a time keep the first. */
#include "data/image/kept.h"

#include <stdatomic.h>

#include "base/mem.h"

enum { ABSENT, TAKEN, READY };

struct hd_kept {
    const hd_image_set *set;
    int side;
    hd_image *picture;   /* [count] */
    atomic_uchar *state; /* [count] */
    atomic_size_t room;  /* bytes left */
    size_t most;         /* those before it will fit */
};

/* About the bytes that it has when it is decoded. */
static size_t bytes_of(const hd_image_set *set, size_t i, int side)
{
    const int32_t *size = set->size + 2 * i, shorter = size[0] < size[1] ? size[0] : size[1];
    size_t less = 1;
    while (side && less < 8 && shorter / (2 * (int32_t)less) >= side) less *= 2;
    return ((size_t)size[0] / less + 1) * ((size_t)size[1] / less + 1) * (size_t)set->channels;
}

static size_t fitting(const hd_image_set *set, int side, size_t room)
{
    size_t i = 0, bytes = 0;
    while (i < set->count && (bytes += bytes_of(set, i, side)) <= room) i++;
    return i;
}

hd_status hd_kept_new(hd_kept **out, const hd_image_set *set, int side, size_t room, hd_err *err)
{
    hd_kept *k = hd_mem_zero(sizeof *k);
    if (!k) return hd_err_nomem(err, sizeof *k);
    k->set = set;
    k->side = side;
    k->most = fitting(set, side, room);
    atomic_init(&k->room, room);
    k->picture = hd_mem_array(set->count, sizeof *k->picture);
    k->state = hd_mem_array(set->count, sizeof *k->state);
    if (k->picture && k->state) {
        *out = k;
        return HD_OK;
    }
    hd_kept_free(k);
    return hd_err_nomem(err, set->count * sizeof *k->picture);
}

void hd_kept_free(hd_kept *k)
{
    if (!k) return;
    for (size_t i = 0; k->picture && i < k->set->count; i++) hd_image_release(&k->picture[i]);
    hd_mem_free(k->picture);
    hd_mem_free(k->state);
    hd_mem_free(k);
}

size_t hd_kept_most(const hd_kept *k)
{
    return k->most;
}

static bool take_room(hd_kept *k, size_t bytes)
{
    size_t left = atomic_load(&k->room);
    do
        if (left < bytes) return false;
    while (!atomic_compare_exchange_weak(&k->room, &left, left - bytes));
    return true;
}

/* Whether the picture is the set's now. */
static bool keep(hd_kept *k, size_t i, const hd_image *im)
{
    unsigned char absent = ABSENT;
    if (!take_room(k, hd_image_bytes(im))) return false;
    if (!atomic_compare_exchange_strong(&k->state[i], &absent, TAKEN)) {
        atomic_fetch_add(&k->room, hd_image_bytes(im));
        return false;
    }
    k->picture[i] = *im;
    atomic_store_explicit(&k->state[i], READY, memory_order_release);
    return true;
}

hd_status hd_kept_picture(hd_kept *k, size_t i, const hd_image_ask *ask, hd_image *out, bool *own, bool *cut,
                          hd_err *err)
{
    *own = *cut = ask && i >= k->most;
    if (*cut) return hd_image_set_picture_scaled(k->set, i, k->side, ask, out, err);
    if (atomic_load_explicit(&k->state[i], memory_order_acquire) == READY) {
        *out = k->picture[i];
        return HD_OK;
    }
    hd_status s = hd_image_set_picture_scaled(k->set, i, k->side, NULL, out, err);
    if (!s) *own = !keep(k, i, out);
    return s;
}
