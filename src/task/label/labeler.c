/* The folder of a classifier or tagger. */
#include "task/label/labeler.h"

#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "model/prepare.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "train/published.h"

/* Small enough that the numbers of all weights together cannot overflow. */
enum { MOST_SIZE = 1 << 20, MOST_LABELS = 1 << 20 };

/* X(key, field of hd_body_opt, least, most): whole numbers of config.json that an encoder of stages has */
#define SIZES(X)                          \
    X("heads", stack.heads, 1, 1024)      \
    X("width", stack.width, 1, MOST_SIZE) \
    X("inner", stack.inner, 1, 4 * MOST_SIZE)

static const char *const tasks[] = {[HD_CLASSIFY] = "classify", [HD_TAG] = "tag", [HD_REGRESS] = "regress"};

/* The vocabulary of a BERT has [MASK], too. */
static size_t pieces_of(const hd_body_opt *o, const hd_tokenizer *t)
{
    return o->kind == HD_BODY_bert ? hd_masked_vocab(t) : hd_tokenizer_size(t);
}

/* -- writing -- */

static hd_status save_text(const char *folder, const char *name, hd_text *t, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_text_status(t, err);
    if (!s) s = hd_path(path, folder, name, err);
    if (!s) s = hd_save_bytes(path, t->data, t->size, err);
    hd_text_release(t);
    return s;
}

/* The body: "encoder" has stages, "model" the name of another. */
static void put_body(hd_text *to, const hd_body_opt *o)
{
    char stages[HD_STAGES_TEXT];
    if (o->kind == HD_BODY_bert) {
        hd_text_put(to, ",\n \"model\": \"bert\"");
        hd_masked_put_model(to, &o->bert);
    } else if (o->kind == HD_BODY_lm) {
        hd_language_put_model(to, &o->lm);
    } else {
        hd_text_print(to, ",\n \"encoder\": \"%s\"", hd_stages_text(&o->encoder, stages));
#define X(key, field, least, most) hd_text_print(to, ",\n \"" key "\": %zu", (size_t)o->field);
        SIZES(X)
#undef X
        hd_text_print(to, ",\n \"vocabulary\": %zu,\n \"post_norm\": %s", o->vocab,
                      o->stack.pre_norm ? "false" : "true");
        hd_model_config_put_real(to, "dropout", (double)o->stack.dropout);
        hd_text_print(to, ",\n \"activation\": \"%s\"", hd_unary_name(o->stack.act));
        if (o->cell == HD_sigmoid) hd_text_print(to, ",\n \"cell\": \"%s\"", hd_unary_name(o->cell));
        if (o->one_hot) hd_text_put(to, ",\n \"one_hot\": true");
    }
    hd_text_print(to, ",\n \"positions\": %zu", o->positions);
}

static hd_status save_config(const hd_labeler *l, const char *folder, hd_err *err)
{
    const hd_classifier_opt *o = &l->model->opt;
    hd_text c = {0};
    hd_text_print(&c, "{\"format\": 1,\n \"task\": \"%s\",\n \"pool\": \"%s\"", tasks[hd_labeler_task(o)],
                  hd_pool_names[o->pool]);
    put_body(&c, &o->body);
    hd_model_config_put_padded(&c, hd_body_vocab(&o->body), pieces_of(&o->body, l->tokenizer));
    if (o->bare) hd_text_put(&c, ",\n \"bare\": true");
    hd_text_print(&c, ",\n \"classes\": %zu,\n \"pairs\": %s,\n \"tokenizer\": \"%s\"}\n", o->classes,
                  l->pairs ? "true" : "false", hd_tokenizer_name(hd_tokenizer_kind_of(l->tokenizer)));
    return save_text(folder, "config.json", &c, err);
}

static hd_status save_labels(const hd_labeler *l, const char *folder, hd_err *err)
{
    hd_text t = {0};
    for (size_t i = 0; i < l->labels.count; i++)
        hd_text_put(&t, hd_vocab_piece(&l->labels, (int32_t)i)), hd_text_put(&t, "\n");
    return save_text(folder, "labels.txt", &t, err);
}

hd_status hd_labeler_save(const hd_labeler *l, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_path(path, folder, HD_PUBLISHED_KEPT, err);
    if (!s) s = hd_folder_remove(path, err); /* of an earlier run */
    if (!s) s = hd_tokenizer_path(path, folder, hd_tokenizer_kind_of(l->tokenizer), err);
    if (!s) s = hd_tokenizer_save(l->tokenizer, path, err);
    if (!s && !l->model->opt.numbers) s = save_labels(l, folder, err);
    if (!s) s = save_config(l, folder, err);
    return s ? s : hd_model_config_seal(folder, err);
}

