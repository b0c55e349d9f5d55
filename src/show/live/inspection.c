/* What a model makes of a text: what all kinds of models share. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/heads.h"
#include "show/live/inspection_parts.h"

const char *const hd_inspection_names[HD_INSPECTIONS] = {
#define X(NAME, name) #name,
    HD_INSPECTION_LIST(X)
#undef X
};

/* -- limits -- */

hd_status hd_inspect_goes_on(const hd_inspect_ask *ask, hd_err *err)
{
    if (!ask->over || !ask->over(ask->context)) return HD_OK;
    return hd_err_set(err, HD_ELIMIT, "nobody waits for it any more");
}

hd_status hd_inspect_fits(const hd_inspecting *g, size_t tokens, hd_err *err)
{
    size_t most = g->ask->longest;
    if (!most || tokens <= most) return HD_OK;
    return hd_err_set(err, HD_ELIMIT, "the text has %zu tokens: at most %zu are explained at a time", tokens,
                      most);
}

/* -- tokens -- */

hd_status hd_inspect_forced(const hd_inspecting *g, const hd_tokenizer *t, hd_ids *ids, hd_err *err)
{
    const hd_inspect_ask *q = g->ask;
    if (q->forced_text.text)
        return hd_tokenizer_encode_ids(t, q->forced_text.text, q->forced_text.size, ids, err);
    hd_status s = hd_ids_reserve(ids, q->forced_count, err);
    for (size_t i = 0; !s && i < q->forced_count; i++) {
        if (q->forced[i] < 0 || (size_t)q->forced[i] >= hd_tokenizer_size(t))
            s = hd_err_set(err, HD_EARG, "there is no token %d", q->forced[i]);
        else
            ids->at[ids->count++] = q->forced[i];
    }
    return s;
}

hd_status hd_inspect_name(const hd_inspecting *g, hd_inspect_token **out, const int32_t *ids, size_t count,
                          const hd_tokenizer *t, hd_line text, bool masks, hd_err *err)
{
    hd_arena *memory = &g->into->memory;
    hd_shown_token *name = hd_arena_array(memory, count, sizeof *name, err);
    hd_inspect_token *to = name ? hd_arena_array(memory, count, sizeof *to, err) : NULL;
    if (!to) return HD_ENOMEM;
    hd_status s = hd_shown_tokens(name, memory, ids, count, t, text, masks, err);
    for (size_t i = 0; !s && i < count; i++)
        to[i] = (hd_inspect_token){.token = name[i], .logp = (double)NAN};
    *out = to;
    return s;
}

hd_status hd_inspect_spell(const hd_inspecting *g, hd_inspect_token *token, size_t count,
                           const hd_tokenizer *t, const char **text, hd_err *err)
{
    hd_text all = {0};
    int32_t *ids = hd_mem_array(count + 1, sizeof *ids);
    size_t *end = hd_mem_array(count + 1, sizeof *end);
    hd_status s = ids && end ? HD_OK : hd_err_nomem(err, count * sizeof *end);
    for (size_t i = 0; !s && i < count; i++) ids[i] = token[i].token.id;
    if (!s) s = hd_shown_ends(end, &all, t, ids, count, err);
    for (size_t i = 0; !s && i < count; i++) token[i].begin = i ? end[i - 1] : 0, token[i].end = end[i];
    if (!s) *text = hd_shown_text(&g->into->memory, (hd_line){all.data ? all.data : "", all.size}, err);
    if (!s && !*text) s = HD_ENOMEM;
    hd_text_release(&all);
    hd_mem_free(ids);
    hd_mem_free(end);
    return s;
}

/* -- the whole -- */

hd_status hd_inspection_kind_of(hd_inspection_kind *out, const hd_model_folder *f, hd_err *err)
{
    const hd_model_type *can = f->model.type;
    if (!f->tokenizer[0] || (!can->decode && !can->stepper && !can->fill))
        return hd_err_set(
            err, HD_EARG,
            "a model of kind %s cannot be explained: use a translator, a language model or a BERT",
            can->name);
    *out = can->decode    ? HD_INSPECTION_TRANSLATOR
           : can->stepper ? HD_INSPECTION_LANGUAGE
                          : HD_INSPECTION_MASKED;
    return HD_OK;
}

