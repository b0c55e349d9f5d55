/* Training a speech recognizer: from sounds and what is said in them to a model folder. The best model is the
   one of the lowest word error rate of greedy transcripts, or of the least loss. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "data/sound/loader.h"
#include "metric/metric.h"
#include "model/prepare.h"
#include "op/replay.h"
#include "run/decoder.h"
#include "task/list.h"
#include "task/transcribe/training.h"
#include "task/transcribe/whisper/tuning.h"

/* A batch in backend memory, as long as its step. */
typedef struct sound_batch {
    hd_frames frames;
    hd_targets_sent text;
} sound_batch;

typedef struct transcribing {
    hd_model_folder folder; /* first, as hd_task_save asks */
    hd_encdec *model;       /* in it */
    hd_feeding feeding;     /* of the decoder in training; validations are fed the truth */
    hd_speech train, valid;
    hd_whisper_tuning *whisper; /* NULL: it is none */
    hd_spec_augment augment;
    hd_sound_loader *loader, *valid_loader;
    sound_batch sent;
} transcribing;

/* -- batches -- */

static hd_frames_host host_of(const transcribing *t, const hd_sound_batch *b)
{
    return (hd_frames_host){.value = b->value,
                            .frames = b->frames,
                            .items = b->items,
                            .bins = b->mels,
                            .grid = hd_sound_encoder_grid(&t->model->opt.sound)};
}

/* Sends sounds and texts; everything is sent before the first kernel is called. The number tells the shape
   that both are filled up to. */
static uint64_t send_batch(hd_run *r, transcribing *t, const hd_targets *from, const hd_sound_batch *b)
{
    int32_t *key = hd_host_take(r, (b->items + 1) * sizeof *key);
    hd_frames_host host = host_of(t, b);
    if (!key) return 0;
    for (size_t i = 0; i < b->items; i++) key[i] = (int32_t)b->which[i];
    t->sent = (sound_batch){0};
    host.number = key;
    hd_targets_ask ask = {.which = b->which,
                          .key = key,
                          .items = b->items,
                          .special = hd_tokenizer_special(t->folder.tokenizer[1]),
                          .unrolls = hd_encdec_unrolls(t->model),
                          .labels = t->model->ctc.w};
    if (t->whisper) {
        const hd_ids *p = &t->whisper->prompt;
        ask.prompt = p->at, ask.prompts = p->count - 1;
        ask.special.start = p->at[p->count - 1], ask.special.end = t->whisper->whisper.rules.end;
    }
    uint64_t text = hd_targets_send(r, &t->sent.text, from, &ask);
    return hd_shape_mix(hd_frames_send(r, &t->sent.frames, &host), text);
}

static hd_tensor *loss_of(hd_run *r, const transcribing *t, float smoothing)
{
    const sound_batch *b = &t->sent;
    hd_encoded memory = hd_encdec_encode(r, t->model, &(hd_items){.frames = &b->frames});
    return hd_seq2seq_loss(r, t->model, memory, &b->text, hd_tokenizer_special(t->folder.tokenizer[1]).start,
                           smoothing);
}

/* -- the loop's side -- */

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    const transcribing *t = s->state;
    const hd_sound_share *now = hd_sound_loader_now(t->loader);
    size_t tokens = hd_targets_sum(&t->train.texts, now->which, now->items);
    double n = (double)now->items;
    (void)err;
    *out =
        (hd_load){.items = now->items,
                  .tokens = tokens,
                  .flops = hd_encdec_flops(t->model, n, (double)now->total_frames / n, (double)tokens / n)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    transcribing *t = s->state;
    const hd_sound_batch *b = NULL;
    hd_err err = {0};
    (void)part;
    if (hd_sound_loader_get(t->loader, from, to, &b, &err)) return hd_fail(r, err.status, "%s", err.text), 0;
    uint64_t rate = hd_decoder_feed(r, t->model, &t->feeding, s->options);
    return hd_shape_mix(rate, send_batch(r, t, &t->train.texts, b));
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    (void)part;
    return loss_of(r, s->state, (float)s->options->label_smoothing);
}

