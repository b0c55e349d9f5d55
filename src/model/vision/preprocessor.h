/* How a model reads a picture, as preprocessor_config.json says it; config.json of a model folder has the
   same keys in the object "image". */
#ifndef HD_MODEL_VISION_PREPROCESSOR_H
#define HD_MODEL_VISION_PREPROCESSOR_H

#include "data/image/prepare.h"
#include "model/config.h"

/* What c lacks stays as it is in p, whose channels are set: what transformers takes then. A size that is one
   number is a square, or the shorter side where p has that. The first fault stays in c. */
void hd_preprocessor_read(hd_model_config *c, hd_image_prepare *p);

/* Writes the object. processor: the class that transformers reads it with; NULL: not said. */
void hd_preprocessor_write(hd_text *to, const hd_image_prepare *p, const char *processor);

#endif
