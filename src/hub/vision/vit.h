/* A published Vision Transformer: its part of config.json, which other models hold, too, and how it reads a
   picture. */
#ifndef HD_HUB_VISION_VIT_H
#define HD_HUB_VISION_VIT_H

#include "hub/family.h"
#include "model/vision/image_encoder.h"

#define HD_PREPROCESSOR "preprocessor_config.json"

/* Reads the keys of a ViT's config. o: what they do not say (a distillation token) is set before. How
   pictures are read stays unsaid. */
void hd_family_vit_read(hd_model_config *c, hd_image_encoder_opt *o);
/* ... and writes them. */
void hd_family_vit_put(json_t *config, const hd_image_encoder_opt *o);
/* What transformers does with a picture where nothing is said of it. */
hd_image_prepare hd_family_vit_prepare(const hd_image_encoder_opt *o);
/* HD_EARG where transformers has no such encoder; the text says what to train instead. */
hd_status hd_family_vit_check(const hd_image_encoder_opt *o, const char *folder, hd_err *err);

/* preprocessor_config.json of a folder; what it lacks is as in p, and where there is none all is. A fault
   stays in c. */
void hd_family_preprocessor_read(hd_model_config *c, const char *folder, hd_image_prepare *p);
/* processor: the class that transformers reads it with; NULL: one that does all of it, and no more. */
hd_status hd_family_preprocessor_save(const hd_image_prepare *p, const char *processor, const char *folder,
                                      hd_err *err);

#endif
