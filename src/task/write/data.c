/* The lines that a model of handwriting or a reader of it learns from. */
#include <string.h>

#include "run/data.h"
#include "task/write/training.h"

hd_status hd_write_data(hd_session *s, hd_strokes *train, hd_strokes *valid, hd_err *err)
{
    const hd_train_options *o = s->options;
    const char *from = o->train.text[0];
    char path[HD_PATH];
    bool beside = false;
    hd_status st = hd_strokes_place(path, from, "train.tsv", NULL, err);
    if (!st) st = hd_strokes_read(train, path, err);
    if (!st && o->valid_fraction > 0)
        st = hd_strokes_split(train, o->valid_fraction, (uint64_t)o->seed, valid, err);
    else if (!st)
        st = hd_strokes_place(path, o->valid.count ? o->valid.text[0] : from, "val.tsv", &beside, err);
    if (!st && (o->valid.count || beside)) st = hd_strokes_read(valid, path, err);
    if (!st && train->count >= UINT32_MAX)
        st = hd_err_set(err, HD_ELIMIT, "%zu lines are more than a run can take", train->count);
    s->train = train->hash, s->valid = valid->hash, s->validates = valid->count > 0;
    return st;
}

typedef struct walk {
    const hd_strokes *strokes;
    size_t at;
} walk;

static bool next_text(void *context, hd_line *line)
{
    walk *w = context;
    if (w->at == w->strokes->count) return false;
    const char *text = hd_strokes_text(w->strokes, w->at++);
    *line = (hd_line){text, strlen(text)};
    return true;
}

hd_status hd_write_characters(hd_tokenizer **out, const hd_strokes *s, const hd_log *log, hd_err *err)
{
    hd_tokenizer_opt opt = {.log = log};
    return hd_data_learn(out, HD_TOKENIZER_characters, (hd_feed){next_text, &(walk){s, 0}}, &opt, err);
}
