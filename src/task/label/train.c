/* Training a classifier or a tagger: from labeled texts or sentences to a model folder. An update sees
   `batch` items; every epoch has all of them once, in an order of its own. The best model is the one of the
   highest first figure on what is held back (accuracy), of numbers the one of the least squared error; where
   none is, the newest. With --from the model begins with the body of another: fine-tuning. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "run/session.h"
#include "task/label/training.h"

typedef struct labeling {
    hd_model_folder folder; /* first, as hd_task_save asks */
    const hd_label_kind *kind;
    hd_label_set set;
    hd_examples train, valid;  /* valid.count 0: there is none */
    hd_classifier *classifier; /* in the folder */
    hd_classifier_opt model;   /* vocabulary and classes are filled in */
    hd_origin origin;
    uint32_t *order; /* [train.count] examples of the epoch */
    uint64_t formed; /* the epoch it is of, from 1; 0: none yet */
    size_t batches;  /* of an epoch */
    uint64_t seed;
    size_t from, to; /* of the update in order */
    hd_class_batch sent;
} labeling;

/* -- the loop's side -- */

static void form_epoch(labeling *l, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(l->seed, 0x6c61620000000000u + epoch);
    size_t n = l->train.count;
    if (l->formed == epoch + 1) return;
    for (size_t i = 0; i < n; i++) l->order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = hd_rng_below(&rng, (uint32_t)i);
        uint32_t kept = l->order[i - 1];
        l->order[i - 1] = l->order[j], l->order[j] = kept;
    }
    l->formed = epoch + 1;
}

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    labeling *l = s->state;
    size_t batch = (size_t)(s->numbered.at % l->batches), labels = 0, rows = 0;
    (void)err;
    form_epoch(l, s->numbered.at / l->batches);
    l->from = l->train.count * batch / l->batches; /* all of them about as large */
    l->to = l->train.count * (batch + 1) / l->batches;
    for (size_t i = l->from; i < l->to; i++) {
        size_t e = l->order[i];
        labels += l->train.first[e + 1] - l->train.first[e];
        rows += l->train.begin[e + 1] - l->train.begin[e];
    }
    double items = (double)(l->to - l->from);
    *out = (hd_load){.items = l->to - l->from,
                     .tokens = l->kind->each ? labels : l->to - l->from,
                     .flops = hd_classifier_flops(l->classifier, items, (double)rows / items)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    labeling *l = s->state;
    (void)part;
    return hd_labeler_send(r, &l->sent, &l->folder, &l->train, l->order + l->from + from, to - from,
                           s->options);
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    labeling *l = s->state;
    hd_loss_opt opt = {.coef = 1, .smoothing = (float)s->options->label_smoothing};
    (void)part;
    return hd_classifier_loss(r, l->classifier, &l->sent, &opt);
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    labeling *l = s->state;
    hd_judged j;
    hd_status st = hd_labeler_judge(&j, r, &l->folder, &l->valid, err);
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
    labeling *l = s->state;
    hd_status st = hd_task_save(s, folder, err);
    if (st || !l->set.valid.count) return st;
    return hd_label_set_keep(&l->set, &l->folder.labels, l->kind, folder, err);
}

/* What the published model makes of the part that is held back. */
static hd_status judge(hd_session *s, hd_outcome *out, hd_err *err)
{
    labeling *l = s->state;
    hd_model_folder published = {0};
    hd_judged j = {0};
    if (!l->valid.count) return HD_OK;
    hd_status st = hd_model_folder_open(&published, s->options->out, hd_train_tasks[s->options->task],
                                        s->backend, HD_WEIGHTS_BEST, err);
    if (!st) st = hd_labeler_judge(&j, &s->run, &published, &l->valid, err);
    if (!st) out->judged = j.count, memcpy(out->figure, j.figure, sizeof out->figure);
    hd_confusion_release(&j.confusion);
    hd_model_folder_release(&published);
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    labeling *l = s->state;
    hd_model_folder_release(&l->folder);
    hd_model_folder_release(&l->origin.folder);
    hd_label_set_release(&l->set);
    hd_examples_release(&l->train);
    hd_examples_release(&l->valid);
    hd_mem_free(l->order);
}

/* Of a run that is resumed the tokenizer and the body are those in the folder: what it began with may be
 * gone.
 */
static hd_status resume_folder(labeling *l, const char *folder, const char *task, hd_err *err)
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
static hd_status take_origin(labeling *l, const char *from, hd_err *err)
{
    hd_body_opt *body = &l->model.body;
    const hd_body_opt asked = *body;
    const hd_classifier_opt *was = &l->origin.model;
    hd_status st = hd_origin_open(&l->origin, from, err);
    if (st) return st;
    *body = was->body;
    if (l->kind->each) l->model.bare = was->pool == HD_POOL_each && was->bare;
    body->positions = asked.positions;
    hd_body_stack(body)->dropout = asked.stack.dropout;
    l->folder.tokenizer[0] = l->origin.folder.tokenizer[0];
    l->origin.folder.tokenizer[0] = l->origin.folder.tokenizer[1] = NULL;
    return HD_OK;
}

