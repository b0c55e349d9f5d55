/* What a run will be, and its memory beside that of the machine. */
#include "cli/train/train.h"

#include <math.h>
#include <stdio.h>

#include "backend/backend.h"
#include "backend/ranks.h"
#include "task/bench/bench.h"
#include "task/list.h"

#define MIB 1048576.0
#define GIB 1073741824.0

static void show_memory(const hd_command *c, const hd_train_options *o, size_t bytes)
{
    FILE *f = c->out.file;
    hd_device d;
    bool found = hd_backend_find(&d, o->device);
    fprintf(f, "memory             %.1f MiB for weights, gradients, moments and the largest update\n",
            (double)bytes / MIB);
    if (!found || !d.memory) {
        fprintf(f, "device             %s: memory unknown\n", found ? d.backend : o->device);
        return;
    }
    fprintf(f, "device             %s, %.1f of %.1f GiB free\n", d.backend, (double)d.left / GIB,
            (double)d.memory / GIB);
    if (bytes > d.left)
        hd_log_say(&c->log, HD_WARN, "the run needs %.1f GiB, and the %s has %.1f GiB free: give %s",
                   (double)bytes / GIB, d.backend, (double)d.left / GIB, hd_tasks[o->task]->remedy);
}

/* Updates until the first limit; 0: it is not known. */
static double updates_of(const hd_train_options *o, const hd_plan *p)
{
    double steps = (double)o->steps, all = (double)o->epochs * (double)p->batches;
    return steps > 0 && all > 0 ? fmin(steps, all) : fmax(steps, all);
}

/* The least it can take: products go as fast as one that is measured now. */
static void show_time(const hd_command *c, const hd_train_options *o, const hd_plan *p)
{
    FILE *f = c->out.file;
    hd_backend_opt opt = {
        .threads = c->common.threads, .precision = (hd_precision)o->precision, .training = true};
    hd_backend *b = NULL;
    hd_err err = {0};
    double rate = 0, updates = updates_of(o, p);
    char a[32], d[32];
    hd_status s = hd_backend_new(&b, o->device, &opt, &err);
    if (!s) s = hd_bench_product(b, b->capture ? 4096 : 512, 5, &rate, &err);
    hd_backend_free(b);
    if (s)
        fprintf(f, "time               not estimated: %s\n", err.text);
    else
        fprintf(
            f,
            "time               at least %s for %s updates: %.3g GFLOP/s, measured with a matrix product\n",
            hd_clock(fmax(updates, 1) * p->flops / rate, a), hd_grouped((uint64_t)fmax(updates, 1), d),
            rate / 1e9);
}

/* Of small models the first digits that are not 0. */
static int places(double x)
{
    return x < 1 ? 4 : 2;
}

void hd_train_plan_show(const hd_command *c, const hd_train_options *o, const hd_plan *p)
{
    FILE *f = c->out.file;
    char a[32];
    double update = p->flops / 1e9, epoch = p->flops * (double)p->batches / 1e12;
    fprintf(f, "model              %s\n", p->model);
    if (p->parameters) fprintf(f, "parameters         %s", hd_grouped(p->parameters, a));
    if (p->trainable < p->parameters) fprintf(f, ", %s of them trained", hd_grouped(p->trainable, a));
    if (p->parameters) fputc('\n', f);
    for (size_t i = 0; i < p->facts.count; i++)
        fprintf(f, "%-18s %s\n", p->facts.at[i].name, p->facts.at[i].text);
    if (!p->parameters) return;
    fprintf(f, "batches an epoch   %s\n", hd_grouped(p->batches, a));
    show_memory(c, o, p->memory);
    fprintf(f, "work               %.*f GFLOP an update, %.*f TFLOP an epoch\n", places(update), update,
            places(epoch), epoch);
    show_time(c, o, p);
}

void hd_train_plan_say(const hd_command *c, const hd_plan *p)
{
    char a[32];
    hd_text t = {0};
    hd_text_put(&t, p->model);
    if (p->parameters) hd_text_print(&t, ": %s parameters", hd_grouped(p->parameters, a));
    if (p->trainable < p->parameters)
        hd_text_print(&t, ", %s of them frozen", hd_grouped(p->parameters - p->trainable, a));
    hd_log_say(&c->log, HD_INFO, "%s", t.data ? t.data : "");
    hd_text_release(&t);
    for (size_t i = 0; i < p->facts.count; i++)
        hd_text_print(&t, "%s: %s; ", p->facts.at[i].name, p->facts.at[i].text);
    hd_text_print(&t, "batches an epoch: %s", hd_grouped(p->batches, a));
    if (!p->parameters && t.data) *strrchr(t.data, ';') = 0; /* what is counted has none */
    hd_log_say(&c->log, HD_INFO, "%s", t.data ? t.data : "");
    hd_text_release(&t);
    if (hd_ranks() > 1) hd_log_say(&c->log, HD_INFO, "%d processes share every batch", hd_ranks());
    if (p->parameters)
        hd_log_say(&c->log, HD_DEBUG, "%.3f GFLOP an update; on %s", p->flops / 1e9, p->backend);
}
