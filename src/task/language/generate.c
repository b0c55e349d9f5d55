/* Generation as what it does with seats: draws, writes down and looks for stops. All samples of all prompts
   go side by side, and what one becomes does not depend on the others. Easy to get wrong: a token's text
   depends on the one before it (the blank between words), and a character may be spread over several. */
#include "task/language/generate.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "decode/draw.h"
#include "decode/history.h"
#include "decode/peek.h"
#include "decode/seats.h"

typedef struct sample {
    hd_generated *out;
    hd_ids ids;            /* all of it, the prompt too */
    size_t known, shown;   /* ids whose text is written; bytes told */
    size_t before;         /* where the ids begin that were written last: what follows is joined to them */
    bool blank;            /* the prompt ends in a blank that its ids do not have */
    size_t prompt, number; /* which one, and which of its samples */
    size_t drawn, most;    /* tokens */
} sample;

typedef struct loop {
    hd_run *r;
    const hd_model_folder *model;
    const hd_generate_opt *opt;
    hd_special special;
    size_t prompts, samples; /* samples of a prompt */
    sample *all, **live;     /* [prompts * samples] */
    size_t total, count;     /* of all, of live */
    hd_stepper stepper;
    hd_seats seats;
    bool *banned; /* [vocab]: what is never written */
    hd_history_opt history;
    bool weighs;   /* history matters */
    size_t before; /* tokens in front of a prompt that are no part of it */
    hd_text text;  /* scratch */
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
    const hd_tokenizer *t = l->model->tokenizer[0];
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

static bool ends(const hd_generate_opt *o, int32_t token)
{
    for (size_t i = 0; i < o->ending_count; i++)
        if (o->endings[i] == token) return true;
    return false;
}

static hd_status write_token(loop *l, sample *s, int32_t token, hd_err *err)
{
    if (ends(l->opt, token)) {
        hd_status st = s->known < s->ids.count ? write_down(l, s, true, err) : HD_OK;
        s->out->stopped = true;
        return st ? st : hd_ids_add(&s->ids, token, err);
    }
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

/* Every line of the prompt behind an end token, or what else the tokenizer has in front of a text: that is
   how lines begin in the text the model knows. Where ends of lines are text, the whole prompt is one. */
static hd_status read_prompt(const loop *l, hd_line prompt, hd_ids *ids, hd_err *err)
{
    const char *at = prompt.text, *end = at + prompt.size;
    const int32_t lead = hd_tokenizer_lead(l->model->tokenizer[0]);
    for (bool more = true; more;) {
        const char *stop = at < end && !hd_tokenizer_keeps_lines(l->model->tokenizer[0])
                               ? memchr(at, '\n', (size_t)(end - at))
                               : NULL;
        more = stop;
        if (!stop) stop = end;
        hd_status s = hd_ids_reserve(ids, 1, err);
        if (s) return s;
        if (lead >= 0 || at == end) ids->at[ids->count++] = lead >= 0 ? lead : l->special.start;
        s = hd_tokenizer_encode_ids(l->model->tokenizer[0], at, (size_t)(stop - at), ids, err);
        if (s) return s;
        at = stop + 1;
    }
    return HD_OK;
}

static hd_status begin(loop *l, sample *s, const hd_ids *prompt, hd_line typed, hd_err *err)
{
    hd_status st = hd_ids_reserve(&s->ids, prompt->count, err);
    if (st) return st;
    if (prompt->count) memcpy(s->ids.at, prompt->at, prompt->count * sizeof *prompt->at);
    s->ids.count = s->known = s->before = prompt->count;
    s->shown = s->out->text.size;
    size_t length = prompt->count - l->before, most = l->opt->rules ? l->opt->rules->max_length : 0;
    if (most && length >= most)
        return hd_err_set(err, HD_ELIMIT,
                          "the prompt has %zu tokens, a text at most %zu: shorten it, or give --tokens",
                          length, most);
    s->most = most && most - length < l->opt->tokens ? most - length : l->opt->tokens;
    if (l->opt->ids) return HD_OK; /* an answer is a text of its own */
    while (s->before && s->ids.at[s->before - 1] != l->special.end) s->before--;
    l->text.size = 0;
    st = hd_tokenizer_decode(l->model->tokenizer[0], s->ids.at + s->before, s->known - s->before, &l->text,
                             err);
    s->blank = typed.size && typed.text[typed.size - 1] == ' ' &&
               !(l->text.size && l->text.data[l->text.size - 1] == ' ');
    return st ? st : hd_text_status(&l->text, err);
}

/* -- steps -- */

/* What has no text of its own, and what the model has beyond the tokenizer's tokens. */
static hd_status ban(loop *l, hd_err *err)
{
    int32_t never[3];
    size_t vocab = l->stepper.vocab, n = hd_tokenizer_unwritten(l->model->tokenizer[0], never);
    l->banned = hd_mem_array(vocab, sizeof *l->banned);
    if (!l->banned) return hd_err_nomem(err, vocab);
    for (size_t i = 0; i < n; i++) l->banned[never[i]] = !ends(l->opt, never[i]);
    if (l->opt->forced || l->opt->endless) l->banned[l->special.end] = true;
    for (size_t i = hd_tokenizer_size(l->model->tokenizer[0]); i < vocab; i++) l->banned[i] = true;
    if (l->opt->rules) hd_rules_ban(l->opt->rules, l->banned);
    return HD_OK;
}

/* A stepper over the prompts. */
static hd_status open_stepper(loop *l, hd_err *err)
{
    const hd_lm *m = hd_model_folder_lm(l->model);
    size_t rows = 0, at = 0;
    if (l->opt->talk) {
        hd_status s = hd_talk_stepper(&l->stepper, l->opt->talk, l->all->ids.at, l->all->ids.count, err);
        return s ? s : ban(l, err);
    }
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
    return s ? s : ban(l, err);
}

/* Rows of the live ones, weighed by what they have written, or the prompt has. What stands before the prompt
   is no part of it, unless it is a part of a conversation. */
static hd_tensor *weighed(loop *l, hd_tensor *x)
{
    size_t lead = l->opt->ids || hd_tokenizer_lead(l->model->tokenizer[0]) < 0 ? 0 : 1;
    hd_history *of = hd_host_take(l->r, (l->count + 1) * sizeof *of);
    for (size_t i = 0; of && i < l->count; i++) {
        const sample *s = l->live[i];
        of[i] = (hd_history){.ids = s->ids.at + lead,
                             .count = s->ids.count - lead,
                             .length = s->ids.count - l->before,
                             .drawn = s->drawn,
                             .left = s->most - s->drawn};
    }
    return of ? hd_history_weigh(l->r, x, of, l->count, &l->history) : NULL;
}

/* Tokens of the live ones, row[i] their rows of the scores, and the log-probabilities of those. A failure
   stays in the run. */
static void draw(loop *l, hd_tensor *scores, const int32_t *row, int32_t *token, hd_real *value)
{
    hd_run *r = l->r;
    const hd_generate_opt *o = l->opt;
    size_t n = l->count;
    hd_lot *lot = hd_host_take(r, n * sizeof *lot);
    if (!lot) return;
    for (size_t i = 0; i < n; i++) {
        const sample *s = l->live[i];
        lot[i] = (hd_lot){.row = l->weighs ? (int32_t)i : row[i],
                          .key = (int32_t)((uint32_t)o->key + (uint32_t)s->prompt),
                          .sample = (int32_t)s->number,
                          .number = (uint32_t)(s->drawn + 1)};
    }
    hd_draw_opt ask = {.temperature = o->temperature,
                       .top_k = o->top_k,
                       .top_p = o->top_p,
                       .min_p = o->min_p,
                       .seed = o->seed,
                       .banned = l->banned,
                       .end = -1};
    hd_tensor *logp = l->weighs && l->stepper.raw ? hd_log_softmax(r, scores) : scores, *x = scores;
    if (l->weighs) x = weighed(l, hd_gather(r, scores, hd_ints(r, row, n), n, 1));
    bool drawn = hd_draw_tokens(r, x, lot, n, &ask, token);
    for (size_t i = 0; drawn && i < n; i++)
        if (l->live[i]->drawn < o->forced_count && o->forced[l->live[i]->drawn] >= 0)
            token[i] = o->forced[l->live[i]->drawn];
    if (!drawn || !hd_peek(r, logp, row, token, n, value)) return;
    for (size_t i = 0; i < n; i++)
        if (!(value[i] > -INFINITY)) hd_fail_number(r); /* no token has a probability */
}

/* The live ones take their tokens; those that stop or have enough leave. seat: of the first row. */
static hd_status advance(loop *l, size_t seat, const int32_t *row, const int32_t *token, const hd_real *logp,
                         hd_err *err)
{
    size_t kept = 0;
    hd_status st = HD_OK;
    for (size_t i = 0; !st && i < l->count; i++) {
        sample *s = l->live[i];
        size_t from = s->out->text.size;
        s->out->tokens++, s->drawn++;
        s->out->logp += (double)logp[i];
        st = write_token(l, s, token[i], err);
        if (!st) look_for_stops(l->opt, s->out, from);
        if (l->opt->ends && token[i] == l->special.end) s->out->stopped = true;
        if (l->opt->halt && *l->opt->halt) s->out->stopped = true;
        if (!st) st = tell(l->opt, s, s->out->stopped, err);
        if (st || s->out->stopped || s->drawn == s->most) continue;
        st = hd_seats_go(&l->seats, seat + (size_t)row[i], token[i], err);
        l->live[kept++] = s;
    }
    l->count = kept;
    return st;
}

static size_t admit(void *context, size_t left)
{
    (void)context;
    return left;
}

static hd_status take(void *context, hd_tensor *scores, size_t seat, size_t count, bool arrived, hd_err *err)
{
    loop *l = context;
    hd_run *r = l->r;
    int32_t *row = hd_host_take(r, 2 * l->count * sizeof *row), *token = row ? row + l->count : NULL;
    hd_real *value = hd_host_take(r, l->count * sizeof *value);
    (void)count;
    for (size_t i = 0; row && i < l->count; i++) row[i] = (int32_t)(arrived ? l->live[i]->prompt : i);
    if (row && value) draw(l, scores, row, token, value);
    return r->err.status ? HD_OK : advance(l, seat, row, token, value, err);
}

static hd_status check(const hd_generate_opt *o, size_t prompts, hd_err *err)
{
    if (!(o->temperature >= 0) || !(o->top_p >= 0 && o->top_p <= 1) || !(o->min_p >= 0 && o->min_p <= 1))
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
    if (!l->all || !l->live) return hd_err_nomem(err, n * sizeof *l->all);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        size_t which = i / l->samples, number = i % l->samples;
        l->all[i] = (sample){.out = &out[i], .prompt = which, .number = number};
        l->live[i] = &l->all[i];
        if (!number && !l->opt->ids) ids.count = 0, s = read_prompt(l, prompt[which], &ids, err);
        if (!s)
            s = begin(l, &l->all[i], l->opt->ids ? &l->opt->ids[which] : &ids,
                      l->opt->ids ? (hd_line){0} : prompt[which], err);
    }
    l->count = n;
    hd_ids_release(&ids);
    return s;
}

hd_status hd_generate(hd_generated *out, hd_run *r, const hd_model_folder *f, const hd_line *prompt,
                      size_t prompts, const hd_generate_opt *opt, hd_err *err)
{
    loop l = {.r = r, .model = f, .opt = opt, .prompts = prompts, .samples = opt->samples ? opt->samples : 1};
    hd_step before = r->now;
    l.special = hd_tokenizer_special(f->tokenizer[0]);
    l.before = !opt->ids && hd_tokenizer_lead(f->tokenizer[0]) == l.special.end;
    hd_status s = check(opt, prompts, err);
    if (!s) s = lay_out(&l, out, prompt, err);
    if (!s) s = open_stepper(&l, err);
    l.history = (hd_history_opt){opt->repetition, opt->no_repeat, opt->rules};
    l.weighs = hd_history_matters(&l.history);
    if (!s && l.weighs && l.stepper.raw) *l.stepper.raw = true;
    l.seats = (hd_seats){.r = r, .stepper = &l.stepper};
    if (!s && opt->tokens) s = hd_seats_run(&l.seats, &(hd_seats_user){admit, take, &l}, err);
    for (size_t i = 0; !s && i < l.total; i++)
        if (!out[i].stopped) s = tell(opt, &l.all[i], true, err);
    for (size_t i = 0; l.all && i < l.total; i++) {
        hd_ids_release(s ? &l.all[i].ids : &out[i].ids);
        if (!s) out[i].ids = l.all[i].ids;
    }
    hd_stepper_release(&l.stepper);
    hd_text_release(&l.text);
    hd_mem_free(l.all);
    hd_mem_free(l.live);
    hd_mem_free(l.banned);
    r->now = before;
    return s;
}

void hd_generated_release(hd_generated *g)
{
    hd_text_release(&g->text);
    hd_ids_release(&g->ids);
    *g = (hd_generated){0};
}

/* A backslash before any other letter is itself. */
void hd_prompt_unescape(hd_text *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char next = text[i] == '\\' && i + 1 < size ? text[i + 1] : 0;
        const char c = next == 'n' ? '\n' : next == 't' ? '\t' : next == '\\' ? '\\' : 0;
        hd_text_add(to, c ? &c : text + i, 1);
        i += c != 0;
    }
}
