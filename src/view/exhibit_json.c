/* What a model did with a text, as JSON. Jansson's setters take NULL and fail, so that a missing block is
   noticed once, at the end. */
#include "view/exhibit_json.h"

#include <fnmatch.h>
#include <math.h>

#include "view/explain_json.h"

static json_t *pieces(const hd_exhibit_token *t, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_string(t[i].piece));
    return list;
}

static json_t *ids(const hd_exhibit_token *t, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(list, json_integer(t[i].id));
    return list;
}

static json_t *tokens(const hd_exhibit *x)
{
    json_t *all = json_object();
    if (x->source) {
        json_object_set_new(all, "source", pieces(x->source, x->sources));
        json_object_set_new(all, "source_ids", ids(x->source, x->sources));
    }
    json_object_set_new(all, "read", pieces(x->read, x->reads));
    json_object_set_new(all, "read_ids", ids(x->read, x->reads));
    return all;
}

static json_t *steps(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->steps; i++) {
        const hd_exhibit_step *s = &x->step[i];
        json_t *one = json_object();
        json_object_set_new(one, "reads", json_string(s->reads.piece));
        json_object_set_new(one, "says", json_string(s->says.piece));
        json_object_set_new(one, "id", json_integer(s->says.id));
        json_object_set_new(one, "p", json_real(s->p));
        if (s->looks) {
            json_object_set_new(one, "looks_at", json_integer((json_int_t)s->where));
            json_object_set_new(one, "weight", json_real(s->share));
        }
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *rows(const hd_exhibit_item *t, const hd_real *v)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->rows; i++)
        json_array_append_new(list, hd_explain_numbers(v + i * t->cols, t->cols));
    return list;
}

/* Rows; of attention a list of heads, each of rows. */
static json_t *numbers(const hd_exhibit_item *t)
{
    if (!t->heads) return rows(t, t->value);
    json_t *list = json_array();
    for (size_t h = 0; h < t->heads; h++)
        json_array_append_new(list, rows(t, t->value + h * t->rows * t->cols));
    return list;
}

static void add_items(json_t *all, const hd_exhibit *x, const char *only)
{
    json_t *matrices = json_object(), *formulas = json_object();
    for (size_t i = 0; i < x->items; i++) {
        const hd_exhibit_item *t = &x->item[i];
        if (only && fnmatch(only, t->name, 0)) continue;
        json_object_set_new(matrices, t->name, numbers(t));
        if (t->formula) json_object_set_new(formulas, t->name, json_string(t->formula));
    }
    json_object_set_new(all, "matrices", matrices);
    json_object_set_new(all, "formulas", formulas);
}

static json_t *distribution(const hd_exhibit *x, size_t answer)
{
    json_t *list = json_array();
    const char *key = x->kind == HD_EXHIBIT_LABELLER ? "label" : "token";
    for (size_t i = 0; i < x->tops; i++) {
        const hd_exhibit_choice *c = &x->top[answer * x->tops + i];
        json_t *one = json_object();
        json_object_set_new(one, key, json_string(c->token.piece));
        json_object_set_new(one, "id", json_integer(c->token.id));
        json_object_set_new(one, "p", json_real(c->p));
        if (!isnan(c->logit)) json_object_set_new(one, "logit", json_real(c->logit));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *masks(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->answers; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "place", json_integer((json_int_t)x->place[i]));
        json_object_set_new(one, "distribution", distribution(x, i));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *shares(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->shares; i++) {
        const hd_ngram_share *s = &x->share[i];
        json_t *one = json_object();
        json_object_set_new(one, "context",
                            pieces(x->read + x->reads - (size_t)s->context, (size_t)s->context));
        json_object_set_new(one, "seen", json_integer(s->seen));
        json_object_set_new(one, "total", json_integer(s->total));
        json_object_set_new(one, "kinds", json_integer(s->kinds));
        if (x->discounts) json_object_set_new(one, "discount", json_real(s->discount));
        if (x->discounts) json_object_set_new(one, "passed", json_real(s->passed));
        json_object_set_new(one, "p", json_real(s->p));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *features(const hd_exhibit *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < x->features; i++) {
        const hd_exhibit_feature *f = &x->feature[i];
        json_t *one = json_object();
        json_object_set_new(one, "context", json_integer((json_int_t)f->context));
        json_object_set_new(one, "bucket", json_integer((json_int_t)f->bucket));
        json_object_set_new(one, "weight", json_real(f->weight));
        json_array_append_new(list, one);
    }
    return list;
}

hd_status hd_exhibit_json(hd_text *to, const hd_exhibit *x, const char *only, hd_err *err)
{
    hd_json_begin();
    json_t *all = json_object();
    json_object_set_new(all, "model", json_string(x->model));
    json_object_set_new(all, "tokens", tokens(x));
    if (x->translation) json_object_set_new(all, "translation", json_string(x->translation));
    if (x->steps) json_object_set_new(all, "steps", steps(x));
    if (x->shown) json_object_set_new(all, "step", json_integer((json_int_t)x->shown));
    add_items(all, x, only);
    if (x->kind == HD_EXHIBIT_MASKED)
        json_object_set_new(all, "masks", masks(x));
    else
        json_object_set_new(all, "distribution", distribution(x, 0));
    if (x->shares) json_object_set_new(all, "shares", shares(x));
    if (x->features) json_object_set_new(all, "features", features(x));
    if (x->features) json_object_set_new(all, "bias", json_real(x->bias));
    return hd_explain_dump(to, all, err);
}
