/* Generation as what it does with seats: draws, hands tokens to samples, and lets others have the seats of
   those that are done. Easy to get wrong: samples of one prompt have one row of scores when it joins, and one
   each afterwards. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "task/language/writer_parts.h"

/* -- what is asked -- */

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

/* What has no text of its own, and what the model has beyond the tokenizer's tokens. */
static hd_status ban(const hd_writer *w, hd_asked *a, hd_err *err)
{
    const hd_tokenizer *t = a->use.tokenizer;
    const hd_generate_opt *o = a->ask.opt;
    int32_t never[3];
    size_t vocab = w->stepper.vocab, n = hd_tokenizer_unwritten(t, never);
    a->banned = hd_mem_array(vocab, sizeof *a->banned);
    if (!a->banned) return hd_err_nomem(err, vocab);
    for (size_t i = 0; i < n; i++) a->banned[never[i]] = !hd_draft_ends(o, never[i]);
    if (o->forced || o->endless) a->banned[hd_tokenizer_special(t).end] = true;
    for (size_t i = hd_tokenizer_size(t); i < vocab; i++) a->banned[i] = true;
    if (o->rules) hd_rules_ban(o->rules, a->banned);
    return HD_OK;
}

/* The texts that were written are the owner's; nothing else is left. */
static void free_asked(hd_asked *a)
{
    for (size_t i = 0; a->all && i < a->ask.prompts * a->samples; i++) hd_ids_release(&a->all[i].ids);
    hd_mem_free(a->all);
    hd_mem_free(a->banned);
    hd_mem_free(a->resting.at);
    hd_mem_free(a);
}

static hd_status lay_out(hd_asked *a, hd_err *err)
{
    const hd_writer_ask *ask = &a->ask;
    hd_ids ids = {0};
    size_t n = ask->prompts * a->samples;
    a->all = hd_mem_array(n, sizeof *a->all);
    if (!a->all) return hd_err_nomem(err, n * sizeof *a->all);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        size_t which = i / a->samples, number = i % a->samples;
        hd_line typed = ask->opt->ids ? (hd_line){0} : ask->prompt[which];
        a->all[i] = (hd_draft){.out = &ask->out[i], .prompt = which, .number = number};
        if (!number && !ask->opt->ids) ids.count = 0, s = hd_draft_prompt(a->use.tokenizer, typed, &ids, err);
        if (!s)
            s = hd_draft_begin(&a->all[i], &a->use, ask->opt->ids ? &ask->opt->ids[which] : &ids, typed, err);
    }
    a->left = n;
    hd_ids_release(&ids);
    return s;
}

hd_status hd_writer_add(hd_writer *w, const hd_writer_ask *ask, hd_err *err)
{
    const hd_generate_opt *o = ask->opt;
    hd_status s = check(o, ask->prompts, err);
    hd_asked *a = s ? NULL : hd_mem_zero(sizeof *a);
    if (s) return s;
    if (!a) return hd_err_nomem(err, sizeof *a);
    a->ask = *ask;
    a->use = (hd_draft_use){w->model->tokenizer[0], o, &w->text};
    a->samples = o->samples ? o->samples : 1;
    a->history = (hd_history_opt){o->repetition, o->no_repeat, o->rules};
    a->weighs = hd_history_matters(&a->history);
    if (a->weighs && !w->opt.penalize) s = hd_err_set(err, HD_EARG, "a writer without penalties");
    if (!s) s = lay_out(a, err);
    if (!s) s = ban(w, a, err);
    if (s) return free_asked(a), s;
    if (!o->tokens) a->fed = ask->prompts, a->left = 0;
    *w->last = a;
    w->last = &a->next;
    w->count++;
    return HD_OK;
}

/* The one that *at points to. */
static void take_out(hd_writer *w, hd_asked **at)
{
    hd_asked *a = *at;
    *at = a->next;
    if (!a->next) w->last = at;
    w->count--;
}

static hd_asked **find(hd_writer *w, const void *tag)
{
    hd_asked **at = &w->first;
    while (*at && (*at)->ask.tag != tag) at = &(*at)->next;
    return at;
}

static void leave_seats(hd_writer *w, const hd_asked *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->live.count; i++) {
        if (w->live.at[i].of == a) continue;
        w->seats.parent[kept] = w->seats.parent[i], w->seats.token[kept] = w->seats.token[i];
        w->live.at[kept++] = w->live.at[i];
    }
    w->seats.count = w->live.count = kept;
}

