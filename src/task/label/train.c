/* Training a classifier or a tagger: from labeled texts, sentences or pictures to a model folder. An update
   sees `batch` items; every epoch has all of them once, in an order of its own. The best model is the one of
   the highest first figure on what is held back (accuracy), of numbers the one of the least squared error;
   where none is, the newest. With --from the model begins with the body of another: fine-tuning. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "task/label/training.h"

/* -- the loop's side -- */

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    return ((const hd_labeling *)s->state)->material->load(s, out, err);
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    (void)part;
    return ((const hd_labeling *)s->state)->material->send(r, s, from, to);
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    hd_labeling *l = s->state;
    hd_loss_opt opt = {.coef = 1, .smoothing = (float)s->options->label_smoothing};
    (void)part;
    return hd_classifier_loss(r, l->classifier, &l->sent, &opt);
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    hd_labeling *l = s->state;
    hd_judged j;
    hd_status st = l->material->judge(&j, r, &l->folder, s, err);
    if (st) return st;
    double mean = j.loss / (double)j.count;
    double quality = l->kind->by_loss ? -mean : j.figure[0].value;
    *out = (hd_validation){.loss = mean, .quality = isnan(mean) ? -INFINITY : quality};
    memcpy(out->figure, j.figure, sizeof out->figure);
    hd_confusion_release(&j.confusion);
    return HD_OK;
}

static hd_status save(hd_session *s, const char *folder, hd_err *err)
{
    hd_labeling *l = s->state;
    hd_status st = hd_task_save(s, folder, err);
    return st || !l->valid.count ? st : l->material->keep(s, folder, err);
}

/* What the published model makes of the part that is held back. */
static hd_status judge(hd_session *s, hd_outcome *out, hd_err *err)
{
    hd_labeling *l = s->state;
    hd_model_folder published = {0};
    hd_judged j = {0};
    if (l->folder.pictures) out->with = "PICTURE...";
    if (!l->valid.count) return HD_OK;
    hd_status st = hd_model_folder_open(&published, s->options->out, hd_train_tasks[s->options->task],
                                        s->backend, HD_WEIGHTS_BEST, err);
    if (!st) st = l->material->judge(&j, &s->run, &published, s, err);
    if (!st) out->judged = j.count, memcpy(out->figure, j.figure, sizeof out->figure);
    hd_confusion_release(&j.confusion);
    hd_model_folder_release(&published);
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    hd_labeling *l = s->state;
    if (l->material) l->material->release(s); /* its threads read how the model prepares pictures */
    hd_model_folder_release(&l->folder);
    hd_model_folder_release(&l->origin.folder);
    hd_examples_release(&l->train);
    hd_examples_release(&l->valid);
}

/* Of a run that is resumed the tokenizer and the body are those in the folder: what it began with may be
 * gone.
 */
static hd_status resume_folder(hd_labeling *l, const char *folder, const char *task, hd_err *err)
{
    hd_model_folder old;
    hd_status st = hd_model_folder_describe(&old, folder, task, err);
    if (st) return st;
    const hd_classifier_opt *then = &hd_model_folder_classifier(&old)->opt;
    l->model.body = then->body, l->model.bare = then->bare;
    hd_model_folder_keep_tokenizers(&old);
    l->folder.tokenizer[0] = old.tokenizer[0];
    return HD_OK;
}

/* A body of another model keeps its sizes; the options say how long items may be, and what is dropped. */
static hd_status take_origin(hd_labeling *l, const char *from, hd_err *err)
{
    hd_body_opt *body = &l->model.body;
    const hd_body_opt asked = *body;
    const hd_classifier_opt *was = &l->origin.model;
    hd_status st = hd_origin_open(&l->origin, from, err);
    if (st) return st;
    *body = was->body;
    if (l->kind->each) l->model.bare = was->pool == HD_POOL_each && was->bare;
    hd_body_stack(body)->dropout = hd_body_dropout(&asked);
    if (hd_body_reads_pictures(body)) {
        body->image.stack.drop_path = asked.image.stack.drop_path;
        return HD_OK;
    }
    body->positions = asked.positions;
    l->folder.tokenizer[0] = l->origin.folder.tokenizer[0];
    l->origin.folder.tokenizer[0] = l->origin.folder.tokenizer[1] = NULL;
    return HD_OK;
}

