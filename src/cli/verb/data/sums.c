/* heed sums: writes additions for a small language model to learn, and prompts for rewards. */
#include "cli/frame/verb.h"

#include "base/file/staging.h"
#include "data/sums/sums.h"

struct sums {
    hd_sums of;
    size_t examples, passes;
    double noise;
    const char *out;
    bool overwrite;
};

static const hd_option options[] = {
    {"out", 'o', "FOLDER", NULL, "folder to write to; created if missing, and then complete or not at all",
     HD_FILE_INTO(struct sums, out)},
    {"digits", 0, "N", "2", "digits of an operand", HD_INT_INTO(struct sums, of.digits, 1, HD_SUM_DIGITS)},
    {"examples", 'n', "N", "10000", "sums in all; at most all that there are",
     HD_COUNT_INTO(struct sums, examples, 10, 1000000)},
    {"valid-fraction", 0, "X", "0.1", "fraction of them for validation",
     HD_FLOAT_INTO(struct sums, of.valid, 0, 0.45)},
    {"test-fraction", 0, "X", "0.1", "fraction of them for testing",
     HD_FLOAT_INTO(struct sums, of.test, 0, 0.45)},
    {"passes", 0, "N", "4", "how often each training sum is in text.txt, each time with other wrong digits",
     HD_COUNT_INTO(struct sums, passes, 1, 100)},
    {"noise", 0, "X", "0.5", "fraction of the answers in text.txt that have one wrong digit",
     HD_FLOAT_INTO(struct sums, noise, 0, 1)},
    {"seed", 0, "N", "1", "seed of the order, the splits and the wrong digits",
     HD_COUNT_INTO(struct sums, of.seed, 0, 2147483647)},
    {"overwrite", 0, NULL, NULL, "replace a folder that heed sums wrote",
     HD_FLAG_INTO(struct sums, overwrite)},
    {0},
};

static const hd_example examples[] = {
    {"heed sums --out sums --digits 2 --seed 1", "the 10,000 sums of two digits"},
    {"heed train --task lm --train sums/text.txt --context 32 --steps 600 --out start",
     "a model that gives the right answer now and then"},
    {NULL, NULL},
};

enum { TEXT = HD_SUM_SPLITS, FILES };

static const char *const files[FILES + 1] = {"train.tsv", "val.tsv", "test.tsv", "text.txt", NULL};

struct writer {
    const struct sums *o;
    size_t count[HD_SUM_SPLITS];
    hd_text text[FILES];
};

static void put(struct writer *w, hd_sum x, hd_sum_split split)
{
    hd_text *to = &w->text[split];
    hd_sum_put_prompt(to, &w->o->of, x);
    hd_text_put(to, "\t");
    hd_sum_put_answer(to, &w->o->of, x, 0, 0);
    hd_text_put(to, "\n");
    w->count[split]++;
}

static void put_all(struct writer *w)
{
    const struct sums *o = w->o;
    const uint64_t all = hd_sums_count(&o->of), count = o->examples < all ? o->examples : all;
    for (uint64_t i = 0; i < count; i++) {
        hd_sum x = hd_sum_at(&o->of, i);
        put(w, x, hd_sum_split_of(&o->of, x));
    }
    for (uint32_t pass = 0; pass < o->passes; pass++)
        for (uint64_t i = 0; i < count; i++) {
            hd_sum x = hd_sum_at(&o->of, i);
            if (hd_sum_split_of(&o->of, x) != HD_SUM_TRAIN) continue;
            hd_sum_put_prompt(&w->text[TEXT], &o->of, x);
            hd_sum_put_answer(&w->text[TEXT], &o->of, x, o->noise, pass);
            hd_text_put(&w->text[TEXT], "\n");
        }
}

static hd_status write_all(struct writer *w, hd_staging *folder, hd_err *err)
{
    hd_status s = HD_OK;
    put_all(w);
    if (!w->count[HD_SUM_TRAIN])
        s = hd_err_set(err, HD_EARG, "--valid-fraction and --test-fraction leave nothing to train with");
    for (int i = 0; !s && i < FILES; i++) {
        hd_text *t = &w->text[i];
        s = hd_text_status(t, err);
        if (!s) s = hd_staging_write(folder, files[i], t->data ? t->data : "", t->size, err);
    }
    return s;
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct sums *o = c->options;
    return o->out && *o->out ? HD_OK : hd_err_set(err, HD_EARG, "--out is required: the folder for the sums");
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct sums *o = c->options;
    struct writer w = {.o = o};
    hd_staging folder;
    hd_status s = hd_staging_make_room(o->out, o->overwrite, "heed sums", files, err);
    if (!s) s = hd_staging_begin(&folder, o->out, err);
    if (!s) s = hd_staging_end(&folder, write_all(&w, &folder, err), err);
    for (int i = 0; i < FILES; i++) hd_text_release(&w.text[i]);
    if (s) return s;
    hd_log_say(&c->log, HD_INFO, "wrote %zu training, %zu validation and %zu test sums to %s",
               w.count[HD_SUM_TRAIN], w.count[HD_SUM_VALID], w.count[HD_SUM_TEST], o->out);
    return HD_OK;
}

const hd_usage hd_verb_sums = {
    .about =
        "Writes additions, as in '07+85=092', all with as many digits. train.tsv, val.tsv and test.tsv have "
        "a "
        "prompt, a tab and the answer a line ('07+85=' and '092'), for heed train --task reward, heed "
        "generate --prompts and heed score --ref. No two lines have the same operands, and a+b is never "
        "in another file than b+a.\n"
        "text.txt has the training sums as lines, for heed train --task lm, with wrong digits in a part of "
        "them: a model that learns from it is right only now and then, and can become better by rewards.",
    .options = options,
    .size = sizeof(struct sums),
    .examples = examples,
    .check = check,
    .run = run,
};
