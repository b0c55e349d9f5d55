/* Pictures changed at random for training, and their boxes with them. All of it follows from the options and
   a key: the seed of the random numbers. Pixels from outside a picture are zeros. */
#ifndef HD_DATA_IMAGE_AUGMENT_H
#define HD_DATA_IMAGE_AUGMENT_H

#include "data/image/prepare.h"
#include "data/image/set.h"

/* Of a field that is 0, nothing is done. */
typedef struct hd_augment {
    bool flip, flip_vertical;    /* mirrored in half of the cases: left and right, top and bottom */
    bool turns;                  /* by 0, 1, 2 or 3 right angles */
    float crop;                  /* a part is cut out, of at least this share of the area, and resized */
    float aspect;                /* which stretches it by 1/aspect to aspect; 0: by at most 4/3 */
    float scale_low, scale_high; /* times a factor between them; what is too large is cut, zeros fill */
    int shift;                   /* by at most so many pixels each way */
    float rotate;                /* by at most so many degrees either way */
    float color;                 /* brightness, contrast and saturation times 1 - color to 1 + color each */
    float hue;                   /* shifted by at most this share of the circle, up to 0.5 */
    int random_ops;              /* so many operations of HD_RANDOM_OP_LIST (augment/random_op.h), */
    float magnitude;             /* each of this strength, up to 10 */
    float erase;                 /* how often a rectangle is filled with noise */
    float mixup, cutmix; /* alpha of the distribution of shares; with both, each in half of the cases */
} hd_augment;

/* Whether anything is done. */
bool hd_augment_any(const hd_augment *a);
/* HD_EARG where an option is out of its range. */
hd_status hd_augment_check(const hd_augment *a, hd_err *err);

/* The picture as the model reads it (hd_image_prepared), changed at random; a NULL: only prepared. The boxes
   (box NULL: none) are given in pixels of `in` and become those of `out`, cut at its edges; those whose
   center has left the picture are left out, so that *boxes may become less. */
hd_status hd_augmented(hd_image *out, const hd_image *in, hd_box *box, size_t *boxes, const hd_augment *a,
                       const hd_image_prepare *p, uint64_t key, hd_err *err);

/* Whether it begins with a part of the picture that its size alone decides (of one without boxes): what lies
   outside need not be there. Then hd_augmented is hd_augmented_part of that part. For models that read all
   pictures at one size. */
bool hd_augment_cuts(const hd_augment *a);
hd_image_part hd_augment_part(const hd_augment *a, const hd_image_prepare *p, uint64_t key, int width,
                              int height);
hd_status hd_augmented_part(hd_image *out, const hd_image *part, const hd_augment *a,
                            const hd_image_prepare *p, uint64_t key, hd_err *err);

/* Mixes two pictures of the same size, each into the other: *share is what is left of each. Different sizes
   and options without it: nothing is mixed, *share is 1. */
void hd_augment_mix(hd_image *a, hd_image *b, const hd_augment *opt, uint64_t key, float *share);

#endif
