/* Training a translator: from files of sentence pairs to a model folder. */
#include <math.h>
#include <stdio.h>

#include "data/epoch.h"
#include "model/prepare.h"
#include "op/replay.h"
#include "run/decoder.h"
#include "run/session.h"
#include "task/list.h"
#include "task/translate/judge.h"
#include "task/translate/training.h"

enum { AHEAD = 4 };

typedef struct translating {
    hd_model_folder folder;
    hd_encdec *model;   /* in it */
    hd_feeding feeding; /* of the decoder in training; validations are fed the truth */
    hd_translate_set set;
    hd_batches *batches, *valid_batches;
    const hd_batch *batch;
    hd_pair_batch sent; /* of it */
} translating;

/* -- the loop's side -- */

static double batch_flops(const hd_encdec *m, const hd_batch *b)
{
    double n = (double)b->total;
    return hd_encdec_flops(m, n, (double)b->source_total / n, (double)b->target_total / n);
}

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    translating *t = s->state;
    (void)err;
    t->batch = hd_batches_now(t->batches);
    *out = (hd_load){
        .items = t->batch->items, .tokens = t->batch->target_total, .flops = batch_flops(t->model, t->batch)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    translating *t = s->state;
    (void)part;
    uint64_t rate = hd_decoder_feed(r, t->model, &t->feeding, s->options);
    return hd_shape_mix(rate, hd_pair_batch_send(r, &t->sent, t->model, t->batch, from, to));
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    translating *t = s->state;
    (void)part;
    return hd_pair_batch_loss(r, t->model, &t->sent, (float)s->options->label_smoothing);
}

/* -- validation -- */

static hd_status valid_loss(hd_run *r, translating *t, double *out, hd_err *err)
{
    double sum = 0, tokens = 0;
    hd_status st = hd_encdec_feed(t->model, &(hd_feeding){0}, err);
    if (!st) st = hd_translate_judge(&sum, &tokens, r, t->model, t->valid_batches, err);
    *out = sum / tokens;
    return st;
}

static hd_status valid_bleu(hd_run *r, translating *t, size_t most, double *out, hd_err *err)
{
    hd_status st = hd_encdec_prepare(t->model, HD_DECODING, err);
    if (!st) st = hd_translate_bleu(out, r, &t->folder, &t->set.valid_text, most, err);
    hd_status back = hd_encdec_prepare(t->model, HD_TRAINING, err);
    return st ? st : back;
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    translating *t = s->state;
    size_t judged = (size_t)s->options->bleu_sentences;
    double score = NAN;
    *out = (hd_validation){0};
    hd_status st = valid_loss(r, t, &out->loss, err);
    if (!st && judged) st = valid_bleu(r, t, judged, &score, err);
    out->figure[0] = (hd_figure){"bleu", "BLEU", score, .places = 2};
    hd_task_choose(out, s->options, judged != 0);
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    translating *t = s->state;
    hd_batches_free(t->batches);
    hd_batches_free(t->valid_batches);
    hd_model_folder_release(&t->folder);
    hd_translate_set_release(&t->set);
}

static hd_status open_batches(hd_session *s, hd_err *err)
{
    const hd_train_options *o = s->options;
    translating *t = s->state;
    hd_special source = hd_tokenizer_special(t->folder.tokenizer[0]),
               target = hd_tokenizer_special(t->folder.tokenizer[1]);
    hd_batch_opt b = {.tokens = (size_t)o->batch_tokens,
                      .seed = (uint64_t)o->seed,
                      .ahead = s->backend->dry ? 0 : AHEAD,
                      .rank = s->backend->rank,
                      .ranks = s->backend->ranks,
                      .source_end = source.end,
                      .target_start = target.start,
                      .target_end = target.end};
    hd_status st = t->set.shards ? hd_batches_open(&t->batches, t->set.shards, &b, err)
                                 : hd_batches_new(&t->batches, &t->set.train, &b, err);
    if (!st) s->source = hd_batches_source(t->batches), s->batches = s->source->batches;
    if (st || !t->set.has_valid) return st;
    b.in_order = b.once = true;
    b.ahead = 0, b.rank = 0, b.ranks = 1;
    if (o->batch_tokens <= o->max_length) b.tokens = (size_t)o->max_length + 1;
    return hd_batches_new(&t->valid_batches, &t->set.valid, &b, err);
}

