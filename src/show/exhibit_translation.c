/* A step of a translation. The steps before it are repeated, token by token through the cache, as in the
   search; the encoder runs in the first. */
#include <math.h>

#include "show/exhibit_parts.h"
#include "task/translate/translate.h"

static hd_status check(const hd_model *m, const hd_exhibit_ask *a, hd_err *err)
{
    const hd_model_sizes n = m->type->sizes(m->self);
    hd_status s = hd_shown_check("", "sentence", a->source, a->sources, n.vocab, n.positions, err);
    if (!s) s = hd_shown_check("", "translation", a->target, a->targets, n.target_vocab, n.positions, err);
    if (!s && a->step > a->targets)
        s = hd_err_set(err, HD_EARG, "there is no step %zu: the translation has %zu", a->step, a->targets);
    return s;
}

/* Everything but numbers. */
static hd_status name_tokens(hd_exhibit *x, const hd_exhibit_ask *a, hd_err *err)
{
    hd_shown_token *says = NULL, *start = NULL;
    const hd_line none = {0};
    hd_status s =
        hd_exhibit_tokens(x, &x->source, a->source, a->sources, a->pieces[0], a->sentence, false, err);
    if (!s) s = hd_exhibit_tokens(x, &says, a->target, a->targets, a->pieces[1], none, false, err);
    if (!s) s = hd_exhibit_tokens(x, &start, &a->start, 1, a->pieces[1], none, false, err);
    x->step = s ? NULL : hd_arena_array(&x->memory, a->targets, sizeof *x->step, err);
    x->read = x->step ? hd_arena_array(&x->memory, a->targets, sizeof *x->read, err) : NULL;
    if (!x->read) return s ? s : HD_ENOMEM;
    x->sources = a->sources, x->steps = a->targets, x->shown = a->step;
    x->reads = a->step;
    for (size_t i = 0; i < x->steps; i++) {
        x->step[i].reads = x->read[i] = i ? says[i - 1] : *start;
        x->step[i].says = says[i];
    }
    return HD_OK;
}

/* One step, and the probability of its output. */
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

hd_status hd_exhibit_translate(hd_translations *out, hd_run *r, const hd_model_folder *f, hd_line sentence,
                               hd_err *err)
{
    const hd_translate_opt opt = {
        .search = hd_translate_usual(1), .sentences = HD_SENTENCES_KEEP, .too_long = HD_LONG_SKIP};
    hd_status s = hd_translate(out, r, f, &sentence, NULL, 1, &opt, err);
    if (s) return s;
    if (out->of->status)
        return hd_err_set(err, out->of->status, "the sentence is %s: %zu tokens with its end", out->of->why,
                          f->longest);
    if (!out->of->parts) return hd_err_set(err, HD_EARG, "the sentence is empty");
    if (!out->of->count || !out->of->hypothesis->length)
        return hd_err_set(err, HD_ENUMBER, "no translation found: the model gives no token a probability");
    return HD_OK;
}

hd_status hd_exhibit_translation(hd_exhibit *x, hd_run *r, const hd_model_folder *f, hd_line sentence,
                                 hd_err *err)
{
    hd_translations all = {0};
    hd_status s = hd_exhibit_translate(&all, r, f, sentence, err);
    if (!s) {
        const hd_hypothesis *found = all.of->hypothesis;
        s = fill(x, r, &f->model,
                 &(hd_exhibit_ask){.source = all.of->source,
                                   .target = found->ids,
                                   .sources = all.of->source_end[0],
                                   .targets = found->length,
                                   .start = hd_tokenizer_special(f->tokenizer[1]).start,
                                   .pieces = {f->tokenizer[0], f->tokenizer[1]},
                                   .sentence = sentence,
                                   .step = x->shown},
                 err);
        x->translation = s ? NULL : hd_exhibit_copy(x, found->text, err);
        if (!s && !x->translation) s = HD_ENOMEM;
    }
    hd_translations_release(&all);
    return s;
}
