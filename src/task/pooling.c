/* Names of poolings. */
#include "task/pooling.h"

#include <stddef.h>

#define X(NAME, name, text, reduction) #name,
const char *const hd_pooling_names[HD_POOLINGS + 1] = {HD_POOLING_LIST(X) NULL};
#undef X
