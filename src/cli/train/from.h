/* --from FOLDER: a run that begins with a model that is there. What the model brings, its sizes and its
   tokenizer, is what the run has; options that say otherwise are refused. */
#ifndef HD_CLI_TRAIN_FROM_H
#define HD_CLI_TRAIN_FROM_H

#include "run/options.h"

/* Whether a row is about the tokenizer, which comes with the model. */
bool hd_train_from_brings(const char *name);
/* HD_EARG where such a row is given. */
hd_status hd_train_from_check(const hd_option_set sets[2], hd_err *err);

/* A row gets what the model has, as it would be typed; HD_EARG where something else is given. */
hd_status hd_train_from_take(const hd_option_set sets[2], const char *name, const char *value, hd_err *err);
hd_status hd_train_from_number(const hd_option_set sets[2], const char *name, size_t value, hd_err *err);
hd_status hd_train_from_switch(const hd_option_set sets[2], const char *name, bool value, hd_err *err);
hd_status hd_train_from_activation(const hd_option_set sets[2], hd_unary act, hd_err *err);

/* A row that is not given gets what the tables of --task lm and mlm have for it, unless the model has brought
   it. `preset`: the value is that of a --preset that was asked for, which must have the model's size. */
hd_status hd_train_from_fill(const hd_option_set sets[2], const char *name, const char *value, bool preset,
                             hd_err *err);

/* What is not given of a run without a preset, for a model that has learned already: the largest rate, a
   short warm-up, 3 epochs. */
void hd_train_from_calm(const hd_option_set sets[2], double rate);
/* Such a rate of a Transformer: 5e-5 at a width of 768, and the more the narrower it is. */
double hd_train_from_rate(size_t width);

#endif
