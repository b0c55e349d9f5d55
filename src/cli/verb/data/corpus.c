/* heed corpus: writes a small English-German parallel corpus that a model learns in minutes. */
#include "cli/frame/verb.h"

#include <unistd.h>

#include "base/file/file.h"
#include "base/file/staging.h"
#include "data/grammar/grammar.h"

struct corpus {
    int pairs, valid, test, seed;
    const char *out;
    bool overwrite;
};

static const hd_option options[] = {
    {"out", 'o', "FOLDER", NULL, "folder to write to; created if missing, and then complete or not at all",
     HD_FILE_INTO(struct corpus, out)},
    {"pairs", 'n', "N", "20000", "training pairs", HD_INT_INTO(struct corpus, pairs, 1, 10000000)},
    {"valid", 0, "N", "500", "validation pairs", HD_INT_INTO(struct corpus, valid, 0, 1000000)},
    {"test", 0, "N", "500", "test pairs", HD_INT_INTO(struct corpus, test, 0, 1000000)},
    {"seed", 0, "N", "1", "seed of the random sentences", HD_INT_INTO(struct corpus, seed, 0, 2147483647)},
    {"overwrite", 0, NULL, NULL, "replace existing files", HD_FLAG_INTO(struct corpus, overwrite)},
    {0},
};

static const hd_example examples[] = {
    {"heed corpus --out demo", "20,000 pairs in demo/train.en and demo/train.de, 500 each in valid and test"},
    {"heed corpus --pairs 100 --test 0 --valid 0 -o tiny", "a hundred pairs in two files"},
    {NULL, NULL},
};

enum { SPLITS = 3, LANGUAGES = 2, FILES = SPLITS * LANGUAGES };

static const char *const names[FILES] = {"train.en", "train.de", "valid.en",
                                         "valid.de", "test.en",  "test.de"};

struct file {
    char path[HD_PATH];
    hd_save *save; /* NULL: not open, or done with */
};

static hd_status open_file(struct file *f, const struct corpus *o, const char *folder, const char *name,
                           hd_err *err)
{
    hd_status s = hd_path(f->path, folder, name, err);
    if (s) return s;
    if (!o->overwrite && !access(f->path, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: exists already (--overwrite replaces it)", f->path);
    return hd_save_open(&f->save, f->path, err);
}

static hd_status write_pairs(struct file file[LANGUAGES], hd_grammar *g, int pairs, hd_err *err)
{
    hd_text line[LANGUAGES] = {{0}};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < pairs; i++) {
        s = hd_grammar_next(g, &line[0], &line[1], err);
        for (int l = 0; !s && l < LANGUAGES; l++) {
            hd_text_put(&line[l], "\n");
            s = hd_text_status(&line[l], err);
            if (!s) s = hd_save_write(file[l].save, line[l].data, line[l].size, err);
        }
    }
    for (int l = 0; l < LANGUAGES; l++) hd_text_release(&line[l]);
    return s;
}

/* All files are written before the first is put in its place, and then none of an earlier corpus is left: new
   sentences never stand beside old translations. */
static hd_status put_in_place(struct file file[FILES], hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < FILES; i++)
        if (file[i].save) s = hd_folder_remove(file[i].path, err);
    for (int i = 0; !s && i < FILES; i++) {
        hd_save *save = file[i].save;
        file[i].save = NULL;
        if (save) s = hd_save_commit(save, err);
    }
    return s;
}

static hd_status write_all(const struct corpus *o, const char *folder, hd_err *err)
{
    const int pairs[SPLITS] = {o->pairs, o->valid, o->test};
    struct file *file = hd_mem_array(FILES, sizeof *file);
    hd_grammar *g = NULL;
    hd_status s = file ? hd_grammar_new(&g, (uint64_t)o->seed, err) : hd_err_nomem(err, FILES * sizeof *file);
    for (int i = 0; !s && i < FILES; i++)
        if (pairs[i / LANGUAGES]) s = open_file(&file[i], o, folder, names[i], err);
    for (int i = 0; !s && i < SPLITS; i++) s = write_pairs(file + i * LANGUAGES, g, pairs[i], err);
    if (!s) s = put_in_place(file, err);
    for (int i = 0; file && i < FILES; i++) hd_save_abandon(file[i].save);
    hd_grammar_free(g);
    hd_mem_free(file);
    return s;
}

/* A new folder appears whole. */
static hd_status write_folder(const struct corpus *o, hd_err *err)
{
    hd_staging made;
    hd_status s = hd_staging_begin(&made, o->out, err);
    return s ? s : hd_staging_end(&made, write_all(o, made.temp, err), err);
}

static hd_status write_among_others(const struct corpus *o, hd_err *err)
{
    hd_lock lock;
    hd_status s = hd_lock_take(&lock, o->out, err);
    if (!s) s = write_all(o, o->out, err);
    hd_lock_release(&lock);
    return s;
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct corpus *o = c->options;
    return o->out && *o->out ? HD_OK
                             : hd_err_set(err, HD_EARG, "--out is required: the folder for the files");
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct corpus *o = c->options;
    bool empty = false;
    hd_status s = hd_folder_empty(o->out, &empty, err);
    if (!s) s = empty ? write_folder(o, err) : write_among_others(o, err);
    if (!s)
        hd_log_say(&c->log, HD_INFO, "wrote %d training, %d validation and %d test pairs to %s", o->pairs,
                   o->valid, o->test, o->out);
    return s;
}

const hd_usage hd_verb_corpus = {
    .about = "Writes sentences of a small English grammar with their German translation, one a line, words "
             "and punctuation separated by spaces: train.en and train.de, valid and test. The German has "
             "gender, case and number, adjective endings, separable verbs, the perfect, modal verbs, "
             "negation, inversion and subordinate clauses; each English sentence has one translation.\n"
             "No sentence occurs twice, in one file or in two. '" HD_GRAMMAR_RESERVED
             "' is in none of them: a sentence to test a trained model with.",
    .options = options,
    .size = sizeof(struct corpus),
    .examples = examples,
    .check = check,
    .run = run,
};
