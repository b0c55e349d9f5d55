/* What is asked about a text. */
#include "serve/api/inspect.h"

#include <string.h>

static void release(void *own)
{
    hd_text_release(&((hd_inspect_job *)own)->json);
}

static bool is_over(void *job)
{
    return hd_job_rests(job);
}

/* -- numbers -- */

static bool read_real(hd_call *c, const char *name, double least, double most, double fallback, double *out)
{
    const json_t *v = json_object_get(c->params, name);
    bool good = true;
    *out = fallback;
    if (!v || json_is_null(v)) return true;
    if (json_is_number(v))
        *out = json_number_value(v);
    else if (json_is_string(v) && hd_params_is_form(c->params))
        good = hd_real_of(json_string_value(v), json_string_length(v), out);
    else
        good = false;
    if (good && *out >= least && *out <= most) return true;
    return hd_call_fail(c, 400, "'%s' must be a number from %g to %g", name, least, most), false;
}

static bool read_whole(hd_call *c, const char *name, long least, long most, long fallback, long *out)
{
    if (hd_params_whole(c->params, name, least, most, fallback, out)) return true;
    return hd_call_fail(c, 400, "'%s' must be a whole number from %ld to %ld", name, least, most), false;
}

static bool read_size(hd_call *c, const char *name, long most, size_t fallback, size_t *out)
{
    long n;
    if (!read_whole(c, name, 0, most, (long)fallback, &n)) return false;
    *out = (size_t)n;
    return true;
}

/* -- the text, and what is forced -- */

static bool read_model(hd_call *c, hd_inspect_job *j)
{
    const json_t *given = json_object_get(c->params, "model");
    const char *name = json_string_value(given);
    const hd_models *m = &c->desk->models;
    if (given && !name && !json_is_null(given))
        return hd_call_fail(c, 400, "'model' must be the name of a model"), false;
    j->model = name ? hd_models_named(m, name) : m->count ? &m->at[0] : NULL;
    if (!j->model) hd_call_fail(c, 404, "The model '%.100s' does not exist", name ? name : "");
    return j->model;
}

static bool read_text(hd_call *c, hd_inspect_job *j)
{
    const json_t *v = json_object_get(c->params, "text");
    if (!json_is_string(v)) return hd_call_fail(c, 400, "'text' is required: what is to be read"), false;
    j->ask.text = (hd_line){json_string_value(v), json_string_length(v)};
    if (j->ask.text.size <= HD_INSPECT_BYTES) return true;
    return hd_call_fail(c, 413, "'text' has %zu bytes: at most %d are explained at a time", j->ask.text.size,
                        HD_INSPECT_BYTES),
           false;
}

/* A text, or ids as an answer before had them. */
static bool read_forced(hd_call *c, hd_inspect_job *j, const char *name, bool whole)
{
    const json_t *v = json_object_get(c->params, name);
    size_t n = json_array_size(v);
    if (!v || json_is_null(v)) return true;
    j->ask.whole = whole;
    if (json_is_string(v) && json_string_length(v) <= HD_INSPECT_BYTES) {
        j->ask.forced_text = (hd_line){json_string_value(v), json_string_length(v)};
        return true;
    }
    if (!json_is_array(v) || n > HD_INSPECT_TOKENS)
        return hd_call_fail(c, 400, "'%s' must be a text or a list of at most %d tokens", name,
                            HD_INSPECT_TOKENS),
               false;
    const hd_tokenizer *t = hd_engine_model(j->model->engine)->tokenizer[1];
    int32_t *ids = hd_call_take(c, n + 1, sizeof *ids);
    if (!ids) return false;
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        if (!hd_params_integer(json_array_get(v, i), &id) || id < 0 || id > INT32_MAX)
            return hd_call_fail(c, 400, "'%s' must have whole numbers: tokens of an answer", name), false;
        if (t && (uint64_t)id >= hd_tokenizer_size(t))
            return hd_call_fail(c, 404, "there is no token %lld", (long long)id), false;
        ids[i] = (int32_t)id;
    }
    j->ask.forced = ids, j->ask.forced_count = n;
    return true;
}

