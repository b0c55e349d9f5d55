/* Training a captioner: from pictures with captions to a model folder. An epoch shows every picture once,
   with one of its captions: another one the next time. The best model is the one of the highest CIDEr-D of
   greedy captions, or of the least loss. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "metric/metric.h"
#include "model/prepare.h"
#include "nn/pixels.h"
#include "op/replay.h"
#include "run/pictures.h"
#include "task/caption/training.h"
#include "task/list.h"
#include "train/published.h"

enum { SIDED = 10 }; /* one of so many captions that say left or right is too many to mirror pictures */

/* A batch in backend memory, as long as its step. */
typedef struct picture_batch {
    hd_pixels pixels;
    hd_targets_sent text;
} picture_batch;

typedef struct captioning {
    hd_model_folder folder; /* first, as hd_task_save asks */
    hd_encdec *model;       /* in it */
    hd_captions train, valid;
    hd_augment augment;
    hd_image_loader *loader, *valid_loader;
    size_t batches;  /* of an epoch */
    uint64_t number; /* of the batch */
    picture_batch sent;
} captioning;

/* -- batches -- */

/* Captions for the items of a batch: number `k` of each, or where that is below 0 the one of the epoch. */
typedef struct chosen {
    const hd_captions *from;
    int k;
    uint64_t seed, epoch;
} chosen;

static uint32_t caption_of(const chosen *c, size_t picture)
{
    size_t n = hd_captions_of(c->from, picture);
    if (c->k < 0) return (uint32_t)hd_captions_choose(c->from, picture, c->seed, c->epoch);
    return (uint32_t)(c->from->set.first_caption[picture] + (size_t)c->k % n);
}

static size_t tokens_of(const chosen *c, const uint32_t *which, size_t items)
{
    size_t sum = 0;
    for (size_t i = 0; i < items; i++) sum += hd_targets_tokens(&c->from->texts, caption_of(c, which[i]));
    return sum;
}

/* Sends pictures and captions; everything is sent before the first kernel is called. The number tells the
   shape: pictures are not filled up, captions are. */
static uint64_t send_batch(hd_run *r, captioning *t, const hd_image_batch *b, const chosen *c)
{
    uint32_t *which = hd_host_take(r, (b->items + 1) * sizeof *which);
    int32_t *key = hd_host_take(r, (b->items + 1) * sizeof *key);
    if (!which || !key) return 0;
    for (size_t i = 0; i < b->items; i++)
        which[i] = caption_of(c, b->which[i]), key[i] = (int32_t)b->which[i];
    t->sent = (picture_batch){0};
    uint64_t text = hd_targets_send(r, &t->sent.text, &c->from->texts,
                                    &(hd_targets_ask){.which = which,
                                                      .key = key,
                                                      .items = b->items,
                                                      .special = hd_tokenizer_special(t->folder.tokenizer[1]),
                                                      .exact = true,
                                                      .unrolls = hd_encdec_unrolls(t->model)});
    hd_pixels_send(r, &t->sent.pixels, b, &t->model->opt.image.prepare);
    return hd_shape_mix(hd_shape_of_sizes(b->size, b->items), text);
}

static hd_tensor *loss_of(hd_run *r, const captioning *t, float smoothing)
{
    const picture_batch *b = &t->sent;
    hd_encoded memory = hd_encdec_encode(r, t->model, &(hd_items){.pixels = &b->pixels});
    return hd_seq2seq_loss(r, t->model, memory, &b->text, hd_tokenizer_special(t->folder.tokenizer[1]).start,
                           smoothing);
}

/* -- the loop's side -- */

static chosen of_epoch(const hd_session *s)
{
    const captioning *t = s->state;
    return (chosen){&t->train, -1, (uint64_t)s->options->seed, t->number / t->batches};
}

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    captioning *t = s->state;
    size_t items = 0;
    (void)err;
    t->number = s->numbered.at;
    const uint32_t *which = hd_image_loader_which(t->loader, t->number, &items);
    const chosen c = of_epoch(s);
    size_t tokens = tokens_of(&c, which, items);
    double n = (double)items;
    *out = (hd_load){
        .items = items, .tokens = tokens, .flops = hd_encdec_flops(t->model, n, 0, (double)tokens / n)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    captioning *t = s->state;
    const hd_image_batch *b = NULL;
    const chosen c = of_epoch(s);
    hd_err err = {0};
    (void)part;
    if (hd_image_loader_get(t->loader, t->number, from, to, &b, &err))
        return hd_fail(r, err.status, "%s", err.text), 0;
    return send_batch(r, t, b, &c);
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    (void)part;
    return loss_of(r, s->state, (float)s->options->label_smoothing);
}

/* -- validation -- */

