/* Training a language model: from a text to a model folder. Counted models count; the others go through the
   training loop. gpt, ffnn and maxent learn from windows at random places of the text, which the seed and the
   number of the update choose; rnn, gru and lstm read `batch` parts of it side by side, window after window,
   and carry their states from one to the next (begun anew with every epoch, saved in checkpoints; with
   several processes they learn from windows at random places, too). */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "op/replay.h"
#include "run/session.h"
#include "task/language/adapter.h"
#include "task/language/chat/dialogues.h"
#include "task/language/chat/form.h"
#include "task/language/documents.h"
#include "task/language/training.h"
#include "task/language/language.h"
#include "task/list.h"
#include "train/published.h"

enum { VALID_EVERY = 500 };

typedef struct speaking {
    hd_stream_run base;
    hd_lm *lm;              /* in its folder */
    size_t length, batches; /* tokens of a window; batches of an epoch */
    hd_window *window;      /* [items] of the update */
    int32_t *key;           /* [items] */
    size_t items;           /* of the update: batch, but for documents */
    size_t window_room, key_room;
    hd_lm_batch sent;
    hd_carry carry;            /* no parts: every window begins anew */
    hd_music_windows music;    /* no items: it learns from texts */
    hd_dialogue_windows talks; /* the same of dialogues and documents */
    hd_packing packing;        /* of documents */
} speaking;

/* -- the loop's side -- */

/* Where the line of a token begins: behind the last end token before it. */
static size_t line_of(const speaking *l, size_t at)
{
    while (at && l->base.train.ids[at - 1] != l->lm->opt.end) at--;
    return at;
}

static void draw_windows(speaking *l, bool lines, uint64_t at)
{
    hd_rng rng = hd_rng_make(l->base.seed, 0x6c6d0000u + at);
    size_t places = l->base.train.count - l->length + 1;
    for (size_t i = 0; i < l->base.batch; i++) {
        double place = hd_rng_unit(&rng) * (double)places; /* a text may have more tokens than 32 bits tell */
        l->window[i] = (hd_window){lines ? line_of(l, (size_t)place) : (size_t)place, l->length, 0};
    }
}

/* Equal parts of the text side by side, read from front to end in every epoch. What does not fill a window is
   left out, now at the front and now at the end. */
static void follow_windows(speaking *l, uint64_t at)
{
    uint64_t epoch = at / l->batches, batch = at % l->batches;
    hd_rng rng = hd_rng_make(l->base.seed, 0x6c6d0000u + epoch);
    size_t part = l->base.train.count / l->base.batch, used = l->batches * l->length;
    size_t shift = part > used ? (size_t)(hd_rng_unit(&rng) * (double)(part - used + 1)) : 0;
    for (size_t i = 0; i < l->base.batch; i++) {
        size_t from = l->base.train.count * i / l->base.batch + shift + (size_t)batch * l->length;
        size_t last = l->base.train.count - l->length; /* a text may be too short for all */
        l->window[i] = (hd_window){from < last ? from : last, l->length, 0};
    }
    hd_carry_go_on(&l->carry, batch > 0);
}

static hd_status reserve(speaking *l, size_t items, hd_err *err)
{
    hd_status s = hd_mem_reserve(&l->window, &l->window_room, items, sizeof *l->window, err);
    if (!s) s = hd_mem_reserve(&l->key, &l->key_room, items, sizeof *l->key, err);
    for (size_t i = 0; !s && i < items; i++) l->key[i] = (int32_t)i;
    l->items = items;
    return s;
}

