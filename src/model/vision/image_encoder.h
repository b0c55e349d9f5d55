/* Encoders of pictures: pixels in, rows of vectors out, a grid of them for each picture. Classifiers have one
   for their body, captioners for their encoder, detectors for their backbone. A kind is a line here and a
   hd_image_encoder_type. */
#ifndef HD_MODEL_VISION_IMAGE_ENCODER_H
#define HD_MODEL_VISION_IMAGE_ENCODER_H

#include "data/image/prepare.h"
#include "model/config.h"
#include "model/details.h"
#include "model/list.h"
#include "model/stack.h"
#include "model/vision/resnet.h"
#include "nn/front.h"

#define X(name, text) HD_IMAGE_##name,
typedef enum hd_image_encoder_kind { HD_IMAGE_MODEL_LIST(X) HD_IMAGE_KINDS } hd_image_encoder_kind;
#undef X

extern const char *const hd_image_encoder_names[HD_IMAGE_KINDS + 1]; /* ends with NULL */

enum { HD_IMAGE_STEM = 8 }; /* most layers of a stem */

typedef struct hd_image_encoder_opt {
    hd_image_encoder_kind kind;
    int height, width, channels; /* of pictures, in pixels; 1 or 3 channels */
    hd_image_prepare prepare;    /* how a picture becomes one; channels 0: resized to height x width */
    /* A ViT: */
    hd_stack_opt stack;   /* inner 0: 4 * width; eps 0: 1e-12; act HD_IDENTITY: gelu; its dropout is that of
                             embeddings, too. Names, norms and init are seen to */
    int patch;            /* pixels on a side */
    int stem;             /* layers of a convolution and a batch norm in place of patches, with a pooling by 2
                             behind the first and the last; 0: patches */
    bool class_token;     /* a learned row before those of patches */
    bool distilled;       /* and a second one, which learned from a teacher */
    bool pooler;          /* with hd_image_encoder_pooled */
    hd_unary pooler_act;  /* HD_IDENTITY: tanh */
    hd_resnet_opt resnet; /* of a ResNet; stages 0: 18 layers. Its channels and name are seen to */
    const char *name;     /* of its tensors, borrowed for the making; NULL: that of its kind */
} hd_image_encoder_opt;

typedef struct hd_vit_stem { /* a layer of one */
    hd_param *conv;
    hd_map_norm norm;
} hd_vit_stem;

typedef struct hd_image_encoder {
    hd_image_encoder_opt opt; /* complete */
    const struct hd_image_encoder_type *type;
    hd_dense patch;
    hd_vit_stem stem[HD_IMAGE_STEM];
    hd_param *lead, *position;       /* [tokens, C]; [tokens + cells, C] */
    hd_param *lead_position, *cells; /* parts of position */
    hd_stack stack;
    hd_dense pooler;
    hd_resnet resnet;
} hd_image_encoder;

struct hd_preparing; /* model/prepare.h */

/* A kind of encoder; opt is set and checked by `complete`. */
typedef struct hd_image_encoder_type {
    /* Fills in what options leave open, and refuses those that make no encoder. */
    hd_status (*complete)(hd_image_encoder_opt *o, hd_err *err);
    hd_status (*make)(hd_image_encoder *e, hd_params *p, hd_err *err);
    void (*release)(hd_image_encoder *e);
    hd_rows (*rows)(hd_run *r, const hd_image_encoder *e, int layers, const hd_pixels *in);
    /* Rows of the last layer of which the first of each picture alone is asked for; NULL: as rows. */
    hd_rows (*first)(hd_run *r, const hd_image_encoder *e, const hd_pixels *in);
    bool any_size;                                /* pictures of a batch may differ in size */
    int (*layers)(const hd_image_encoder_opt *o); /* whose rows can be had */
    size_t (*width)(const hd_image_encoder_opt *o, int layer);
    /* Height and width in cells of what a picture of this size becomes. */
    void (*grid)(const hd_image_encoder_opt *o, int height, int width, int cells[2]);
    double (*flops)(const hd_image_encoder *e, double items, const int cells[2]);
    void (*prepare)(struct hd_preparing *p, const hd_image_encoder *e);
    void (*describe)(const hd_image_encoder_opt *o, hd_details *to); /* for `heed info` */
    void (*write)(hd_text *to, const hd_image_encoder_opt *o);       /* its keys in config.json */
    void (*read)(hd_model_config *c, hd_image_encoder_opt *o);
} hd_image_encoder_type;

#define X(name, text) extern const hd_image_encoder_type hd_image_encoder_##name;
HD_IMAGE_MODEL_LIST(X)
#undef X

/* Registers the parameters. HD_EARG: options that make no encoder. */
hd_status hd_image_encoder_make(hd_image_encoder *out, hd_params *p, const hd_image_encoder_opt *o,
                                hd_err *err);
void hd_image_encoder_release(hd_image_encoder *e); /* accepts {0} */

/* Rows of layer number `layers`, 1 to all; the later ones are not run. Tokens come before the cells of a
   picture (seg->lead of them), cells row by row. Pictures of a batch have as many cells unless the kind
   takes any size. */
hd_rows hd_image_encoder_rows(hd_run *r, const hd_image_encoder *e, int layers, const hd_items *in);
/* Those of the last layer where nothing but the first of each picture is asked for: perhaps only these. */
hd_rows hd_image_encoder_first(hd_run *r, const hd_image_encoder *e, const hd_items *in);
/* [N, width]: a layer on the first row of each picture; see opt.pooler. */
hd_tensor *hd_image_encoder_pooled(hd_run *r, const hd_image_encoder *e, hd_rows last);

/* Makes the size that positions are of the one that pictures are read with, for training: it would resize
   them in every step. Where that depends on the picture nothing changes. */
void hd_image_encoder_fit(hd_image_encoder_opt *o);
/* The positions that have to be resized where the weights come from an encoder of these options; NULL: none,
   the size is the same. They are then left out of what is loaded, and loaded so. */
hd_param *hd_image_encoder_resized(const hd_image_encoder *e, const hd_image_encoder_opt *from);
hd_status hd_image_encoder_load_positions(const hd_image_encoder *e, hd_params *p,
                                          const hd_image_encoder_opt *from, const hd_safetensors *file,
                                          hd_err *err);

int hd_image_encoder_layers(const hd_image_encoder_opt *o);
size_t hd_image_encoder_width(const hd_image_encoder_opt *o);  /* of the last layer's rows */
int hd_image_encoder_lead(const hd_image_encoder_opt *o);      /* rows before those of cells */
size_t hd_image_encoder_length(const hd_image_encoder_opt *o); /* rows of a picture of height x width */
double hd_image_encoder_flops(const hd_image_encoder *e, double items); /* of a forward pass over those */
void hd_image_encoder_prepare(struct hd_preparing *p, const hd_image_encoder *e);

/* Its keys in config.json, also where it is a part of another model; "image" is how it reads a picture. */
void hd_image_encoder_write(hd_text *to, const hd_image_encoder_opt *o);
void hd_image_encoder_read(hd_model_config *c, hd_image_encoder_kind kind, hd_image_encoder_opt *o);

#endif
