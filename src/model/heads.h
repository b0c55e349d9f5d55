/* The attention heads of a model by name, and factors for them (nn/block/heads.h). A head is
   STACK.LAYER.SUBLAYER.HEAD, as probes and `heed explain` name layers: enc.2.self.5, dec.0.cross.3; both
   numbers count from 0. Later stages of a model of several have theirs: dec.stage1.0.self.3. Of a language
   model the stack may be left out.

       hd_heads heads;
       hd_heads_init(&heads, &model, &err);
       hd_heads_set(&heads, "enc.2.self.5=0,dec.*.cross.*=0.5", &err);
       run.heads = &heads;      ... until run.heads = NULL
       hd_heads_release(&heads);
*/
#ifndef HD_MODEL_HEADS_H
#define HD_MODEL_HEADS_H

#include "model/type.h"
#include "nn/block/heads.h"

enum { HD_HEAD_NAME = HD_HEADS_SCOPE + 24 };

/* Every head of m, or of its body, with factor 1. HD_EARG if it has none. out is {0} after a failure. */
hd_status hd_heads_init(hd_heads *out, const hd_model *m, hd_err *err);
void hd_heads_release(hd_heads *h); /* accepts {0} */

/* Sets factors: NAME=FACTOR, separated by commas; a later one wins. `*` stands for any one part of a name.
   HD_EARG for what is not of that form, for a factor that is not finite, and for a name that no head of the
   model has: the text says which there are. */
hd_status hd_heads_set(hd_heads *h, const char *list, hd_err *err);

/* "enc.2.self.5", as hd_heads_set takes it, into buf; returns buf. */
const char *hd_head_name(const hd_heads_layer *l, size_t head, char buf[HD_HEAD_NAME]);

size_t hd_heads_count(const hd_heads *h); /* of all layers */

#endif
