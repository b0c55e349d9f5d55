/* Training a detector: from boxes in pictures to a model folder. An update sees `batch` pictures, every epoch
   all of them once, changed at random. Which query answers for which object is decided on the host, so steps
   are not captured. The best model is that of the highest AP50 on what is held back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "run/pictures.h"
#include "run/session.h"
#include "task/detect/training.h"
#include "task/list.h"

enum { MATCHING = 4 }; /* most threads that choose queries beside a card */

typedef struct detecting {
    hd_model_folder folder; /* first, as hd_task_save asks */
    hd_detr *model;         /* in the folder */
    hd_model_folder origin; /* of --from, without weights; of a run that goes on its own folder */
    hd_image_set train, valid;
    hd_augment augment;
    hd_image_loader *loader;
    hd_team *team;            /* that chooses queries beside a card; NULL: the backend has one */
    size_t objects, pictures; /* of the update */
    hd_detect_batch batch;
} detecting;

/* -- the loop's side -- */

static size_t objects_of(const hd_image_set *s, const uint32_t *which, size_t items)
{
    size_t n = 0;
    for (size_t i = 0; i < items; i++) n += s->first_box[which[i] + 1] - s->first_box[which[i]];
    return n;
}

/* Weighted by the objects that files have: what augmentation leaves of them, other processes do not know. */
static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    detecting *d = s->state;
    size_t items = 0;
    const uint32_t *which = hd_image_loader_which(d->loader, s->numbered.at, &items);
    (void)err;
    d->pictures = items, d->objects = objects_of(&d->train, which, items);
    if (!d->objects) d->objects = 1;
    size_t rows = d->model->opt.queries +
                  (size_t)s->options->denoise_groups * (d->objects / (d->pictures ? d->pictures : 1));
    *out = (hd_load){.items = items,
                     .tokens = d->objects,
                     .flops =
                         hd_detr_flops(d->model, (double)items,
                                       (double)hd_image_encoder_length(&d->model->opt.image), (double)rows)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    detecting *d = s->state;
    const hd_image_batch *b = NULL;
    hd_err err = {0};
    (void)part;
    d->batch.truth = (hd_detr_truth){0};
    if (hd_image_loader_get(d->loader, s->numbered.at, from, to, &b, &err))
        hd_fail(r, err.status, "%s", err.text);
    else
        hd_detect_batch_send(r, &d->batch, b, hd_detector_prepare(&d->folder), s->numbered.at);
    return 0;
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    detecting *d = s->state;
    hd_tensor *place = NULL;
    hd_detr_loss_opt opt = {.no_object = (float)s->options->no_object_weight,
                            .objects = (double)d->objects,
                            .pictures = (double)d->pictures,
                            .team = d->team,
                            .noise = {.groups = s->options->denoise_groups,
                                      .label = 0.2f,
                                      .box = 0.4f,
                                      .seed = (uint64_t)s->options->seed,
                                      .key = d->batch.key}};
    (void)part;
    if (r->err.status || !d->batch.truth.pictures) return NULL;
    hd_rows memory = hd_detr_encode(r, d->model, &d->batch.in, &place);
    return hd_detr_loss(r, d->model, memory, place, &d->batch.truth, &opt, NULL);
}

static void figures(hd_figure to[HD_FIGURES], const hd_detector_judged *j)
{
    to[0] = (hd_figure){"ap50", "AP50", j->all.ap50, .share = true};
    to[1] = (hd_figure){"ap", "AP", j->all.ap, .share = true};
    to[2] = (hd_figure){"ap75", "AP75", j->all.ap75, .share = true};
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    detecting *d = s->state;
    hd_detector_judged j = {0};
    hd_status st = hd_ranks_agree(hd_detector_judge(&j, r, &d->folder, &d->valid, true, err), NULL, 0, err);
    if (!st) {
        *out = (hd_validation){.loss = j.loss, .quality = isnan(j.all.ap50) ? -INFINITY : j.all.ap50};
        figures(out->figure, &j);
    }
    hd_detector_judged_release(&j);
    return st;
}

/* What the published model finds in the part that is held back. */
static hd_status judge(hd_session *s, hd_outcome *out, hd_err *err)
{
    detecting *d = s->state;
    hd_model_folder published = {0};
    hd_detector_judged j = {0};
    if (!d->valid.count) return HD_OK;
    hd_status st =
        hd_model_folder_open(&published, s->options->out, "detect", s->backend, HD_WEIGHTS_BEST, err);
    if (!st) st = hd_detector_judge(&j, &s->run, &published, &d->valid, false, err);
    if (!st) out->judged = j.objects, figures(out->figure, &j);
    hd_detector_judged_release(&j);
    hd_model_folder_release(&published);
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    detecting *d = s->state;
    hd_team_free(d->team);
    hd_image_loader_free(d->loader);
    hd_image_set_release(&d->train);
    hd_image_set_release(&d->valid);
    hd_detect_batch_release(&d->batch);
    hd_model_folder_release(&d->origin);
    hd_model_folder_release(&d->folder);
}

/* Rows of a CSV file whose split is `name`, of a file that has such rows; else all. */
static hd_status read_boxes(hd_image_set *to, hd_vocab *labels, const char *path, const char *name,
                            const hd_train_options *o, hd_err *err)
{
    bool has = false;
    hd_status st = hd_image_set_has_split(&has, path, name, err);
    return st ? st
              : hd_image_set_boxes(to, labels, path, o->images, has ? name : NULL, o->on_invalid == 1, err);
}

