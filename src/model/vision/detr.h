/* DETR, the detection transformer: a set of queries asks what a picture holds, and each answers with one
   object, as a label and a box, or with none. A backbone makes a map of cells, an encoder lets them see each
   other, a decoder lets the queries see the cells. In training each object has one query, chosen by least
   cost. Tensors carry the names of transformers' DETR. */
#ifndef HD_MODEL_VISION_DETR_H
#define HD_MODEL_VISION_DETR_H

#include "model/stack.h"
#include "model/type.h"
#include "model/vision/image_encoder.h"

typedef struct hd_detr_opt {
    hd_image_encoder_opt image; /* the backbone */
    hd_stack_opt stack; /* of encoder and decoder; inner 0: 4 * width; eps 0: 1e-5; act HD_IDENTITY: relu */
    int encoder_layers, decoder_layers;
    size_t queries, labels; /* labels: without that of no object, which comes behind them */
    bool anchors; /* a query is a box that each layer moves, else a learned vector, as published models have
                     it */
    float reach;  /* of anchors: cross-attention sees a box and so many times its size around it, half on each
                     side;  0: the whole picture */
    float scale, temperature; /* of the sine code of positions; 0: 2 pi and 10000, of anchors 64 and 20 */
} hd_detr_opt;

typedef struct hd_detr {
    hd_detr_opt opt;
    hd_params params;
    hd_image_encoder image;
    hd_dense input; /* from the width of the backbone */
    hd_stack encoder, decoder;
    hd_norm_layer norm; /* of what heads read, behind every layer of the decoder */
    hd_param *query;    /* [Q, d] positions; of anchors [Q, 4], before the sigmoid */
    hd_param *content;  /* of anchors: [Q + labels, d] what a query begins with, and a noised box by label */
    hd_dense place[2];  /* of anchors: from the code of a box to a position */
    hd_dense label, box[3];
} hd_detr;

/* An object: center and size as shares of the picture's width and height. */
typedef struct hd_detr_object {
    int32_t label;
    float x, y, width, height;
} hd_detr_object;

/* The objects of pictures, in host memory. */
typedef struct hd_detr_truth {
    const hd_detr_object *object;
    const size_t *first; /* [pictures + 1] */
    size_t pictures;
} hd_detr_truth;

/* Denoising: groups of the true boxes, moved at random, are put right beside the queries. Of anchors. */
typedef struct hd_detr_noise {
    int groups;          /* 0: none */
    float label, box;    /* share of labels that are replaced; most that a box is moved, as a share of it */
    uint64_t seed;       /* draws depend on it and */
    const uint64_t *key; /* [pictures] on this */
} hd_detr_noise;

/* What the decoder begins with: rows of each picture, the queries and then groups of noised boxes. */
typedef struct hd_detr_queries {
    const hd_seg *seg;
    const int32_t *query;   /* [R] which one; -1: a noised box */
    const int32_t *content; /* [R] row of hd_detr.content */
    hd_tensor *anchor;      /* [R, 4] noised boxes before the sigmoid; else zeros */
    hd_sight groups;        /* who sees whom */
} hd_detr_queries;

/* Answers of the last layer of the decoder, or of all, one behind the other. */
typedef struct hd_detr_found {
    hd_tensor *logits; /* [layers * R, labels + 1] */
    hd_tensor *box;    /* [layers * R, 4] center and size, hd_real */
    hd_rows last;      /* the R rows of the last layer, behind the norm */
    size_t layers;
} hd_detr_found;

typedef struct hd_detr_loss_opt {
    float no_object;      /* weight of its label; 0: 0.1 */
    float absolute, giou; /* weights of the errors of boxes; 0: 5 and 2 */
    hd_detr_noise noise;
    double objects, pictures; /* of the whole update, whose gradient is divided by `objects` */
    hd_team *team;            /* that chooses queries; NULL: the backend's, or the caller alone */
} hd_detr_loss_opt;

/* Registers the parameters and makes room for them. HD_EARG: options that make no model. */
hd_status hd_detr_new(hd_detr **out, hd_backend *backend, const hd_detr_opt *opt, bool training, hd_err *err);
void hd_detr_free(hd_detr *m); /* accepts NULL */
/* Weights to begin with. */
hd_status hd_detr_draw(hd_detr *m, uint64_t seed, hd_err *err);

/* Cells of pictures behind the encoder; *place gets their positions. */
hd_rows hd_detr_encode(hd_run *r, const hd_detr *m, const hd_items *in, hd_tensor **place);
/* The same of what the backbone gives. */
hd_rows hd_detr_encode_cells(hd_run *r, const hd_detr *m, hd_rows cells, hd_tensor **place);

/* memory: segments of the cells, of which the first are pictures. noise NULL: queries alone. */
hd_detr_queries hd_detr_ask(hd_run *r, const hd_detr *m, const hd_seg *memory, size_t pictures,
                            const hd_detr_truth *truth, const hd_detr_noise *noise);
/* The cells that rows see, by their boxes [R, 4] before the sigmoid, which the host reads: those of a box and
   of what lies within the reach around it. */
hd_sight hd_detr_near(hd_run *r, const hd_detr *m, const hd_seg *memory, const hd_seg *rows,
                      const hd_tensor *box);
hd_detr_found hd_detr_decode(hd_run *r, const hd_detr *m, hd_rows memory, hd_tensor *place,
                             const hd_detr_queries *q, bool all_layers);

/* Losses in rows [.., 1] whose sum counts; also starts of backward. The queries of objects are chosen on the
   host, layer by layer: the step cannot be captured. found: receives the answers, or NULL. */
hd_tensor *hd_detr_loss(hd_run *r, const hd_detr *m, hd_rows memory, hd_tensor *place,
                        const hd_detr_truth *truth, const hd_detr_loss_opt *opt, hd_detr_found *found);

/* Of a forward pass over pictures of so many cells, asked by so many queries each. */
double hd_detr_flops(const hd_detr *m, double pictures, double cells, double queries);

/* Its keys in config.json. */
void hd_detr_config_write(hd_text *to, const hd_detr_opt *o);
void hd_detr_config_read(hd_model_config *c, hd_detr_opt *o);

static inline hd_model hd_detr_model(const hd_detr *m)
{
    return (hd_model){&hd_model_detr, (hd_params *)&m->params, (void *)m};
}

#endif
