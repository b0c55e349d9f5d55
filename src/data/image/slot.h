/* A batch of pictures that is being made: which items, and what has become of each. */
#ifndef HD_DATA_IMAGE_SLOT_H
#define HD_DATA_IMAGE_SLOT_H

#include "data/image/kept.h"
#include "data/image/loader.h"

typedef enum hd_slot_state { HD_SLOT_WAITING, HD_SLOT_TAKEN, HD_SLOT_READY, HD_SLOT_FAILED } hd_slot_state;

typedef struct hd_image_slot {
    uint64_t number;       /* of the batch */
    bool open;             /* its items may be taken */
    size_t items, taken;   /* taken: groups that are being made */
    size_t from, to, next; /* groups that are wanted; the first that may be waiting */
    uint8_t *state;        /* [batch] of each group: hd_slot_state */
    uint32_t *which;       /* [batch] this and the following: of each item */
    int32_t *other;
    hd_real *share;
    hd_image *image; /* where sizes are fixed, pixel is NULL: it lies in bytes */
    hd_box **box;    /* NULL: the set has none */
    size_t *boxes;
    uint8_t *bytes; /* [batch * stride] */
} hd_image_slot;

/* What all slots of a loader have in common. */
typedef struct hd_image_maker {
    hd_image_loader_opt opt;
    hd_kept *kept;
    size_t batches;
    size_t group;  /* items that are made together: 2 where neighbors are mixed */
    size_t stride; /* bytes of a picture where the size is the same for all; else 0 */
} hd_image_maker;

hd_status hd_image_slot_init(hd_image_slot *s, const hd_image_maker *m, hd_err *err);
void hd_image_slot_release(hd_image_slot *s); /* accepts {0} */
void hd_image_slot_clear(hd_image_slot *s);   /* drops its pictures and boxes */

/* Makes the items of a group: decoded, augmented, mixed. From any thread; what was there is replaced. */
hd_status hd_image_slot_make(hd_image_slot *s, const hd_image_maker *m, size_t group, hd_err *err);

#endif