/* -- validation -- */

/* Batch number n of what is held back. */
static hd_status valid_batch(transcribing *t, size_t n, const hd_sound_batch **out, hd_err *err)
{
    hd_status st = hd_sound_loader_go(t->valid_loader, (hd_position){0, n}, err);
    if (st) return st;
    return hd_sound_loader_get(t->valid_loader, 0, hd_sound_loader_now(t->valid_loader)->items, out, err);
}

static hd_status valid_loss(hd_run *r, transcribing *t, double *out, hd_err *err)
{
    size_t batches = hd_sound_loader_batches(t->valid_loader, 0);
    double sum[2] = {0};
    hd_status st = hd_encdec_feed(t->model, &(hd_feeding){0}, err);
    for (size_t n = (size_t)hd_rank(); !st && n < batches; n += (size_t)hd_ranks()) {
        const hd_sound_batch *b = NULL;
        st = valid_batch(t, n, &b, err);
        if (st) break;
        hd_run_begin(r, HD_INFERENCE);
        send_batch(r, t, &t->valid.texts, b);
        sum[0] += hd_loss_total(r, loss_of(r, t, 0)),
            sum[1] += (double)hd_targets_sum(&t->valid.texts, b->which, b->items);
        if (r->err.status) st = hd_err_set(err, r->err.status, "validation: %s", r->err.text);
    }
    st = hd_ranks_agree(st, sum, 2, err);
    *out = sum[0] / sum[1];
    return st;
}

typedef struct scoring {
    const transcribing *t;
    hd_metric *wer;
    const hd_sound_batch *batch;
} scoring;

static hd_status score(void *context, size_t sound, const char *text, hd_err *err)
{
    const scoring *c = context;
    return hd_metric_add(c->wer, (hd_line){text, strlen(text)},
                         &c->t->valid.texts.text[c->batch->which[sound]], err);
}

/* Greedy transcripts of the sounds of a batch. */
static hd_status score_batch(hd_run *r, transcribing *t, hd_metric *wer, const hd_sound_batch *b, hd_err *err)
{
    hd_written_all found = {0};
    const hd_frames_host host = host_of(t, b);
    const hd_transcribe_opt o = {.search = {.kind = HD_SEARCH_GREEDY}, .ctc = -1};
    scoring c = {t, wer, b};
    if (t->whisper) return hd_whisper_tuning_hear(t->whisper, r, &host, score, &c, err);
    hd_status st = hd_transcribe_of(&found, r, &t->folder, &host, &o, err);
    for (size_t i = 0; !st && i < b->items; i++)
        st = score(&c, i, found.found[i] ? found.of[i][0].text : "", err);
    hd_written_release(&found);
    return st;
}

/* Error rates are made of counts, which add up. */
static hd_status valid_wer(hd_run *r, transcribing *t, size_t most, double *out, hd_err *err)
{
    size_t batches = hd_sound_loader_batches(t->valid_loader, 0), seen = 0;
    double sum[HD_METRIC_STATS] = {0};
    hd_metric *wer = NULL;
    hd_status st = hd_metric_new(&wer, HD_METRIC_wer, &(hd_metric_opt){.refs = 1}, err);
    if (!st) st = hd_encdec_prepare(t->model, HD_DECODING, err);
    for (size_t n = 0; !st && n < batches && seen < most; n++) {
        const hd_sound_batch *b = NULL;
        st = hd_sound_loader_go(t->valid_loader, (hd_position){0, n}, err);
        size_t items = st ? 0 : hd_sound_loader_now(t->valid_loader)->items;
        if (items > most - seen) items = most - seen;
        seen += items;
        if (st || n % (size_t)hd_ranks() != (size_t)hd_rank()) continue;
        st = hd_sound_loader_get(t->valid_loader, 0, items, &b, err);
        if (!st) st = score_batch(r, t, wer, b, err);
    }
    hd_err later = {0};
    hd_status back = hd_encdec_prepare(t->model, HD_TRAINING, st ? &later : err);
    if (!st) st = back;
    if (!st) memcpy(sum, hd_metric_sums(wer), (size_t)hd_metric_is(wer)->stats * sizeof *sum);
    st = hd_ranks_agree(st, sum, HD_METRIC_STATS, err);
    if (!st) *out = hd_metric_of(wer, sum);
    hd_metric_free(wer);
    return st;
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    transcribing *t = s->state;
    size_t judged = (size_t)s->options->wer_sounds;
    double score = NAN;
    *out = (hd_validation){0};
    hd_status st = valid_loss(r, t, &out->loss, err);
    if (!st && judged) st = valid_wer(r, t, judged, &score, err);
    out->figure[0] = (hd_figure){"wer", "WER", score, .places = 2, .less = true};
    hd_task_choose(out, s->options, judged != 0);
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    transcribing *t = s->state;
    hd_sound_loader_free(t->loader);
    hd_sound_loader_free(t->valid_loader);
    if (t->whisper) hd_whisper_tuning_release(t->whisper);
    hd_mem_free(t->whisper);
    hd_model_folder_release(&t->folder);
    hd_speech_release(&t->train);
    hd_speech_release(&t->valid);
}

