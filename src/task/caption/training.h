/* Training a captioner: its options and its data. */
#ifndef HD_TASK_CAPTION_TRAINING_H
#define HD_TASK_CAPTION_TRAINING_H

#include "run/options.h"
#include "run/recipe.h"
#include "task/caption/caption.h"
#include "task/caption/captions.h"
#include "task/seq2seq/seq2seq.h"

/* HD_EARG where options do not go together. */
hd_status hd_caption_check(const hd_train_options *o, hd_err *err);
/* The model but for its vocabulary and what the pictures say. */
hd_status hd_caption_model(hd_encdec_opt *to, const hd_train_options *o, hd_err *err);

enum { HD_CAPTION_SIDE = 64 }; /* most pixels on a side, where nothing is said */

extern const hd_recipe hd_recipe_caption;

/* --encoder-from: the encoder of pictures in another model's folder, whatever its task, and its weights. */
hd_status hd_caption_origin(hd_image_encoder_opt *out, const char *folder, hd_err *err);
hd_status hd_caption_take_encoder(hd_encdec *m, const char *folder, hd_backend *backend, hd_err *err);

/* Reads the pictures to learn from and those that are held back, which may be none. */
hd_status hd_caption_read(hd_captions *train, hd_captions *valid, const hd_train_options *o, hd_err *err);

#endif