/* What the run trains: the model that it begins with, as far as training says nothing of it. */
static hd_encdec_opt model_of(const hd_session *s, const hd_encdec_opt *now)
{
    const translating *t = s->state;
    hd_encdec_opt m = s->options->from ? t->set.model : *now;
    hd_seq2seq_continue(&m, now);
    if (s->options->from) return m; /* a T5 has more ids than its tokenizer has pieces */
    m.source_vocab = hd_tokenizer_size(t->folder.tokenizer[0]);
    m.target_vocab = hd_tokenizer_size(t->folder.tokenizer[1]);
    return m;
}

static hd_status make_model(hd_session *s, const hd_encdec_opt *asked, hd_err *err)
{
    translating *t = s->state;
    hd_encdec_opt m = model_of(s, asked);
    if (!s->options->from && m.tied && t->folder.tokenizer[0] != t->folder.tokenizer[1])
        return hd_err_set(err, HD_EARG,
                          "tied embeddings need one vocabulary for both sides: add --untied, or leave "
                          "--separate-vocab out");
    hd_status st = hd_encdec_new(&t->model, s->backend, &m, true, err);
    if (st) return st;
    hd_model_folder_take(&t->folder, HD_TRAIN_TRANSLATE, hd_encdec_model(t->model));
    st = hd_encdec_feed(t->model, &t->feeding, err);
    if (!st) s->params = &t->model->params;
    return st;
}

static hd_status open(hd_session *s, hd_err *err)
{
    translating *t = s->state;
    hd_team *team = NULL;
    hd_encdec_opt model;
    hd_status st = hd_translate_model(&model, &t->feeding, s->options, err);
    if (!st) st = hd_team_new(&team, s->hooks->threads, err);
    if (!st) st = hd_translate_set_make(&t->set, t->folder.tokenizer, s, team, err);
    hd_team_free(team);
    if (st) return st;
    t->folder.trained = t->set.longest;
    s->train = t->set.hash, s->valid = t->set.valid.hash, s->validates = t->set.has_valid;
    st = make_model(s, &model, err);
    return st ? st : open_batches(s, err);
}

/* -- the plan -- */

static const char *shape_of(const hd_encdec_opt *m, char *buf, size_t size)
{
    const hd_recurrent_decoder_opt *r = &m->recurrent;
    const hd_stage *in = m->encoder.at, *out = m->decoder.at;
    char from[HD_STAGES_TEXT], to[HD_STAGES_TEXT];
    bool cells = hd_stages_recur(&m->decoder), look = r->context == HD_CONTEXT_attention;
    if (!strcmp(hd_encdec_kind(m), "transformer"))
        snprintf(buf, size, "transformer %d+%d layers, width %zu, inner %zu, %d heads", in->layers,
                 out->layers, m->stack.width, m->stack.inner, m->stack.heads);
    else
        snprintf(buf, size, "encoder %s, decoder %s%s%s%s%s, width %zu", hd_stages_text(&m->encoder, from),
                 hd_stages_text(&m->decoder, to), cells ? ", context " : "",
                 cells ? hd_context_names[r->context] : "", cells && look ? " by score " : "",
                 cells && look ? hd_scoring_names[r->score] : "", m->stack.width);
    return buf;
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const translating *t = s->state;
    const hd_encdec_opt *m = &t->model->opt;
    const hd_translate_set *set = &t->set;
    double pairs = (double)set->pairs, batches = (double)s->batches;
    char a[32], b[32], shape[256];
    (void)err;
    p->flops =
        hd_encdec_flops(t->model, pairs / batches, (double)set->source / pairs, (double)set->target / pairs);
    snprintf(p->model, sizeof p->model, "%s", shape_of(m, shape, sizeof shape));
    hd_plan_add(p, "vocabulary", "%s%s%s", hd_grouped(m->source_vocab, a), m->tied ? "" : " and ",
                m->tied ? "" : hd_grouped(m->target_vocab, b));
    hd_plan_add_data(p, "pairs", set->pairs, set->valid.count);
    hd_plan_add(p, "tokens an epoch", "%s source, %s target", hd_grouped(set->source, a),
                hd_grouped(set->target, b));
    hd_plan_add(p, "an update", "%.1f pairs and %.0f tokens on average", pairs / batches,
                (double)set->cost / batches);
    return HD_OK;
}

const hd_task hd_task_translate = {
    .unit = "target tokens",
    .with = "< FILE",
    .remedy = "a smaller --batch-tokens, --micro-batches N or --recompute",
    .perplexity = true,
    .alone = true,
    .varies = true,
    .recipe = &hd_recipe_translate,
    .size = sizeof(translating),
    .check = hd_translate_check,
    .open = open,
    .release = release,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = validate,
    .save = hd_task_save,
    .publish = hd_task_publish,
};
