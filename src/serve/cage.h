/* What a server that was tricked could still do: read the folders of its models, answer, and nothing else.
   Landlock takes files away, seccomp system calls that no server needs; where the kernel has not the one or
   the other, the log says so and it goes on without. */
#ifndef HD_SERVE_CAGE_H
#define HD_SERVE_CAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

/* Takes from the calling thread, and those it will start, all files but those in the folders, which can be
   read. Open files stay. */
bool hd_cage_files(const char *const *folder, size_t count, const hd_log *log);
/* Takes system calls from all threads of the process: other programs, other users, tracing, mounting, new
   connections. They fail with EPERM. */
bool hd_cage_calls(const hd_log *log);

#endif
