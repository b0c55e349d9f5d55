/* Where several teams share the cores, each may leave some to the others: those of its threads that are not
   in use sleep. Between two runs of the team, by its caller. */
#ifndef HD_BASE_SYSTEM_TEAM_SHARE_H
#define HD_BASE_SYSTEM_TEAM_SHARE_H

#include "base/system/team.h"

int hd_team_all(const hd_team *t);         /* threads that it has; hd_team_size are those in use */
void hd_team_use(hd_team *t, int threads); /* at least 1, at most all */

#endif