void hd_writer_drop(hd_writer *w, const void *tag)
{
    hd_asked **at = find(w, tag), *a = *at;
    if (!a) return;
    leave_seats(w, a);
    take_out(w, at);
    free_asked(a);
}

static hd_status add_seat(hd_writer_seats *to, hd_writer_seat s, hd_err *err)
{
    hd_status st = hd_mem_reserve(&to->at, &to->room, to->count + 1, sizeof *to->at, err);
    if (!st) to->at[to->count++] = s;
    return st;
}

hd_status hd_writer_rest(hd_writer *w, const void *tag, bool rests, hd_err *err)
{
    hd_asked *a = *find(w, tag);
    hd_status s = HD_OK;
    if (!a || a->rests == rests) return HD_OK;
    for (size_t i = 0; rests && !s && i < w->live.count; i++)
        if (w->live.at[i].of == a) s = add_seat(&a->resting, w->live.at[i], err);
    if (s) return s;
    if (rests) leave_seats(w, a);
    a->rests = rests;
    return HD_OK;
}

size_t hd_writer_count(const hd_writer *w)
{
    return w->count;
}

/* It has texts that are to have seats. */
static bool waits(const hd_asked *a)
{
    return !a->rests && (a->resting.count || a->fed < a->ask.prompts);
}

size_t hd_writer_waiting(const hd_writer *w)
{
    size_t n = 0;
    for (const hd_asked *a = w->first; a; a = a->next) n += waits(a);
    return n;
}

hd_status hd_writer_new(hd_writer **out, hd_run *r, const hd_model_folder *f, hd_stepper *stepper,
                        const hd_writer_opt *opt, hd_err *err)
{
    hd_writer *w = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    w->r = r, w->model = f, w->opt = *opt, w->stepper = *stepper;
    if (opt->penalize && w->stepper.raw) *w->stepper.raw = true;
    if (w->stepper.piece) *w->stepper.piece = opt->piece;
    if (w->stepper.share) *w->stepper.share = opt->share;
    w->seats = (hd_seats){.r = r, .stepper = &w->stepper};
    w->last = &w->first;
    *out = w;
    return HD_OK;
}

void hd_writer_free(hd_writer *w)
{
    if (!w) return;
    while (w->first) {
        hd_asked *a = w->first;
        take_out(w, &w->first);
        free_asked(a);
    }
    hd_stepper_release(&w->stepper);
    hd_seats_release(&w->seats);
    hd_text_release(&w->text);
    hd_mem_free(w->live.at);
    hd_mem_free(w->arriving.at);
    hd_mem_free(w);
}

/* -- steps -- */

/* s lives on with a token. */
static hd_status go_on(hd_writer *w, hd_writer_seat s, size_t first, int32_t token, hd_err *err)
{
    hd_status st = hd_seats_go(&w->seats, first + (size_t)s.row, token, err);
    return st ? st : add_seat(&w->live, s, err);
}

/* The seats at hand take their tokens; those that stop or have enough leave. first: the seat of row 0. */
static hd_status advance(hd_writer *w, const hd_writer_seats *now, size_t first, const int32_t *token,
                         const hd_real *logp, hd_err *err)
{
    hd_status st = HD_OK;
    for (size_t i = 0; !st && i < now->count; i++) {
        const hd_writer_seat s = now->at[i];
        bool over = false;
        st = hd_draft_take(s.draft, &s.of->use, token[i], (double)logp[i], &over, err);
        if (over)
            s.of->left--;
        else if (!st)
            st = go_on(w, s, first, token[i], err);
    }
    return st;
}

static bool reads_on(const hd_writer *w, const hd_writer_seat *s, size_t seat)
{
    return s->reads && w->stepper.unread && w->stepper.unread(w->stepper.context, seat);
}

/* The seats of this turn: those that took a step, and all samples of prompts that are read. Prompts that are
   not go on. */
static hd_status seats_at_hand(hd_writer *w, bool arrived, size_t first, hd_writer_seats *now, hd_err *err)
{
    hd_status s = HD_OK;
    hd_writer_seats from = arrived ? w->arriving : w->live, *to = arrived ? &w->arriving : &w->live;
    *to = (hd_writer_seats){0};
    for (size_t i = 0; !s && i < from.count; i++) {
        hd_writer_seat one = from.at[i];
        one.row = (int32_t)i;
        if (reads_on(w, &one, first + i)) {
            s = go_on(w, one, first, 0, err);
            continue;
        }
        size_t samples = one.reads ? one.reads : 1;
        one.reads = 0;
        for (size_t j = 0; !s && j < samples; j++, one.draft++) s = add_seat(now, one, err);
    }
    hd_mem_free(from.at);
    return s;
}

