/* A text and how a language model goes on with it. What stands before a text and where lines end is decided
   by hd_generate: its ids are read again, token by token. */
#include <string.h>

#include "base/mem.h"
#include "show/live/inspection_parts.h"
#include "task/language/generate.h"

/* The text as ids, with what stands before it. */
static hd_status read_text(const hd_inspecting *g, hd_ids *ids, hd_err *err)
{
    hd_generated one = {0};
    hd_status s =
        hd_generate(&one, g->run, g->folder, &g->ask->text, 1, &(hd_generate_opt){.tokens = 1}, err);
    size_t count = s ? 0 : one.ids.count - one.tokens;
    if (!s) s = hd_ids_reserve(ids, count, err);
    if (!s) memcpy(ids->at, one.ids.at, count * sizeof *ids->at), ids->count = count;
    hd_generated_release(&one);
    return s;
}

static hd_status write_on(const hd_inspecting *g, hd_ids *ids, hd_err *err)
{
    const hd_inspect_ask *q = g->ask;
    const hd_generate_opt opt = {.tokens = q->tokens,
                                 .temperature = q->temperature,
                                 .top_k = q->top_k,
                                 .top_p = q->top_p,
                                 .seed = q->seed,
                                 .ids = ids};
    hd_generated more = {0};
    if (q->whole || !q->tokens) return HD_OK;
    hd_status s = hd_generate(&more, g->run, g->folder, &q->text, 1, &opt, err);
    size_t from = s ? 0 : more.ids.count - more.tokens;
    if (!s) s = hd_ids_reserve(ids, more.tokens, err);
    if (!s) memcpy(ids->at + ids->count, more.ids.at + from, more.tokens * sizeof *ids->at);
    if (!s) ids->count += more.tokens;
    hd_generated_release(&more);
    return s;
}

static hd_status foresee(const hd_inspecting *g, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_model *m = &g->folder->model;
    const int32_t first = x->target[0].token.id, one = 1;
    hd_stepper st = {0};
    hd_status s = m->type->stepper(&st, m->self, &first, &one, 1, 0, err);
    if (!s) s = hd_inspect_foresee(g, &st, x->target + 1, x->targets - 1, g->folder->tokenizer[0], true, err);
    hd_stepper_release(&st);
    for (size_t i = 1; !s && i < x->targets; i++) x->sum += x->target[i].logp;
    x->score = x->sum;
    return s;
}

hd_status hd_inspect_language(const hd_inspecting *g, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_model_sizes n = g->folder->model.type->sizes(g->folder->model.self);
    hd_ids ids = {0}, forced = {0};
    hd_status s = read_text(g, &ids, err);
    size_t given = ids.count;
    if (!s) s = hd_inspect_forced(g, g->folder->tokenizer[0], &forced, err);
    if (!s) s = hd_ids_reserve(&ids, forced.count, err);
    for (size_t i = 0; !s && i < forced.count; i++) ids.at[ids.count++] = forced.at[i];
    given += forced.count;
    if (!s) s = hd_inspect_fits(g, ids.count + g->ask->tokens, err);
    if (!s) s = hd_shown_check("", "text", ids.at, ids.count, n.vocab, n.positions, err);
    if (!s) s = hd_inspect_goes_on(g->ask, err);
    if (!s) s = write_on(g, &ids, err);
    if (!s) s = hd_shown_check("", "text", ids.at, ids.count, n.vocab, n.positions, err);
    if (!s)
        s = hd_inspect_name(g, &x->target, ids.at, ids.count, g->folder->tokenizer[0], g->ask->text, false,
                            err);
    x->targets = s ? 0 : ids.count;
    for (size_t i = 0; !s && i < given; i++) x->target[i].given = true;
    if (!s) s = hd_inspect_spell(g, x->target, x->targets, g->folder->tokenizer[0], &x->written, err);
    hd_ids_release(&ids);
    hd_ids_release(&forced);
    return s || g->ask->bare ? s : foresee(g, err);
}