static hd_status make_tokenizer(hd_session *s, hd_err *err)
{
    labeling *l = s->state;
    hd_labeled_walk walk = {&l->set.train, 0};
    if (s->options->resume) return resume_folder(l, s->options->out, hd_train_tasks[s->options->task], err);
    if (s->options->from) return take_origin(l, s->options->from, err);
    return hd_session_tokenizer(s, &l->folder.tokenizer[0], hd_labeled_feed(&walk), err);
}

static hd_status read_data(hd_session *s, hd_err *err)
{
    labeling *l = s->state;
    hd_status st = hd_label_set_read(&l->set, &l->folder.labels, s->options, err);
    if (!st) st = make_tokenizer(s, err);
    hd_examples_opt e = hd_labeler_examples(&l->model);
    l->folder.pairs = !l->kind->each && hd_labeled_pairs(&l->set.train);
    if (!st) st = hd_examples_make(&l->train, &l->set.train, l->folder.tokenizer[0], &e, err);
    if (!st && l->set.valid.count)
        st = hd_examples_make(&l->valid, &l->set.valid, l->folder.tokenizer[0], &e, err);
    if (!st && l->train.count >= UINT32_MAX)
        st = hd_err_set(err, HD_ELIMIT, "%zu items are more than a run can take", l->train.count);
    s->train = l->train.hash, s->valid = l->valid.hash, s->validates = l->valid.count > 0;
    return st;
}

static hd_status begin_bias(labeling *l, hd_err *err)
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
    labeling *l = s->state;
    hd_classifier *m = l->classifier;
    const hd_train_options *o = s->options;
    hd_status st = hd_params_draw(m->params, l->seed, err);
    if (!st && l->kind->begin) st = begin_bias(l, err);
    if (st || !o->from || o->scratch || o->resume) return st;
    return hd_origin_take(&l->origin, o->from, m, &l->folder.labels, err);
}

static hd_status make_model(hd_session *s, hd_err *err)
{
    labeling *l = s->state;
    size_t batch = (size_t)s->options->batch_size;
    l->model.classes = l->kind->head->logp ? l->folder.labels.count : 1;
    if (l->model.body.encoder.count) l->model.body.vocab = hd_tokenizer_size(l->folder.tokenizer[0]);
    hd_status st = hd_classifier_new(&l->classifier, s->backend, &l->model, true, err);
    if (st) return st;
    hd_model_folder_take(&l->folder, (hd_train_task)s->options->task, hd_classifier_model(l->classifier));
    s->params = l->classifier->params;
    s->batches = l->batches = (l->train.count + batch - 1) / batch;
    l->order = hd_mem_array(l->train.count, sizeof *l->order);
    return l->order ? HD_OK : hd_err_nomem(err, l->train.count * sizeof *l->order);
}

static hd_status open(hd_session *s, hd_err *err)
{
    labeling *l = s->state;
    l->kind = s->task->form, l->seed = (uint64_t)s->options->seed;
    hd_status st = hd_label_model(&l->model, s->options, err);
    if (!st) st = read_data(s, err);
    return st ? st : make_model(s, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const labeling *l = s->state;
    const hd_classifier_opt *m = &l->classifier->opt;
    bool tags = l->kind->each;
    double items = (double)l->train.count;
    char stages[HD_STAGES_TEXT], a[32];
    (void)err;
    if (l->train.cut + l->valid.cut && !s->backend->rank)
        hd_log_say(&s->hooks->log, HD_WARN,
                   "%zu items are longer than %zu tokens: a text is cut there, a sentence parted",
                   l->train.cut + l->valid.cut, l->model.body.positions);
    p->flops = hd_classifier_flops(l->classifier, items, (double)l->train.rows / items) / (double)l->batches;
    snprintf(p->model, sizeof p->model, "%s, width %zu%s%s", hd_body_text(&m->body, stages),
             hd_body_width(&m->body), tags ? "" : ", pool ", tags ? "" : hd_pool_names[m->pool]);
    hd_plan_add(p, "vocabulary", "%s", hd_grouped(hd_body_vocab(&m->body), a));
    if (m->head->logp) hd_plan_add(p, "labels", "%s", hd_grouped(m->classes, a));
    hd_plan_add_data(p, tags ? "sentences" : "items", l->set.train.count, l->set.valid.count);
    if (l->set.repeated) hd_plan_add(p, "left out", "%s that repeat others", hd_grouped(l->set.repeated, a));
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
        .size = sizeof(labeling),                                \
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
#define X(NAME, name, about, what, verb, line, start, end, best, functions) TASK_##functions(name, line)
HD_TASK_LIST(X)
