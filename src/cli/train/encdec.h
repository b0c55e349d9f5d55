/* The options of encoder-decoders: which of them a model has, and what they mean to it. */
#ifndef HD_CLI_TRAIN_ENCDEC_H
#define HD_CLI_TRAIN_ENCDEC_H

#include "run/options.h"
#include "model/encdec/encdec.h"

/* Their stages and options, and what they are fed in training; HD_EARG where they are none or cannot go
   together. */
hd_status hd_train_encdec(hd_encdec_opt *to, hd_feeding *feeding, const hd_train_options *o, hd_err *err);
/* HD_EARG where an option is given that has no effect on such a model. */
hd_status hd_train_encdec_belong(const hd_option_set sets[2], hd_err *err);
bool hd_train_encdec_idle(const hd_train_options *o, const char *option);
/* "transformer 4+4 layers, width 128, inner 256, 4 heads", into buf; returns buf. */
const char *hd_train_shape(const hd_encdec_opt *m, char *buf, size_t size);

#endif
