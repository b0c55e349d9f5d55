/* ResNet: convolutions in blocks with a shortcut past each. A backbone: pixels in, maps of cells out, each
   stage at half the height and width of the one before. Tensors carry the names of transformers' ResNet or of
   timm's. */
#ifndef HD_MODEL_VISION_RESNET_H
#define HD_MODEL_VISION_RESNET_H

#include "nn/map_norm.h"

enum { HD_RESNET_STAGES = 8 };

typedef struct hd_resnet_opt {
    int stages;
    size_t embedding;                /* columns of the stem */
    size_t hidden[HD_RESNET_STAGES]; /* of the stages */
    int depths[HD_RESNET_STAGES];    /* blocks of each */
    bool keeps[HD_RESNET_STAGES];    /* the size of the stage before, in place of half of it */
    bool bottleneck; /* a block is 1x1, 3x3 at a quarter of the columns, 1x1; else two of 3x3 */
    bool stem_small; /* 3x3 without a stride, for small pictures; else 7x7 and a pooling, each by 2 */
    hd_map_norm_kind norm;
    bool timm;        /* the names of its tensors are timm's */
    int channels;     /* of pixels */
    const char *name; /* before them, borrowed for the making; "": nothing */
} hd_resnet_opt;

typedef struct hd_resnet_layer { /* a convolution and its norm */
    hd_param *w;
    hd_map_norm norm;
    int kernel, stride;
} hd_resnet_layer;

typedef struct hd_resnet_block {
    hd_resnet_layer layer[3], shortcut; /* without a weight: none */
} hd_resnet_block;

typedef struct hd_resnet {
    hd_resnet_opt opt;
    hd_resnet_layer stem;
    hd_resnet_block *block; /* of all stages */
    size_t blocks;
} hd_resnet;

/* HD_EARG: options that make no network. */
hd_status hd_resnet_check(const hd_resnet_opt *o, hd_err *err);
hd_status hd_resnet_make(hd_resnet *out, hd_params *p, const hd_resnet_opt *o, hd_err *err);
void hd_resnet_release(hd_resnet *n); /* accepts {0} */

/* The map of stage number `stages`, 1 to all, of pixels, a row each; pictures may differ in size. */
hd_rows hd_resnet_rows(hd_run *r, const hd_resnet *n, int stages, hd_rows pixels);
/* Cells of a map of a picture of so many pixels. */
void hd_resnet_grid(const hd_resnet_opt *o, int stages, int height, int width, int cells[2]);
/* Of a forward pass over a picture of so many pixels: multiply-adds times two. */
double hd_resnet_flops(const hd_resnet_opt *o, int height, int width);

/* Moves the scales of batch norms into the convolutions before them (hd_map_norm_fold). */
hd_status hd_resnet_fold(const hd_resnet *n, hd_params *p, hd_err *err);

#endif