static hd_status read_data(hd_session *s, hd_err *err)
{
    detecting *d = s->state;
    const hd_train_options *o = s->options;
    hd_vocab *labels = &d->folder.labels;
    const char *train = o->train.text[0];
    bool beside = false;
    hd_status st = read_boxes(&d->train, labels, train, "train", o, err);
    if (!st && o->valid.count)
        st = read_boxes(&d->valid, labels, o->valid.text[0], "val", o, err);
    else if (!st && o->valid_fraction > 0)
        st = hd_image_set_split(&d->train, o->valid_fraction, (uint64_t)o->seed, &d->valid, err);
    else if (!st && !(st = hd_image_set_has_split(&beside, train, "val", err)) && beside)
        st = hd_image_set_boxes(&d->valid, labels, train, o->images, "val", o->on_invalid == 1, err);
    if (!st && !d->train.first_box[d->train.count])
        st = hd_err_set(err, HD_EARG, "%s: there is no box to learn from", train);
    s->train = d->train.hash, s->valid = d->valid.hash, s->validates = d->valid.count > 0;
    return st;
}

static hd_status describe_model(hd_session *s, hd_detr_opt *to, hd_err *err)
{
    detecting *d = s->state;
    const hd_train_options *o = s->options;
    if (!o->from) return hd_detect_model(to, o, &d->train, err);
    hd_status st = hd_model_folder_describe(&d->origin, hd_session_folder(s), "detect", err);
    return st ? st : hd_detect_continued(to, o, &d->origin, &d->train, err);
}

/* A matching takes microseconds: more threads would only wait for each other. */
static int team_size(const hd_session *s)
{
    int most = s->hooks->threads > 0 ? s->hooks->threads : hd_team_cores();
    return most < MATCHING ? most : MATCHING;
}

static hd_status make_model(hd_session *s, hd_err *err)
{
    detecting *d = s->state;
    const hd_train_options *o = s->options;
    hd_detr_opt m;
    hd_status st = describe_model(s, &m, err);
    if (st) return st;
    m.labels = d->folder.labels.count;
    st = hd_detr_new(&d->model, s->backend, &m, true, err);
    if (st) return st;
    hd_model_folder_take(&d->folder, HD_TRAIN_DETECT, hd_detr_model(d->model));
    s->params = &d->model->params;
    d->augment = hd_train_augment(o);
    hd_image_loader_opt l = {.set = &d->train,
                             .prepare = hd_detector_prepare(&d->folder),
                             .augment = &d->augment,
                             .seed = (uint64_t)o->seed,
                             .keep = o->picture_memory,
                             .batch = (size_t)o->batch_size,
                             .threads = s->hooks->threads};
    st = hd_image_loader_new(&d->loader, &l, err);
    if (!st) s->batches = hd_image_loader_batches(d->loader);
    if (!st && !s->backend->team && !s->backend->dry) st = hd_team_new(&d->team, team_size(s), err);
    return st;
}

static hd_status open(hd_session *s, hd_err *err)
{
    hd_status st = read_data(s, err);
    return st ? st : make_model(s, err);
}

static hd_status begin_weights(hd_session *s, hd_err *err)
{
    detecting *d = s->state;
    const hd_train_options *o = s->options;
    hd_status st = hd_detr_draw(d->model, (uint64_t)o->seed, err);
    if (st || !o->from || o->resume) return st;
    return hd_detect_take_weights(d->model, &d->folder.labels, &d->origin, o->from, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const detecting *d = s->state;
    const hd_detr_opt *m = &d->model->opt;
    const hd_image_prepare *read = hd_detector_prepare(&d->folder);
    char a[32];
    (void)err;
    size_t batch = (size_t)s->options->batch_size, objects = d->train.first_box[d->train.count];
    double rows = (double)m->queries + s->options->denoise_groups * (double)objects / (double)d->train.count;
    p->flops = hd_detr_flops(d->model, (double)batch, (double)hd_image_encoder_length(&m->image), rows);
    snprintf(p->model, sizeof p->model, "detr: %s, %d + %d layers, width %zu, %zu %s",
             hd_image_encoder_names[m->image.kind], m->encoder_layers, m->decoder_layers, m->stack.width,
             m->queries, m->anchors ? "anchors" : "learned queries");
    hd_plan_add(p, "labels", "%s", hd_grouped(m->labels, a));
    hd_plan_add_data(p, "pictures", d->train.count, d->valid.count);
    hd_train_plan_kept(p, d->loader, &d->train);
    hd_plan_add(p, "objects", "%s", hd_grouped(objects, a));
    if (read->height)
        hd_plan_add(p, "pictures are scaled to", "%d x %d pixels", read->width, read->height);
    else if (read->resize)
        hd_plan_add(p, "pictures are scaled to", "%d pixels on the shorter side, at most %d on the longer",
                    read->shortest, read->longest);
    if (d->train.skipped + d->valid.skipped)
        hd_plan_add(p, "left out", "%s invalid pictures and boxes",
                    hd_grouped(d->train.skipped + d->valid.skipped, a));
    return HD_OK;
}

const hd_task hd_task_detect = {
    .unit = "objects",
    .judged = "objects",
    .with = "FILE.png",
    .remedy = "a smaller --batch-size or --micro-batches N",
    .eager = true,
    .valid_every = 200,
    .recipe = &hd_recipe_detect,
    .size = sizeof(detecting),
    .check = hd_detect_check,
    .open = open,
    .release = release,
    .weights = begin_weights,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = validate,
    .save = hd_task_save,
    .publish = hd_task_publish,
    .judge = judge,
};
