/* A sentence and its translation: searched as `heed translate` does, then read again token by token. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "show/live/inspection_parts.h"
#include "task/translate/translate.h"

/* -- the sentence -- */

/* Why a text has no sentence. */
static hd_status no_sentence(hd_translating *j, hd_err *err)
{
    hd_translations none = {0};
    hd_status s = hd_translating_end(&none, j, err);
    if (!s && none.of->status)
        s = hd_err_set(err, HD_EARG, "the text is %s", none.of->why);
    else if (!s)
        s = hd_err_set(err, HD_EARG, "the text is empty");
    hd_translations_release(&none);
    return s;
}

static hd_status read_sentence(const hd_inspecting *g, hd_translating *j, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_inspect_ask *q = g->ask;
    x->parts = hd_translating_parts(j);
    if (!x->parts) return no_sentence(j, err);
    if (q->part >= x->parts)
        return hd_err_set(err, HD_EARG, "there is no sentence %zu: the text has %zu, counted from 0", q->part,
                          x->parts);
    x->part_number = q->part;
    x->part = hd_arena_array(&x->memory, x->parts, sizeof *x->part, err);
    for (size_t i = 0; x->part && i < x->parts; i++) x->part[i] = hd_translating_span(j, i);
    const hd_span *span = x->part ? &x->part[q->part] : NULL;
    const hd_line text = {q->text.text + (span ? span->begin : 0), span ? span->end - span->begin : 0};
    x->read = span ? hd_shown_text(&x->memory, text, err) : NULL;
    if (!x->read) return HD_ENOMEM;
    const int32_t *ids = hd_translating_source(j, q->part, &x->sources);
    const hd_piece *piece = hd_translating_pieces(j, q->part);
    hd_status s = hd_inspect_fits(g, x->sources, err);
    if (!s) s = hd_inspect_name(g, &x->source, ids, x->sources, g->folder->tokenizer[0], text, false, err);
    for (size_t i = 0; !s && i < x->sources; i++)
        if (piece[i].end > piece[i].begin)
            x->source[i].begin = piece[i].begin - span->begin, x->source[i].end = piece[i].end - span->begin;
    return s;
}

static hd_status open_stepper(hd_stepper *out, const hd_inspecting *g, const int32_t *ids, hd_err *err)
{
    const hd_model *m = &g->folder->model;
    const int32_t len = (int32_t)g->into->sources;
    return m->type->stepper(out, m->self, ids, &len, 1, hd_tokenizer_special(g->folder->tokenizer[1]).start,
                            err);
}

/* -- the search -- */

static hd_status keep_guesses(const hd_inspecting *g, const hd_found *found, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_guess *from = hd_found_at(found, 0);
    size_t n = hd_found_count(found, 0);
    hd_status s = HD_OK;
    x->guess = hd_arena_array(&x->memory, n + 1, sizeof *x->guess, err);
    if (!x->guess) return HD_ENOMEM;
    for (; !s && x->guesses < n; x->guesses++) {
        const hd_guess *one = &from[x->guesses];
        hd_text text = {0};
        s = hd_tokenizer_decode(g->folder->tokenizer[1], one->ids, one->length, &text, err);
        if (!s) s = hd_text_status(&text, err);
        const char *copy =
            s ? NULL : hd_shown_text(&x->memory, (hd_line){text.data ? text.data : "", text.size}, err);
        x->guess[x->guesses] = (hd_inspect_guess){copy, one->sum, one->score, one->finished};
        if (!s && !copy) s = HD_ENOMEM;
        hd_text_release(&text);
    }
    return s;
}

static hd_status search(const hd_inspecting *g, const int32_t *source, const hd_ids *forced, hd_found **found,
                        hd_err *err)
{
    const hd_tokenizer *t = g->folder->tokenizer[1];
    hd_stepper st = {0};
    hd_beams *beams = NULL;
    int32_t banned[3];
    const int32_t prefixes = (int32_t)forced->count;
    const hd_translate_opt how = {.search = g->ask->search};
    hd_search_opt o = hd_translate_search(g->folder, &how, banned);
    o.unscored = false;
    if (forced->count) o.prefix = forced->at, o.prefix_len = &prefixes;
    hd_status s = hd_beams_begin(&beams, g, &o, err);
    if (!s) s = open_stepper(&st, g, source, err);
    if (!s) {
        hd_err none = {0}; /* a search that was ended has nothing, which is no fault of the model's */
        hd_status failed = hd_search(found, g->run, &st, &o, &none);
        s = hd_inspect_goes_on(g->ask, err);
        if (!s && failed) s = hd_err_set(err, failed, "%s", none.text);
    }
    if (!s) s = hd_beams_end(beams, *found, t, err);
    if (!s) s = keep_guesses(g, *found, err);
    hd_stepper_release(&st);
    hd_beams_free(beams);
    return s;
}