static bool read_heads(hd_call *c, hd_inspect_job *j)
{
    const json_t *v = json_object_get(c->params, "heads");
    if (!v || json_is_null(v)) return true;
    if (!json_is_string(v) || json_string_length(v) > HD_INSPECT_HEADS)
        return hd_call_fail(c, 400, "'heads' must be a list of factors, as enc.2.self.5=0,dec.0.cross.1=0.5"),
               false;
    j->ask.heads = json_string_value(v);
    return true;
}

/* -- how -- */

/* "none", "average", or a number: the exponent of GNMT's penalty. */
static bool read_penalty(hd_call *c, hd_search_opt *o)
{
    const char *text = hd_params_text(c->params, "length_penalty");
    double alpha;
    for (int k = 0; text && k < HD_LENGTHS; k++)
        if (!strcmp(text, hd_length_names[k])) {
            o->length = (hd_length){.kind = (hd_length_kind)k, .alpha = 0.6};
            return true;
        }
    if (!read_real(c, "length_penalty", -10, 10, -100, &alpha)) return false;
    if (alpha >= -10)
        o->length = (hd_length){.kind = alpha == 0 ? HD_LENGTH_NONE : HD_LENGTH_GNMT, .alpha = alpha};
    return true;
}

static bool read_search(hd_call *c, hd_inspect_job *j)
{
    hd_inspect_ask *q = &j->ask;
    hd_search_opt *o = &q->search;
    double temperature, top_p;
    long seed;
    *o = hd_engine_options(j->model->engine)->translate.search;
    size_t beam = o->beam && o->beam <= HD_INSPECT_BEAM ? o->beam : 1;
    if (!read_size(c, "beam", HD_INSPECT_BEAM, beam, &o->beam) || !read_penalty(c, o) ||
        !read_real(c, "temperature", 0, 10, 0, &temperature) || !read_real(c, "top_p", 0, 1, 0, &top_p) ||
        !read_size(c, "top_k", INT32_MAX, 0, &q->top_k) || !read_whole(c, "seed", 0, INT32_MAX, 1, &seed) ||
        !read_size(c, "tokens", HD_INSPECT_WRITTEN, 20, &q->tokens) ||
        !read_size(c, "top", HD_INSPECT_TOP, 10, &q->top) || !read_size(c, "part", 10000, 0, &q->part))
        return false;
    q->temperature = (float)temperature, q->top_p = (float)top_p, q->seed = (uint64_t)seed;
    o->kind = temperature > 0 ? HD_SEARCH_SAMPLE : o->beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY;
    o->best = o->kind == HD_SEARCH_BEAM ? o->beam : 1;
    o->temperature = q->temperature, o->top_p = q->top_p, o->top_k = q->top_k, o->seed = q->seed;
    return true;
}

void hd_inspect_begin(hd_call *c, hd_status (*visit)(hd_job *, hd_run *, const hd_model_folder *, hd_err *),
                      bool (*prepare)(hd_call *c, hd_inspect_job *j))
{
    hd_inspect_job *j = hd_call_take(c, 1, sizeof *j);
    if (!j) return;
    c->own = j, c->release = release;
    j->job.visit = visit;
    j->ask.longest = HD_INSPECT_TOKENS;
    j->ask.over = is_over, j->ask.context = &j->job;
    if (!read_model(c, j) || !read_text(c, j) || !read_forced(c, j, "prefix", false) ||
        !read_forced(c, j, "target", true) || !read_heads(c, j) || !read_search(c, j) ||
        (prepare && !prepare(c, j)))
        return;
    j->job.tokens = j->ask.text.size / 3 + j->ask.tokens + 1;
    hd_call_submit(c, j->model->engine, &j->job);
}

void hd_inspect_finish(hd_call *c)
{
    hd_call_answer(c, &((hd_inspect_job *)c->own)->json);
}
