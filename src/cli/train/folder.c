/* The folder of a run. */
#include "cli/train/train.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/file/lines.h"
#include "task/list.h"
#include "train/checkpoint.h"

/* Behind all options: without it, some may be missing. */
static const char last_line[] = "# end of the options\n";

hd_status hd_train_folder_check(const hd_train_options *o, hd_err *err)
{
    char config[HD_PATH];
    bool empty = true;
    hd_status s = hd_folder_empty(o->out, &empty, err);
    if (s || empty) return s;
    if (!o->overwrite)
        return hd_err_set(err, HD_EFILE,
                          "%s: not empty: --resume goes on with the run in it, --overwrite begins anew",
                          o->out);
    s = hd_path(config, o->out, "training.yml", err);
    if (!s && access(config, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: not a model's folder (no training.yml): it is not overwritten",
                          o->out);
    return s;
}

static bool has_effect(const hd_option *row, const hd_train_options *o)
{
    return hd_recipe_applies(row, o, hd_recipe_parts(hd_tasks[o->task]->recipe, o));
}

static bool is_kept(const hd_option *row, const void *options)
{
    return row->keep != HD_KEEP_NOT && has_effect(row, options);
}

static hd_status keep_options(const hd_train_options *o, hd_err *err)
{
    char path[HD_PATH];
    hd_text t = {0};
    hd_text_put(&t, "# The options of this training run. `heed train --resume --out FOLDER` reads them;\n"
                    "# `heed train --config training.yml --out OTHER` begins another such run.\n");
    hd_config_write(&t, hd_train_table, o, is_kept);
    hd_text_put(&t, last_line);
    hd_status s = hd_text_status(&t, err);
    if (!s && hd_utf8_good(t.data, t.size) < t.size)
        s = hd_err_set(err, HD_EARG,
                       "a file has a name that is not UTF-8, which training.yml cannot keep: rename it");
    if (!s) s = hd_path(path, o->out, "training.yml", err);
    if (!s) s = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return s;
}

/* What was in it goes only now: a run that cannot begin costs no model. */
hd_status hd_train_folder_open(const hd_train_options *o, hd_err *err)
{
    hd_status s = hd_folder_make(o->out, NULL, err);
    if (!s && o->overwrite) s = hd_model_folder_remove(o->out, err);
    return s ? s : keep_options(o, err);
}

hd_status hd_train_folder_resumable(const hd_train_options *o, hd_err *err)
{
    if (hd_checkpoint_exists(o->out)) return HD_OK;
    return hd_err_set(err, HD_EFILE, "%s: there is no checkpoint to resume from%s", o->out,
                      access(o->out, F_OK) ? " (no such folder)" : ": begin anew with --overwrite");
}

/* -- names of files -- */

static hd_status full_names(hd_texts *files, hd_arena *memory, hd_err *err)
{
    for (int i = 0; i < files->count; i++) {
        if (!strcmp(files->text[i], "-")) continue;
        char *full = hd_arena_take(memory, PATH_MAX);
        if (!full) return hd_err_nomem(err, PATH_MAX);
        if (!realpath(files->text[i], full))
            return hd_err_set(err, HD_EFILE, "%s: %s", files->text[i], strerror(errno));
        files->text[i] = full;
    }
    return HD_OK;
}

/* Of a folder that need not be there yet. */
static hd_status full_folder(const char **folder, hd_arena *memory, hd_err *err)
{
    char here[PATH_MAX];
    if (!*folder || **folder == '/') return HD_OK;
    size_t size = strlen(*folder) + PATH_MAX + 2;
    char *full = hd_arena_take(memory, size);
    if (!full) return hd_err_nomem(err, size);
    if (!getcwd(here, sizeof here)) return hd_err_set(err, HD_EFILE, "%s: %s", *folder, strerror(errno));
    snprintf(full, size, "%s/%s", here, *folder);
    *folder = full;
    return HD_OK;
}

/* The model to begin with would be removed. */
static hd_status check_from(const hd_train_options *o, hd_err *err)
{
    char out[PATH_MAX];
    if (!o->out || !realpath(o->out, out) || strcmp(out, o->from)) return HD_OK;
    return hd_err_set(err, HD_EARG, "--from and --out are the same folder, %s: --resume goes on with a run",
                      out);
}

hd_status hd_train_folder_name(hd_train_options *o, hd_arena *memory, hd_err *err)
{
    hd_texts from = {{o->from}, o->from != NULL};
    hd_texts *const files[] = {&o->train, &o->valid, &o->train_dir, &o->tokenizer_model, &o->prompts};
    hd_status s = full_names(&from, memory, err);
    o->from = from.text[0];
    if (!s && o->from) s = check_from(o, err);
    for (size_t i = 0; !s && i < sizeof files / sizeof *files; i++) s = full_names(files[i], memory, err);
    return s ? s : full_folder(&o->shards, memory, err);
}

/* -- the options it has kept -- */

/* What is given now (NULL: everything) must be what it was, but for rows of these kinds on. */
static hd_status compare(const hd_train_options *then, const hd_train_options *now, const hd_given *given,
                         hd_option_keep may_change, hd_err *err)
{
    hd_status s = HD_OK;
    for (const hd_option *row = hd_train_table; !s && row->name; row++) {
        hd_text value[2] = {{0}, {0}};
        if (given ? !hd_option_given(&given[row - hd_train_table]) : !has_effect(row, now)) continue;
        if (row->keep >= may_change || hd_option_same(row, then, now, value, err)) continue;
        s = err->status ? err->status
                        : hd_err_set(err, HD_EARG,
                                     "--%s was %s when the run began and is %s now: leave it out to resume, "
                                     "or begin a new run",
                                     row->name, value[0].data ? value[0].data : "not given",
                                     value[1].data ? value[1].data : "not given");
        hd_text_release(&value[0]);
        hd_text_release(&value[1]);
    }
    return s;
}

static hd_status check_end(const char *path, hd_err *err)
{
    hd_map map;
    size_t size = strlen(last_line);
    hd_status s = hd_map_open(&map, path, err);
    if (s) return s;
    bool whole = map.size >= size && !memcmp(map.data + map.size - size, last_line, size);
    hd_map_close(&map);
    return whole
               ? HD_OK
               : hd_err_set(
                     err, HD_EFORMAT,
                     "%s: cut short: its last line is not \"%.*s\". Copy the file again; where an older heed "
                     "wrote it, add that line",
                     path, (int)size - 1, last_line);
}

/* What runs had before there was an option whose default is another: they do not say it. */
static hd_status add_absent(const hd_option_set *set, hd_err *err)
{
    static const struct {
        hd_train_task task;
        const char *option, *value;
    } absent[] = {{HD_TRAIN_LM, "position-kind", "learned"},
                  {HD_TRAIN_WRITE, "model", "handwriting"},
                  {HD_TRAIN_TRANSCRIBE, "normalize", "bins"}};
    const hd_train_options *o = set->into;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof absent / sizeof *absent; i++) {
        hd_option_place at = hd_option_find(set, absent[i].option);
        if (o->task == (int)absent[i].task && !hd_option_given(at.given) && has_effect(at.option, o))
            s = hd_option_read(at.option, at.field, absent[i].value, err);
    }
    return s;
}

