/* Memory of a run beside that of the machine. */
#include "cli/train/memory.h"

#include <stdio.h>

#include "backend/backend.h"

#define MIB 1048576.0
#define GIB 1073741824.0

typedef struct choice {
    const char *wanted; /* NULL: any */
    hd_device device;
    bool found;
} choice;

static void take(void *context, const hd_device *d)
{
    choice *c = context;
    if (c->found || d->why[0] || (c->wanted && strcmp(c->wanted, d->backend))) return;
    c->device = *d, c->found = true;
}

static const char *remedy(hd_train_task task)
{
    return task == HD_TRAIN_TRANSLATE ? "a smaller --batch-tokens, --accumulate N or --recompute"
                                      : "a smaller --batch or --accumulate N";
}

void hd_train_memory_show(const hd_command *c, const hd_train_options *o, size_t bytes)
{
    FILE *f = c->out.file;
    choice on = {.wanted = strcmp(o->device, "auto") ? o->device : NULL};
    hd_backend_list(take, &on);
    const hd_device *d = &on.device;
    fprintf(f, "memory             %.1f MiB for weights, gradients, moments and the largest update\n",
            (double)bytes / MIB);
    if (!on.found || !d->memory) {
        fprintf(f, "device             %s: its memory is not known here\n",
                on.found ? d->backend : o->device);
        return;
    }
    fprintf(f, "device             %s, %.1f of %.1f GiB free\n", d->backend, (double)d->left / GIB,
            (double)d->memory / GIB);
    if (bytes > d->left)
        hd_log_say(&c->log, HD_WARN, "the run needs %.1f GiB, and the %s has %.1f GiB free: give %s",
                   (double)bytes / GIB, d->backend, (double)d->left / GIB, remedy((hd_train_task)o->task));
}
