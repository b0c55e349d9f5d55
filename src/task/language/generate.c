/* Generation: a loop over a stepper that draws, writes down and looks for stops. All samples of all prompts
   go side by side, and what one becomes does not depend on the others. Easy to get wrong: a token's text
   depends on the one before it (the blank between words), and a character may be spread over several. */
#include "task/language/generate.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "decode/peek.h"

static const float COLD = 1e-6f; /* as in decode/sample.c: rounding decides below it */

typedef struct sample {
    hd_generated *out;
    hd_ids ids;            /* all of it, the prompt too */
    size_t known, shown;   /* ids whose text is written; bytes told */
    size_t before;         /* where the ids begin that were written last: what follows is joined to them */
    bool blank;            /* the prompt ends in a blank that its ids do not have */
    size_t prompt, number; /* which one, and which of its samples */
} sample;

typedef struct loop {
    hd_run *r;
    const hd_language *language;
    const hd_generate_opt *opt;
    hd_special special;
    size_t prompts, samples; /* samples of a prompt */
    sample *all, **live;     /* [prompts * samples] */
    size_t total, count;     /* of all, of live */
    int32_t *parent;         /* [total] rows of the last step that the live ones continue */
    bool moved;              /* parent is not 0, 1, 2, ... */
    hd_stepper stepper;
    bool penal;   /* tokens that come again are penalized */
    hd_text text; /* scratch */
} loop;

/* -- text -- */

/* Ends in U+FFFD, which half a character reads as. */
static bool broken(const hd_text *t, size_t from)
{
    return t->size >= from + 3 && !memcmp(t->data + t->size - 3, "\xEF\xBF\xBD", 3);
}

/* Writes down the text of the ids that have none yet; of half a character only where `all` is wanted. */
static hd_status write_down(loop *l, sample *s, bool all, hd_err *err)
{
    const hd_tokenizer *t = l->language->tokenizer;
    const int32_t *ids = s->ids.at + s->before;
    l->text.size = 0;
    hd_status st = hd_tokenizer_decode(t, ids, s->known - s->before, &l->text, err);
    size_t old = l->text.size;
    if (!st) st = hd_tokenizer_decode(t, ids, s->ids.count - s->before, &l->text, err);
    if (!st) st = hd_text_status(&l->text, err);
    size_t from = 2 * old; /* the second text begins as the first one does */
    if (st || l->text.size <= from || (!all && broken(&l->text, from))) return st;
    if (s->blank && l->text.data[from] == ' ') from++;
    s->blank = false;
    hd_text_add(&s->out->text, l->text.data + from, l->text.size - from);
    s->before = s->known, s->known = s->ids.count;
    return hd_text_status(&s->out->text, err);
}

static hd_status write_token(loop *l, sample *s, int32_t token, hd_err *err)
{
    if (token != l->special.end) {
        hd_status st = hd_ids_reserve(&s->ids, 1, err);
        if (st) return st;
        s->ids.at[s->ids.count++] = token;
        return write_down(l, s, false, err);
    }
    hd_status st = s->known < s->ids.count ? write_down(l, s, true, err) : HD_OK;
    if (!st) st = hd_ids_reserve(&s->ids, 1, err);
    if (st) return st;
    s->ids.at[s->ids.count++] = token;
    s->before = s->known = s->ids.count;
    s->blank = false;
    hd_text_put(&s->out->text, "\n");
    return hd_text_status(&s->out->text, err);
}

/* Cuts the text where the first stop stands in what was written from byte `from` on. */
static void look_for_stops(const hd_generate_opt *o, hd_generated *g, size_t from)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < o->stops && g->text.size; i++) {
        size_t size = strlen(o->stop[i]), begin = from < size ? 0 : from - size + 1;
        const char *at = memmem(g->text.data + begin, g->text.size - begin, o->stop[i], size);
        if (at && (size_t)(at - g->text.data) < first) first = (size_t)(at - g->text.data);
    }
    if (first == SIZE_MAX) return;
    g->stopped = true;
    g->text.size = first;
    g->text.data[first] = 0;
}

/* Bytes at the end of a text that a stop could begin with. */
static size_t held(const hd_generate_opt *o, const hd_text *t)
{
    size_t most = 0;
    for (size_t i = 0; i < o->stops; i++) {
        size_t size = strlen(o->stop[i]) - 1;
        if (size > t->size) size = t->size;
        while (size > most && memcmp(t->data + t->size - size, o->stop[i], size)) size--;
        if (size > most) most = size;
    }
    return most;
}

