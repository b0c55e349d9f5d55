/* A text with words missing, and what may stand in their places. */
#include <math.h>

#include "show/live/inspection_parts.h"
#include "task/masked/masked.h"

static hd_status fill(const hd_inspecting *g, hd_err *err)
{
    hd_inspection *x = g->into;
    hd_filled filled = {0};
    const hd_tokenizer *t = g->folder->tokenizer[0];
    hd_status s = hd_masked_fill(&filled, g->run, g->folder, g->ask->text, g->ask->top, err);
    for (size_t i = 0, mask = 0; !s && i < x->sources; i++) {
        hd_inspect_token *to = &x->source[i];
        if (to->token.id != hd_masked_id(t) || mask == filled.masks) continue;
        to->tops = filled.top;
        to->top = hd_arena_array(&x->memory, filled.top, sizeof *to->top, err);
        if (!to->top) s = HD_ENOMEM;
        for (size_t k = 0; !s && k < filled.top; k++) {
            const hd_filling *from = &filled.choice[mask * filled.top + k];
            s = hd_shown_tokens(&to->top[k].token, &x->memory, &from->id, 1, t, (hd_line){0}, true, err);
            to->top[k].logp = log(from->p);
        }
        mask++;
    }
    hd_filled_release(&filled);
    return s;
}

hd_status hd_inspect_masked(const hd_inspecting *g, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_tokenizer *t = g->folder->tokenizer[0];
    const hd_model_sizes n = g->folder->model.type->sizes(g->folder->model.self);
    hd_ids ids = {0};
    hd_pieces pieces = {0};
    size_t masks = 0;
    hd_status s = hd_masked_encode(t, g->ask->text, &ids, err);
    if (!s) s = hd_masked_pieces(t, g->ask->text, true, &pieces, err);
    if (!s) s = hd_inspect_fits(g, ids.count, err);
    if (!s) s = hd_shown_check("", "text", ids.at, ids.count, n.vocab, n.positions, err);
    if (!s) s = hd_inspect_name(g, &x->source, ids.at, ids.count, t, g->ask->text, true, err);
    x->sources = s ? 0 : ids.count;
    x->read = s ? NULL : hd_shown_text(&x->memory, g->ask->text, err);
    if (!s && !x->read) s = HD_ENOMEM;
    for (size_t i = 0; !s && i < x->sources && i < pieces.count; i++) {
        x->source[i].begin = pieces.at[i].begin, x->source[i].end = pieces.at[i].end;
        masks += ids.at[i] == hd_masked_id(t);
    }
    hd_ids_release(&ids);
    hd_pieces_release(&pieces);
    return s || !masks || g->ask->bare || !n.fills ? s : fill(g, err);
}
