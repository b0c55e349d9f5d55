/* The data of a labeler's training run. */
#include "task/label/training.h"

#include "base/file/file.h"
#include "base/file/folder.h"

void hd_label_set_release(hd_label_set *s)
{
    hd_labeled_release(&s->train);
    hd_labeled_release(&s->valid);
}

hd_status hd_label_kind_read(const hd_label_kind *k, hd_labeled *out, hd_vocab *labels, const char *path,
                             hd_err *err)
{
    return k->each ? hd_labeled_tokens(out, labels, path, err)
                   : hd_labeled_table(out, labels, path, k->column, err);
}

static hd_status read_valid(hd_label_set *d, hd_vocab *labels, const hd_train_options *o, hd_err *err)
{
    const hd_label_kind *kind = hd_label_kind_of((hd_train_task)o->task);
    hd_status s = hd_label_kind_read(kind, &d->valid, labels, o->valid.text[0], err);
    bool pairs = hd_labeled_pairs(&d->train);
    if (s || kind->each || hd_labeled_pairs(&d->valid) == pairs) return s;
    return hd_err_set(err, HD_EFORMAT, "%s: %s column text2, but %s has %s", o->valid.text[0],
                      pairs ? "no" : "a", o->train.text[0], pairs ? "one" : "none");
}

hd_status hd_label_set_read(hd_label_set *out, hd_vocab *labels, const hd_train_options *o, hd_err *err)
{
    const char *folder = o->train_dir.count ? o->train_dir.text[0] : NULL;
    const char *from = folder ? folder : o->train.text[0];
    const hd_label_kind *kind = hd_label_kind_of((hd_train_task)o->task);
    hd_label_set d = {0};
    hd_status s = folder ? hd_labeled_folder(&d.train, labels, folder, err)
                         : hd_label_kind_read(kind, &d.train, labels, from, err);
    if (!s && kind->head->logp && labels->count < kind->head->least)
        s = labels->count ? hd_err_set(err, HD_EFORMAT,
                                       "%s: all of it has the label \"%s\": there is nothing to tell apart",
                                       from, hd_vocab_piece(labels, 0))
                          : hd_err_set(err, HD_EFORMAT, "%s: there is no label in it", from);
    if (!s) s = hd_labeled_distinct(&d.train, &d.repeated, err);
    if (!s && o->valid.count)
        s = read_valid(&d, labels, o, err);
    else if (!s && o->valid_fraction > 0)
        s = hd_labeled_split(&d.train, o->valid_fraction, (uint64_t)o->seed, &d.valid, err);
    if (s)
        hd_label_set_release(&d);
    else
        *out = d;
    return s;
}

/* A tab inside a text would end its column. */
static void put_column(hd_text *to, hd_line text)
{
    for (size_t i = 0; i < text.size; i++) hd_text_add(to, text.text[i] == '\t' ? " " : text.text + i, 1);
}

static void put_tokens(hd_text *to, const hd_labeled *x, const hd_vocab *labels)
{
    for (size_t i = 0; i < x->count; i++) {
        for (size_t u = x->begin[i], k = x->first[i]; u < x->begin[i + 1]; u++, k++) {
            put_column(to, hd_labeled_unit(x, u));
            hd_text_print(to, "\t%s\n", hd_vocab_piece(labels, x->label[k]));
        }
        hd_text_put(to, "\n");
    }
}

static void put_table(hd_text *to, const hd_labeled *x, const hd_vocab *labels, const hd_label_kind *kind)
{
    hd_text_put(to, hd_labeled_pairs(x) ? "label\ttext\ttext2\n" : "label\ttext\n");
    for (size_t i = 0; i < x->count; i++) {
        kind->put_labels(to, x, i, labels);
        for (size_t u = x->begin[i]; u < x->begin[i + 1]; u++)
            hd_text_put(to, "\t"), put_column(to, hd_labeled_unit(x, u));
        hd_text_put(to, "\n");
    }
}

hd_status hd_label_set_keep(const hd_label_set *s, const hd_vocab *labels, const hd_label_kind *kind,
                            const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text t = {0};
    if (kind->each)
        put_tokens(&t, &s->valid, labels);
    else
        put_table(&t, &s->valid, labels, kind);
    hd_status st = hd_text_status(&t, err);
    if (!st) st = hd_path(path, folder, "train", err);
    if (!st) st = hd_folder_make(path, NULL, err);
    if (!st) st = hd_path(path, folder, HD_HELD_OUT, err);
    if (!st) st = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return st;
}