static hd_status tell(const hd_generate_opt *o, sample *s, bool last, hd_err *err)
{
    const hd_text *t = &s->out->text;
    size_t end = t->size - (last ? 0 : held(o, t)), from = s->shown;
    if (!o->tell || end <= from) return HD_OK;
    s->shown = end;
    return o->tell(o->context, s->prompt * (o->samples ? o->samples : 1) + s->number, t->data + from,
                   end - from, err);
}

/* -- prompts -- */

/* Every line of the prompt behind an end token: that is how lines begin in the text the model knows. Where
   ends of lines are text, the whole prompt is one. */
static hd_status read_prompt(const loop *l, hd_line prompt, hd_ids *ids, hd_err *err)
{
    const char *at = prompt.text, *end = at + prompt.size;
    for (bool more = true; more;) {
        const char *stop = at < end && !hd_tokenizer_keeps_lines(l->language->tokenizer)
                               ? memchr(at, '\n', (size_t)(end - at))
                               : NULL;
        more = stop;
        if (!stop) stop = end;
        hd_status s = hd_ids_reserve(ids, 1, err);
        if (s) return s;
        ids->at[ids->count++] = l->special.end;
        s = hd_tokenizer_encode_ids(l->language->tokenizer, at, (size_t)(stop - at), ids, err);
        if (s) return s;
        at = stop + 1;
    }
    return HD_OK;
}

static hd_status begin(loop *l, sample *s, const hd_ids *prompt, hd_line typed, hd_err *err)
{
    hd_status st = hd_ids_reserve(&s->ids, prompt->count, err);
    if (st) return st;
    memcpy(s->ids.at, prompt->at, prompt->count * sizeof *prompt->at);
    s->ids.count = s->known = s->before = prompt->count;
    while (s->before && s->ids.at[s->before - 1] != l->special.end) s->before--;
    s->shown = s->out->text.size;
    l->text.size = 0;
    st = hd_tokenizer_decode(l->language->tokenizer, s->ids.at + s->before, s->known - s->before, &l->text,
                             err);
    s->blank = typed.size && typed.text[typed.size - 1] == ' ' &&
               !(l->text.size && l->text.data[l->text.size - 1] == ' ');
    return st ? st : hd_text_status(&l->text, err);
}

/* -- steps -- */

/* A stepper that begins with the prompts. */
static hd_status open_stepper(loop *l, hd_err *err)
{
    const hd_lm *m = l->language->lm;
    size_t rows = 0, at = 0;
    for (size_t i = 0; i < l->prompts; i++) rows += l->all[i * l->samples].ids.count;
    if (rows > INT32_MAX) return hd_err_set(err, HD_ELIMIT, "prompts of %zu tokens are too long", rows);
    int32_t *ids = hd_mem_array(rows, sizeof *ids), *lens = hd_mem_array(l->prompts, sizeof *lens);
    hd_status s = ids && lens ? HD_OK : hd_err_nomem(err, rows * sizeof *ids);
    for (size_t i = 0; !s && i < l->prompts; i++) {
        const hd_ids *from = &l->all[i * l->samples].ids;
        memcpy(ids + at, from->at, from->count * sizeof *ids);
        at += from->count;
        lens[i] = (int32_t)from->count;
    }
    if (!s) s = m->type->stepper(&l->stepper, m, ids, lens, l->prompts, 0, err);
    hd_mem_free(ids);
    hd_mem_free(lens);
    return s;
}

/* Scores of what comes next, a row for each live one; of the first token one for each prompt.
   Log-probabilities as a rule; logits where penalties are of them and the model has some. */
static hd_tensor *step(loop *l, bool first)
{
    hd_run *r = l->r;
    const hd_stepper *s = &l->stepper;
    if (first) return s->step(r, s->context, s->start, s->items);
    int32_t *ids = hd_host_take(r, l->count * sizeof *ids);
    if (!ids) return NULL;
    for (size_t i = 0; i < l->count; i++) ids[i] = l->live[i]->ids.at[l->live[i]->ids.count - 1];
    if (l->moved) {
        hd_status st = s->pick(r, s->context, l->parent, l->count);
        if (st) return hd_fail(r, st, "samples cannot be picked");
    }
    return s->step(r, s->context, ids, l->count);
}

/* Rows of the live ones in which what they have written, or the prompt has, counts less. What stands before
   the prompt is no part of it. The signs decide, so the numbers are read first. */