/* Lets the run have the factors of the ask, if it has some. */
static hd_status set_heads(hd_heads *heads, hd_run *r, const hd_model_folder *f, const hd_inspect_ask *ask,
                           hd_err *err)
{
    if (!ask->heads || !*ask->heads) return HD_OK;
    hd_status s = hd_heads_init(heads, &f->model, err);
    if (!s) s = hd_heads_set(heads, ask->heads, err);
    if (!s) r->heads = heads;
    return s;
}

static hd_status check(const hd_inspect_ask *ask, hd_err *err)
{
    const hd_line *line[] = {&ask->text, &ask->forced_text};
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        if (!line[i]->text) continue;
        if (hd_utf8_good(line[i]->text, line[i]->size) < line[i]->size ||
            memchr(line[i]->text, 0, line[i]->size))
            return hd_err_set(err, HD_EFORMAT, "the text is not UTF-8 or holds a zero byte");
    }
    return HD_OK;
}

hd_status hd_inspect(hd_inspection **out, hd_run *r, const hd_model_folder *f, const hd_inspect_ask *ask,
                     hd_err *err)
{
    static hd_inspect_fill *const fill[] = {hd_inspect_translator, hd_inspect_language, hd_inspect_masked};
    hd_heads heads = {0};
    hd_inspection *x = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    hd_arena_init(&x->memory, hd_allocator_host, 1 << 14);
    hd_status s = hd_inspection_kind_of(&x->kind, f, err);
    if (!s) s = check(ask, err);
    if (!s) s = set_heads(&heads, r, f, ask, err);
    if (!s) s = fill[x->kind](&(hd_inspecting){x, r, f, ask}, err);
    r->heads = NULL;
    hd_heads_release(&heads);
    if (s)
        hd_inspection_free(x);
    else
        *out = x;
    return s;
}

void hd_inspection_free(hd_inspection *x)
{
    if (!x) return;
    hd_arena_release(&x->memory);
    hd_mem_free(x);
}

/* -- attention -- */

static hd_status ids_of(int32_t **out, const hd_inspect_token *token, size_t count, hd_err *err)
{
    *out = hd_mem_array(count + 1, sizeof **out);
    if (!*out) return hd_err_nomem(err, count * sizeof **out);
    for (size_t i = 0; i < count; i++) (*out)[i] = token[i].token.id;
    return HD_OK;
}

hd_status hd_inspect_attention(hd_attention_maps *out, hd_run *r, const hd_model_folder *f,
                               const hd_inspection *x, const hd_inspect_ask *ask, unsigned kinds, hd_err *err)
{
    int32_t *source = NULL, *target = NULL;
    hd_heads heads = {0}, *before = r->heads;
    const hd_line read = {x->read, x->read ? strlen(x->read) : 0};
    *out = (hd_attention_maps){0};
    hd_status s = ids_of(&source, x->source, x->sources, err);
    if (!s) s = ids_of(&target, x->target, x->targets, err);
    if (!s) s = set_heads(&heads, r, f, ask, err);
    if (!s)
        s = hd_attention_collect(out, r, &f->model,
                                 &(hd_attention_ask){.source = source,
                                                     .sources = x->sources,
                                                     .start = hd_tokenizer_special(f->tokenizer[1]).start,
                                                     .target = target,
                                                     .targets = x->targets,
                                                     .source_pieces = f->tokenizer[0],
                                                     .target_pieces = f->tokenizer[1],
                                                     .source_text = {read},
                                                     .kinds = kinds},
                                 err);
    r->heads = before;
    hd_heads_release(&heads);
    hd_mem_free(source);
    hd_mem_free(target);
    return s;
}
