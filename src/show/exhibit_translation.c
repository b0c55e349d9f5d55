/* A step of a translation. The steps before it are taken again, token by token through the cache, as the
   search took them; the encoder runs in the first. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "decode/search.h"
#include "show/exhibit_parts.h"

static hd_status check_ids(const char *what, const int32_t *ids, size_t count, size_t vocab, size_t positions,
                           hd_err *err)
{
    if (count > positions)
        return hd_err_set(err, HD_ELIMIT, "the %s has %zu tokens, the model takes %zu", what, count,
                          positions);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= vocab)
            return hd_err_set(err, HD_EARG, "token %zu of the %s is %d, the vocabulary has %zu", i + 1, what,
                              ids[i], vocab);
    return count ? HD_OK : hd_err_set(err, HD_EARG, "the %s has no token", what);
}

static hd_status check(const hd_model *m, const hd_exhibit_ask *a, hd_err *err)
{
    const hd_model_sizes n = m->type->sizes(m->self);
    hd_status s = check_ids("sentence", a->source, a->sources, n.vocab, n.positions, err);
    if (!s) s = check_ids("translation", a->target, a->targets, n.target_vocab, n.positions, err);
    if (!s && a->step > a->targets)
        s = hd_err_set(err, HD_EARG, "there is no step %zu: the translation has %zu", a->step, a->targets);
    return s;
}

/* Everything but numbers. */
static hd_status name_tokens(hd_exhibit *x, const hd_exhibit_ask *a, hd_err *err)
{
    hd_exhibit_token *says = NULL, *start = NULL;
    hd_status s =
        hd_exhibit_text_tokens(x, &x->source, a->source, a->sources, a->pieces[0], a->sentence, false, err);
    if (!s) s = hd_exhibit_tokens(x, &says, a->target, a->targets, a->pieces[1], err);
    if (!s) s = hd_exhibit_tokens(x, &start, &a->start, 1, a->pieces[1], err);
    x->step = s ? NULL : hd_exhibit_take(x, a->targets, sizeof *x->step, err);
    x->read = x->step ? hd_exhibit_take(x, a->targets, sizeof *x->read, err) : NULL;
    if (!x->read) return s ? s : HD_ENOMEM;
    x->sources = a->sources, x->steps = a->targets, x->shown = a->step;
    x->reads = a->step;
    for (size_t i = 0; i < x->steps; i++) {
        x->step[i].reads = x->read[i] = i ? says[i - 1] : *start;
        x->step[i].says = says[i];
    }
    return HD_OK;
}

/* One step; the probability of what it says. */
static hd_status take_step(hd_exhibiting *e, hd_run *r, const hd_stepper *st, const hd_exhibit_ask *a,
                           size_t i, hd_err *err)
{
    hd_exhibit *x = e->into;
    hd_exhibit_step *s = &x->step[i];
    int32_t reads = s->reads.id;
    e->encoder = x->shown && !i, e->decoder = i + 1 == x->shown, e->step = s;
    hd_exhibit_begin(e, r);
    hd_tensor *logp = i ? st->step(r, st->context, &reads, 1) : st->join(r, st->context, 1);
    hd_real *row = logp ? hd_host_take(r, st->vocab * sizeof *row) : NULL;
    if (row && hd_read(r, logp, row)) s->p = exp((double)row[s->says.id]);
    return hd_exhibit_end(e, r, e->decoder ? logp : NULL, a->pieces[1], err);
}

static hd_status fill(hd_exhibit *x, hd_run *r, const hd_model *m, const hd_exhibit_ask *ask, hd_err *err)
{
    hd_stepper st = {0};
    hd_exhibiting e = {.into = x, .of = *m};
    const int32_t len = (int32_t)ask->sources;
    hd_status s = check(m, ask, err);
    if (!s) s = name_tokens(x, ask, err);
    if (!s) s = m->type->stepper(&st, m->self, ask->source, &len, 1, ask->start, err);
    for (size_t i = 0; !s && i < ask->targets; i++) s = take_step(&e, r, &st, ask, i, err);
    hd_stepper_release(&st);
    return s;
}