static hd_status open_loaders(hd_session *s, hd_err *err)
{
    transcribing *t = s->state;
    const hd_train_options *o = s->options;
    hd_sound_loader_opt l = {.set = &t->train.set,
                             .features = t->model->opt.sound.features,
                             .augment = hd_spec_augment_any(&t->augment) ? &t->augment : NULL,
                             .seed = (uint64_t)o->seed,
                             .frames = (size_t)o->batch_frames,
                             .threads = s->backend->dry ? -1 : s->hooks->threads};
    hd_status st = hd_sound_loader_new(&t->loader, &l, err);
    if (!st) s->source = hd_sound_loader_source(t->loader), s->batches = s->source->batches;
    if (st || !t->valid.set.count) return st;
    l.set = &t->valid.set, l.augment = NULL, l.in_order = true;
    return hd_sound_loader_new(&t->valid_loader, &l, err);
}

static hd_status read_data(hd_session *s, hd_encdec_opt *model, hd_err *err)
{
    transcribing *t = s->state;
    const hd_train_options *o = s->options;
    size_t longest = (size_t)o->max_length;
    const char *folder = hd_session_folder(s);
    bool whisper = false;
    hd_status st = folder ? hd_whisper_tuned(&whisper, folder, err) : HD_OK;
    if (!st)
        st = hd_transcribe_read(&t->train, &t->valid, o,
                                whisper    ? HD_SPEECH_SPACED
                                : o->cased ? HD_SPEECH_CASED
                                           : HD_SPEECH_LOWER,
                                err);
    if (!st && !hd_session_folder(s))
        st = hd_transcribe_choose_features(&model->sound.features, &t->train.set, o, err);
    if (!st) st = hd_seq2seq_tokenizer(s, &t->folder.tokenizer[0], model, &t->train.texts, err);
    if (!st) st = hd_speech_encode(&t->train, t->folder.tokenizer[0], longest, err);
    if (!st && t->valid.set.count) st = hd_speech_encode(&t->valid, t->folder.tokenizer[0], longest, err);
    size_t most = hd_sound_encoder_frames(&model->sound);
    if (!st) st = hd_speech_measure(&t->train, &model->sound.features, most, err);
    return st ? st : hd_speech_measure(&t->valid, &model->sound.features, most, err);
}

static hd_status open_whisper(hd_session *s, hd_err *err)
{
    transcribing *t = s->state;
    if (t->model->opt.names != &hd_encdec_whisper) return HD_OK;
    t->whisper = hd_mem_zero(sizeof *t->whisper);
    if (!t->whisper) return hd_err_nomem(err, sizeof *t->whisper);
    return hd_whisper_tuning_open(t->whisper, t->model, t->folder.tokenizer[1], hd_session_folder(s),
                                  s->options->language, err);
}

static hd_status save(hd_session *s, const char *folder, hd_err *err)
{
    const transcribing *t = s->state;
    hd_status st = hd_task_save(s, folder, err);
    return st || !t->whisper ? st : hd_whisper_tuning_carry(hd_session_folder(s), folder, err);
}

