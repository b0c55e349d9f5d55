/* Batches of pictures: decoded, augmented and resized in other threads, ahead of the step that needs them.
   The order of an epoch and what augmentation does to an item are functions of the seed, the epoch and the
   item alone, whatever the number of threads. */
#ifndef HD_DATA_IMAGE_LOADER_H
#define HD_DATA_IMAGE_LOADER_H

#include "data/image/augment.h"
#include "tensor/tensor.h"

typedef struct hd_image_loader hd_image_loader;

typedef struct hd_image_loader_opt {
    const hd_image_set *set;         /* borrowed, as the next two */
    const hd_image_prepare *prepare; /* how the model reads a picture */
    const hd_augment *augment;       /* NULL: nothing is changed, nothing is mixed */
    uint64_t seed;
    size_t batch;  /* items; the last batch of an epoch has what is left */
    int threads;   /* that work ahead; 0: as many as there are cores; below 0: none, get does all */
    size_t ahead;  /* batches that are prepared beside that of the caller; 0: 2 */
    double keep;   /* share of the free memory for pictures that are decoded once; 0: none is kept */
    bool in_order; /* not shuffled, and nothing is prepared beyond the end of an epoch: for evaluation */
} hd_image_loader_opt;

/* Items from .. to-1 of a batch; arrays have an entry for each. */
typedef struct hd_image_batch {
    size_t items;
    const uint32_t *which; /* of the set */
    const uint8_t *bytes;  /* as hd_pixels has them (backend/pixels.h) */
    size_t byte_count;
    const int32_t *begin; /* in bytes */
    const int32_t *size;  /* [items, 2] height and width */
    int channels;
    const int32_t *other;    /* item of the set that is mixed in, -1: none; NULL: nothing is ever mixed */
    const hd_real *share;    /* of the item's own label; of the other one's 1 - share; NULL as other is */
    const hd_box *box;       /* after augmentation, in pixels; NULL: the set has none */
    const size_t *first_box; /* [items + 1] in box */
} hd_image_batch;

/* The set has at least one item. */
hd_status hd_image_loader_new(hd_image_loader **out, const hd_image_loader_opt *opt, hd_err *err);
void hd_image_loader_free(hd_image_loader *l); /* accepts NULL, at any time */

size_t hd_image_loader_batches(const hd_image_loader *l); /* of an epoch */
size_t hd_image_loader_kept(const hd_image_loader *l);    /* pictures that are decoded once */

/* Items of the set in the batch of that number, counted over epochs: number / batches is the epoch. Valid
   until the next call of this or get. */
const uint32_t *hd_image_loader_which(hd_image_loader *l, uint64_t number, size_t *items);

/* Items from .. to-1 of the batch of that number, valid until the next call; those of later batches are begun
   in other threads. A picture that cannot be read is the failure of the call that asks for it. */
hd_status hd_image_loader_get(hd_image_loader *l, uint64_t number, size_t from, size_t to,
                              const hd_image_batch **out, hd_err *err);

#endif