hd_status hd_exhibit_pair(hd_exhibit **out, hd_run *r, const hd_model *m, const hd_exhibit_ask *ask,
                          hd_err *err)
{
    hd_exhibit *x;
    hd_status s = hd_exhibit_new(&x, HD_EXHIBIT_TRANSLATOR, m, err);
    if (!s) s = fill(x, r, m, ask, err);
    return hd_exhibit_give(out, x, s);
}

/* -- from a sentence -- */

static hd_status read_sentence(hd_ids *ids, const hd_model_folder *t, hd_line sentence, hd_err *err)
{
    size_t most = t->longest;
    hd_status s = hd_exhibit_check(sentence, "sentence", err);
    if (!s) s = hd_tokenizer_encode_ids(t->tokenizer[0], sentence.text, sentence.size, ids, err);
    if (!s && !ids->count) s = hd_err_set(err, HD_EARG, "the sentence is empty");
    if (!s && ids->count >= most)
        s = hd_err_set(err, HD_ELIMIT, "the sentence has %zu tokens with its end, the model takes %zu",
                       ids->count + 1, most);
    if (!s) s = hd_ids_reserve(ids, 1, err);
    if (!s) ids->at[ids->count++] = hd_tokenizer_special(t->tokenizer[0]).end;
    return s;
}

/* As `heed translate --greedy` searches. */
static hd_status translate(hd_found **out, hd_run *r, const hd_model_folder *t, const hd_ids *ids,
                           hd_err *err)
{
    hd_special special = hd_tokenizer_special(t->tokenizer[1]);
    const int32_t len = (int32_t)ids->count;
    int32_t banned[3];
    hd_search_opt o = {.kind = HD_SEARCH_GREEDY,
                       .end = special.end,
                       .max_ratio = 2,
                       .max_extra = 10,
                       .banned = banned,
                       .banned_count = hd_tokenizer_unwritten(t->tokenizer[1], banned)};
    hd_stepper st = {0};
    hd_status s = t->model.type->stepper(&st, t->model.self, ids->at, &len, 1, special.start, err);
    if (!s) s = hd_search(out, r, &st, &o, err);
    hd_stepper_release(&st);
    return s;
}

static hd_status write_translation(hd_exhibit *x, const hd_model_folder *t, const hd_guess *g, hd_err *err)
{
    hd_text text = {0};
    hd_status s = hd_tokenizer_decode(t->tokenizer[1], g->ids, g->length, &text, err);
    if (!s) s = hd_text_status(&text, err);
    char *to = s ? NULL : hd_exhibit_take(x, text.size + 1, 1, err);
    if (to && text.size) memcpy(to, text.data, text.size);
    x->translation = to;
    hd_text_release(&text);
    return s ? s : to ? HD_OK : HD_ENOMEM;
}

hd_status hd_exhibit_translation(hd_exhibit *x, hd_run *r, const hd_model_folder *t, hd_line sentence,
                                 hd_err *err)
{
    hd_ids ids = {0};
    hd_found *found = NULL;
    hd_status s = read_sentence(&ids, t, sentence, err);
    if (!s) s = translate(&found, r, t, &ids, err);
    if (!s && !hd_found_count(found, 0))
        s = hd_err_set(err, HD_ENUMBER, "no translation found: the model gives no token a probability");
    if (!s) {
        const hd_guess *g = hd_found_at(found, 0);
        s = fill(x, r, &t->model,
                 &(hd_exhibit_ask){.source = ids.at,
                                   .target = g->ids,
                                   .sources = ids.count,
                                   .targets = g->length,
                                   .start = hd_tokenizer_special(t->tokenizer[1]).start,
                                   .pieces = {t->tokenizer[0], t->tokenizer[1]},
                                   .sentence = sentence,
                                   .step = x->shown},
                 err);
        if (!s) s = write_translation(x, t, g, err);
    }
    hd_found_free(found);
    hd_ids_release(&ids);
    return s;
}
