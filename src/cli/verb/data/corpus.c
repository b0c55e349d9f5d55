/* heed corpus: writes a small parallel corpus that a model learns in minutes: English and German, or one of
   the exercises. */
#include "cli/frame/verb.h"

#include <unistd.h>

#include "base/file/file.h"
#include "base/file/staging.h"
#include "data/exercise/exercise.h"
#include "data/grammar/grammar.h"

struct corpus {
    int pairs, valid, test, seed;
    int task, shortest, longest, words;
    const char *out;
    bool overwrite;
};

static const char *const tasks[] = {"german",
#define X(name, help) #name,
                                    HD_EXERCISE_LIST(X)
#undef X
                                        NULL};

static const hd_option options[] = {
    {"out", 'o', "FOLDER", NULL, "folder to write to; created if missing, and then complete or not at all",
     HD_FILE_INTO(struct corpus, out)},
    {"pairs", 'n', "N", "20000", "training pairs", HD_INT_INTO(struct corpus, pairs, 1, 10000000)},
    {"valid", 0, "N", "500", "validation pairs", HD_INT_INTO(struct corpus, valid, 0, 1000000)},
    {"test", 0, "N", "500", "test pairs", HD_INT_INTO(struct corpus, test, 0, 1000000)},
    {"task", 0, "TASK", "german",
     "what the pairs are: german, English with its German; or an exercise: copy, reverse, expand, gap, sums, "
     "brackets or questions",
     HD_CHOICE_INTO(struct corpus, task, tasks)},
    {"min-length", 0, "N", "2", "exercises: shortest length, in words, digits or brackets",
     HD_INT_INTO(struct corpus, shortest, 1, HD_EXERCISE_LONGEST)},
    {"max-length", 0, "N", "10", "exercises: longest length",
     HD_INT_INTO(struct corpus, longest, 1, HD_EXERCISE_LONGEST)},
    {"words", 0, "N", "10",
     "exercises: how many different plain words there are; sums and brackets have none",
     HD_INT_INTO(struct corpus, words, 1, HD_EXERCISE_WORDS)},
    {"seed", 0, "N", "1", "seed of the random sentences", HD_INT_INTO(struct corpus, seed, 0, 2147483647)},
    {"overwrite", 0, NULL, NULL, "replace existing files", HD_FLAG_INTO(struct corpus, overwrite)},
    {0},
};

static const hd_example examples[] = {
    {"heed corpus --out demo", "20,000 pairs in demo/train.en and demo/train.de, 500 each in valid and test"},
    {"heed corpus --pairs 100 --test 0 --valid 0 -o tiny", "a hundred pairs in two files"},
    {"heed corpus --task reverse --max-length 20 --out reverse",
     "words to be said backwards: reverse/train.source and reverse/train.target, valid and test"},
    {NULL, NULL},
};

enum { SPLITS = 3, LANGUAGES = 2, FILES = SPLITS * LANGUAGES };

static const char *const names[2][FILES] = {
    {"train.en", "train.de", "valid.en", "valid.de", "test.en", "test.de"},
    {"train.source", "train.target", "valid.source", "valid.target", "test.source", "test.target"}};

/* Where pairs come from: the grammar, or exercises where there is none. */
typedef struct maker {
    hd_grammar *grammar;
    hd_exercise_opt exercise;
    hd_rng rng;
} maker;

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

static hd_status write_pairs(struct file file[LANGUAGES], maker *m, hd_exercise_split split, int pairs,
                             hd_err *err)
{
    hd_text line[LANGUAGES] = {{0}};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < pairs; i++) {
        s = m->grammar ? hd_grammar_next(m->grammar, &line[0], &line[1], err)
                       : hd_exercise_next(&line[0], &line[1], &m->exercise, split, &m->rng, err);
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
    maker m = {.rng = hd_rng_make((uint64_t)o->seed, 0),
               .exercise = {(hd_exercise_kind)(o->task - 1), o->words, o->shortest, o->longest}};
    hd_status s = file ? HD_OK : hd_err_nomem(err, FILES * sizeof *file);
    if (!s && !o->task) s = hd_grammar_new(&m.grammar, (uint64_t)o->seed, err);
    for (int i = 0; !s && i < FILES; i++)
        if (pairs[i / LANGUAGES]) s = open_file(&file[i], o, folder, names[o->task > 0][i], err);
    for (int i = 0; !s && i < SPLITS; i++)
        s = write_pairs(file + i * LANGUAGES, &m, (hd_exercise_split)i, pairs[i], err);
    if (!s) s = put_in_place(file, err);
    for (int i = 0; file && i < FILES; i++) hd_save_abandon(file[i].save);
    hd_grammar_free(m.grammar);
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
    static const char *const of_exercises[] = {"min-length", "max-length", "words"};
    const struct corpus *o = c->options;
    for (size_t i = 0; !o->task && i < sizeof of_exercises / sizeof *of_exercises; i++)
        if (hd_command_given(c, of_exercises[i]))
            return hd_err_set(err, HD_EARG, "--%s needs --task, an exercise", of_exercises[i]);
    if (o->shortest > o->longest)
        return hd_err_set(err, HD_EARG, "--min-length %d is above --max-length %d", o->shortest, o->longest);
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
    .about =
        "Writes sentences of a small English grammar with their German translation, one a line, words "
        "and punctuation separated by spaces: train.en and train.de, valid and test. The German has "
        "gender, case and number, adjective endings, separable verbs, the perfect, modal verbs, "
        "negation, inversion and subordinate clauses; each English sentence has one translation.\n"
        "No sentence occurs twice, in one file or in two. '" HD_GRAMMAR_RESERVED
        "' is in none of them: a sentence to test a trained model with.\n"
        "With --task the pairs are exercises that sequence models are judged by, in train.source and "
        "train.target, valid and test: copy says the words again, reverse backwards; expand says every "
        "word as often as the number behind it says; gap asks for the first word after many others; sums "
        "adds two numbers, digits from the last to the first; brackets closes what is open; questions asks "
        "one of three about the words. No source is in two of the sets.",
    .options = options,
    .size = sizeof(struct corpus),
    .examples = examples,
    .check = check,
    .run = run,
};