static hd_status draw_documents(speaking *l, uint64_t at, hd_err *err)
{
    size_t first, items = hd_packing_draw(&l->packing, &l->talks, at, l->base.seed, &first);
    hd_status s = reserve(l, items, err);
    for (size_t i = 0; !s && i < items; i++) l->window[i] = l->talks.window[l->talks.order[first + i]];
    return s;
}

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    speaking *l = s->state;
    hd_status st = HD_OK;
    size_t tokens = 0, learned = 0;
    if (l->music.items)
        st = hd_music_windows_draw(&l->music, l->window, l->base.batch, s->numbered.at, l->batches,
                                   s->options, err);
    else if (l->packing.batches)
        st = draw_documents(l, s->numbered.at, err);
    else if (l->talks.items)
        learned = hd_dialogue_windows_draw(&l->talks, l->window, l->base.batch, s->numbered.at, l->batches,
                                           l->base.seed);
    else if (l->carry.parts)
        follow_windows(l, s->numbered.at);
    else
        draw_windows(l, s->options->line_windows, s->numbered.at);
    for (size_t i = 0; !st && i < l->items; i++) tokens += l->window[i].len;
    *out =
        (hd_load){.items = l->items,
                  .tokens = learned ? learned : tokens,
                  .flops = l->lm->type->flops(l->lm, (double)l->items, (double)tokens / (double)l->items, 0)};
    return st;
}

static uint64_t send(hd_run *r, hd_session *s, size_t part, size_t from, size_t to)
{
    speaking *l = s->state;
    const hd_stream_text *text = l->music.items ? &l->music.text : &l->base.train;
    uint64_t shape = hd_windows_send(r, &l->sent, l->lm, text, l->window + from, l->key + from, to - from);
    return l->carry.parts ? hd_shape_mix(shape, hd_carry_shape(r, &l->carry, part, l->sent.seg)) : shape;
}

static hd_tensor *loss(hd_run *r, hd_session *s, size_t part)
{
    speaking *l = s->state;
    const hd_lm *m = l->lm;
    hd_cache *state = l->carry.parts ? l->carry.state[part] : NULL;
    hd_loss_opt opt = {.coef = 1, .smoothing = (float)s->options->label_smoothing};
    return m->type->lm.loss(r, m, &l->sent, state, &opt);
}

static double bits_per_character(const hd_stream_text *text, double nats)
{
    return nats / (double)text->characters / log(2);
}

static hd_status validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    speaking *l = s->state;
    hd_fluency f = {0};
    hd_status st = hd_language_judge_fast(&f, r, &l->base.folder, &l->base.valid, err);
    double nats = st ? NAN : f.nats / (double)f.tokens;
    double bits = bits_per_character(&l->base.valid, nats * (double)l->base.valid.count);
    *out = (hd_validation){.loss = nats, .quality = isnan(nats) ? -INFINITY : -nats};
    if (!l->base.valid.pieces) out->figure[0] = (hd_figure){"bits_per_character", .value = bits};
    return st;
}

/* -- models that count -- */

static hd_status count(hd_session *s, hd_err *err)
{
    speaking *l = s->state;
    return l->lm->type->lm.count(l->lm, l->base.train.ids, l->base.train.count, err);
}

/* Of a model that counts: the others were validated on the way. */
static hd_status judge(hd_session *s, hd_outcome *out, hd_err *err)
{
    speaking *l = s->state;
    hd_fluency f = {0};
    if (l->music.items) out->with = "--out piece.mid";
    if (l->talks.items) out->with = "--chat --prompt TEXT";
    if (s->params) return HD_OK;
    out->counted = hd_lm_size(l->lm);
    if (!l->base.valid.count) return HD_OK;
    hd_status st = hd_language_judge(&f, &s->run, &l->base.folder, &l->base.valid, err);
    double nats = f.nats / (double)f.tokens;
    out->judged = f.tokens;
    out->figure[0] = (hd_figure){"loss", "loss", .value = nats};
    out->figure[1] = (hd_figure){"perplexity", "perplexity", exp(nats), .places = 2};
    out->figure[2] = (hd_figure){"bits_per_character", "bits per character",
                                 .value = bits_per_character(&l->base.valid, f.nats)};
    return st;
}

/* -- setting up -- */

static void release(hd_session *s)
{
    speaking *l = s->state;
    hd_carry_release(&l->carry);
    hd_music_windows_release(&l->music);
    hd_dialogue_windows_release(&l->talks);
    hd_packing_release(&l->packing);
    hd_stream_run_release(&l->base);
    hd_mem_free(l->window);
    hd_mem_free(l->key);
}

