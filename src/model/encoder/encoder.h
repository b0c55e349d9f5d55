/* Encoders: rows of a front through stages of layers, one row out for each row in, or fewer where stages
   reduce them. */
#ifndef HD_MODEL_ENCODER_ENCODER_H
#define HD_MODEL_ENCODER_ENCODER_H

#include "model/stack.h"
#include "model/stages.h"
#include "nn/front.h"
#include "nn/recurrent.h"

typedef struct hd_encoder_opt {
    hd_stages stages;
    hd_stack_opt stack; /* of transformer stages; its width is that of token vectors and of recurrent layers
                           (in each direction), its dropout stands between recurrent layers, too. Layers,
                           cross and name are filled in. */
    size_t in;     /* columns of token vectors where a recurrent stage comes first; 0: the stack's width */
    hd_unary cell; /* of rnn stages; HD_IDENTITY: tanh */
    bool reverse;  /* recurrent layers of one direction read from the last token to the first */
    bool reduces;  /* stages may give fewer rows than they read */
    float source_dropout; /* of whole token vectors */
    const char *name;     /* "model.encoder" */
} hd_encoder_opt;

typedef struct hd_encoder_stage {
    hd_stage is;
    const struct hd_stage_type *type;
    size_t in, out; /* columns of the rows that it reads and gives */
    int reduction;  /* rows that become one */
    hd_dense fit;   /* to the width that follows; w NULL: it fits */
    hd_stack stack;
    hd_recurrent cells;
    void *self; /* of a kind that is neither */
} hd_encoder_stage;

typedef struct hd_encoder {
    hd_front front;
    float source_dropout;
    hd_encoder_stage stage[HD_STAGES];
    int stages;
    size_t out;    /* columns of its rows */
    int reduction; /* rows of the front that become one */
} hd_encoder;

/* The rows, and the states that the last recurrent stage ended with: `layers * directions` of them, those of
   a layer together; NULL where no stage recurs. */
typedef struct hd_encoded {
    hd_rows rows;
    hd_tensor **last;
    const hd_recurrent *cells; /* whose states they are */
} hd_encoded;

struct hd_preparing; /* model/prepare.h */

/* A kind of stage. Its functions may be NULL where there is nothing to do. */
typedef struct hd_stage_type {
    bool (*size)(int n); /* whether its name may have this number behind it; NULL: no number */
    /* `is`, `in` and `out`, which is as `in`, are set; names of tensors begin with `name`. */
    hd_status (*make)(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name,
                      hd_err *err);
    void (*free)(hd_encoder_stage *s);
    /* Rows behind its first layers, 1 to all. What recurs puts its states into *out. */
    hd_rows (*rows)(hd_run *r, const hd_encoder_stage *s, int layers, hd_rows x, hd_encoded *out);
    double (*flops)(const hd_encoder_stage *s, double items, double length);
    void (*prepare)(struct hd_preparing *p, const hd_encoder_stage *s); /* the weights of products */
} hd_stage_type;

#define X(name, text) extern const hd_stage_type hd_stage_type_##name;
HD_STAGE_LIST(X)
#undef X
extern const hd_stage_type *const hd_stage_types[HD_STAGE_KINDS];

/* Makes rows as wide as blocks, for a kind that wants them so: called by its `make`. */
void hd_encoder_stage_fit(hd_encoder_stage *s, hd_params *p, const hd_encoder_opt *o, const char *name);

/* The front is made by the caller: its tables may be shared. */
hd_status hd_encoder_make(hd_encoder *out, hd_params *p, const hd_encoder_opt *opt, hd_front front,
                          hd_err *err);
void hd_encoder_release(hd_encoder *e); /* accepts {0} */

hd_encoded hd_encoder_of(hd_run *r, const hd_encoder *e, const hd_items *in);

int hd_encoder_layers(const hd_encoder *e); /* of all stages */
/* Rows of layer number `layers`, 1 to all, and how many columns they have. The later ones are not run. */
hd_rows hd_encoder_rows_at_layer(hd_run *r, const hd_encoder *e, int layers, const hd_items *in);
size_t hd_encoder_width(const hd_encoder *e, int layers);

/* Multiply-adds times two of the matrix products of one forward pass over so many rows, in items of equal
   length. */
double hd_encoder_flops(const hd_encoder *e, double items, double length);

#endif