hd_status hd_labeling_take_body(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    const hd_train_options *o = s->options;
    return o->resume ? resume_folder(l, o->out, hd_train_tasks[o->task], err) : take_origin(l, o->from, err);
}

static hd_status begin_bias(hd_labeling *l, hd_err *err)
{
    hd_classifier *m = l->classifier;
    hd_real *bias = hd_mem_array(m->opt.classes, sizeof *bias);
    if (!bias) return hd_err_nomem(err, m->opt.classes * sizeof *bias);
    l->kind->begin(bias, &l->train);
    hd_status st = hd_params_set(m->params, m->out.b, bias);
    hd_mem_free(bias);
    return st;
}

static hd_status begin_weights(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    hd_classifier *m = l->classifier;
    const hd_train_options *o = s->options;
    hd_status st = hd_params_draw(m->params, l->seed, err);
    if (!st && l->kind->begin) st = begin_bias(l, err);
    if (st || !o->from || o->scratch || o->resume) return st;
    return hd_origin_take(&l->origin, o->from, m, &l->folder.labels, err);
}

static hd_status make_model(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    size_t batch = (size_t)s->options->batch_size;
    l->model.classes = l->kind->head->logp ? l->folder.labels.count : 1;
    hd_status st = hd_classifier_new(&l->classifier, s->backend, &l->model, true, err);
    if (st) return st;
    hd_model_folder_take(&l->folder, (hd_train_task)s->options->task, hd_classifier_model(l->classifier));
    s->params = l->classifier->params;
    s->batches = l->batches = (l->train.count + batch - 1) / batch;
    return l->material->ready(s, err);
}

static hd_status read_data(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    hd_status st = l->material->read(s, err);
    if (!st && l->train.count >= UINT32_MAX)
        st = hd_err_set(err, HD_ELIMIT, "%zu items are more than a run can take", l->train.count);
    s->train = l->train.hash, s->valid = l->valid.hash, s->validates = l->valid.count > 0;
    return st;
}

static hd_status open(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    l->kind = s->task->form, l->seed = (uint64_t)s->options->seed;
    l->material = hd_train_pictures(s->options) ? &hd_label_pictures : &hd_label_texts;
    hd_status st = hd_label_model(&l->model, s->options, err);
    if (!st) st = read_data(s, err);
    return st ? st : make_model(s, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const hd_labeling *l = s->state;
    const hd_classifier_opt *m = &l->classifier->opt;
    bool tags = l->kind->each;
    char stages[HD_STAGES_TEXT];
    (void)err;
    snprintf(p->model, sizeof p->model, "%s, width %zu%s%s", hd_body_text(&m->body, stages),
             hd_body_width(&m->body), tags ? "" : ", pool ", tags ? "" : hd_pool_names[m->pool]);
    l->material->plan(s, p);
    return HD_OK;
}

/* -- the tasks -- */

/* Those of the list whose folders are read here: hd_task_NAME of hd_label_NAME, a kind with a file of its
   own. What their lines are says what progress counts. */
#define UNIT_item  "items"
#define UNIT_words "tokens"
#define TASK_labeler(NAME, LINE)                                 \
    extern const hd_label_kind hd_label_##NAME;                  \
    const hd_task hd_task_##NAME = {                             \
        .unit = UNIT_##LINE,                                     \
        .judged = "labels",                                      \
        .with = "< FILE",                                        \
        .remedy = "a smaller --batch-size or --micro-batches N", \
        .form = &hd_label_##NAME,                                \
        .varies = true,                                          \
        .recipe = &hd_recipe_labels,                             \
        .size = sizeof(hd_labeling),                             \
        .check = hd_label_check,                                 \
        .open = open,                                            \
        .release = release,                                      \
        .weights = begin_weights,                                \
        .plan = plan,                                            \
        .load = load,                                            \
        .send = send,                                            \
        .loss = loss,                                            \
        .validate = validate,                                    \
        .save = save,                                            \
        .publish = hd_task_publish,                              \
        .judge = judge,                                          \
    };
#define TASK_translator(...)
#define TASK_language(...)
#define TASK_masked(...)
#define TASK_captioner(...)
#define TASK_detector(...)
#define TASK_transcriber(...)
#define TASK_handwriter(...)
#define TASK_stroke_reader(...)
#define X(NAME, name, about, what, verb, line, start, end, best, functions) TASK_##functions(name, line)
HD_TASK_LIST(X)
