/* Gradients of what a model says, by layer, position and head: how much the loss of its translation of a
   sentence, or of a text that a language model reads, would change with the vector at each place. */
#ifndef HD_SHOW_BACKWARD_GRADIENTS_H
#define HD_SHOW_BACKWARD_GRADIENTS_H

#include "model/heads.h"
#include "show/token.h"
#include "task/model_folder.h"

typedef struct hd_gradient_layer {
    const char *name; /* "enc.emb", "enc.0": what the layer reads */
    bool source;      /* rows are those of the source, otherwise of what the model predicts from */
    double *norm;     /* [tokens] of d loss / d row */
} hd_gradient_layer;

typedef struct hd_gradients {
    hd_arena memory; /* of all but heads */
    hd_shown_token *source, *read,
        *said; /* source NULL: a language model; said[i] is predicted from read[i] */
    size_t sources, reads;
    double *loss;             /* [reads] nats of each token that is said */
    hd_gradient_layer *layer; /* from the vectors of tokens on */
    size_t layers;
    hd_heads heads; /* with the slope of each; no layers: the model has no attention */
} hd_gradients;

/* HD_EARG: it is neither a translator nor a language model that is trained by gradients. `to` is {0} after a
   failure. */
hd_status hd_gradients_of(hd_gradients *to, hd_run *r, const hd_model_folder *f, hd_line text, hd_err *err);
/* The same with factors of heads, which are taken over. */
hd_status hd_gradients_with(hd_gradients *to, hd_run *r, const hd_model_folder *f, hd_heads *heads,
                            hd_line text, hd_err *err);
void hd_gradients_release(hd_gradients *g); /* accepts {0} */

#endif