static hd_status open(hd_session *s, hd_err *err)
{
    transcribing *t = s->state;
    hd_encdec_opt model;
    t->augment = hd_transcribe_augment(s->options);
    hd_status st = hd_transcribe_model(&model, &t->feeding, s->options, err);
    if (!st) st = read_data(s, &model, err);
    if (st) return st;
    s->train = t->train.set.hash, s->valid = t->valid.set.hash, s->validates = t->valid.set.count > 0;
    if (!hd_session_folder(s)) model.target_vocab = hd_tokenizer_size(t->folder.tokenizer[0]);
    st = hd_encdec_new(&t->model, s->backend, &model, true, err);
    if (st) return st;
    hd_model_folder_take(&t->folder, HD_TRAIN_TRANSCRIBE, hd_encdec_model(t->model));
    st = hd_encdec_feed(t->model, &t->feeding, err);
    s->params = &t->model->params;
    if (!st) st = open_whisper(s, err);
    return st ? st : open_loaders(s, err);
}

/* Texts that CTC cannot learn: they have more letters than their sounds have rows. */
static size_t too_short(const transcribing *t)
{
    const hd_encdec_opt *m = &t->model->opt;
    const hd_features_opt *f = &m->sound.features;
    const hd_targets *text = &t->train.texts;
    const int32_t blank = hd_tokenizer_special(t->folder.tokenizer[1]).start;
    size_t by = (size_t)(t->model->encoder.reduction * hd_sound_encoder_reduction(&m->sound)), count = 0;
    for (size_t i = 0; t->model->ctc.w && i < t->train.set.count; i++) {
        size_t frames = hd_features_frames(f, hd_sound_set_samples(&t->train.set, i, f->rate));
        count += !hd_ctc_fits(text->id + text->begin[i], hd_targets_tokens(text, i) - 1,
                              (frames + by - 1) / by, m->target_vocab, blank);
    }
    return count;
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const transcribing *t = s->state;
    const hd_encdec_opt *m = &t->model->opt;
    const hd_features_opt *o = &m->sound.features;
    double sounds = (double)t->train.set.count,
           tokens = (double)t->train.texts.begin[t->train.set.count] / sounds + 1;
    double frames = (double)t->train.frames / sounds, step = (double)o->hop / o->rate;
    char encoder[HD_STAGES_TEXT], decoder[HD_STAGES_TEXT], a[32];
    size_t left_out = too_short(t);
    (void)err;
    if (left_out && !s->backend->rank)
        hd_log_say(&s->hooks->log, HD_WARN,
                   "%zu texts have more tokens than their sounds have rows: CTC does not learn them",
                   left_out);
    p->flops = hd_encdec_flops(t->model, sounds / (double)s->batches, frames, tokens);
    snprintf(p->model, sizeof p->model, "encoder %s, a row of %d frames, decoder %s, width %zu",
             hd_stages_text(&m->encoder, encoder),
             t->model->encoder.reduction * hd_sound_encoder_reduction(&m->sound),
             hd_stages_text(&m->decoder, decoder), m->stack.width);
    hd_plan_add(p, "vocabulary", "%s", hd_grouped(m->target_vocab, a));
    hd_plan_add(p, "features", "%s, %d mels every %.1f ms at %d Hz", hd_features_name(o->kind), o->mels,
                1000 * step, o->rate);
    hd_plan_add_data(p, "sounds", t->train.set.count, t->valid.set.count);
    hd_plan_add(p, "speech", "%.2f hours, %.1f s and %.1f tokens a sound on average", t->train.seconds / 3600,
                t->train.seconds / sounds, tokens);
    return HD_OK;
}

const hd_task hd_task_transcribe = {
    .unit = "tokens",
    .with = "SOUND...",
    .remedy = "a smaller --batch-frames or --micro-batches N",
    .perplexity = true,
    .varies = true,
    .recipe = &hd_recipe_transcribe,
    .size = sizeof(transcribing),
    .check = hd_transcribe_check,
    .open = open,
    .release = release,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = validate,
    .save = save,
    .publish = hd_task_publish,
};
