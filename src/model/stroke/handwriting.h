/* Graves' networks of handwriting (2013): LSTM layers that read the last point of a pen and give the next
   one as a mixture of Gaussians. Every layer reads the point, and the output layer reads all of them. With a
   window (the synthesis network) the first layer moves Gaussians along the characters of a text, and all
   layers read what they cover: the first one what they covered at the point before. Without one it is the
   prediction network, which writes whatever it likes.

   A point is an offset from the one before, less the mean and over the deviation of the training data, and
   whether the pen is lifted behind it. */
#ifndef HD_MODEL_STROKE_HANDWRITING_H
#define HD_MODEL_STROKE_HANDWRITING_H

#include "backend/mixture.h"
#include "data/strokes/scale.h"
#include "model/config.h"
#include "model/type.h"
#include "nn/recurrent.h"
#include "nn/unroll.h"

typedef struct hd_handwriting_opt {
    size_t width, vocab; /* vocab: of characters, also of a model that does not read them */
    int layers;
    int mixtures; /* Gaussians of a point */
    int window;   /* Gaussians of the window; 0: none, and no text is read */
    float dropout;
    hd_pen_scale scale; /* of points */
} hd_handwriting_opt;

typedef struct hd_handwriting_layer {
    hd_param *w_in, *b_in, *w, *b; /* as PyTorch's cells: weight_ih, bias_ih, weight_hh, bias_hh */
} hd_handwriting_layer;

typedef struct hd_handwriting {
    hd_handwriting_opt opt;
    hd_params params;
    hd_front letters; /* one-hot rows */
    hd_handwriting_layer layer[HD_RECURRENT_LAYERS];
    hd_dense window; /* from h of the first layer to 3 numbers of each Gaussian */
    hd_dense out;
} hd_handwriting;

enum { HD_HANDWRITING_POINT = 3 }; /* columns: across, down, lifted */

/* Points in backend memory, and texts. */
typedef struct hd_handwriting_batch {
    hd_rows point;      /* [R, 3] that are read */
    hd_tensor *next;    /* [R, 3] those behind them; lifted -1: none. NULL: not known */
    const hd_seg *text; /* as many items; NULL without a window */
    const int32_t *ids; /* of its characters */
} hd_handwriting_batch;

/* What the window did, row by row of the points. */
typedef struct hd_handwriting_seen {
    hd_tensor *window; /* [R, 3K] before exp */
    hd_tensor *kappa;  /* [R, K] */
} hd_handwriting_seen;

/* HD_EARG: options that make no model. */
hd_status hd_handwriting_new(hd_handwriting **out, hd_backend *backend, const hd_handwriting_opt *opt,
                             bool training, hd_err *err);
void hd_handwriting_free(hd_handwriting *m); /* accepts NULL */
/* Weights to begin with; points: of a character, on average, by which the window begins to move. */
hd_status hd_handwriting_draw(hd_handwriting *m, uint64_t seed, double points, hd_err *err);

/* Outputs [R, 1 + 6M], as backend/mixture.h has them. cache: NULL, or what hd_handwriting_cache made: each
   call goes on where the one before ended. seen may be NULL. */
hd_rows hd_handwriting_rows(hd_run *r, const hd_handwriting *m, const hd_handwriting_batch *b,
                            hd_cache *cache, hd_handwriting_seen *seen);
hd_status hd_handwriting_cache(hd_cache **out, const hd_handwriting *m, size_t items, hd_err *err);
/* Losses of points [R, 1] in nats of numbers that were divided by the deviation; also a start of backward. */
hd_tensor *hd_handwriting_loss(hd_run *r, const hd_handwriting *m, const hd_handwriting_batch *b);

/* Of a forward pass over items of so many points and characters. */
double hd_handwriting_flops(const hd_handwriting *m, double items, double points, double letters);

/* Its keys in config.json. */
void hd_handwriting_config_write(hd_text *to, const hd_handwriting_opt *o);
void hd_handwriting_config_read(hd_model_config *c, hd_handwriting_opt *o);

static inline hd_model hd_handwriting_model(const hd_handwriting *m)
{
    return (hd_model){&hd_model_handwriting, (hd_params *)&m->params, (void *)m};
}

#endif
