/* heed plot: curves of training runs, in the terminal or as a picture. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "train/log/history.h"
#include "view/plot.h"
#include "view/draw/series.h"

enum { MOST_RUNS = 26, KINDS = 2, LONGEST_NAME = 160, ROWS = 21 };

struct plot {
    const char *metric, *out;
    int over, lines;
    double smooth;
};

static const char *const axes[] = {
    [HD_HISTORY_STEPS] = "steps", [HD_HISTORY_EPOCHS] = "epochs", [HD_HISTORY_MINUTES] = "time", NULL};
static const char *const axis_names[] = {[HD_HISTORY_STEPS] = "updates",
                                         [HD_HISTORY_EPOCHS] = "epochs",
                                         [HD_HISTORY_MINUTES] = "minutes since the first report"};
static const char *const lines[] = {"both", "train", "valid", NULL};
static const char *const kinds[KINDS] = {"train", "valid"};

static const hd_option options[] = {
    {"out", 'o', "FILE", NULL, "write a picture instead of drawing in the terminal: .svg, .png or .pdf",
     HD_FILE_INTO(struct plot, out)},
    {"metric", 0, "NAME", "loss",
     "what to plot: loss or another number in train/log.jsonl, such as perplexity, bleu, accuracy, rate, "
     "gradient_norm or tokens_per_second",
     HD_TEXT_INTO(struct plot, metric)},
    {"over", 0, "WHAT", "steps", "horizontal axis: steps, epochs or time",
     HD_CHOICE_INTO(struct plot, over, axes)},
    {"lines", 0, "WHICH", "both", "train, valid or both", HD_CHOICE_INTO(struct plot, lines, lines)},
    {"smooth", 0, "X", "0",
     "smooth the training line by a moving average, as TensorBoard does: 0 (off) to 0.999",
     HD_FLOAT_INTO(struct plot, smooth, 0, 0.999)},
    {0},
};

static const hd_example examples[] = {
    {"heed plot model", "training and validation loss in the terminal"},
    {"heed plot tiny small --over time --out loss.svg", "two runs in one picture"},
    {"heed plot model --metric bleu", "BLEU of every validation"},
    {"heed plot model --smooth 0.9 --lines train --out loss.png", "the training loss, smoothed"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    hd_history history[MOST_RUNS * KINDS];
    hd_series series[MOST_RUNS * KINDS];
    char name[MOST_RUNS * KINDS][LONGEST_NAME];
    size_t count;
} call;

static hd_status add_run(call *p, const struct plot *o, const char *folder, size_t run, hd_err *err)
{
    char known[256];
    size_t before = p->count;
    hd_status s = HD_OK;
    for (int k = 0; !s && k < KINDS; k++) {
        if (o->lines && o->lines != k + 1) continue;
        hd_history *h = &p->history[p->count];
        s = hd_history_read(h, folder, kinds[k], o->metric, (hd_history_axis)o->over, err);
        if (s || !h->count) continue;
        if (!k) hd_history_smooth(h, o->smooth);
        char *name = p->name[p->count];
        snprintf(name, LONGEST_NAME, "%s, %s: %.6g at the end", folder, k ? "validation" : "training",
                 h->y[h->count - 1]);
        p->series[p->count++] =
            (hd_series){.name = name, .x = h->x, .y = h->y, .count = h->count, .color = run, .strong = k};
    }
    if (!s && p->count == before)
        s = hd_err_set(err, HD_EARG, "%s: no %s%s%s in its log, which has: %s", folder, o->metric,
                       o->lines ? " of " : "", o->lines ? lines[o->lines] : "",
                       *hd_history_fields(folder, known, sizeof known) ? known : "no numbers yet");
    return s;
}

static hd_status show(const call *p, hd_err *err)
{
    const hd_command *c = &p->command;
    const struct plot *o = c->options;
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = c->out.width, .color = c->out.color, .utf8 = true};
    hd_series_plot v = {.title = o->metric,
                        .across = axis_names[o->over],
                        .upward = o->metric,
                        .series = p->series,
                        .count = p->count};
    hd_drawing d = hd_series_drawing(&v);
    if (o->out) return hd_plot_save(o->out, &d, err);
    hd_series_text(&pen, &v, ROWS);
    return hd_command_put_text(c, &out, true, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct plot *o = c->options;
    call *p = (call *)c;
    hd_status s = o->out ? hd_plot_check(o->out, err) : HD_OK;
    for (int i = 0; !s && i < c->operands.count; i++) s = add_run(p, o, c->operands.word[i], (size_t)i, err);
    if (!s) s = show(p, err);
    c->misused = s == HD_EARG; /* the log has no such number */
    return s;
}

static void release(hd_command *c)
{
    for (size_t i = 0; i < MOST_RUNS * KINDS; i++) hd_history_release(&((call *)c)->history[i]);
}

const hd_usage hd_verb_plot = {
    .operands = "MODEL...",
    .least = 1,
    .most = MOST_RUNS,
    .about =
        "Draws the training and validation loss, or another number, from train/log.jsonl of each MODEL "
        "folder, in the terminal or, with --out, as a picture. A run that is still training is drawn as far "
        "as it is. Several runs share one picture, each with its own color or letter; a capital letter, or "
        "a wide line with marks, is validation.",
    .options = options,
    .size = sizeof(struct plot),
    .examples = examples,
    .call = sizeof(call),
    .run = run,
    .release = release,
};