hd_status hd_labeler_publish(const hd_labeler *l, const char *folder, hd_err *err)
{
    return hd_published_save(l->model->params, folder, err);
}

/* -- reading -- */

static void read_stages(hd_model_config *c, hd_body_opt *o)
{
    o->encoder = hd_model_config_stages(c, "encoder");
    for (int i = 0; i < o->encoder.count; i++)
        if (!o->encoder.at[i].layers && o->encoder.at[i].kind != HD_STAGE_none)
            hd_model_config_refuse(c, "\"encoder\" has a stage without its layers");
#define X(key, field, least, most) \
    o->field = (__typeof__(o->field))hd_model_config_whole(c, key, least, most);
    SIZES(X)
#undef X
    o->vocab = (size_t)hd_model_config_whole(c, "vocabulary", 1, 64 * MOST_SIZE);
    o->stack.pre_norm = !hd_model_config_switch(c, "post_norm");
    o->stack.dropout = (float)hd_model_config_real(c, "dropout", 0.999);
    o->stack.act = hd_model_config_activation(c);
    o->cell = hd_model_config_cell(c);
    o->one_hot = hd_model_config_has(c, "one_hot") && hd_model_config_switch(c, "one_hot");
}

static void read_body(hd_model_config *c, hd_body_opt *o)
{
    const char *model = hd_model_config_has(c, "model") ? hd_model_config_text(c, "model") : NULL;
    o->kind = !model ? HD_BODY_stages : !strcmp(model, "bert") ? HD_BODY_bert : HD_BODY_lm;
    if (o->kind == HD_BODY_bert)
        hd_masked_read_model(c, &o->bert);
    else if (o->kind == HD_BODY_lm)
        hd_language_read_model(c, &o->lm);
    else
        read_stages(c, o);
    o->positions = (size_t)hd_model_config_whole(c, "positions", 3, MOST_SIZE);
}

static void read_model(hd_model_config *c, hd_classifier_opt *o)
{
    *o = (hd_classifier_opt){0};
    const char *task = hd_model_config_text(c, "task");
    bool tags = !strcmp(task, tasks[HD_TAG]);
    o->numbers = !strcmp(task, tasks[HD_REGRESS]);
    if (!c->status && !tags && !o->numbers && strcmp(task, tasks[HD_CLASSIFY]))
        c->status = hd_task_refuse(c->path, task, tasks[HD_CLASSIFY], c->err);
    read_body(c, &o->body);
    o->bare = hd_model_config_has(c, "bare") && hd_model_config_switch(c, "bare");
    o->pool = (hd_pool_kind)hd_model_config_name(c, "pool", hd_pool_names, HD_POOLS);
    if (tags != (o->pool == HD_POOL_each))
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

hd_status hd_labeler_describe(hd_labeler *out, hd_classifier_opt *opt, const char *folder, hd_err *err)
{
    hd_model_config c;
    *out = (hd_labeler){0};
    hd_model_config_open(&c, folder, err);
    if (!c.status) read_model(&c, opt);
    if (!c.status) out->pairs = hd_model_config_has(&c, "pairs") && hd_model_config_switch(&c, "pairs");
    if (!c.status) out->tokenizer = hd_model_config_tokenizer(&c, folder);
    if (!c.status && !opt->numbers) c.status = read_labels(&out->labels, folder, err);
    if (!c.status)
        hd_model_config_check_vocab(&c, hd_body_vocab(&opt->body), out->tokenizer,
                                    pieces_of(&opt->body, out->tokenizer));
    if (!c.status && !opt->numbers && opt->classes != out->labels.count)
        hd_model_config_refuse(&c, "\"classes\" is %zu, but labels.txt has %zu", opt->classes,
                               out->labels.count);
    if (c.status) hd_labeler_release(out);
    hd_model_config_release(&c);
    return c.status;
}

hd_status hd_labeler_open(hd_labeler **out, const char *folder, hd_label_task task, hd_backend *backend,
                          hd_err *err)
{
    hd_classifier_opt opt;
    hd_labeler *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    hd_status s = hd_labeler_describe(l, &opt, folder, err);
    l->backend = backend;
    if (!s && (hd_labeler_task(&opt) == HD_TAG) != (task == HD_TAG))
        s = hd_task_refuse(folder, tasks[hd_labeler_task(&opt)], tasks[task], err);
    if (!s) s = hd_classifier_new(&l->model, backend, &opt, false, err);
    if (!s) s = hd_published_load(l->model->params, folder, err);
    if (!s) s = hd_classifier_prepare(l->model, HD_ASKING, err);
    if (s)
        hd_labeler_free(l);
    else
        *out = l;
    return s;
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