/* -- the translation -- */

static hd_status align(const hd_inspecting *g, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_model *m = &g->folder->model;
    hd_attention_maps maps;
    hd_attention_map map = {0};
    if (!m->type->attention || !m->type->attention(m->self, HD_ATTENTION_CROSS).layers) return HD_OK;
    hd_inspect_ask plain = *g->ask;
    plain.heads = NULL; /* the run has them */
    hd_status s = hd_inspect_attention(&maps, g->run, g->folder, x, &plain, 1u << HD_ATTENTION_CROSS, err);
    if (!s) s = hd_attention_map_of(&map, &maps, &(hd_attention_pick){.kind = 1 + HD_ATTENTION_CROSS}, err);
    if (!s) x->alignment = hd_arena_array(&x->memory, map.rows * map.cols, sizeof *x->alignment, err);
    if (!s && !x->alignment) s = HD_ENOMEM;
    if (!s) memcpy(x->alignment, map.weight, map.rows * map.cols * sizeof *x->alignment);
    hd_attention_map_release(&map);
    hd_attention_release(&maps);
    return s;
}

static hd_status read_translation(const hd_inspecting *g, const int32_t *source, const int32_t *ids,
                                  size_t count, size_t forced, hd_err *err)
{
    hd_inspection *x = g->into;
    const hd_tokenizer *t = g->folder->tokenizer[1];
    const hd_model_sizes n = g->folder->model.type->sizes(g->folder->model.self);
    hd_stepper st = {0};
    hd_status s = hd_inspect_fits(g, x->sources + count, err);
    if (!s) s = hd_shown_check("", "translation", ids, count, n.target_vocab, n.positions, err);
    if (!s) s = hd_inspect_name(g, &x->target, ids, count, t, (hd_line){0}, false, err);
    if (s) return s;
    x->targets = count;
    for (size_t i = 0; i < forced; i++) x->target[i].given = true;
    s = hd_inspect_spell(g, x->target, count, t, &x->written, err);
    if (!s) s = hd_inspect_goes_on(g->ask, err);
    if (s || g->ask->bare) return s;
    s = open_stepper(&st, g, source, err);
    if (!s) s = hd_inspect_foresee(g, &st, x->target, count, t, false, err);
    hd_stepper_release(&st);
    for (size_t i = 0; !s && i < count; i++) x->sum += x->target[i].logp;
    x->score = hd_length_score(&g->ask->search.length, x->sum, count);
    x->finished = ids[count - 1] == hd_tokenizer_special(t).end;
    return s ? s : align(g, err);
}

static hd_status translate(const hd_inspecting *g, const int32_t *source, hd_err *err)
{
    const hd_special special = hd_tokenizer_special(g->folder->tokenizer[1]);
    hd_ids forced = {0};
    hd_found *found = NULL;
    hd_status s = hd_inspect_forced(g, g->folder->tokenizer[1], &forced, err);
    size_t given = forced.count;
    if (!s && g->ask->whole && (g->ask->forced_text.text || !given))
        s = hd_ids_add(&forced, special.end, err);
    if (!s) s = hd_inspect_fits(g, g->into->sources + forced.count, err);
    if (!s && g->ask->whole) {
        s = read_translation(g, source, forced.at, forced.count, forced.count, err);
    } else if (!s) {
        s = search(g, source, &forced, &found, err);
        const hd_guess *best = s || !hd_found_count(found, 0) ? NULL : hd_found_at(found, 0);
        if (!s && (!best || !best->length))
            s = hd_err_set(err, HD_ENUMBER, "no translation found: the model gives no token a probability");
        if (!s) s = read_translation(g, source, best->ids, best->length, given, err);
    }
    hd_found_free(found);
    hd_ids_release(&forced);
    return s;
}

hd_status hd_inspect_translator(const hd_inspecting *g, hd_err *err)
{
    const hd_translate_opt opt = {.search = g->ask->search};
    hd_translating *j = NULL;
    size_t size;
    hd_status s = hd_translating_new(&j, g->folder, &g->ask->text, NULL, 1, &opt, err);
    if (!s) s = read_sentence(g, j, err);
    if (!s) s = translate(g, hd_translating_source(j, g->ask->part, &size), err);
    hd_translating_free(j);
    return s;
}
