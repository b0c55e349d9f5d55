/* Labeled pictures in training: they are decoded and augmented in other threads, ahead of the update that
   learns from them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "run/pictures.h"
#include "task/label/training.h"

enum { MOST_SIDE = 64 };             /* of pictures, where nothing is said */
enum { OFTEN = 50, STRONG_OPS = 2 }; /* --augment: from how many epochs on; operations of RandAugment */

/* -- batches -- */

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    hd_labeling *l = s->state;
    size_t items = 0;
    (void)err;
    hd_image_loader_which(l->pictures.loader, s->numbered.at, &items);
    *out = (hd_load){.items = items,
                     .tokens = items,
                     .flops = hd_classifier_flops(l->classifier, (double)items,
                                                  (double)hd_image_encoder_length(&l->model.body.image))};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t from, size_t to)
{
    hd_labeling *l = s->state;
    const hd_image_batch *b = NULL;
    hd_err err = {0};
    if (hd_image_loader_get(l->pictures.loader, s->numbered.at, from, to, &b, &err))
        return hd_fail(r, err.status, "%s", err.text), 0;
    return hd_labeler_send_pictures(r, &l->sent, &l->pictures.sent, &l->folder, &l->train, b);
}

static hd_status judge(hd_judged *out, hd_run *r, const hd_model_folder *f, const hd_session *s, hd_err *err)
{
    const hd_labeling *l = s->state;
    return hd_labeler_judge_pictures(out, r, f, &l->pictures.valid, s->hooks->threads, err);
}

/* -- setting up -- */

static hd_status read_sets(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    const hd_train_options *o = s->options;
    const hd_texts *from = o->train_dir.count ? &o->train_dir : &o->train;
    hd_image_set *train = &l->pictures.train, *valid = &l->pictures.valid;
    hd_vocab *labels = &l->folder.labels;
    bool skip = o->on_invalid == 1;
    hd_status st = hd_labeler_read_pictures(train, labels, from->text, from->count, o->images, skip, err);
    if (!st && labels->count < 2)
        st = hd_err_set(err, HD_EFORMAT, "%s: all of it has the label \"%s\": there is nothing to tell apart",
                        from->text[0], hd_vocab_piece(labels, 0));
    if (!st && o->valid.count)
        st = hd_labeler_read_pictures(valid, labels, o->valid.text, o->valid.count, o->images, skip, err);
    else if (!st && o->valid_fraction > 0)
        st = hd_image_set_split(train, o->valid_fraction, (uint64_t)o->seed, valid, err);
    if (!st) st = hd_examples_of_pictures(&l->train, train, err);
    if (!st && valid->count) st = hd_examples_of_pictures(&l->valid, valid, err);
    return st;
}

/* Another size than that of the model to begin with: the part in the middle is as large as before. */
static void set_size(hd_image_encoder_opt *o, int side)
{
    hd_image_prepare *p = &o->prepare;
    int before = o->height;
    if (p->height) p->height = p->height * side / before, p->width = p->width * side / o->width;
    if (p->shortest) p->shortest = p->shortest * side / before;
    if (p->longest) p->longest = p->longest * side / before;
    if (p->crop_height) p->crop_height = p->crop_width = side;
    o->height = o->width = side;
}

static hd_status size_new_model(hd_labeling *l, const hd_train_options *o, hd_err *err)
{
    hd_image_encoder_opt *m = &l->model.body.image;
    hd_status st = hd_train_prepare(&m->prepare, &l->pictures.train, o, MOST_SIDE, err);
    if (!st && m->kind == HD_IMAGE_resnet) st = hd_train_resnet(&m->resnet, o, m->prepare.height, err);
    if (!o->image_size && !m->stem && m->patch) { /* whole patches */
        int side = (m->prepare.height + m->patch - 1) / m->patch * m->patch;
        m->prepare.height = m->prepare.width = side;
    }
    m->height = m->prepare.height, m->width = m->prepare.width, m->channels = m->prepare.channels;
    return st;
}

static hd_status read(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    const hd_train_options *o = s->options;
    hd_status st = read_sets(s, err);
    if (st) return st;
    l->pictures.augment = hd_train_augment(o);
    s->alike = true;
    if (!o->resume && !o->from) return size_new_model(l, o, err);
    st = hd_labeling_take_body(s, err);
    if (!st && !o->resume && o->image_size) set_size(&l->model.body.image, o->image_size);
    if (!st && !o->resume) hd_image_encoder_fit(&l->model.body.image);
    return st;
}

