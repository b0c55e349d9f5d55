/* A reader of handwriting: LSTM layers in both directions over the points of a pen, some side by side, and a
   layer that says characters by CTC. It judges what models of handwriting write. */
#ifndef HD_MODEL_STROKE_READER_H
#define HD_MODEL_STROKE_READER_H

#include "data/strokes/scale.h"
#include "model/config.h"
#include "model/type.h"
#include "nn/recurrent.h"

typedef struct hd_reader_opt {
    size_t width, vocab; /* of each direction; of characters, of which HD_PAD_ID is the blank */
    int layers, fold;    /* fold: points that are read at once */
    float dropout;
    hd_pen_scale scale; /* of points */
} hd_reader_opt;

typedef struct hd_reader {
    hd_reader_opt opt;
    hd_params params;
    hd_recurrent cells;
    hd_dense out;
} hd_reader;

/* HD_EARG: options that make no model. */
hd_status hd_reader_new(hd_reader **out, hd_backend *backend, const hd_reader_opt *opt, bool training,
                        hd_err *err);
void hd_reader_free(hd_reader *m); /* accepts NULL */

/* Logits of characters [R / fold, V] of points [R, 3]. */
hd_rows hd_reader_rows(hd_run *r, const hd_reader *m, hd_rows point);
/* Losses of the items, [N, 1]; also a start of backward. */
hd_tensor *hd_reader_loss(hd_run *r, const hd_reader *m, hd_rows point, const int32_t *ids,
                          const hd_seg *text);
double hd_reader_flops(const hd_reader *m, double items, double points);

void hd_reader_config_write(hd_text *to, const hd_reader_opt *o);
void hd_reader_config_read(hd_model_config *c, hd_reader_opt *o);

static inline hd_model hd_reader_model(const hd_reader *m)
{
    return (hd_model){&hd_model_reader, (hd_params *)&m->params, (void *)m};
}

#endif