/* Of every caption: as many rounds as the picture with most of them has. */
static hd_status valid_loss(hd_run *r, captioning *t, double *out, hd_err *err)
{
    size_t most = 0, batches = hd_image_loader_batches(t->valid_loader);
    double sum[2] = {0};
    hd_status st = HD_OK;
    for (size_t i = 0; i < t->valid.set.count; i++)
        if (hd_captions_of(&t->valid, i) > most) most = hd_captions_of(&t->valid, i);
    for (size_t n = (size_t)hd_rank(); !st && n < batches; n += (size_t)hd_ranks()) {
        size_t items = 0;
        const hd_image_batch *b = NULL;
        hd_image_loader_which(t->valid_loader, n, &items);
        st = hd_image_loader_get(t->valid_loader, n, 0, items, &b, err);
        for (size_t k = 0; !st && k < most; k++) {
            const chosen c = {&t->valid, (int)k, 0, 0};
            hd_run_begin(r, HD_INFERENCE);
            send_batch(r, t, b, &c);
            sum[0] += hd_loss_total(r, loss_of(r, t, 0)), sum[1] += (double)tokens_of(&c, b->which, b->items);
            if (r->err.status) st = hd_err_set(err, r->err.status, "validation: %s", r->err.text);
        }
    }
    st = hd_ranks_agree(st, sum, 2, err);
    *out = sum[0] / sum[1];
    return st;
}

/* Greedy captions of the pictures of a batch against all of theirs. */
static hd_status score_batch(hd_run *r, captioning *t, hd_metric *cider, const hd_image_batch *b, hd_err *err)
{
    hd_written_all found = {0};
    hd_line refs[HD_METRIC_REFS];
    const hd_caption_opt o = {.search = {.kind = HD_SEARCH_GREEDY}};
    hd_status st = hd_caption_of(&found, r, &t->folder, b, &o, err);
    for (size_t i = 0; !st && i < b->items; i++) {
        size_t first = t->valid.set.first_caption[b->which[i]], n = hd_captions_of(&t->valid, b->which[i]);
        const char *text = found.found[i] ? found.of[i][0].text : "";
        if (n > HD_METRIC_REFS) n = HD_METRIC_REFS;
        memcpy(refs, t->valid.texts.text + first, n * sizeof *refs);
        st = hd_metric_set_refs(cider, (int)n, err);
        if (!st) st = hd_metric_add(cider, (hd_line){text, strlen(text)}, refs, err);
    }
    hd_written_release(&found);
    return st;
}

/* CIDEr-D weighs words by how many of all pictures have them, so one process scores all. */
static hd_status valid_cider(hd_run *r, captioning *t, size_t most, double *out, hd_err *err)
{
    size_t batches = hd_image_loader_batches(t->valid_loader), seen = 0;
    hd_metric *cider = NULL;
    hd_status st = hd_metric_new(&cider, HD_METRIC_cider_d, &(hd_metric_opt){.refs = 1}, err);
    if (!st) st = hd_encdec_prepare(t->model, HD_DECODING, err);
    for (size_t n = 0; !st && n < batches && seen < most; n++) {
        size_t items = 0;
        const hd_image_batch *b = NULL;
        hd_image_loader_which(t->valid_loader, n, &items);
        if (items > most - seen) items = most - seen;
        st = hd_image_loader_get(t->valid_loader, n, 0, items, &b, err);
        if (!st) st = score_batch(r, t, cider, b, err);
        seen += items;
    }
    hd_err later = {0};
    hd_status back = hd_encdec_prepare(t->model, HD_TRAINING, st ? &later : err);
    if (!st) st = back;
    if (!st) st = hd_metric_settle(cider, err);
    if (!st) st = hd_metric_finish(cider, out, err);
    hd_metric_free(cider);
    return st;
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    captioning *t = s->state;
    size_t judged = (size_t)s->options->caption_images;
    double score = NAN;
    *out = (hd_validation){0};
    hd_status st = valid_loss(r, t, &out->loss, err);
    if (!st && judged) st = valid_cider(r, t, judged, &score, err);
    out->figure[0] = (hd_figure){"cider", "CIDEr-D", score, .places = 2};
    hd_task_choose(out, s->options, judged != 0);
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    captioning *t = s->state;
    hd_image_loader_free(t->loader);
    hd_image_loader_free(t->valid_loader);
    hd_model_folder_release(&t->folder);
    hd_captions_release(&t->train);
    hd_captions_release(&t->valid);
}

static hd_status open_loaders(hd_session *s, hd_err *err)
{
    captioning *t = s->state;
    const hd_train_options *o = s->options;
    hd_image_loader_opt l = {.set = &t->train.set,
                             .prepare = &t->model->opt.image.prepare,
                             .augment = hd_augment_any(&t->augment) ? &t->augment : NULL,
                             .seed = (uint64_t)o->seed,
                             .keep = o->picture_memory,
                             .batch = (size_t)o->batch_size,
                             .threads = s->backend->dry ? -1 : s->hooks->threads};
    hd_status st = hd_image_loader_new(&t->loader, &l, err);
    if (!st) s->batches = t->batches = hd_image_loader_batches(t->loader);
    if (st || !t->valid.set.count) return st;
    l.set = &t->valid.set, l.augment = NULL, l.in_order = true;
    return hd_image_loader_new(&t->valid_loader, &l, err);
}

