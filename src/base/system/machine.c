/* The machine's resources, from /proc, control groups and process limits. */
#include "base/system/machine.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The number after `key` in a file of "key number" lines; "" takes the first number. 0 if there is none. */
static size_t number_in(const char *path, const char *key)
{
    char line[256];
    unsigned long long n = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        size_t length = strlen(key);
        if (!strncmp(line, key, length) && sscanf(line + length, " %llu", &n) == 1) break;
        n = 0;
    }
    if (f) fclose(f);
    return n > SIZE_MAX ? SIZE_MAX : (size_t)n;
}

/* "max" is not a number and means no limit. */
static void lower(size_t *all, size_t *left, size_t limit, size_t used)
{
    size_t rest = limit > used ? limit - used : 0;
    if (!limit || limit >= *all) return;
    *all = limit;
    if (rest < *left) *left = rest;
}

void hd_machine_memory(size_t *all, size_t *left)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    *all = 1024 * number_in("/proc/meminfo", "MemTotal:");
    *left = 1024 * number_in("/proc/meminfo", "MemAvailable:");
    if (!*all && pages > 0 && bytes > 0) *all = (size_t)pages * (size_t)bytes;
    if (!*left) *left = *all;
    lower(all, left, number_in("/sys/fs/cgroup/memory.max", ""),
          number_in("/sys/fs/cgroup/memory.current", ""));
    lower(all, left, number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""),
          number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes", ""));
    struct rlimit space;
    if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
        lower(all, left, (size_t)space.rlim_cur, (size_t)bytes * number_in("/proc/self/statm", ""));
}
