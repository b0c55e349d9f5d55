/* How much each owner may ask for: so many tokens a minute, of which it may save up those of one minute. For
   one thread. */
#ifndef HD_SERVE_QUOTA_H
#define HD_SERVE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_QUOTA_OWNERS = 4096 }; /* at a time; the one that was quiet for longest makes room */

typedef struct hd_quota {
    double rate; /* tokens a minute; 0: any number */
    struct {
        uint64_t owner;
        double left, when; /* tokens, and when they were that many; `when` 0: nobody's */
    } of[HD_QUOTA_OWNERS];
} hd_quota;

/* Whether the owner may have so many tokens now; if not, in *retry the seconds until it may. What is more
   than a minute's can be had with a minute saved up, and is owed. */
bool hd_quota_take(hd_quota *q, uint64_t owner, size_t tokens, double now, double *retry);

#endif