static hd_tensor *penalized(loop *l, hd_tensor *x)
{
    hd_run *r = l->r;
    size_t v = l->stepper.vocab, n = l->count, most = 0, count = 0;
    for (size_t i = 0; i < n; i++) most += l->live[i]->ids.count;
    hd_real *factor = hd_host_take(r, n * v * sizeof *factor);
    int32_t *row = hd_host_take(r, 2 * most * sizeof *row);
    hd_real *value = hd_host_take(r, most * sizeof *value);
    if (!factor || !row || !value) return NULL;
    int32_t *token = row + most;
    for (size_t i = 0; i < n * v; i++) factor[i] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 1; j < l->live[i]->ids.count; j++) {
            int32_t id = l->live[i]->ids.at[j];
            if (!(factor[i * v + (size_t)id] > 0)) continue;
            factor[i * v + (size_t)id] = 0; /* known */
            row[count] = (int32_t)i, token[count++] = id;
        }
    if (!hd_peek(r, x, row, token, count, value)) return NULL;
    for (size_t i = 0; i < count; i++)
        factor[(size_t)row[i] * v + (size_t)token[i]] =
            value[i] < 0 ? (hd_real)l->opt->repetition : 1 / (hd_real)l->opt->repetition;
    return hd_mul(r, hd_from(r, n, v, factor), x); /* in the type of the factors, which is the finer one */
}

static hd_tensor *allowed(loop *l, hd_tensor *x)
{
    int32_t banned[3];
    size_t count = hd_tokenizer_unwritten(l->language->tokenizer, banned);
    hd_real *mask = hd_host_take(l->r, l->stepper.vocab * sizeof *mask);
    for (size_t i = 0; mask && i < count; i++) mask[banned[i]] = -INFINITY;
    for (size_t i = hd_tokenizer_size(l->language->tokenizer); mask && i < l->stepper.vocab; i++)
        mask[i] = -INFINITY; /* rows that no piece has */
    return mask ? hd_add(l->r, x, hd_from(l->r, 1, l->stepper.vocab, mask)) : NULL;
}

/* A token for each live one, drawn as hd_search draws. row: of scores. */
static void draw(loop *l, hd_tensor *scores, const int32_t *row, int32_t *token, hd_real *value)
{
    hd_run *r = l->r;
    const hd_generate_opt *o = l->opt;
    size_t n = l->count;
    hd_seg *seg = hd_host_take(r, sizeof *seg);
    int32_t *item = hd_host_take(r, 3 * n * sizeof *item);
    if (!seg || !item) return;
    for (size_t i = 0; i < n; i++) {
        item[i] = (int32_t)i;
        item[n + i] = (int32_t)l->live[i]->number;
        item[2 * n + i] = (int32_t)((uint32_t)o->key + (uint32_t)l->live[i]->prompt);
    }
    *seg = (hd_seg){.item = hd_ints(r, item, n),
                    .pos = hd_ints(r, item + n, n),
                    .key = hd_ints(r, item + 2 * n, n),
                    .items = n,
                    .rows = n,
                    .longest = 1};
    hd_sample_opt ask = {.temperature = o->temperature,
                         .top_p = o->top_p > 0 ? o->top_p : 1,
                         .top_k = o->top_k < l->stepper.vocab ? (int)o->top_k : 0,
                         .seg = seg};
    if (ask.temperature < COLD) ask.temperature = 1, ask.top_k = 1;
    r->draws = 0; /* whatever the model drew before */
    hd_tensor *logp = l->penal && l->stepper.raw ? hd_log_softmax(r, scores) : scores;
    hd_tensor *x = hd_gather(r, scores, hd_ints(r, row, n), n, 1);
    x = allowed(l, l->penal ? penalized(l, x) : x);
    hd_tensor *ids = hd_sample(r, x, &ask, NULL);
    if (!ids || r->err.status) return;
    r->backend->download(r->backend, token, ids->data, n * sizeof *token);
    if (!hd_peek(r, logp, row, token, n, value)) return;
    for (size_t i = 0; i < n; i++)
        if (!(value[i] > -INFINITY)) hd_fail_number(r); /* no token has a probability */
}

/* The live ones take their tokens; those that stop leave. row: which one of the step each had. */
static hd_status advance(loop *l, const int32_t *row, const int32_t *token, const hd_real *logp, hd_err *err)
{
    size_t kept = 0;
    hd_status st = HD_OK;
    l->moved = false;
    for (size_t i = 0; !st && i < l->count; i++) {
        sample *s = l->live[i];
        size_t from = s->out->text.size;
        s->out->tokens++;
        s->out->logp += (double)logp[i];
        st = write_token(l, s, token[i], err);
        if (!st) look_for_stops(l->opt, s->out, from);
        if (!st) st = tell(l->opt, s, s->out->stopped, err);
        l->moved = l->moved || s->out->stopped || (size_t)row[i] != kept;
        if (s->out->stopped) continue;
        l->parent[kept] = row[i];
        l->live[kept++] = s;
    }
    l->count = kept;
    return st;
}