/* One process alone: a checkpoint has the states of the first. */
static hd_status open_carry(hd_session *s, hd_err *err)
{
    speaking *l = s->state;
    size_t parts = hd_session_share(s, l->base.batch).parts, *items = hd_mem_array(parts, sizeof *items);
    if (!items) return hd_err_nomem(err, parts * sizeof *items);
    for (size_t i = 0; i < parts; i++) items[i] = l->base.batch * (i + 1) / parts - l->base.batch * i / parts;
    hd_status st = hd_carry_init(&l->carry, &s->run, l->lm, items, parts, l->length, err);
    hd_mem_free(items);
    if (!st) s->beside = hd_carry_beside(&l->carry);
    return st;
}

/* A model that the run begins with, as it goes on. One that attends has places for as many tokens as its
 * context. */
static hd_lm_opt going_on(const hd_lm_opt *found, const hd_lm_opt *now)
{
    hd_lm_opt m = *found;
    if (now->stack.dropout < m.stack.dropout || now->stack.dropout > m.stack.dropout)
        m.stack.dropout = m.embedding_dropout = m.stack.attention_dropout = now->stack.dropout;
    if (now->context && !hd_lm_types[m.kind]->attention) m.context = now->context;
    hd_experts_opt *e = &m.stack.experts; /* how loads are kept even is the run's, not the model's */
    e->balance = now->stack.experts.balance, e->by_item = now->stack.experts.by_item;
    e->bias_rate = now->stack.experts.bias_rate;
    return m;
}

static hd_status open_windows(hd_session *s, size_t longest, hd_err *err)
{
    speaking *l = s->state;
    hd_music music = hd_music_of(l->base.folder.tokenizer[0]);
    l->length = longest < l->base.train.count ? longest : l->base.train.count;
    l->batches = l->base.train.count / (l->base.batch * l->length);
    hd_status st = HD_OK;
    if (l->base.train.learned)
        st = hd_dialogue_windows_init(&l->talks, &l->base.train, longest, err);
    else if (l->base.train.pieces)
        st = hd_music_windows_init(&l->music, &l->base.train, music, longest, err);
    if (st) return st;
    size_t items = l->music.items + l->talks.items;
    if (items) l->length = longest, l->batches = items / l->base.batch;
    if (l->base.train.documents) st = hd_packing_init(&l->packing, &l->talks, l->base.batch * longest, err);
    if (!st && l->packing.batches) l->batches = l->packing.batches;
    if (!l->batches) l->batches = 1;
    s->batches = l->batches, s->alike = !items;
    if (!st) st = reserve(l, l->base.batch, err);
    if (st) return st;
    return l->lm->type->lm.state && s->backend->ranks < 2 ? open_carry(s, err) : HD_OK;
}

/* A run that is resumed has it in its own folder. */
static hd_status set_adapter(hd_session *s, hd_lm_opt *m, hd_err *err)
{
    const speaking *l = s->state;
    const hd_train_options *o = s->options;
    if (l->base.begun.base && !o->resume)
        return hd_err_set(err, HD_EARG,
                          "--from %s: an adapter: `heed merge %s MODEL` makes a model of it, to begin with",
                          o->from, o->from);
    return o->resume ? HD_OK : hd_adapter_options(&m->lora, o, o->from, err);
}

/* The weights of a base are in its folder alone, also where a run is resumed. */
static hd_status weights(hd_session *s, hd_err *err)
{
    const speaking *l = s->state;
    const hd_train_options *o = s->options;
    bool begins = o->from && !o->resume, adapter = l->lm->opt.lora.rank;
    if (begins && !adapter) return hd_published_load(s->params, o->from, err);
    hd_status st = hd_params_draw(s->params, (uint64_t)o->seed, err);
    if (st || !adapter) return st;
    return hd_adapter_load_base(l->lm, begins ? o->from : l->base.begun.base, o->out, err);
}

