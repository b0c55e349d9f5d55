/* What the options of a run mean for its pictures, whatever the task. */
#ifndef HD_RUN_PICTURES_H
#define HD_RUN_PICTURES_H

#include "data/image/loader.h"
#include "model/vision/image_encoder.h"
#include "run/options.h"
#include "run/task.h"

/* How pictures change in training. */
hd_augment hd_train_augment(const hd_train_options *o);

/* What a plan says of pictures that --picture-memory does not hold. */
void hd_train_plan_kept(hd_plan *p, const hd_image_loader *l, const hd_image_set *set);

/* How a model that is new reads pictures of these data: --image-size and --channels or, where these are 0,
   the size that half of the pictures do not exceed, up to `most`, and gray if all are; mean and deviation of
   each channel over some of the pictures. */
hd_status hd_train_prepare(hd_image_prepare *out, const hd_image_set *set, const hd_train_options *o,
                           int most, hd_err *err);

/* The encoder of pictures that the options describe, of so many layers where it has blocks; its size in
   pixels, its activation and its ResNet are left to say. */
hd_image_encoder_opt hd_train_image_encoder(const hd_train_options *o, int kind, int layers);

/* What --resnet and the options beside it say of a ResNet for pictures whose shorter side is `side` pixels.
 */
hd_status hd_train_resnet(hd_resnet_opt *out, const hd_train_options *o, int side, hd_err *err);
/* The same the other way: STAGES of --resnet. */
enum { HD_RESNET_TEXT = 24 * HD_RESNET_STAGES };
const char *hd_train_resnet_text(const hd_resnet_opt *n, char to[HD_RESNET_TEXT]);

#endif
