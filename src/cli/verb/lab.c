/* heed lab: the lectures' claims, run and drawn. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "lab/site.h"
#include "view/draw/table.h"

struct lab {
    hd_usual usual;
    bool all;
    const char *out, *data;
    int64_t seed;
    int size;
};

static const char *const sizes[] = {"small", "full", NULL};

static const hd_option options[] = {
    {"all", 0, NULL, NULL, "run every experiment and write a page of each to the folder --out names",
     HD_FLAG_INTO(struct lab, all)},
    {"out", 'o', "FILE", NULL,
     "write the paper to a .html, .json, .svg, .png or .pdf file; with --all the folder of the pages",
     HD_FILE_INTO(struct lab, out)},
    {"data", 0, "DIR", NULL, "the data to judge MODEL by: for glue the folder of GLUE, or of one of its sets",
     HD_FILE_INTO(struct lab, data)},
    {"size", 0, "SIZE", "small", "small: seconds; full: larger and longer, up to minutes",
     HD_CHOICE_INTO(struct lab, size, sizes)},
    {"seed", 0, "N", "1", "seed of all random numbers; two more follow it where a claim takes several",
     HD_LONG_INTO(struct lab, seed, 0, 1000000000)},
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(hd_usual, json)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed lab", "list the experiments"},
    {"heed lab vanishing", "run one: its table, its plot, and whether the claim held"},
    {"heed lab forgetting --size full --out forgetting.svg", "longer, and drawn in a file"},
    {"heed lab glue MODEL --data GLUE", "a model of yours on the sets of GLUE that it fits"},
    {"heed lab --all --out lab", "a site of all of them; open lab/index.html"},
    {NULL, NULL},
};

/* -- the list -- */

static hd_status put_list(const hd_command *c, hd_err *err)
{
    hd_text page = {0};
    int lecture = -1;
    for (size_t i = 0; i < hd_experiment_count; i++) {
        const hd_experiment *x = hd_experiments[i];
        if (x->lecture != lecture)
            hd_text_print(&page, "%s%slecture %03d%s\n", lecture < 0 ? "" : "\n", hd_terminal_bold(&c->out),
                          x->lecture, hd_terminal_plain(&c->out));
        lecture = x->lecture;
        hd_text_print(&page, "  %-12s %s%s%s%s\n", x->name, x->title, x->takes ? " (takes a model: " : "",
                      x->takes ? x->takes : "", x->takes ? ")" : "");
    }
    return hd_command_put_page(c, &page, HD_OK, err);
}

/* -- running -- */

typedef struct call {
    hd_command command;
    const hd_experiment *x;
} call;

static bool tell(void *context, double share)
{
    const call *k = context;
    const hd_terminal *t = &k->command.err;
    if (!t->is_terminal || k->command.common.quiet) return true;
    if (share < 1)
        fprintf(t->file, "\r\033[K%s: %.0f %%", k->x->name, 100 * share);
    else
        fputs("\r\033[K", t->file);
    fflush(t->file);
    return true;
}

static void begun(void *context, const hd_experiment *x)
{
    ((call *)context)->x = x;
}

static void done(void *context, const hd_paper *r)
{
    const call *k = context;
    hd_log_say(&k->command.log, HD_INFO, "%s: %s (%.1f s)", r->name,
               hd_paper_held(r) ? "held" : "did not hold", r->seconds);
}

static hd_status show(const hd_command *c, hd_paper *r, hd_err *err)
{
    const struct lab *o = c->options;
    hd_text page = {0};
    hd_text_pen pen = {.to = &page, .width = c->out.width, .color = c->out.color, .utf8 = true};
    if (o->out) {
        hd_status s = hd_paper_save(o->out, r, err);
        for (size_t i = 0; !s && i < r->claims; i++)
            hd_log_say(&c->log, HD_INFO, "%s: %s", r->claim[i].held ? "held" : "did not hold",
                       r->claim[i].text);
        return s;
    }
    if (o->usual.json)
        hd_paper_json(&page, r);
    else
        hd_paper_text(&pen, r);
    return hd_command_put_page(c, &page, HD_OK, err);
}

