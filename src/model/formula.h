/* What a probe's names mean: "dec.0.cross.softmax" is the softmax of the cross-attention of the decoder's
   first layer. Formulas are of rows times matrices, x W, and depend on the model as little as they can; what
   is special to a model its type says (hd_model_type.formula), with the help of what is here. */
#ifndef HD_MODEL_FORMULA_H
#define HD_MODEL_FORMULA_H

#include "model/encoder/encoder.h"
#include "model/type.h"

/* What made the matrix of a name, right of the "="; NULL: not known. */
const char *hd_formula(const hd_model *m, const char *name);

const char *hd_formula_last(const char *name);               /* behind the last dot */
bool hd_formula_is(const char *name, const char *last);      /* whether that is this */
bool hd_formula_inside(const char *name, const char *scope); /* whether one of its scopes is this */
bool hd_formula_of_encoder(const char *name);

/* Of token vectors and what is added to them; NULL: it is neither. */
const char *hd_formula_embedding(const hd_front *e, const char *name);
/* Of what stages have in common: cells and token vectors. NULL: it is neither. */
const char *hd_formula_stages(const hd_encoder *e, hd_unary act, const char *name);
/* States of a recurrent layer, with the cells of its kind; act: of an rnn's, HD_IDENTITY: tanh. NULL: it is
   no state. */
const char *hd_formula_cell(const hd_stage *s, hd_unary act, const char *name);
/* Of a Transformer block, with biases; NULL: it is none of its products. */
const char *hd_formula_block(bool pre_norm, const char *name);

#endif
