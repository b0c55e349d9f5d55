/* The worked example as JSON. Jansson's setters take NULL and fail, so that a missing block is noticed once,
   at the end. */
#include "view/explain/explain_json.h"

#include <fnmatch.h>
#include <math.h>

enum { DIGITS = 9 };

static json_t *number(double v)
{
    return isinf(v) ? hd_json_string(v < 0 ? "-inf" : "inf") : hd_json_real(v);
}

static json_t *numbers(const hd_real *v, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) hd_json_append(list, number((double)v[i]));
    return list;
}

json_t *hd_explain_rows(const hd_real *v, size_t rows, size_t cols)
{
    json_t *list = json_array();
    for (size_t i = 0; i < rows; i++) hd_json_append(list, numbers(v + i * cols, cols));
    return list;
}

/* Rows; a flat list for a vector. */
static json_t *matrix(const hd_explain_matrix *m, const hd_real *v)
{
    return hd_lecture_is_vector(m->of) ? numbers(v, m->rows * m->cols) : hd_explain_rows(v, m->rows, m->cols);
}

static json_t *matrices(const hd_explain *x, const char *only, bool gradients)
{
    json_t *all = json_object();
    for (size_t i = 0; i < x->matrices; i++) {
        const hd_explain_matrix *m = &x->matrix[i];
        if ((only && fnmatch(only, m->of->name, 0)) || (gradients && !m->gradient)) continue;
        hd_json_set(all, m->of->name, matrix(m, gradients ? m->gradient : m->value));
    }
    return all;
}

static json_t *words(const int32_t *ids, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        hd_json_append(list, hd_json_string(hd_lecture_words[ids ? (size_t)ids[i] : i]));
    return list;
}

static json_t *tokens(void)
{
    const hd_lecture_pair *pair = &hd_lecture_pairs[0];
    const int32_t reads[HD_LECTURE_LENGTH] = {HD_LECTURE_SOS, pair->target[0], pair->target[1]};
    json_t *all = json_object();
    hd_json_set(all, "source", words(pair->source, HD_LECTURE_LENGTH));
    hd_json_set(all, "target_in", words(reads, HD_LECTURE_LENGTH));
    hd_json_set(all, "target_out", words(pair->target, HD_LECTURE_LENGTH));
    hd_json_set(all, "vocabulary", words(NULL, HD_LECTURE_VOCAB));
    return all;
}

static void add_training(json_t *all, const hd_explain *x)
{
    char text[64];
    json_t *losses = json_array(), *answers = json_array();
    for (size_t i = 0; i < x->steps; i++) {
        json_t *both = json_array();
        hd_json_append(losses, hd_json_real(x->step[i].loss));
        for (int k = 0; k < HD_LECTURE_PAIRS; k++)
            hd_json_append(both, hd_json_string(hd_explain_words(x->step[i].answer[k], text, sizeof text)));
        hd_json_append(answers, both);
    }
    hd_json_set(all, "losses", losses);
    hd_json_set(all, "answers", answers);
}

hd_status hd_explain_dump(hd_text *to, json_t *all, hd_err *err)
{
    hd_status s = hd_json_write(to, all, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS), err);
    hd_text_put(to, "\n");
    return s ? s : hd_text_status(to, err);
}

hd_status hd_explain_json(hd_text *to, const hd_explain *x, const char *only, hd_err *err)
{
    hd_json_begin();
    json_t *all = json_object();
    hd_json_set(all, "tokens", tokens());
    hd_json_set(all, "matrices", matrices(x, only, false));
    hd_json_set(all, "loss", hd_json_real(x->loss));
    if (x->backward) hd_json_set(all, "gradients", matrices(x, only, true));
    if (x->steps) add_training(all, x);
    return hd_explain_dump(to, all, err);
}
