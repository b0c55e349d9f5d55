/* What translators, captioners and speech recognizers share: their models are encoder-decoders. */
#ifndef HD_TASK_SEQ2SEQ_SEQ2SEQ_H
#define HD_TASK_SEQ2SEQ_SEQ2SEQ_H

#include "model/encdec/encdec.h"
#include "run/session.h"
#include "task/model_folder.h"
#include "task/seq2seq/targets.h"

/* -- options -- */

/* What --encoder and --decoder say. */
hd_status hd_seq2seq_stages(hd_stages *encoder, hd_stages *decoder, const hd_train_options *o, hd_err *err);
/* HD_HAS_... of a model of these stages. */
hd_run_parts hd_seq2seq_parts(const hd_stages *encoder, const hd_stages *decoder, const hd_train_options *o);
/* What options say of blocks, tables and positions on both sides; the rest is 0. */
hd_encdec_opt hd_seq2seq_model(const hd_train_options *o);
/* HD_EARG where --width has no part for each of --heads; parts: HD_HAS_... of the run. */
hd_status hd_seq2seq_check_heads(const hd_train_options *o, hd_run_parts parts, hd_err *err);
/* HD_EARG where a text of --max-length does not fit into --max-positions. */
hd_status hd_seq2seq_check_length(const hd_train_options *o, hd_err *err);
/* Makes the model on a machine that computes nothing: what cannot go together is said before data is read. */
hd_status hd_seq2seq_attempt(const hd_encdec_opt *m, const hd_feeding *feeding, hd_err *err);

/* -- models that go on -- */

/* What training says of a model that exists, as `now` has it. */
void hd_seq2seq_continue(hd_encdec_opt *m, const hd_encdec_opt *now);
/* Of tasks with one tokenizer: that of the folder that the run goes on with, whose sizes *model gets; or one
   of the texts. */
hd_status hd_seq2seq_tokenizer(const hd_session *s, hd_tokenizer **out, hd_encdec_opt *model,
                               const hd_targets *texts, hd_err *err);

/* -- training -- */

/* The loss of the decoder, or of CTC where it is alone; of both the gradient is that of the weighted sum.
   No column of its own is the blank of CTC, but that of the start, which no text has. */
hd_tensor *hd_seq2seq_loss(hd_run *r, const hd_encdec *m, hd_encoded memory, const hd_targets_sent *text,
                           int32_t start, float smoothing);

/* -- folders -- */

/* Makes the model that config.json describes and puts it into the folder. A fault stays in c. */
void hd_seq2seq_make(hd_model_folder *f, hd_model_config *c, const hd_encdec_opt *opt, hd_train_task task,
                     hd_backend *backend);
/* Of models with one tokenizer: reads it first. padding: rows that a table may have beyond those of tokens.
 */
void hd_seq2seq_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_encdec_opt *opt,
                     size_t padding, hd_train_task task, hd_backend *backend);
void hd_seq2seq_write(hd_text *to, const hd_model_folder *f);

#endif
