/* What a dry run says of memory: what the run needs, beside what the device has. */
#ifndef HD_CLI_TRAIN_MEMORY_H
#define HD_CLI_TRAIN_MEMORY_H

#include "run/options.h"
#include "cli/frame/verb.h"

/* Prints both; a run that does not fit is warned of, with what would help its task. */
void hd_train_memory_show(const hd_command *c, const hd_train_options *o, size_t bytes);

#endif
