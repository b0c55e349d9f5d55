/* One backward pass through a model that learns nothing, seen by a probe. */
#include "show/backward/gradients.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/encdec/encdec.h"
#include "model/formula.h"
#include "model/lm/lm.h"
#include "show/exhibit_parts.h"
#include "task/translate/translate.h"

enum { MOST_LAYERS = 512, CHUNK = 1 << 16 };

typedef struct looking {
    hd_gradients *to;
    hd_run *r;
    const hd_model_folder *f;
    hd_probe probe;
} looking;

/* -- what the probe is offered -- */

/* "enc.0" of "enc.0.self.sum": up to the part with a number; "enc.emb" is its own. False: it is no layer's.
 */
static bool layer_of(char to[64], const char *name)
{
    const char *at = name, *dot;
    for (; (dot = strchr(at, '.')); at = dot + 1)
        if (isdigit((unsigned char)dot[-1])) return snprintf(to, 64, "%.*s", (int)(dot - name), name) < 64;
    return hd_formula_is(name, "emb") && snprintf(to, 64, "%s", name) < 64;
}

static hd_gradient_layer *find(hd_gradients *g, const char *name)
{
    for (size_t i = 0; i < g->layers; i++)
        if (!strcmp(g->layer[i].name, name)) return &g->layer[i];
    return NULL;
}

static hd_gradient_layer *add(hd_gradients *g, const char *name, bool source, hd_err *err)
{
    size_t tokens = source ? g->sources : g->reads;
    hd_gradient_layer *l = &g->layer[g->layers];
    if (g->layers == MOST_LAYERS) return NULL;
    *l = (hd_gradient_layer){.name = hd_arena_copy(&g->memory, name, strlen(name), err), .source = source};
    l->norm = l->name ? hd_arena_array(&g->memory, tokens, sizeof *l->norm, err) : NULL;
    if (!l->norm) return NULL;
    g->layers++;
    return l;
}

/* Backward comes to the beginning of a layer last: what it is offered there stays. */
static void take(void *context, hd_run *r, const hd_offer *o)
{
    looking *k = context;
    char name[64];
    bool source = k->to->source && hd_formula_of_encoder(o->name);
    size_t tokens = source ? k->to->sources : k->to->reads, cols = hd_cols_of(o->t);
    if (!o->gradient || r->err.status || hd_rows_of(o->t) != tokens || !layer_of(name, o->name)) return;
    hd_gradient_layer *l = find(k->to, name);
    if (!l) l = add(k->to, name, source, &r->err);
    hd_real *g = hd_host_take(r, tokens * cols * sizeof *g);
    if (!l || !g || !hd_read(r, o->t, g)) return;
    for (size_t i = 0; i < tokens; i++) {
        double squares = 0;
        for (size_t j = 0; j < cols; j++) squares += pow((double)g[i * cols + j], 2);
        l->norm[i] = sqrt(squares);
    }
}

/* -- the pass -- */

static void begin(looking *k)
{
    if (k->r->heads) {
        hd_heads_begin(k->r);
    } else {
        hd_run_begin(k->r, HD_TRAIN);
        k->r->training = false; /* no dropout */
    }
}

static hd_status end(looking *k, hd_tensor *loss, hd_err *err)
{
    hd_run *r = k->r;
    hd_real *rows = hd_host_take(r, k->to->reads * sizeof *rows);
    if (loss && rows && hd_read(r, loss, rows))
        for (size_t i = 0; i < k->to->reads; i++) k->to->loss[i] = (double)rows[i];
    if (k->to->heads.layers)
        hd_heads_end(r);
    else
        hd_backward(r);
    return hd_run_status(r, err);
}

static hd_status name_tokens(hd_gradients *g, const hd_model_folder *f, const int32_t *source, size_t sources,
                             const int32_t *read, const int32_t *said, size_t reads, hd_line text,
                             hd_err *err)
{
    const hd_tokenizer *to = f->tokenizer[1] ? f->tokenizer[1] : f->tokenizer[0];
    const hd_line none = {0};
    g->sources = sources, g->reads = reads;
    if (sources) g->source = hd_arena_array(&g->memory, sources, sizeof *g->source, err);
    g->read = hd_arena_array(&g->memory, 2 * reads, sizeof *g->read, err), g->said = g->read + reads;
    g->loss = hd_arena_array(&g->memory, reads, sizeof *g->loss, err);
    g->layer = hd_arena_array(&g->memory, MOST_LAYERS, sizeof *g->layer, err);
    if ((sources && !g->source) || !g->read || !g->loss || !g->layer) return HD_ENOMEM;
    hd_status s =
        sources ? hd_shown_tokens(g->source, &g->memory, source, sources, f->tokenizer[0], text, false, err)
                : HD_OK;
    if (!s) s = hd_shown_tokens(g->read, &g->memory, read, reads, to, none, false, err);
    if (!s) s = hd_shown_tokens(g->said, &g->memory, said, reads, to, none, false, err);
    return s;
}

