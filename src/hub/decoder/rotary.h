/* Rotary positions in a published config.json: "rope_theta" with "rope_scaling" as transformers 4 writes
   them, "rope_parameters" as 5 does. */
#ifndef HD_HUB_DECODER_ROTARY_H
#define HD_HUB_DECODER_ROTARY_H

#include "hub/family.h"

/* Fills rotary, and of a Gemma 3 also local_theta; theta: what a file without it means. */
void hd_decoder_rotary_read(hd_model_config *c, hd_lm_opt *o, double theta);
/* Writes both forms. */
void hd_decoder_rotary_put(json_t *config, const hd_lm_opt *o);

#endif