/* Mirrored pictures make captions wrong that say left or right. */
static void choose_flip(hd_session *s)
{
    captioning *t = s->state;
    size_t sided = hd_captions_sided(&t->train);
    if (sided * SIDED < t->train.texts.count) return;
    t->augment.flip = false;
    if (!s->backend->rank)
        hd_log_say(&s->hooks->log, HD_INFO,
                   "%zu of %zu captions say left or right: pictures are not flipped (--flip horizontal does)",
                   sided, t->train.texts.count);
}

static hd_status choose_size(hd_image_encoder_opt *to, const hd_image_set *set, const hd_train_options *o,
                             hd_err *err)
{
    hd_status st = hd_train_prepare(&to->prepare, set, o, HD_CAPTION_SIDE, err);
    to->height = to->prepare.height, to->width = to->prepare.width, to->channels = to->prepare.channels;
    return st;
}

static hd_status open(hd_session *s, hd_err *err)
{
    captioning *t = s->state;
    const hd_train_options *o = s->options;
    hd_encdec_opt model;
    size_t longest = (size_t)o->max_length;
    t->augment = hd_train_augment(o);
    hd_status st = hd_caption_model(&model, o, err);
    if (!st) st = hd_caption_read(&t->train, &t->valid, o, err);
    if (!st && o->flip == HD_TRAIN_FLIP_AUTO) choose_flip(s);
    if (!st && !hd_session_folder(s))
        st = o->encoder_from ? hd_caption_origin(&model.image, o->encoder_from, err)
                             : choose_size(&model.image, &t->train.set, o, err);
    if (!st) st = hd_seq2seq_tokenizer(s, &t->folder.tokenizer[0], &model, &t->train.texts, err);
    if (!st) st = hd_captions_encode(&t->train, t->folder.tokenizer[0], longest, err);
    if (!st && t->valid.set.count) st = hd_captions_encode(&t->valid, t->folder.tokenizer[0], longest, err);
    if (st) return st;
    s->train = t->train.set.hash, s->valid = t->valid.set.hash, s->validates = t->valid.set.count > 0;
    if (!hd_session_folder(s)) model.target_vocab = hd_tokenizer_size(t->folder.tokenizer[0]);
    st = hd_encdec_new(&t->model, s->backend, &model, true, err);
    if (st) return st;
    hd_model_folder_take(&t->folder, HD_TRAIN_CAPTION, hd_encdec_model(t->model));
    s->params = &t->model->params;
    return open_loaders(s, err);
}

static hd_status begin_weights(hd_session *s, hd_err *err)
{
    captioning *t = s->state;
    const hd_train_options *o = s->options;
    if (o->from && !o->resume) return hd_published_load(s->params, o->from, err);
    hd_status st = hd_params_draw(s->params, (uint64_t)o->seed, err);
    if (st || !o->encoder_from || o->resume) return st;
    return hd_caption_take_encoder(t->model, o->encoder_from, s->backend, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const captioning *t = s->state;
    const hd_encdec_opt *m = &t->model->opt;
    size_t captions = t->train.texts.count;
    double tokens = (double)t->train.texts.begin[captions] / (double)captions + 1;
    char decoder[HD_STAGES_TEXT], a[32];
    (void)err;
    if (t->train.cut + t->valid.cut && !s->backend->rank)
        hd_log_say(&s->hooks->log, HD_WARN, "%zu captions are longer than %d tokens and are cut there",
                   t->train.cut + t->valid.cut, s->options->max_length);
    p->flops =
        hd_encdec_flops(t->model, (double)s->options->batch_size, (double)hd_encdec_length(t->model), tokens);
    snprintf(p->model, sizeof p->model, "%s of %d x %d pixels, %zu vectors of %zu; decoder %s, width %zu",
             hd_image_encoder_names[m->image.kind], m->image.width, m->image.height,
             hd_encdec_length(t->model), t->model->encoder.out, hd_stages_text(&m->decoder, decoder),
             m->stack.width);
    hd_plan_add(p, "vocabulary", "%s", hd_grouped(m->target_vocab, a));
    hd_plan_add_data(p, "pictures", t->train.set.count, t->valid.set.count);
    hd_train_plan_kept(p, t->loader, &t->train.set);
    hd_plan_add(p, "captions", "%s, %.1f tokens on average", hd_grouped(captions, a), tokens);
    return HD_OK;
}

const hd_task hd_task_caption = {
    .unit = "tokens",
    .with = "PICTURE...",
    .remedy = "a smaller --batch-size or --micro-batches N",
    .perplexity = true,
    .varies = true,
    .recipe = &hd_recipe_caption,
    .size = sizeof(captioning),
    .check = hd_caption_check,
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
};