/* What each prompt that has joined did not have to read; one that comes back after a rest reads for itself.
 */
static void note_reused(hd_writer *w, size_t first)
{
    for (size_t i = 0; w->stepper.reused && i < w->arriving.count; i++) {
        const hd_draft *d = w->arriving.at[i].draft;
        if (!d->drawn) d->out->reused = w->stepper.reused(w->stepper.context, first + i);
    }
}

static hd_status take(void *context, hd_tensor *scores, size_t first, size_t count, bool arrived, hd_err *err)
{
    hd_writer *w = context;
    hd_run *r = w->r;
    hd_writer_seats now = {0};
    (void)count;
    if (arrived) note_reused(w, first);
    hd_status s = seats_at_hand(w, arrived, first, &now, err);
    int32_t *token = hd_host_take(r, (now.count + 1) * sizeof *token);
    hd_real *value = hd_host_take(r, (now.count + 1) * sizeof *value);
    if (!s && token && value && now.count) hd_writer_draw(w, scores, &now, token, value);
    if (!s && !r->err.status) s = advance(w, &now, first, token, value, err);
    hd_mem_free(now.at);
    return s;
}

static size_t admit(void *context, size_t left)
{
    (void)context;
    return left;
}

/* The next that joins: what rested before, then prompts. */
static hd_writer_seat next_of(hd_asked *a)
{
    hd_writer_seat s = a->resting.count
                           ? a->resting.at[0]
                           : (hd_writer_seat){.draft = &a->all[a->fed * a->samples], .reads = a->samples};
    s.of = a;
    if (!s.reads) s.reads = 1;
    return s;
}

static hd_status feed_seat(hd_writer *w, hd_asked *a, hd_err *err)
{
    const hd_writer_seat seat = next_of(a);
    const hd_draft *s = seat.draft;
    int32_t len = (int32_t)s->ids.count;
    if (s->ids.count > INT32_MAX)
        return hd_err_set(err, HD_ELIMIT, "a prompt of %zu tokens is too long", s->ids.count);
    hd_status st = add_seat(&w->arriving, seat, err);
    if (!st && w->stepper.wait) {
        st = w->stepper.wait(&w->stepper, s->ids.at, &len, 1, err);
        w->seats.joined = 0;
    }
    if (!st && s->drawn && w->stepper.resume) w->stepper.resume(w->stepper.context, s->drawn);
    if (a->resting.count)
        memmove(a->resting.at, a->resting.at + 1, --a->resting.count * sizeof *a->resting.at);
    else
        a->fed++;
    return st;
}

/* Texts for which there are seats; one of each that asks, in turns. */
static hd_status feed(hd_writer *w, hd_err *err)
{
    hd_status s = HD_OK;
    size_t used = 0;
    for (size_t i = 0; i < w->live.count; i++) used += w->live.at[i].reads ? w->live.at[i].reads : 1;
    for (bool some = true; !s && some;) {
        some = false;
        for (hd_asked *a = w->first; !s && a; a = a->next) {
            size_t more = waits(a) ? next_of(a).reads : 0;
            if (!more || (w->opt.seats && used && used + more > w->opt.seats)) continue;
            s = feed_seat(w, a, err);
            used += more, some = true;
        }
    }
    return s;
}

/* Ids become the owner's; then it is told. */
static void end_written(hd_writer *w)
{
    for (hd_asked **at = &w->first; *at;) {
        hd_asked *a = *at;
        if (a->left) {
            at = &a->next;
            continue;
        }
        take_out(w, at);
        for (size_t i = 0; i < a->ask.prompts * a->samples; i++) {
            hd_ids_release(&a->ask.out[i].ids);
            a->ask.out[i].ids = a->all[i].ids, a->all[i].ids = (hd_ids){0};
        }
        const hd_writer_ask ask = a->ask;
        free_asked(a);
        if (ask.done) ask.done(ask.tag);
    }
}

hd_status hd_writer_turn(hd_writer *w, hd_err *err)
{
    hd_step before = w->r->now;
    hd_status s = feed(w, err);
    if (!s && (w->live.count || w->arriving.count))
        s = hd_seats_turn(&w->seats, &(hd_seats_user){.admit = admit, .take = take, .context = w}, err);
    w->r->now = before;
    if (!s) end_written(w);
    return s;
}