/* How often a run sees a picture, at most. */
static double times_seen(const hd_labeling *l, const hd_train_options *o)
{
    double updates = o->steps ? (double)o->steps : INFINITY,
           epochs = o->epochs ? (double)o->epochs : INFINITY;
    return fmin(epochs, updates * (double)o->batch_size / (double)l->train.count);
}

/* Color pictures that are seen often are learned by heart otherwise. */
static bool is_strong(const hd_labeling *l, const hd_train_options *o)
{
    bool photos = l->classifier->opt.body.image.channels > 1 && times_seen(l, o) >= OFTEN;
    return o->augment == HD_TRAIN_AUGMENT_STRONG || (o->augment == HD_TRAIN_AUGMENT_AUTO && photos);
}

static void strengthen(hd_augment *a)
{
    if (!a->random_ops) a->random_ops = STRONG_OPS;
    if (!(a->cutmix > 0)) a->cutmix = 1;
}

static hd_status ready(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    const hd_train_options *o = s->options;
    if (is_strong(l, o)) strengthen(&l->pictures.augment);
    hd_image_loader_opt opt = {.set = &l->pictures.train,
                               .prepare = hd_labeler_prepare(&l->folder),
                               .augment = hd_augment_any(&l->pictures.augment) ? &l->pictures.augment : NULL,
                               .seed = l->seed,
                               .keep = o->picture_memory,
                               .batch = (size_t)o->batch_size,
                               .threads = s->hooks->threads};
    hd_status st = hd_augment_check(&l->pictures.augment, err);
    if (!st) st = hd_image_loader_new(&l->pictures.loader, &opt, err);
    if (!st) s->batches = l->batches = hd_image_loader_batches(l->pictures.loader);
    return st;
}

static void release(hd_session *s)
{
    hd_labeling *l = s->state;
    hd_image_loader_free(l->pictures.loader);
    hd_image_set_release(&l->pictures.train);
    hd_image_set_release(&l->pictures.valid);
}

/* A list of files, which may then be elsewhere than where the run was started; of an IDX file there is none.
 */
static hd_status keep(const hd_session *s, const char *folder, hd_err *err)
{
    const hd_labeling *l = s->state;
    const hd_image_set *set = &l->pictures.valid;
    char path[HD_PATH], whole[HD_PATH];
    hd_text t = {0};
    const char *root = set->block ? NULL : realpath(set->root, whole);
    for (size_t i = 0; root && i < set->count; i++) {
        const char *name = hd_image_set_name(set, i);
        hd_text_print(&t, "%s%s%s\t%s\n", name[0] == '/' ? "" : root, name[0] == '/' ? "" : "/", name,
                      hd_vocab_piece(&l->folder.labels, set->label[i]));
    }
    hd_status st = hd_text_status(&t, err);
    if (!st && root) st = hd_path(path, folder, "train", err);
    if (!st && root) st = hd_folder_make(path, NULL, err);
    if (!st && root) st = hd_path(path, folder, HD_HELD_OUT, err);
    if (!st && root) st = hd_save_bytes(path, t.size ? t.data : "", t.size, err);
    hd_text_release(&t);
    return st;
}

static void plan(const hd_session *s, hd_plan *p)
{
    const hd_labeling *l = s->state;
    const hd_image_encoder_opt *m = &l->classifier->opt.body.image;
    size_t skipped = l->pictures.train.skipped + l->pictures.valid.skipped;
    char a[32];
    p->flops =
        hd_classifier_flops(l->classifier, (double)l->train.count, (double)hd_image_encoder_length(m)) /
        (double)l->batches;
    hd_plan_add(p, "labels", "%s", hd_grouped(l->classifier->opt.classes, a));
    hd_plan_add(p, "size", "%d x %d, %s", m->width, m->height, m->channels == 1 ? "gray" : "color");
    hd_plan_add_data(p, "pictures", l->train.count, l->valid.count);
    hd_train_plan_kept(p, l->pictures.loader, &l->pictures.train);
    if (is_strong(l, s->options)) hd_plan_add(p, "augmentation", "strong");
    if (skipped) hd_plan_add(p, "left out", "%s that cannot be read", hd_grouped(skipped, a));
}

const hd_label_material hd_label_pictures = {read, ready, release, load, send, judge, keep, plan};
