/* The data of a labeller's training run. */
#include "task/label_data.h"

#include "base/file.h"
#include "base/folder.h"

void hd_label_set_release(hd_label_set *s)
{
    hd_labelled_release(&s->train);
    hd_labelled_release(&s->valid);
}

static hd_status read_file(hd_labelled *out, hd_vocab *labels, const hd_label_train_opt *o, const char *path,
                           hd_err *err)
{
    return o->task == HD_TAG ? hd_labelled_tokens(out, labels, path, err)
                             : hd_labelled_table(out, labels, path, err);
}

hd_status hd_label_set_read(hd_label_set *out, hd_vocab *labels, const hd_label_train_opt *o, hd_err *err)
{
    const char *from = o->folder ? o->folder : o->train;
    hd_label_set d = {0};
    hd_status s = o->folder ? hd_labelled_folder(&d.train, labels, o->folder, err)
                            : read_file(&d.train, labels, o, o->train, err);
    if (!s && labels->count < 2)
        s = hd_err_set(err, HD_EFORMAT, "%s: all of it has the label \"%s\": there is nothing to tell apart",
                       from, hd_vocab_piece(labels, 0));
    if (!s) s = hd_labelled_distinct(&d.train, &d.repeated, err);
    if (!s && o->valid)
        s = read_file(&d.valid, labels, o, o->valid, err);
    else if (!s && o->valid_fraction > 0)
        s = hd_labelled_split(&d.train, o->valid_fraction, o->trainer.seed, &d.valid, err);
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

hd_status hd_label_set_keep(const hd_label_set *s, const hd_vocab *labels, hd_label_task task,
                            const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_text t = {0};
    const hd_labelled *x = &s->valid;
    if (task == HD_CLASSIFY) hd_text_put(&t, "label\ttext\n");
    for (size_t i = 0; i < x->count; i++) {
        for (size_t u = x->begin[i]; u < x->begin[i + 1]; u++) {
            const char *label = hd_vocab_piece(labels, x->label[u]);
            if (task == HD_CLASSIFY) hd_text_put(&t, label), hd_text_put(&t, "\t");
            put_column(&t, hd_labelled_unit(x, u));
            if (task == HD_TAG) hd_text_put(&t, "\t"), hd_text_put(&t, label);
            hd_text_put(&t, "\n");
        }
        if (task == HD_TAG) hd_text_put(&t, "\n");
    }
    hd_status st = hd_text_status(&t, err);
    if (!st) st = hd_path(path, folder, "train", err);
    if (!st) st = hd_folder_make(path, NULL, err);
    if (!st) st = hd_path(path, folder, HD_HELD_OUT, err);
    if (!st) st = hd_save_bytes(path, t.data, t.size, err);
    hd_text_release(&t);
    return st;
}