static hd_status make_model(hd_session *s, const hd_lm_opt *asked, hd_err *err)
{
    speaking *l = s->state;
    const char *from = s->options->from;
    hd_lm_opt m = from ? going_on(&hd_model_folder_lm(&l->base.begun)->opt, asked) : *asked;
    size_t window = asked->context && asked->context < m.context ? asked->context : m.context;
    hd_special special = hd_tokenizer_special(l->base.folder.tokenizer[0]);
    if (!from) m.vocab = hd_tokenizer_size(l->base.folder.tokenizer[0]); /* a published one may have more */
    if (l->base.train.pieces && !l->base.train.learned)
        m.align = hd_music_align(hd_music_of(l->base.folder.tokenizer[0]));
    m.start = special.start, m.end = special.end, m.unk = special.unk;
    hd_status st = set_adapter(s, &m, err);
    if (m.lora.rank) m.stack.experts.bias_rate = 0; /* the bias is the base's */
    if (!st) st = hd_lm_new(&l->lm, &m, s->backend, true, err);
    if (st) return st;
    hd_model_folder_take(&l->base.folder, HD_TRAIN_LM, hd_lm_model(l->lm));
    if (!l->lm->params) return HD_OK;
    s->params = l->lm->params;
    return open_windows(s, window, err);
}

static hd_status open(hd_session *s, hd_err *err)
{
    speaking *l = s->state;
    hd_lm_opt model = hd_language_model(s->options);
    hd_status st = hd_stream_run_open(&l->base, s, hd_lm_types[model.kind]->lm.count, err);
    if (!st && !l->base.train.count)
        st = hd_err_set(err, HD_EFORMAT, "%s: there is no token to learn from", s->options->train.text[0]);
    if (!st && l->base.train.learned && !hd_lm_types[model.kind]->attention)
        st = hd_err_set(err, HD_EARG,
                        "dialogues (.jsonl) are learned by models with attention, such as --model gpt");
    if (!st && s->options->line_windows &&
        (l->base.train.shards || l->base.train.learned ||
         hd_tokenizer_keeps_lines(l->base.folder.tokenizer[0])))
        st = hd_err_set(err, HD_EARG,
                        "--line-windows needs a text in memory and a tokenizer with a token for "
                        "the ends of lines: --unit char, word or subword, and no --shards");
    return st ? st : make_model(s, &model, err);
}

/* Whoever talks with the model needs the template that it learned with, or that of the model it came from. */
static hd_status save(hd_session *s, const char *folder, hd_err *err)
{
    const speaking *l = s->state;
    const char *from = hd_session_folder(s);
    hd_status st = hd_task_save(s, folder, err);
    if (!st && l->lm->opt.lora.rank) st = hd_adapter_save(l->lm, s->options->from, folder, err);
    if (!st && l->base.train.learned && !l->base.train.documents)
        st = hd_dialogues_save(l->base.folder.tokenizer[0], folder, err);
    return st || !from ? st : hd_chat_carry(from, folder, err);
}

static hd_status plan(hd_session *s, hd_plan *p, hd_err *err)
{
    const speaking *l = s->state;
    const hd_lm *m = l->lm;
    (void)err;
    if (s->params)
        snprintf(p->model, sizeof p->model, "%s%s%s", hd_lm_names[m->opt.kind],
                 l->music.items ? " of music: " : "", l->music.items ? hd_music_names[l->music.kind] : "");
    else
        snprintf(p->model, sizeof p->model, "%s of order %d, %s", hd_lm_names[m->opt.kind], m->opt.order,
                 hd_smoothing_names[m->opt.smoothing]);
    hd_stream_run_plan(&l->base, p, m->opt.vocab);
    if (s->params) p->flops = m->type->flops(m, (double)l->base.batch, (double)l->length, 0);
    return HD_OK;
}

const hd_task hd_task_lm = {
    .unit = "tokens",
    .judged = "tokens",
    .with = "--prompt TEXT",
    .remedy = "a smaller --batch-size or --micro-batches N",
    .perplexity = true,
    .varies = true,
    .valid_every = VALID_EVERY,
    .recipe = &hd_recipe_lm,
    .size = sizeof(speaking),
    .check = hd_language_check,
    .open = open,
    .release = release,
    .weights = weights,
    .plan = plan,
    .load = load,
    .send = send,
    .loss = loss,
    .validate = validate,
    .count = count,
    .save = save,
    .publish = hd_task_publish,
    .judge = judge,
};