static hd_status turn(loop *l, size_t t, hd_err *err)
{
    hd_run *r = l->r;
    r->now.seed = l->opt->seed, r->now.number = (uint32_t)(t + 1);
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *scores = step(l, !t);
    int32_t *row = hd_host_take(r, 2 * l->count * sizeof *row), *token = row ? row + l->count : NULL;
    hd_real *value = hd_host_take(r, l->count * sizeof *value);
    for (size_t i = 0; row && i < l->count; i++) row[i] = (int32_t)(t ? i : l->live[i]->prompt);
    if (scores && row && value) draw(l, scores, row, token, value);
    if (r->err.status) return hd_err_set(err, r->err.status, "%s", r->err.text);
    return advance(l, row, token, value, err);
}

static hd_status check(const hd_generate_opt *o, size_t prompts, hd_err *err)
{
    if (!(o->temperature >= 0) || !(o->top_p >= 0 && o->top_p <= 1))
        return hd_err_set(err, HD_EARG, "temperature %g, top_p %g", (double)o->temperature, (double)o->top_p);
    if (!(o->repetition >= 0) || isinf(o->repetition))
        return hd_err_set(err, HD_EARG, "a penalty of %g for repetition", (double)o->repetition);
    if (!prompts) return hd_err_set(err, HD_EARG, "there is no prompt");
    if (o->samples > INT32_MAX / 4 / prompts)
        return hd_err_set(err, HD_ELIMIT, "%zu samples of %zu prompts are too many", o->samples, prompts);
    for (size_t i = 0; i < o->stops; i++)
        if (!*o->stop[i]) return hd_err_set(err, HD_EARG, "a stop has no characters");
    return HD_OK;
}

static hd_status lay_out(loop *l, hd_generated *out, const hd_line *prompt, hd_err *err)
{
    hd_ids ids = {0};
    size_t n = l->total = l->prompts * l->samples;
    l->all = hd_mem_array(n, sizeof *l->all);
    l->live = hd_mem_array(n, sizeof *l->live);
    l->parent = hd_mem_array(n, sizeof *l->parent);
    if (!l->all || !l->live || !l->parent) return hd_err_nomem(err, n * sizeof *l->all);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        size_t which = i / l->samples, number = i % l->samples;
        l->all[i] = (sample){.out = &out[i], .prompt = which, .number = number};
        l->live[i] = &l->all[i];
        if (!number) ids.count = 0, s = read_prompt(l, prompt[which], &ids, err);
        if (!s) s = begin(l, &l->all[i], &ids, prompt[which], err);
    }
    l->count = n;
    hd_ids_release(&ids);
    return s;
}

hd_status hd_generate(hd_generated *out, hd_run *r, const hd_language *language, const hd_line *prompt,
                      size_t prompts, const hd_generate_opt *opt, hd_err *err)
{
    loop l = {.r = r,
              .language = language,
              .opt = opt,
              .prompts = prompts,
              .samples = opt->samples ? opt->samples : 1};
    hd_step before = r->now;
    l.special = hd_tokenizer_special(language->tokenizer);
    hd_status s = check(opt, prompts, err);
    if (!s) s = lay_out(&l, out, prompt, err);
    if (!s) s = open_stepper(&l, err);
    l.penal = opt->repetition > 0 && (opt->repetition < 1 || opt->repetition > 1);
    if (!s && l.penal && l.stepper.raw) *l.stepper.raw = true;
    for (size_t t = 0; !s && t < opt->tokens && l.count; t++) s = turn(&l, t, err);
    for (size_t i = 0; !s && i < l.count; i++) s = tell(opt, l.live[i], true, err);
    for (size_t i = 0; l.all && i < l.total; i++) {
        hd_ids_release(s ? &l.all[i].ids : &out[i].ids);
        if (!s) out[i].ids = l.all[i].ids;
    }
    hd_stepper_release(&l.stepper);
    hd_text_release(&l.text);
    hd_mem_free(l.all);
    hd_mem_free(l.live);
    hd_mem_free(l.parent);
    r->now = before;
    return s;
}

void hd_generated_release(hd_generated *g)
{
    hd_text_release(&g->text);
    hd_ids_release(&g->ids);
    *g = (hd_generated){0};
}
