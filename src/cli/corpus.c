/* heed corpus: writes a parallel corpus of a small English and German, to learn from in minutes. */
#include "cli/verb.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/grammar.h"

struct corpus {
    int pairs, valid, test, seed;
    const char *out;
    bool overwrite;
};

static const hd_option options[] = {
    {"out", 'o', "FOLDER", NULL, "where to write; made if it is not there", HD_FILE_INTO(struct corpus, out)},
    {"pairs", 'n', "N", "20000", "sentence pairs to train with",
     HD_INT_INTO(struct corpus, pairs, 1, 10000000)},
    {"valid", 0, "N", "500", "pairs to validate with", HD_INT_INTO(struct corpus, valid, 0, 1000000)},
    {"test", 0, "N", "500", "pairs to test with", HD_INT_INTO(struct corpus, test, 0, 1000000)},
    {"seed", 0, "N", "1", "another seed gives other sentences, the same one the same",
     HD_INT_INTO(struct corpus, seed, 0, 2147483647)},
    {"overwrite", 0, NULL, NULL, "replace files that are there", HD_FLAG_INTO(struct corpus, overwrite)},
    {0},
};

static const hd_example examples[] = {
    {"heed corpus --out demo",
     "20,000 pairs in demo/train.en and demo/train.de, and 500 each of valid and test"},
    {"heed corpus --pairs 100 --test 0 --valid 0 -o tiny", "a hundred pairs in two files"},
    {NULL, NULL},
};

const hd_usage hd_verb_corpus_usage = {
    .about = "Writes sentences of a small English with their German translation, one a line, words and marks "
             "parted by "
             "spaces: train.en and train.de, valid and test. The German has gender, case and number, "
             "adjectives with their "
             "endings, separable verbs, the perfect, modal verbs, negation, inversion and subordinate "
             "clauses; each English "
             "sentence has one translation.\n"
             "No sentence is there twice, in one file or in two. '" HD_GRAMMAR_RESERVED
             "' is in none of them: ask a "
             "trained model for it.",
    .options = options,
    .size = sizeof(struct corpus),
    .examples = examples,
};

enum { TRAIN, VALID, TEST, SPLITS, LANGUAGES = 2 };

struct file {
    char *path;
    hd_save *save; /* NULL: not open, or done with */
};

static hd_status make_folder(const char *path, bool *made, hd_err *err)
{
    struct stat info;
    if (!mkdir(path, 0777)) {
        *made = true;
        return HD_OK;
    }
    if (errno != EEXIST)
        return hd_err_set(err, HD_EFILE, "%s: cannot make the folder: %s", path, strerror(errno));
    if (!stat(path, &info) && !S_ISDIR(info.st_mode))
        return hd_err_set(err, HD_EFILE, "%s: is a file, not a folder", path);
    return HD_OK;
}

static hd_status open_file(struct file *f, const struct corpus *o, int split, int language, hd_err *err)
{
    static const char *const name[SPLITS] = {"train", "valid", "test"}, *const ending[LANGUAGES] = {"en",
                                                                                                    "de"};
    hd_text path = {0};
    size_t length = strlen(o->out);
    while (length > 1 && o->out[length - 1] == '/') length--;
    hd_text_print(&path, "%.*s/%s.%s", (int)length, o->out, name[split], ending[language]);
    hd_status s = hd_text_status(&path, err);
    if (s) return s;
    f->path = path.data;
    if (!o->overwrite && !access(f->path, F_OK))
        return hd_err_set(err, HD_EFILE, "%s: is already there (--overwrite replaces it)", f->path);
    return hd_save_open(&f->save, f->path, err);
}

static hd_status write_line(hd_save *save, hd_text *line, hd_err *err)
{
    hd_text_put(line, "\n");
    hd_status s = hd_text_status(line, err);
    return s ? s : hd_save_write(save, line->data, line->size, err);
}

static hd_status write_pairs(struct file file[LANGUAGES], hd_grammar *g, int pairs, hd_err *err)
{
    hd_text line[LANGUAGES] = {{0}};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < pairs; i++) {
        s = hd_grammar_next(g, &line[0], &line[1], err);
        for (int l = 0; !s && l < LANGUAGES; l++) s = write_line(file[l].save, &line[l], err);
    }
    for (int l = 0; l < LANGUAGES; l++) hd_text_release(&line[l]);
    return s;
}

/* All files are written before the first is put in its place. */
static hd_status write_all(struct file file[SPLITS][LANGUAGES], const struct corpus *o, hd_err *err)
{
    const int pairs[SPLITS] = {o->pairs, o->valid, o->test};
    hd_grammar *g = NULL;
    hd_status s = hd_grammar_new(&g, (uint64_t)o->seed, err);
    for (int i = 0; !s && i < SPLITS; i++)
        for (int l = 0; !s && pairs[i] && l < LANGUAGES; l++) s = open_file(&file[i][l], o, i, l, err);
    for (int i = 0; !s && i < SPLITS; i++) s = write_pairs(file[i], g, pairs[i], err);
    for (int i = 0; !s && i < SPLITS; i++) {
        for (int l = 0; !s && pairs[i] && l < LANGUAGES; l++) {
            hd_save *save = file[i][l].save;
            file[i][l].save = NULL;
            s = hd_save_commit(save, err);
        }
    }
    hd_grammar_free(g);
    return s;
}

int hd_verb_corpus(const hd_command *c)
{
    const struct corpus *o = c->options;
    struct file file[SPLITS][LANGUAGES] = {{{0}}};
    hd_err err = {0};
    bool made = false;
    if (!o->out || !*o->out) {
        hd_err_set(&err, HD_EARG, "--out is missing: where shall the files go?");
        return hd_verb_misused(c->verb, &err);
    }
    hd_status s = make_folder(o->out, &made, &err);
    if (!s) s = write_all(file, o, &err);
    for (int i = 0; i < SPLITS; i++) {
        for (int l = 0; l < LANGUAGES; l++) {
            hd_save_abandon(file[i][l].save);
            hd_mem_free(file[i][l].path);
        }
    }
    if (s && made) rmdir(o->out); /* stays where something is in it */
    if (s) return hd_command_fail(c, &err);
    hd_log_say(&c->log, HD_INFO, "wrote %d pairs to train with, %d to validate, %d to test to %s", o->pairs,
               o->valid, o->test, o->out);
    return HD_EXIT_OK;
}