static hd_status find(call *k, hd_err *err)
{
    const char *name = k->command.operands.word[0];
    hd_spelling best = hd_spelling_of(name);
    for (size_t i = 0; i < hd_experiment_count; i++) {
        if (!strcmp(hd_experiments[i]->name, name)) k->x = hd_experiments[i];
        hd_spelling_try(&best, hd_experiments[i]->name);
    }
    if (k->x) return HD_OK;
    return hd_err_set(err, HD_EARG, "unknown experiment '%s'%s%s%s: 'heed lab' lists them", name,
                      best.match ? ", did you mean '" : "", best.match ? best.match : "",
                      best.match ? "'?" : "");
}

/* Of a task that the experiment takes. */
static hd_status open_model(call *k, hd_err *err)
{
    hd_command *c = &k->command;
    const char *folder = c->operands.word[1], *takes = k->x->takes, *one = strchr(takes, ',') ? NULL : takes;
    hd_status s = hd_model_folder_open(&c->model, folder, one, c->machine.backend, HD_WEIGHTS_WHOLE, err);
    if (!s && !strstr(takes, c->model.task->name))
        s = hd_err_set(err, HD_EARG, "%s: this is %s: %s takes models of the tasks %s", folder,
                       c->model.task->what, k->x->name, takes);
    return s;
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct lab *o = c->options;
    call *k = (call *)c;
    if (!k->x && !o->all) return put_list(c, err);
    hd_machine_options machine = o->usual.machine;
    if (machine.precision == HD_PRECISION_AUTO) machine.precision = HD_PRECISION_F32;
    hd_status s = hd_machine_open(&c->machine, c, &machine, err);
    hd_lab lab = {.run = &c->machine.run,
                  .seed = (uint64_t)o->seed,
                  .seeds = HD_LAB_SEEDS,
                  .full = o->size,
                  .data = o->data,
                  .tell = tell,
                  .context = k};
    if (!s && o->all)
        return hd_site_write(
            &lab, &(hd_site_opt){.folder = o->out, .begun = begun, .done = done, .context = k}, err);
    hd_paper r;
    hd_paper_init(&r);
    if (!s && c->operands.count > 1) {
        s = open_model(k, err);
        lab.model = &c->model;
    }
    if (!s) s = hd_experiment_run(&r, k->x, &lab, err);
    if (!s) s = show(c, &r, err);
    hd_paper_release(&r);
    return s;
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct lab *o = c->options;
    call *k = (call *)c;
    if (o->all && c->operands.count)
        return hd_err_set(err, HD_EARG, "--all runs every experiment: '%s' is one too many",
                          c->operands.word[0]);
    if (o->data && !c->operands.count)
        return hd_err_set(err, HD_EARG, "--data is for one experiment: heed lab glue MODEL --data DIR");
    if (o->all && !o->out) return hd_err_set(err, HD_EARG, "--out is required: the folder of the pages");
    if (o->all || !c->operands.count) return HD_OK;
    hd_status s = find(k, err);
    if (!s && c->operands.count > 1 && !k->x->takes)
        s = hd_err_set(err, HD_EARG, "%s takes no model: it trains what it needs", k->x->name);
    const bool model = c->operands.count > 1;
    if (!s && k->x->reads && model && !o->data)
        s = hd_err_set(err, HD_EARG, "--data is required: the folder of %s that the model is judged by",
                       k->x->reads);
    if (!s && o->data && !(k->x->reads && model))
        s = hd_err_set(err, HD_EARG,
                       k->x->reads ? "--data needs a model: heed lab %s MODEL --data DIR"
                                   : "%s reads no data of yours: --data is not for it",
                       k->x->name);
    if (!s && o->out) s = hd_paper_check(o->out, err);
    return s;
}

const hd_usage hd_verb_lab = {
    .operands = "[NAME [MODEL]]",
    .most = 2,
    .about =
        "Runs what the lectures claim: each experiment says the claim in a sentence, measures it with the "
        "models of heed in seconds, prints a table, draws a plot, and says whether the claim held, by how "
        "much, "
        "and where the lectures' wording is too strong. Without NAME it lists the experiments. What is drawn "
        "at random is measured with three seeds, and their spread is shown.\n"
        "Experiments compute in f32 unless --precision says otherwise: some compare numbers to the seventh "
        "digit.\n"
        "Some experiments look at a model of yours, the folder MODEL, in place of one they train.",
    .options = options,
    .size = sizeof(struct lab),
    .examples = examples,
    .call = sizeof(call),
    .check = check,
    .run = run,
};
