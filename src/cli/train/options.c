/* The options of a run, shown. */
#include "cli/train/train.h"

#include <stdio.h>

#include "task/list.h"

/* -- help -- */

/* A default as help shows it: text without quotes, nothing of flags and lists. */
static hd_status write_default(hd_row_help *to, const hd_option *row, const hd_train_options *o, hd_err *err)
{
    hd_text t = {0};
    if (row->type == HD_OPTION_FLAG || row->many || row->most) return HD_OK;
    hd_option_value(&t, row, o);
    hd_status s = hd_text_status(&t, err);
    bool quoted = t.size > 1 && t.data[0] == '"';
    if (!s && t.size)
        snprintf(to->fallback, sizeof to->fallback, "%.*s", (int)(t.size - 2 * quoted), t.data + quoted);
    hd_text_release(&t);
    return s;
}

/* The rows of the run that the options describe. */
static hd_status show_run(hd_row_help *rows, const hd_option_set *set, hd_err *err)
{
    const hd_train_options *o = set->into;
    const hd_recipe *recipe = hd_tasks[o->task]->recipe;
    hd_status s = hd_recipe_fill(recipe, set, err);
    hd_run_parts parts = s ? 0 : hd_recipe_parts(recipe, o);
    for (size_t i = 0; !s && set->table[i].name; i++) {
        const hd_option *row = &set->table[i];
        rows[i].left_out = !hd_recipe_has_task(row, o->task);
        if (hd_recipe_applies(row, o, parts)) s = write_default(&rows[i], row, o, err);
    }
    return s;
}

static bool is_given(const hd_option_set *set)
{
    for (size_t i = 0; set && set->table[i].name; i++)
        if (hd_option_given(&set->given[i])) return true;
    return false;
}

/* Whether the default of a row is another in a task, or with some preset. */
static bool varies(const hd_option *row, int task, const hd_train_options *o, const hd_train_options *plain)
{
    bool named;
    if (row->type == HD_OPTION_FLAG) return false;
    for (int p = 0; p < HD_PRESETS; p++)
        if (hd_preset_value((hd_preset)p, row->name, &named)) return true;
    return hd_recipe_has_task(row, task) && !hd_option_same(row, o, plain, NULL, NULL);
}

static hd_status show_all(hd_row_help *rows, hd_err *err)
{
    hd_train_options plain = {0};
    hd_status s = hd_option_set_defaults(&(hd_option_set){.table = hd_train_table, .into = &plain}, err);
    for (size_t i = 0; hd_train_table[i].name; i++)
        if (hd_train_table[i].fallback)
            snprintf(rows[i].fallback, sizeof rows->fallback, "%s", hd_train_table[i].fallback);
    for (int task = 0; !s && task < HD_TRAIN_TASKS; task++) {
        hd_train_options o = plain;
        hd_given given[HD_TRAIN_MOST_ROWS] = {HD_GIVEN_NOT};
        o.task = task;
        s = hd_recipe_fill(hd_tasks[task]->recipe, &(hd_option_set){hd_train_table, &o, given, NULL}, err);
        for (size_t i = 1; !s && hd_train_table[i].name; i++)
            if (varies(&hd_train_table[i], task, &o, &plain))
                snprintf(rows[i].fallback, sizeof rows->fallback, "depends on --task and --preset");
    }
    return s;
}

hd_status hd_train_help_rows(hd_row_help *rows, const hd_option_set *set, hd_err *err)
{
    return is_given(set) ? show_run(rows, set, err) : show_all(rows, err);
}

/* -- a run -- */

hd_status hd_train_options_show(const hd_command *c, const hd_train_options *o, const hd_given *given,
                                hd_err *err)
{
    static const char *const origins[] = {
        [HD_GIVEN_NOT] = "default",     [HD_GIVEN_HERE] = "command line", [HD_GIVEN_FILE] = "--config",
        [HD_GIVEN_PRESET] = "--preset", [HD_GIVEN_MODEL] = "--from",      [HD_GIVEN_BY_OTHERS] = "derived"};
    hd_run_parts parts = hd_recipe_parts(hd_tasks[o->task]->recipe, o);
    hd_text all = {0};
    hd_text_put(&all, "options\n");
    for (size_t i = 0; hd_train_table[i].name; i++) {
        const hd_option *row = &hd_train_table[i];
        hd_text line = {0};
        if (!hd_recipe_applies(row, o, parts) ||
            (row->keep == HD_KEEP_NOT && (!row->group || !hd_option_given(&given[i]))))
            continue;
        if (hd_option_line(&line, row, o))
            hd_text_print(&all, "  %-40s # %s\n", line.data ? line.data : "", origins[given[i]]);
        if (line.missed) all.missed = line.missed;
        hd_text_release(&line);
    }
    return hd_command_put_text(c, &all, false, err);
}
