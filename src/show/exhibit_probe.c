/* Collects what a probe is offered. Easy to get wrong: a cache has spare room, so keys and values have
   more rows than their segment; scores come with heads innermost and are kept with heads outermost. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/formula.h"
#include "show/exhibit_parts.h"

/* -- the place of a name in words: "dec.0.cross.softmax" is in the decoder's first layer -- */

/* One scope of a name in words; "" if it is left out. */
static const char *place(const hd_model *of, const char *name, const char *scope, char *buf, size_t size)
{
    static const struct {
        const char *scope, *text;
    } known[] = {{"enc", "encoder"},           {"dec", "decoder"},      {"self", "self-attention"},
                 {"cross", "cross-attention"}, {"ffn", "feed-forward"}, {"reverse", "from the end"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(scope, known[i].scope)) return known[i].text;
    bool digits = isdigit((unsigned char)*scope);
    if (digits && of->type->numbers_stage && of->type->numbers_stage(of->self, name)) return "";
    if (!digits && strncmp(scope, "layer", 5) && strncmp(scope, "stage", 5)) return scope;
    snprintf(buf, size, "%.5s %d", digits ? "layer" : scope, atoi(digits ? scope : scope + 5) + 1);
    return buf;
}

static const char *part_of(const hd_model *of, const char *name, char *buf, size_t size)
{
    size_t used = 0;
    if (size) *buf = 0;
    for (const char *at = name, *dot; (dot = strchr(at, '.')); at = dot + 1) {
        char scope[32], text[32];
        snprintf(scope, sizeof scope, "%.*s", (int)(dot - at), at);
        const char *says = place(of, name, scope, text, sizeof text);
        int n = !*says ? 0 : snprintf(buf + used, size - used, "%s%s", used ? ", " : "", says);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    if (!used) {
        bool input = hd_formula_is(name, "emb") || hd_formula_is(name, "X");
        snprintf(buf, size, input ? "input" : hd_formula_is(name, "h") ? "hidden layer" : "output");
    }
    if (size) *buf = (char)toupper((unsigned char)*buf);
    return buf;
}

/* -- offers -- */

/* The axis of the keys of an attention layer. */
static hd_exhibit_axis keys_of(const char *name)
{
    return hd_formula_of_encoder(name) || strstr(name, ".cross.") ? HD_EXHIBIT_SOURCE : HD_EXHIBIT_READ;
}

/* Rows of a text that is read at once; after the layers only those of masks or labels. */
static hd_exhibit_axis rows_of_whole(const hd_exhibit *x, const char *name)
{
    bool output = !strcmp(name, "pooled") || !strcmp(name, "logits");
    if (x->place && (output || !strncmp(name, "head.", 5))) return HD_EXHIBIT_ASKED;
    return output ? HD_EXHIBIT_CHANNELS : HD_EXHIBIT_READ;
}

static hd_exhibit_axis rows_of(const hd_exhibiting *e, const char *name)
{
    const char *last = hd_formula_last(name);
    if (e->whole) return rows_of_whole(e->into, name);
    if (!strcmp(last, "K") || !strcmp(last, "V")) return keys_of(name);
    return hd_formula_of_encoder(name) ? HD_EXHIBIT_SOURCE : HD_EXHIBIT_NOW;
}

/* Rows of t in the one item of a segment list, or all of t. */
static size_t length_of(hd_run *r, const hd_tensor *t, const hd_seg *seg)
{
    const int32_t *len = seg && seg->items ? hd_seg_lens(r, seg) : NULL;
    size_t rows = hd_rows_of(t);
    return len && (size_t)len[0] < rows ? (size_t)len[0] : rows;
}

/* [Tq*Tk, H] to [H, Tq, Tk]. */
static void heads_first(hd_real *to, const hd_real *from, size_t cells, size_t heads)
{
    for (size_t i = 0; i < cells; i++)
        for (size_t h = 0; h < heads; h++) to[h * cells + i] = from[i * heads + h];
}

static hd_real *numbers_of(hd_exhibiting *e, hd_run *r, const hd_offer *o, hd_exhibit_item *to)
{
    to->heads = o->keys ? hd_cols_of(o->t) : 0;
    to->rows = length_of(r, o->t, o->seg);
    to->cols = o->keys && to->rows ? hd_rows_of(o->t) / to->rows : hd_cols_of(o->t);
    bool words = !strcmp(o->name, "logits") && !e->numbers;
    to->down = rows_of(e, o->name);
    to->across = o->keys ? (e->whole ? HD_EXHIBIT_READ : keys_of(o->name))
                 : words ? HD_EXHIBIT_WORDS
                         : HD_EXHIBIT_CHANNELS;
    size_t rows = o->keys ? hd_rows_of(o->t) : to->rows, count = rows * hd_cols_of(o->t);
    hd_tensor part = hd_view_rows(o->t, 0, rows);
    hd_real *value = hd_arena_array(&e->into->memory, count, sizeof *value, &r->err),
            *raw = o->keys ? hd_host_take(r, count * sizeof *raw) : value;
    if (!value || !raw || !hd_read(r, &part, raw)) return NULL;
    if (o->keys) heads_first(value, raw, rows, to->heads);
    return value;
}

static size_t count_of(const hd_exhibit_item *t)
{
    return (t->heads ? t->heads : 1) * t->rows * t->cols;
}

/* The steps from scores to weights, and from vectors of tokens to the input, are left out where nothing
   happens in them. */
static bool same_again(const hd_exhibit *x, const hd_exhibit_item *now)
{
    const char *last = hd_formula_last(now->name);
    if (!x->items || (strcmp(last, "scaled") && strcmp(last, "masked") && strcmp(last, "X"))) return false;
    const hd_exhibit_item *before = &x->item[x->items - 1];
    size_t count = count_of(now);
    return count_of(before) == count && !memcmp(before->value, now->value, count * sizeof *now->value);
}

/* "columns of a head" as a number, known from the Q before it. */
static const char *exact(hd_exhibit *x, const hd_exhibit_item *now, const char *formula, hd_err *err)
{
    static const char words[] = "columns of a head";
    const char *at = formula ? strstr(formula, words) : NULL, *dot = strrchr(now->name, '.');
    size_t scope = dot ? (size_t)(dot + 1 - now->name) : 0;
    for (size_t i = 0; at && now->heads && i < x->items; i++) {
        const hd_exhibit_item *q = &x->item[i];
        char text[64];
        if (strncmp(q->name, now->name, scope) || strcmp(q->name + scope, "Q")) continue;
        snprintf(text, sizeof text, "%.*s%zu%s", (int)(at - formula), formula, q->cols / now->heads,
                 at + sizeof words - 1);
        return hd_exhibit_copy(x, text, err);
    }
    return formula;
}

static void keep(hd_exhibiting *e, hd_run *r, const hd_offer *o)
{
    char part[128];
    hd_exhibit *x = e->into;
    hd_exhibit_item to = {0};
    if (!(to.value = numbers_of(e, r, o, &to))) return;
    to.name = hd_exhibit_copy(x, o->name, &r->err);
    if (!to.name || same_again(x, &to)) return;
    to.part = hd_exhibit_copy(x, part_of(&e->of, o->name, part, sizeof part), &r->err);
    to.formula = exact(x, &to, hd_formula(&e->of, o->name), &r->err);
    if (to.part) hd_exhibit_add(x, &to, &r->err);
}

/* The source token with the largest weight in this layer. */
static void look(hd_exhibit_step *s, hd_run *r, const hd_offer *o)
{
    size_t heads = hd_cols_of(o->t), keys = hd_rows_of(o->t);
    hd_real *w = hd_host_take(r, keys * heads * sizeof *w);
    if (!w || !hd_read(r, o->t, w)) return;
    s->looks = true, s->share = -1;
    for (size_t j = 0; j < keys; j++) {
        double sum = 0;
        for (size_t h = 0; h < heads; h++) sum += (double)w[j * heads + h];
        if (sum / (double)heads > s->share) s->where = j, s->share = sum / (double)heads;
    }
}

static void collect(void *context, hd_run *r, const hd_offer *o)
{
    hd_exhibiting *e = context;
    const char *last = hd_formula_last(o->name);
    bool weights = o->keys && !strcmp(last, "softmax") && strstr(o->name, ".cross.");
    if (o->gradient || r->err.status || !hd_count_of(o->t)) return;
    if (o->seg && !o->keys) e->seg = o->seg;
    if (e->step && weights) look(e->step, r, o);
    if (!strcmp(last, "mean") || !strcmp(last, "inverse_sd")) return; /* they follow from the sum */
    if (hd_formula_of_encoder(o->name) ? e->encoder : e->decoder) keep(e, r, o);
}

/* -- the distribution -- */

/* Inserts into the top of an answer, which has `count` so far; returns the new count. */
static size_t insert(hd_exhibit_choice *top, size_t count, int32_t id, double p, double logit)
{
    size_t at = count;
    while (at && top[at - 1].p < p) at--;
    if (at == HD_EXHIBIT_TOP) return count;
    if (count < HD_EXHIBIT_TOP) count++;
    memmove(top + at + 1, top + at, (count - 1 - at) * sizeof *top);
    top[at] = (hd_exhibit_choice){.token = {.id = id, .piece = ""}, .p = p, .logit = logit};
    return count;
}

/* The likeliest of every answer. */
static void find_top(hd_exhibit *x, const hd_real *p, size_t vocab)
{
    const hd_exhibit_item *logits = hd_exhibit_find(x, "logits");
    for (size_t i = 0; i < x->answers; i++) {
        size_t count = 0;
        for (size_t j = i * vocab; j < (i + 1) * vocab; j++)
            count = insert(x->top + i * x->tops, count, (int32_t)(j - i * vocab), (double)p[j],
                           logits ? (double)logits->value[j] : (double)NAN);
    }
}

static bool have_sum(const hd_real *logp, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += exp((double)logp[i]);
    return sum > 0 && isfinite(sum);
}

static void add_distribution(hd_exhibiting *e, hd_run *r, const hd_tensor *logp, const hd_tokenizer *pieces)
{
    hd_exhibit *x = e->into;
    size_t vocab = logp ? hd_cols_of(logp) : 0, rows = logp ? hd_rows_of(logp) : 0;
    if (!logp || r->err.status) return;
    x->answers = rows, x->tops = vocab < HD_EXHIBIT_TOP ? vocab : HD_EXHIBIT_TOP;
    hd_real *p = hd_arena_array(&x->memory, rows * vocab, sizeof *p, &r->err);
    x->top = hd_arena_array(&x->memory, rows * x->tops, sizeof *x->top, &r->err);
    if (!p || !x->top || !hd_read(r, logp, p)) return;
    for (size_t i = 0; i < rows; i++) /* -inf: an impossible word; but at least one must be possible */
        if (!have_sum(p + i * vocab, vocab)) return (void)hd_fail_number(r);
    for (size_t i = 0; i < rows * vocab; i++) p[i] = (hd_real)exp((double)p[i]);
    const hd_exhibit_item probs = {.name = "probs",
                                   .part = "Output",
                                   .formula = hd_formula(&e->of, "probs"),
                                   .down = !e->whole ? HD_EXHIBIT_NOW : rows_of_whole(x, "logits"),
                                   .across = HD_EXHIBIT_WORDS,
                                   .rows = rows,
                                   .cols = vocab,
                                   .value = p};
    find_top(x, p, vocab);
    if (hd_exhibit_add(x, &probs, &r->err)) return;
    for (size_t i = 0; i < rows * x->tops; i++) {
        hd_shown_token *t = &x->top[i].token;
        const int32_t id = t->id;
        if (hd_shown_tokens(t, &x->memory, &id, 1, pieces, (hd_line){0}, false, &r->err)) return;
    }
}

/* -- one step -- */

void hd_exhibit_begin(hd_exhibiting *e, hd_run *r)
{
    hd_run_begin(r, HD_INFERENCE);
    e->probe = (hd_probe){.take = collect, .context = e};
    e->before = r->probe;
    r->probe = &e->probe;
}

hd_status hd_exhibit_end(hd_exhibiting *e, hd_run *r, const hd_tensor *logp, const hd_tokenizer *pieces,
                         hd_err *err)
{
    r->probe = e->before;
    add_distribution(e, r, logp, pieces);
    return hd_run_status(r, err);
}
