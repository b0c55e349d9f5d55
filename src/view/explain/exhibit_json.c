/* What a model did with a text, as JSON. Jansson's setters take NULL and fail, so that a missing block is
   noticed once, at the end. */
#include "view/explain/exhibit_json.h"

#include <fnmatch.h>
#include <math.h>

#include "view/explain/explain_json.h"

static json_t *name(const hd_shown_token *t)
{
    return hd_json_string(t->word ? t->word : t->piece);
}

static json_t *pieces(const hd_shown_token *t, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) hd_json_append(list, name(&t[i]));
    return list;
}

/* Which of them are words that the vocabulary lacks, where there are some. */
static void set_unknown(json_t *all, const char *key, const hd_shown_token *t, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        if (t[i].word) hd_json_append(list, json_integer((json_int_t)i));
    if (list && !json_array_size(list))
        json_decref(list);
    else
        hd_json_set(all, key, list);
}

static json_t *ids(const hd_shown_token *t, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) hd_json_append(list, json_integer(t[i].id));
    return list;
}

static json_t *tokens(const hd_exhibit *x)
{
    json_t *all = json_object();
    if (x->source) {
        hd_json_set(all, "source", pieces(x->source, x->sources));
        hd_json_set(all, "source_ids", ids(x->source, x->sources));
        set_unknown(all, "source_unknown", x->source, x->sources);
    }
    hd_json_set(all, "read", pieces(x->read, x->reads));
    hd_json_set(all, "read_ids", ids(x->read, x->reads));
    set_unknown(all, "read_unknown", x->read, x->reads);
    return all;
}

static json_t *steps(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->steps; i++) {
        const hd_exhibit_step *s = &x->step[i];
        json_t *one = json_object();
        hd_json_set(one, "reads", hd_json_string(s->reads.piece));
        hd_json_set(one, "says", hd_json_string(s->says.piece));
        hd_json_set(one, "id", json_integer(s->says.id));
        hd_json_set(one, "p", hd_json_real(s->p));
        if (s->looks) {
            hd_json_set(one, "looks_at", json_integer((json_int_t)s->where));
            hd_json_set(one, "weight", hd_json_real(s->share));
        }
        hd_json_append(list, one);
    }
    return list;
}

/* Rows; of attention a list of heads, each of rows. */
static json_t *numbers(const hd_exhibit_item *t)
{
    if (!t->heads) return hd_explain_rows(t->value, t->rows, t->cols);
    json_t *list = json_array();
    for (size_t h = 0; h < t->heads; h++)
        hd_json_append(list, hd_explain_rows(t->value + h * t->rows * t->cols, t->rows, t->cols));
    return list;
}

static void add_items(json_t *all, const hd_exhibit *x, const char *only)
{
    json_t *matrices = json_object(), *formulas = json_object();
    for (size_t i = 0; i < x->items; i++) {
        const hd_exhibit_item *t = &x->item[i];
        if (only && fnmatch(only, t->name, 0)) continue;
        hd_json_set(matrices, t->name, numbers(t));
        if (t->formula) hd_json_set(formulas, t->name, hd_json_string(t->formula));
    }
    hd_json_set(all, "matrices", matrices);
    hd_json_set(all, "formulas", formulas);
}

static json_t *distribution(const hd_exhibit *x, size_t answer)
{
    json_t *list = json_array();
    const char *key = x->kind == HD_EXHIBIT_LABELER ? "label" : "token";
    for (size_t i = 0; i < x->tops; i++) {
        const hd_exhibit_choice *c = &x->top[answer * x->tops + i];
        json_t *one = json_object();
        hd_json_set(one, key, hd_json_string(c->token.piece));
        hd_json_set(one, "id", json_integer(c->token.id));
        hd_json_set(one, "p", hd_json_real(c->p));
        if (!isnan(c->logit)) hd_json_set(one, "logit", hd_json_real(c->logit));
        hd_json_append(list, one);
    }
    return list;
}

static json_t *masks(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->answers; i++) {
        json_t *one = json_object();
        hd_json_set(one, "place", json_integer((json_int_t)x->place[i]));
        hd_json_set(one, "distribution", distribution(x, i));
        hd_json_append(list, one);
    }
    return list;
}

static json_t *shares(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->shares; i++) {
        const hd_ngram_share *s = &x->share[i];
        json_t *one = json_object();
        hd_json_set(one, "context", pieces(x->read + x->reads - (size_t)s->context, (size_t)s->context));
        hd_json_set(one, "seen", json_integer(s->seen));
        hd_json_set(one, "total", json_integer(s->total));
        hd_json_set(one, "kinds", json_integer(s->kinds));
        if (x->discounts) hd_json_set(one, "discount", hd_json_real(s->discount));
        if (x->discounts) hd_json_set(one, "passed", hd_json_real(s->passed));
        hd_json_set(one, "p", hd_json_real(s->p));
        hd_json_append(list, one);
    }
    return list;
}

static json_t *features(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->features; i++) {
        const hd_exhibit_feature *f = &x->feature[i];
        json_t *one = json_object();
        hd_json_set(one, "context", json_integer((json_int_t)f->context));
        hd_json_set(one, "bucket", json_integer((json_int_t)f->bucket));
        hd_json_set(one, "weight", hd_json_real(f->weight));
        hd_json_append(list, one);
    }
    return list;
}

hd_status hd_exhibit_json(hd_text *to, const hd_exhibit *x, const char *only, hd_err *err)
{
    hd_json_begin();
    json_t *all = json_object();
    hd_json_set(all, "model", hd_json_string(x->model));
    hd_json_set(all, "tokens", tokens(x));
    if (x->cells[0]) hd_json_set(all, "grid", json_pack("[ii]", (int)x->cells[0], (int)x->cells[1]));
    if (x->translation) hd_json_set(all, "translation", hd_json_string(x->translation));
    if (x->steps) hd_json_set(all, "steps", steps(x));
    if (x->shown) hd_json_set(all, "step", json_integer((json_int_t)x->shown));
    add_items(all, x, only);
    if (x->kind == HD_EXHIBIT_MASKED || x->place)
        hd_json_set(all, x->kind == HD_EXHIBIT_MASKED ? "masks" : "tags", masks(x));
    else if (x->answers)
        hd_json_set(all, "distribution", distribution(x, 0));
    if (x->shares) hd_json_set(all, "shares", shares(x));
    if (x->features) hd_json_set(all, "features", features(x));
    if (x->features) hd_json_set(all, "bias", hd_json_real(x->bias));
    return hd_explain_dump(to, all, err);
}
