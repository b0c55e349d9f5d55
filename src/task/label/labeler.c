/* The folder of a classifier or tagger. */
#include "task/label/labeler.h"

#include <string.h>

#include "base/mem.h"
#include "task/language/language.h"
#include "task/masked/masked.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_LABELS = 1 << 20 };

hd_labeler hd_labeler_of(const hd_model_folder *f)
{
    return (hd_labeler){f->model.self, f->tokenizer[0], f->labels, f->pairs, f->backend};
}

/* A classifier reads lines between <s> and </s>, a tagger words alone. */
hd_model_folder hd_labeler_folder(const hd_labeler *l)
{
    const hd_classifier_opt *o = &l->model->opt;
    bool tags = o->pool == HD_POOL_each, framed = !tags && !o->bare;
    return (hd_model_folder){.task = &hd_task_folders[hd_labeler_task(o)],
                             .model = hd_classifier_model(l->model),
                             .tokenizer = {l->tokenizer, l->tokenizer},
                             .labels = o->numbers ? (hd_vocab){0} : l->labels,
                             .pairs = l->pairs,
                             .backend = l->backend,
                             .longest = o->body.positions,
                             .start = framed && hd_tokenizer_special(l->tokenizer).start >= 0,
                             .end = framed};
}

/* The vocabulary of a model that fills in what is masked has [MASK], too. */
static size_t pieces_of(const hd_body_opt *o, const hd_tokenizer *t)
{
    return hd_body_model(o)->fill ? hd_masked_vocab(t) : hd_tokenizer_size(t);
}

/* -- writing -- */

void hd_labeler_write(hd_text *to, const hd_model_folder *f)
{
    const hd_classifier_opt *o = &((const hd_classifier *)f->model.self)->opt;
    hd_text_print(to, ",\n \"pool\": \"%s\"", hd_pool_names[o->pool]);
    hd_body_config_write(to, &o->body);
    hd_model_config_put_padded(to, hd_body_vocab(&o->body), pieces_of(&o->body, f->tokenizer[0]));
    if (o->bare) hd_text_put(to, ",\n \"bare\": true");
    hd_text_print(to, ",\n \"classes\": %zu,\n \"pairs\": %s", o->classes, f->pairs ? "true" : "false");
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

hd_status hd_labeler_save(const hd_labeler *l, const char *folder, hd_err *err)
{
    const hd_model_folder f = hd_labeler_folder(l);
    return hd_model_folder_save(&f, folder, err);
}

hd_status hd_labeler_publish(const hd_labeler *l, const char *folder, hd_err *err)
{
    const hd_model m = hd_classifier_model(l->model);
    return hd_model_folder_publish(&m, folder, err);
}

/* -- reading -- */

static void read_model(hd_model_config *c, hd_train_task task, hd_classifier_opt *o)
{
    *o = (hd_classifier_opt){.numbers = task == HD_TRAIN_REGRESS};
    hd_body_config_read(c, &o->body);
    o->bare = hd_model_config_has(c, "bare") && hd_model_config_switch(c, "bare");
    o->pool = (hd_pool_kind)hd_model_config_name(c, "pool", hd_pool_names, HD_POOLS);
    if ((task == HD_TRAIN_TAG) != (o->pool == HD_POOL_each))
        hd_model_config_refuse(c, "\"pool\" is \"%s\", which does not fit the task", hd_pool_names[o->pool]);
    o->classes =
        (size_t)hd_model_config_whole(c, "classes", o->numbers ? 1 : 2, o->numbers ? 1 : MOST_LABELS);
}

static hd_status read_labels(hd_vocab *out, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_lines *lines = NULL;
    hd_line line;
    hd_status s = hd_path(path, folder, "labels.txt", err);
    if (!s) s = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true, .no_zero = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        size_t number = hd_lines_count(lines);
        bool bad = !line.size || number > MOST_LABELS;
        if (!bad) s = hd_vocab_add(out, line.text, line.size, err);
        if (!s && (bad || out->count < number))
            s = hd_err_set(err, HD_EFORMAT, "%s:%zu: the label is empty, there already or one too many", path,
                           number);
    }
    hd_lines_close(lines);
    return s;
}

/* All but the model, which the options are for. */
static void read_rest(hd_model_config *c, const hd_task_folder *task, hd_classifier_opt *opt, hd_labeler *l,
                      const char *folder)
{
    if (!c->status) read_model(c, task->id, opt);
    if (!c->status) l->pairs = hd_model_config_has(c, "pairs") && hd_model_config_switch(c, "pairs");
    if (!c->status) l->tokenizer = hd_model_config_tokenizer(c, folder);
    if (!c->status && !opt->numbers) c->status = read_labels(&l->labels, folder, c->err);
    if (!c->status)
        hd_model_config_check_vocab(c, hd_body_vocab(&opt->body), l->tokenizer,
                                    pieces_of(&opt->body, l->tokenizer));
    if (!c->status && !opt->numbers && opt->classes != l->labels.count)
        hd_model_config_refuse(c, "\"classes\" is %zu, but labels.txt has %zu", opt->classes,
                               l->labels.count);
}

void hd_labeler_read(hd_model_folder *f, hd_model_config *c, const char *folder)
{
    hd_classifier_opt opt;
    hd_labeler l = {.backend = f->backend};
    read_rest(c, f->task, &opt, &l, folder);
    f->tokenizer[0] = f->tokenizer[1] = l.tokenizer, f->labels = l.labels;
    if (!c->status) c->status = hd_classifier_new(&l.model, f->backend, &opt, false, c->err);
    if (!c->status) *f = hd_labeler_folder(&l);
}

hd_status hd_labeler_describe(hd_labeler *out, hd_classifier_opt *opt, const char *folder, hd_err *err)
{
    hd_model_config c;
    *out = (hd_labeler){0};
    const hd_task_folder *task = hd_model_folder_begin(&c, folder, NULL, err);
    if (!c.status && task->read != hd_labeler_read) hd_task_folder_refuse(&c, task);
    read_rest(&c, task, opt, out, folder);
    if (c.status) hd_labeler_release(out);
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_labeler_open(hd_labeler **out, const char *folder, hd_train_task task, hd_backend *backend,
                          hd_err *err)
{
    hd_model_folder f;
    hd_labeler *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    hd_status s = hd_model_folder_open(&f, folder, hd_task_folders[task].name, backend, HD_WEIGHTS_BEST, err);
    if (s) return hd_mem_free(l), s;
    *l = hd_labeler_of(&f);
    *out = l;
    return HD_OK;
}

void hd_labeler_release(hd_labeler *l)
{
    hd_classifier_free(l->model);
    hd_tokenizer_free(l->tokenizer);
    hd_vocab_release(&l->labels);
    *l = (hd_labeler){0};
}

void hd_labeler_free(hd_labeler *l)
{
    if (!l) return;
    hd_labeler_release(l);
    hd_mem_free(l);
}
