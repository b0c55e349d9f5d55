/* What options were called before: training.yml of a run made then is read by today's names, and whoever
   types an old name is told the new one. */
#ifndef HD_CLI_FRAME_RENAMED_H
#define HD_CLI_FRAME_RENAMED_H

#include "cli/frame/option.h"

typedef struct hd_renamed {
    const char *before;
    const char *name;  /* today's */
    const char *value; /* the row is of this value alone; NULL: of any */
} hd_renamed;

/* The row of a name, or of its value, whose new name is in the tables; NULL: there is none. One of any value
   does not hold where the old name is there, too. value: NULL: not known. */
const hd_renamed *hd_renamed_find(const hd_option_set sets[2], const char *before, const char *value);

#endif
