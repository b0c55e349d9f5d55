/* The folder of a classifier or tagger. */
#include "task/label/labeler.h"

#include "task/masked/masked.h"

const hd_label_kind *hd_label_kind_of(hd_train_task task)
{
    return hd_task_folders[task].read == hd_labeler_read ? hd_tasks[task]->form : NULL;
}

const hd_label_kind *hd_labeler_kind(const hd_model_folder *f)
{
    return hd_label_kind_of(f->task->id);
}

/* The vocabulary of a model that fills in what is masked has [MASK], too. */
static size_t pieces_of(const hd_body_opt *o, const hd_tokenizer *t)
{
    return hd_body_model(o)->fill ? hd_masked_vocab(t) : hd_tokenizer_size(t);
}

/* -- writing -- */

void hd_labeler_write(hd_text *to, const hd_model_folder *f)
{
    const hd_classifier_opt *o = &hd_model_folder_classifier(f)->opt;
    hd_text_print(to, ",\n \"pool\": \"%s\"", hd_pool_names[o->pool]);
    hd_body_config_write(to, &o->body);
    if (!f->pictures)
        hd_model_config_put_padded(to, hd_body_vocab(&o->body), pieces_of(&o->body, f->tokenizer[0]));
    if (!f->pictures && o->bare != (o->pool == HD_POOL_each))
        hd_text_print(to, ",\n \"bare\": %s", o->bare ? "true" : "false");
    hd_text_print(to, ",\n \"classes\": %zu", o->classes);
    if (o->teacher) hd_text_put(to, ",\n \"teacher\": true");
    if (f->pictures) return;
    hd_text_print(to, ",\n \"pairs\": %s", f->pairs ? "true" : "false");
    hd_model_config_put_tokenizer(to, f->tokenizer[0]);
}

/* -- reading -- */

/* Sentences have nothing around them unless it is said, texts have. What reads pictures may have no labels
   yet. */
static void read_model(hd_model_config *c, const hd_label_kind *kind, hd_classifier_opt *o)
{
    const hd_head *head = kind->head;
    *o = (hd_classifier_opt){.head = head};
    hd_body_config_read(c, &o->body);
    o->bare = hd_model_config_has(c, "bare") ? hd_model_config_switch(c, "bare") : kind->each;
    o->pool = (hd_pool_kind)hd_model_config_name(c, "pool", hd_pool_names, HD_POOLS);
    o->teacher = hd_model_config_has(c, "teacher") && hd_model_config_switch(c, "teacher");
    if (kind->each != (o->pool == HD_POOL_each))
        hd_model_config_refuse(c, "\"pool\" is \"%s\", which does not fit the task", hd_pool_names[o->pool]);
    size_t most = head->most < HD_MOST_LABELS ? head->most : HD_MOST_LABELS;
    long long least = hd_body_reads_pictures(&o->body) ? 0 : (long long)head->least;
    o->classes = (size_t)hd_model_config_whole(c, "classes", least, (long long)most);
}

/* How it reads texts. */
static void read_text_form(hd_model_folder *f, hd_model_config *c, const char *folder, const hd_body_opt *o)
{
    f->pairs = hd_model_config_has(c, "pairs") && hd_model_config_switch(c, "pairs");
    if (!c->status) f->tokenizer[0] = hd_model_config_tokenizer(c, folder);
    if (!c->status)
        hd_model_config_check_vocab(c, hd_body_vocab(o), f->tokenizer[0], pieces_of(o, f->tokenizer[0]));
}

void hd_labeler_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_classifier_opt o;
    hd_classifier *m = NULL;
    read_model(c, hd_labeler_kind(f), &o);
    if (!c->status && !hd_body_reads_pictures(&o.body)) read_text_form(f, c, folder, &o.body);
    if (!c->status && o.head->logp && o.classes) c->status = hd_model_folder_read_labels(f, folder, c->err);
    if (!c->status && o.head->logp && o.classes != f->labels.count)
        hd_model_config_refuse(c, "\"classes\" is %zu, but labels.txt has %zu", o.classes, f->labels.count);
    if (!c->status) c->status = hd_classifier_new(&m, backend, &o, false, c->err);
    if (!c->status) hd_model_folder_take(f, f->task->id, hd_classifier_model(m));
}
