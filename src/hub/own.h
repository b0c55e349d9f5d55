/* What transformers has no key for, in a folder that heed exported: the object "heed" of its config.json says
   which of heed's own tokenizers lies in it, and what else is needed to read the same model back. */
#ifndef HD_HUB_OWN_H
#define HD_HUB_OWN_H

#include "hub/family.h"

#define HD_OWN_KEY "heed"

/* The object as a config of its own, which borrows all from c and is not released; without keys where there
   is none. Its faults are to be handed back. */
hd_model_config hd_family_own(const hd_model_config *c);
void hd_family_own_end(hd_model_config *c, const hd_model_config *own);

/* The folder's tokenizer; of translators first that of the source, then that of the target, which may be one
   and the same. */
void hd_family_open_tokenizer(hd_model_config *c, const char *folder, hd_tokenizer **t);
void hd_family_open_tokenizers(hd_model_config *c, const char *folder, hd_tokenizer *t[2]);

/* Which of heed's own tokenizers lie in the folder: they are said only where transformers does not have them.
 */
void hd_family_own_tokenizers(json_t *own, hd_tokenizer *const t[2]);

#endif
