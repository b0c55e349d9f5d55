/* One warning per run about words missing from a model's vocabulary. */
#ifndef HD_CLI_VERB_UNKNOWN_H
#define HD_CLI_VERB_UNKNOWN_H

#include "cli/frame/verb.h"
#include "text/tokenizer.h"

/* Says how many tokens of all that was encoded are <unk>, and some of the words; nothing where there are
   none. Both may be NULL, as they are where a model could not be opened, or one and the same. */
void hd_unknown_warn(const hd_command *c, const hd_tokenizer *t, const hd_tokenizer *other);

#endif
