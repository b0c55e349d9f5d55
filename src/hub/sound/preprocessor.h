/* preprocessor_config.json beside a published model that reads sound. */
#ifndef HD_HUB_SOUND_PREPROCESSOR_H
#define HD_HUB_SOUND_PREPROCESSOR_H

#include "data/sound/features.h"
#include "hub/family.h"

/* What the file says, or what Whisper has where it says nothing; its frames have to be those of the model: so
   many of a chunk, of so many bins. Faults are told to c. */
void hd_family_features_read(hd_model_config *c, const char *folder, size_t bins, size_t frames,
                             hd_features_opt *out);
hd_status hd_family_features_save(const hd_features_opt *o, const char *folder, hd_err *err);

#endif
