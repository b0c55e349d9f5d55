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

#endif
