/* Progress of a training run. */
#include "cli/train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "task/list.h"

#define REDRAW 0.2 /* seconds */

const char *hd_clock(double seconds, char buffer[32])
{
    if (!isfinite(seconds)) return snprintf(buffer, 32, "-"), buffer;
    uint64_t s = (uint64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(buffer, 32, "%" PRIu64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    else
        snprintf(buffer, 32, "%d:%02d", (int)(s / 60), (int)(s % 60));
    return buffer;
}

void hd_train_progress_end(hd_train_progress *p)
{
    if (p->open) fputs("\r\033[K", p->command->err.file);
    p->open = false;
}

static void put_place(FILE *f, const hd_train_progress *p, const hd_news *n)
{
    char a[32], b[32];
    uint64_t steps = (uint64_t)p->options->steps, epochs = (uint64_t)p->options->epochs;
    uint64_t epoch = n->at->epoch + 1; /* behind the last one there is none */
    fprintf(f, "step %s", hd_grouped(n->at->step, a));
    if (steps) fprintf(f, "/%s", hd_grouped(steps, b));
    fprintf(f, "  epoch %" PRIu64, epochs && epoch > epochs ? epochs : epoch);
    if (epochs) fprintf(f, "/%" PRIu64, epochs);
}

static void put_experts(FILE *f, const hd_news *n)
{
    if (n->experts.layers) fprintf(f, "  MaxVio %.2f", n->experts.mean);
}

static void put_figures(FILE *f, const hd_figure figure[HD_FIGURES])
{
    hd_text t = {0};
    for (const hd_figure *m = figure; m < figure + HD_FIGURES && m->name; m++)
        if (m->title && !isnan(m->value)) hd_figure_put(&t, m, "  ");
    if (t.data) fputs(t.data, f);
    hd_text_release(&t);
}

static void put_training(FILE *f, const hd_train_progress *p, const hd_news *n)
{
    char speed[32], left[32];
    put_place(f, p, n);
    if (!hd_tasks[p->options->task]->by_figures) fprintf(f, "  loss %.4f", n->loss);
    put_figures(f, n->figure);
    fprintf(f, "  rate %.3g", n->rate);
    put_experts(f, n);
    if (isfinite(n->tokens_second))
        fprintf(f, "  %s %s/s", hd_grouped((uint64_t)n->tokens_second, speed),
                hd_tasks[p->options->task]->unit);
    if (isfinite(n->left)) fprintf(f, "  %s left", hd_clock(n->left, left));
}

static void put_valid(FILE *f, const hd_train_progress *p, const hd_news *n)
{
    char seconds[32];
    put_place(f, p, n);
    fputs("  valid", f);
    if (!hd_tasks[p->options->task]->by_figures) fprintf(f, " loss %.4f", n->valid.loss);
    if (hd_tasks[p->options->task]->perplexity) fprintf(f, "  perplexity %.2f", exp(n->valid.loss));
    put_figures(f, n->valid.figure);
    put_experts(f, n);
    fprintf(f, "  after %s%s", hd_clock(n->seconds, seconds), n->best ? "  (best)" : "");
}

static void say_warmup(const hd_train_progress *p, const hd_news *n)
{
    const hd_log *log = &p->command->log;
    uint64_t asked = (uint64_t)p->options->warmup;
    char a[32], b[32], d[32];
    if (n->warmup < asked && !n->at->step)
        hd_log_say(log, HD_INFO,
                   "warm-up of %s updates instead of %s, as the run has %s; --no-fit-warmup keeps it",
                   hd_grouped(n->warmup, a), hd_grouped(asked, b), hd_grouped(n->at->decay_steps, d));
    if (n->planned && n->planned < n->warmup)
        hd_log_say(log, HD_WARN,
                   "the warm-up of %s updates is longer than the run of %s: the learning rate only reaches "
                   "%.0f %% of --lr. Give a smaller --warmup or more --steps",
                   hd_grouped(n->warmup, a), hd_grouped(n->planned, b),
                   100 * (double)n->planned / (double)n->warmup);
}

/* More updates than the schedule was made for: not those few by which epochs differ with how sentences fall
   together. */
static bool rate_is_0(const hd_train_progress *p, const hd_news *n)
{
    const uint64_t made_for = n->at->decay_steps;
    return n->rate <= 0 && p->options->lr > 0 && n->at->step > made_for + made_for / 100;
}

static void say_rate_is_0(hd_train_progress *p, const hd_news *n)
{
    p->warned = true;
    hd_train_progress_end(p);
    hd_log_say(&p->command->log, HD_WARN,
               "the learning rate has fallen to 0 after the %" PRIu64
               " updates the run was planned for: more of them change nothing. Begin a new run with a larger "
               "--decay-steps",
               n->at->decay_steps);
}

void hd_train_progress_tell(void *progress, const hd_news *n)
{
    hd_train_progress *p = progress;
    const hd_command *c = p->command;
    FILE *f = c->err.file;
    bool live = c->err.is_terminal;
    if (n->kind == HD_NEWS_SKIP) {
        hd_train_progress_end(p);
        hd_log_say(&c->log, HD_WARN,
                   "step %" PRIu64 ": the gradient is not finite, this update is left out (%" PRIu64
                   " so far)",
                   n->at->step, n->at->skipped);
        return;
    }
    if (n->kind == HD_NEWS_BEGIN) {
        say_warmup(p, n);
        return;
    }
    if (n->kind == HD_NEWS_STEP && !p->warned && rate_is_0(p, n)) say_rate_is_0(p, n);
    if (c->common.quiet) return;
    if (n->kind == HD_NEWS_STEP && (!live || n->seconds - p->drawn < REDRAW)) return;
    if (n->kind == HD_NEWS_REPORT && live && !c->common.verbose) return;
    if (n->kind == HD_NEWS_SAVE) {
        if (!c->common.verbose) return;
        hd_train_progress_end(p);
        hd_log_say(&c->log, HD_DEBUG, "checkpoint of step %" PRIu64 " saved", n->at->step);
        return;
    }
    hd_train_progress_end(p);
    if (n->kind == HD_NEWS_VALID)
        put_valid(f, p, n);
    else
        put_training(f, p, n);
    p->open = n->kind == HD_NEWS_STEP;
    if (!p->open) fputc('\n', f);
    p->drawn = n->seconds;
    fflush(f);
}
