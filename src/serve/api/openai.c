/* OpenAI's interface: the list of models, and vectors of texts; api/completion.h has what models write. */
#include "serve/api/openai.h"

#include <string.h>

#include "base/mem.h"
#include "serve/api/completion.h"

enum { INPUTS_MOST = 2048 };

void hd_openai_error(hd_text *to, int status, const char *text)
{
    hd_text_put(to, "{"); /* whatever stands before it */
    hd_member_begin(to, "error", '{');
    hd_member_text(to, "message", text);
    hd_member_text(to, "type",
                   status == 401   ? "authentication_error"
                   : status == 404 ? "not_found_error"
                   : status < 500  ? "invalid_request_error"
                                   : "unavailable_error");
    hd_member_text(to, "param", NULL);
    hd_member_text(to, "code", status == 401 ? "invalid_api_key" : status == 404 ? "model_not_found" : NULL);
    hd_text_put(to, "}}");
}

static void write_error(hd_text *to, int status, const char *text)
{
    hd_openai_error(to, status, text);
    hd_text_put(to, "\n");
}

/* -- models -- */

static void put_model(hd_text *to, const hd_call *c, const hd_served *m)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "id", m->name);
    hd_member_text(to, "object", "model");
    hd_member_count(to, "created", (size_t)c->desk->began);
    hd_member_text(to, "owned_by", "heed");
    hd_member_end(to, '}');
}

static void list_models(hd_call *c)
{
    const hd_models *m = &c->desk->models;
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    hd_member_text(&out, "object", "list");
    hd_member_begin(&out, "data", '[');
    for (size_t i = 0; i < m->count; i++) put_model(&out, c, &m->at[i]);
    hd_text_put(&out, "]}");
    hd_call_answer(c, &out);
}

/* The path behind the route's, which ends with a slash; names may have slashes. */
static void one_model(hd_call *c)
{
    const char *name = c->request->path + strlen("/v1/models/");
    const hd_served *m = hd_models_named(&c->desk->models, name);
    hd_text out = {0};
    if (!m) {
        hd_call_fail(c, 404, "The model '%.100s' does not exist", name);
        return;
    }
    put_model(&out, c, m);
    hd_call_answer(c, &out);
}

const hd_served *hd_openai_model(hd_call *c, hd_job_kind kind)
{
    const char *name = hd_params_text(c->params, "model");
    if (!name) return hd_call_fail(c, 400, "you must provide a model parameter"), NULL;
    const hd_served *m = hd_models_named(&c->desk->models, name);
    if (!m) return hd_call_fail(c, 404, "The model '%.100s' does not exist", name), NULL;
    if (hd_engine_takes(m->engine, kind)) return m;
    return hd_call_fail(c, 400, "The model '%.100s' cannot do that: it is %s", name,
                        hd_engine_model(m->engine)->task->what),
           NULL;
}

/* -- embeddings -- */

typedef struct vectors {
    hd_embed_job job;
    size_t dimensions; /* numbers of each */
    bool base64;
} vectors;

static void release_vectors(void *own)
{
    hd_mem_free(((vectors *)own)->job.vector);
}

/* A text, or a list of them; false: that is answered. */
static bool read_inputs(hd_call *c, vectors *v)
{
    const json_t *input = json_object_get(c->params, "input");
    bool list = json_is_array(input);
    size_t n = list ? json_array_size(input) : 1;
    if (!n || n > INPUTS_MOST || (!list && !json_is_string(input)))
        return hd_call_fail(c, 400, "'input' must be a text or a list of 1 to %d texts", INPUTS_MOST), false;
    hd_line *line = hd_call_take(c, n, sizeof *line);
    if (!line) return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = list ? json_array_get(input, i) : input;
        if (json_is_integer(one) || json_is_array(one))
            return hd_call_fail(c, 400,
                                "'input' must be texts: numbers of tokens are those of another tokenizer "
                                "(LangChain: check_embedding_ctx_length=False)"),
                   false;
        if (!json_is_string(one) || !json_string_length(one))
            return hd_call_fail(c, 400, "'input' must not be empty"), false;
        line[i] = (hd_line){json_string_value(one), json_string_length(one)};
        v->job.job.tokens += line[i].size / 3 + 1;
    }
    v->job.line = line, v->job.lines = n;
    return true;
}

static void embeddings(hd_call *c)
{
    const json_t *given = json_object_get(c->params, "encoding_format");
    const char *format = json_string_value(given);
    const hd_served *m = hd_openai_model(c, HD_JOB_EMBED);
    long dimensions;
    vectors *v = m ? hd_call_take(c, 1, sizeof *v) : NULL;
    if (!v) return;
    c->own = v, c->release = release_vectors;
    v->job.job.kind = HD_JOB_EMBED;
    if (!read_inputs(c, v)) return;
    v->base64 = format && !strcmp(format, "base64");
    if (given && !json_is_null(given) && !v->base64 && (!format || strcmp(format, "float")))
        hd_call_fail(c, 400, "'encoding_format' must be float or base64");
    else if (!hd_params_whole(c->params, "dimensions", 1, 1 << 20, 1 << 20, &dimensions))
        hd_call_fail(c, 400, "'dimensions' must be a number above 0");
    else {
        v->dimensions = (size_t)dimensions;
        hd_call_submit(c, m->engine, &v->job.job);
    }
}

static void put_vector(hd_text *to, const vectors *v, size_t i)
{
    const float *x = v->job.vector + i * v->job.width;
    size_t n = v->dimensions < v->job.width ? v->dimensions : v->job.width;
    if (v->base64) { /* of little-endian numbers, as this machine has them */
        hd_member_key(to, "embedding");
        hd_text_put(to, "\"");
        hd_text_base64(to, x, n * sizeof *x);
        hd_text_put(to, "\"");
        return;
    }
    hd_member_begin(to, "embedding", '[');
    for (size_t k = 0; k < n; k++) hd_member_number(to, NULL, (double)x[k], 9);
    hd_member_end(to, ']');
}

static void embedded(hd_call *c)
{
    const vectors *v = c->own;
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    hd_member_text(&out, "object", "list");
    hd_member_begin(&out, "data", '[');
    for (size_t i = 0; i < v->job.lines; i++) {
        hd_member_begin(&out, NULL, '{');
        hd_member_text(&out, "object", "embedding");
        hd_member_count(&out, "index", i);
        put_vector(&out, v, i);
        hd_member_end(&out, '}');
    }
    hd_member_end(&out, ']');
    hd_member_text(&out, "model", hd_params_text(c->params, "model"));
    hd_member_begin(&out, "usage", '{');
    hd_member_count(&out, "prompt_tokens", v->job.read);
    hd_member_count(&out, "total_tokens", v->job.read);
    hd_text_put(&out, "}}");
    hd_call_answer(c, &out);
}

static const hd_endpoint routes[] = {
    {"GET", "/v1/models", list_models, NULL, false},
    {"GET", "/v1/models/", one_model, NULL, false},
    {"POST", "/v1/embeddings", embeddings, embedded, false},
    {"POST", "/v1/completions", hd_completion_begin, hd_completion_finish, false},
    {"POST", "/v1/chat/completions", hd_completion_begin_chat, hd_completion_finish, false},
    {0},
};

const hd_protocol hd_protocol_openai = {routes, write_error, .prefix = "/v1/", .no_key = 401,
                                        .wrong_key = 401};
