/* What options say of a decoder, for the tasks that have one. */
#ifndef HD_RUN_DECODER_H
#define HD_RUN_DECODER_H

#include "model/encdec/encdec.h"
#include "run/options.h"

/* What --encoder or --decoder says; text NULL: a transformer. */
hd_status hd_decoder_stages(hd_stages *to, const char *option, const char *text, hd_err *err);
/* HD_HAS_... of a decoder of these stages. */
hd_run_parts hd_decoder_parts(const hd_stages *decoder, const hd_train_options *o);
/* A recurrent one; parts: HD_HAS_... of the run. */
hd_recurrent_decoder_opt hd_decoder_cells(const hd_train_options *o, hd_run_parts parts);

/* What a decoder is fed in training; the truth where it reads no previous token. */
hd_feeding hd_decoder_feeding(const hd_train_options *o, hd_run_parts parts);
/* The same in this update, whose number alone decides, told to the model. Returns a number that the shape of
   a captured step has to mix in. */
uint64_t hd_decoder_feed(hd_run *r, hd_encdec *m, const hd_feeding *f, const hd_train_options *o);

#endif
