/* One warning per run about words missing from a model's vocabulary. */
#ifndef HD_CLI_VERB_UNKNOWN_H
#define HD_CLI_VERB_UNKNOWN_H

#include "cli/frame/verb.h"
#include "task/any_model.h"

/* Says how many tokens of all that was encoded are <unk>, and some of the words; nothing where there are
   none. The model may be {0}, as it is where it could not be opened. */
void hd_unknown_warn(const hd_command *c, const hd_any_model *m);

#endif