static hd_status of_pair(looking *k, const int32_t *source, size_t sources, const int32_t *said, size_t count,
                         hd_line text, hd_err *err)
{
    hd_run *r = k->r;
    const hd_encdec *m = hd_model_folder_encdec(k->f);
    const int32_t in = (int32_t)sources, out = (int32_t)count;
    int32_t *read = hd_arena_array(&k->to->memory, count, sizeof *read, err);
    if (!read) return HD_ENOMEM;
    for (size_t i = 0; i < count; i++)
        read[i] = i ? said[i - 1] : hd_tokenizer_special(k->f->tokenizer[1]).start;
    hd_status s = name_tokens(k->to, k->f, source, sources, read, said, count, text, err);
    if (s) return s;
    begin(k);
    hd_encoded memory = hd_encdec_encode(
        r, m, &(hd_items){.seg = hd_seg_of(r, &in, 1, NULL), .ids = hd_ints(r, source, sources)});
    hd_rows y = hd_encdec_decode(r, m, hd_ints(r, read, count), hd_seg_of(r, &out, 1, NULL), memory, NULL);
    return end(k, hd_encdec_loss(r, m, y, hd_ints(r, said, count), &(hd_loss_opt){.coef = 1}), err);
}

static hd_status of_translation(looking *k, hd_line text, hd_err *err)
{
    hd_translations found = {0};
    hd_status s = hd_exhibit_translate(&found, k->r, k->f, text, err);
    const hd_probe *before = k->r->probe;
    k->r->probe = &k->probe;
    k->r->heads = k->to->heads.layers ? &k->to->heads : NULL;
    if (!s) {
        const hd_hypothesis *best = found.of->hypothesis;
        s = of_pair(k, found.of->source, found.of->source_end[0], best->ids, best->length, text, err);
    }
    k->r->probe = before, k->r->heads = NULL;
    hd_translations_release(&found);
    return s;
}

static hd_status of_text(looking *k, hd_line text, hd_err *err)
{
    hd_run *r = k->r;
    const hd_lm *m = hd_model_folder_lm(k->f);
    hd_ids ids = {0};
    hd_status s = hd_tokenizer_encode_ids(k->f->tokenizer[0], text.text, text.size, &ids, err);
    const size_t count = ids.count;
    const int32_t len = (int32_t)count;
    int32_t *read = s ? NULL : hd_arena_array(&k->to->memory, count + 1, sizeof *read, err);
    for (size_t i = 0; read && i < count; i++) read[i] = i ? ids.at[i - 1] : m->opt.start;
    if (!s && !count) s = hd_err_set(err, HD_EARG, "the text is empty");
    if (!s && count > k->f->longest)
        s = hd_err_set(err, HD_ELIMIT, "the text has %zu tokens, the model reads %zu", count, k->f->longest);
    if (!s && !read) s = HD_ENOMEM;
    if (!s) s = name_tokens(k->to, k->f, NULL, 0, read, ids.at, count, text, err);
    if (!s) {
        const hd_probe *before = r->probe;
        r->probe = &k->probe, r->heads = k->to->heads.layers ? &k->to->heads : NULL;
        begin(k);
        const hd_lm_batch b = {.seg = hd_seg_of(r, &len, 1, NULL),
                               .ids = hd_ints(r, read, count),
                               .target = hd_ints(r, ids.at, count)};
        s = end(k, m->type->lm.loss(r, m, &b, NULL, &(hd_loss_opt){.coef = 1}), err);
        r->probe = before, r->heads = NULL;
    }
    hd_ids_release(&ids);
    return s;
}

hd_status hd_gradients_with(hd_gradients *to, hd_run *r, const hd_model_folder *f, hd_heads *heads,
                            hd_line text, hd_err *err)
{
    const hd_model_type *type = f->model.type;
    *to = (hd_gradients){.heads = *heads};
    *heads = (hd_heads){0};
    hd_arena_init(&to->memory, hd_allocator_host, CHUNK);
    to->heads.graded = true;
    looking k = {to, r, f, {.take = take, .context = &k, .gradients = true, .leaf = "emb"}};
    hd_status s = HD_OK;
    if (f->pictures || f->sounds || (!type->decode && (!type->lm.loss || type->lm.looks_back)))
        s = hd_err_set(err, HD_EARG,
                       "gradients are shown of translators and of recurrent and Transformer language models, "
                       "not of %s",
                       f->task->what);
    if (!s) s = type->decode ? of_translation(&k, text, err) : of_text(&k, text, err);
    for (size_t i = 0, n = to->layers; i < n / 2; i++) { /* backward met them from the last on */
        hd_gradient_layer swap = to->layer[i];
        to->layer[i] = to->layer[n - 1 - i], to->layer[n - 1 - i] = swap;
    }
    if (s) hd_gradients_release(to);
    return s;
}

hd_status hd_gradients_of(hd_gradients *to, hd_run *r, const hd_model_folder *f, hd_line text, hd_err *err)
{
    hd_heads heads = {0};
    hd_err none = {0};
    hd_heads_init(&heads, &f->model, &none); /* a model without attention has none */
    return hd_gradients_with(to, r, f, &heads, text, err);
}

void hd_gradients_release(hd_gradients *g)
{
    hd_heads_release(&g->heads);
    hd_arena_release(&g->memory);
    *g = (hd_gradients){0};
}