static hd_status read_options(hd_train_options *then, const char *folder, hd_arena *memory, hd_err *err)
{
    char path[HD_PATH];
    hd_given known[HD_TRAIN_MOST_ROWS] = {HD_GIVEN_NOT};
    const hd_option_set set = {hd_train_table, then, known, NULL};
    *then = (hd_train_options){0};
    hd_status s = hd_option_set_defaults(&set, err);
    if (!s) s = hd_path(path, folder, "training.yml", err);
    then->config = path;
    *hd_option_find(&set, HD_CONFIG_NAME).given = HD_GIVEN_HERE;
    if (!s) s = hd_config_read(&set, memory, err);
    if (!s) s = check_end(path, err);
    then->config = NULL;
    return s ? s : add_absent(&set, err);
}

hd_status hd_train_folder_resume(hd_train_options *o, hd_given *given, hd_arena *memory, hd_err *err)
{
    hd_train_options then;
    hd_status s = read_options(&then, o->out, memory, err);
    const hd_option_set set = {hd_train_table, o, given, NULL};
    if (!s && hd_tasks[then.task]->recipe->spread) hd_tasks[then.task]->recipe->spread(&set);
    if (!s) s = compare(&then, o, given, HD_KEEP_LIMIT, err);
    for (size_t i = 0; !s && hd_train_table[i].name; i++) {
        const hd_option *row = &hd_train_table[i];
        bool keep = row->keep == HD_KEEP_NOT || (row->keep && hd_option_given(&given[i]));
        if (!keep) hd_option_copy(row, o, &then);
    }
    return s;
}

hd_status hd_train_same(const hd_train_options *o, const hd_given *given, hd_err *err)
{
    hd_train_options now = *o, then;
    const hd_option_set set = {hd_train_table, &now, (hd_given *)given, NULL};
    hd_arena memory;
    hd_arena_init(&memory, hd_allocator_host, 0);
    hd_status s = hd_recipe_fill(hd_tasks[o->task]->recipe, &set, err);
    if (!s) s = hd_train_folder_name(&now, &memory, err);
    if (!s) s = read_options(&then, o->out, &memory, err);
    if (!s) s = compare(&then, &now, NULL, HD_KEEP_REPORT, err);
    hd_arena_release(&memory);
    return s;
}
