/* Encoders: token vectors through stages of layers, one row out for each row in. */
#ifndef HD_MODEL_ENCODER_H
#define HD_MODEL_ENCODER_H

#include "model/stack.h"
#include "model/stages.h"
#include "nn/recurrent.h"

typedef struct hd_encoder_opt {
    hd_stages stages;
    hd_stack_opt stack; /* of transformer stages; its width is that of token vectors and of recurrent layers
                           (in each direction), its dropout stands between recurrent layers, too. Layers,
                           cross and name are filled in. */
    size_t in;     /* columns of token vectors where a recurrent stage comes first; 0: the stack's width */
    hd_unary cell; /* of rnn stages; HD_IDENTITY: tanh */
    bool reverse;  /* recurrent layers of one direction read from the last token to the first */
    float source_dropout; /* of whole token vectors */
    const char *name;     /* "model.encoder" */
} hd_encoder_opt;

typedef struct hd_encoder_stage {
    hd_stage is;
    hd_dense fit; /* to the width that follows; w NULL: it fits */
    hd_stack stack;
    hd_recurrent cells;
} hd_encoder_stage;

typedef struct hd_encoder {
    hd_embedding embedding;
    float source_dropout;
    hd_encoder_stage stage[HD_STAGES];
    int stages;
    size_t out; /* columns of its rows */
} hd_encoder;

/* The rows, and the states that the last recurrent stage ended with: `layers * directions` of them, those of
   a layer together; NULL where no stage recurs. */
typedef struct hd_encoded {
    hd_rows rows;
    hd_tensor **last;
    const hd_recurrent *cells; /* whose states they are */
} hd_encoded;

/* The embedding is the caller's: its table may be shared. */
hd_status hd_encoder_make(hd_encoder *out, hd_params *p, const hd_encoder_opt *opt, hd_embedding embedding,
                          hd_err *err);
void hd_encoder_release(hd_encoder *e); /* accepts {0} */

hd_encoded hd_encoder_of(hd_run *r, const hd_encoder *e, const int32_t *ids, const hd_seg *seg);

int hd_encoder_layers(const hd_encoder *e); /* of all stages */
/* Rows of layer number `layers`, 1 to all, and how many columns they have. The later ones are not run. */
hd_rows hd_encoder_behind(hd_run *r, const hd_encoder *e, int layers, const int32_t *ids, const hd_seg *seg);
size_t hd_encoder_width(const hd_encoder *e, int layers);

/* Multiply-adds times two of the matrix products of one forward pass over so many rows, in items of equal
   length. */
double hd_encoder_flops(const hd_encoder *e, double items, double length);

#endif
