/* The interface of text-embeddings-inference (TEI), with the first model that does such work: vectors, and
   words in place of masks, which Hugging Face's interface calls fill-mask; predict.c has labels. */
#include "serve/api/tei.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "task/masked/masked.h"

enum { CHOICES = 5, CHOICES_MOST = 100 };

static void write_error(hd_text *to, int status, const char *text)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "error", text);
    hd_member_text(to, "error_type",
                   status == 429 || status == 503 ? "Overloaded"
                   : status >= 500                ? "Backend"
                   : status == 424                ? "Backend"
                   : strstr(text, "be empty")     ? "Empty"
                                                  : "Validation");
    hd_text_put(to, "}\n");
}

/* The inputs, a text or a list of them; false: that is answered. */
static bool read_inputs(hd_call *c, hd_line **to, size_t *count, bool *list, size_t *tokens)
{
    const json_t *inputs = json_object_get(c->params, "inputs");
    *list = json_is_array(inputs);
    *count = *list ? json_array_size(inputs) : 1;
    if (!*count) return hd_call_fail(c, 400, "`inputs` cannot be empty"), false;
    if (*count > HD_TEI_INPUTS || (!*list && !json_is_string(inputs)))
        return hd_call_fail(c, 422, "`inputs` must be a text or a list of 1 to %d texts", HD_TEI_INPUTS),
               false;
    hd_line *line = *to = hd_call_take(c, *count, sizeof *line);
    for (size_t i = 0; line && i < *count; i++) {
        const json_t *one = *list ? json_array_get(inputs, i) : inputs;
        if (!json_is_string(one)) return hd_call_fail(c, 422, "`inputs` must hold texts"), false;
        if (!json_string_length(one)) return hd_call_fail(c, 400, "`inputs` cannot be empty"), false;
        line[i] = (hd_line){json_string_value(one), json_string_length(one)};
        *tokens += line[i].size / 3 + 1;
    }
    return line;
}

bool hd_tei_flag(hd_call *c, const char *name, bool otherwise, bool *to)
{
    const json_t *v = json_object_get(c->params, name);
    *to = v && !json_is_null(v) ? json_is_true(v) : otherwise;
    if (!v || json_is_null(v) || json_is_boolean(v)) return true;
    return hd_call_fail(c, 422, "`%s` must be true or false", name), false;
}

const hd_served *hd_tei_model(hd_call *c, bool (*does)(const hd_served *m), const char *what)
{
    const hd_models *m = &c->desk->models;
    const json_t *given = json_object_get(c->params, "model");
    const char *name = json_string_value(given);
    if (given && !name && !json_is_null(given))
        return hd_call_fail(c, 422, "`model` must be the name of a model"), NULL;
    for (size_t i = 0; i < m->count; i++)
        if ((!name || !strcmp(m->at[i].name, name)) && does(&m->at[i])) return &m->at[i];
    if (name) return hd_call_fail(c, 422, "there is no model '%.100s' for %s", name, what), NULL;
    return hd_call_fail(c, 424, "there is no model for %s", what), NULL;
}

/* -- embed -- */

typedef struct vectors {
    hd_embed_job job;
    size_t dimensions;
    bool normalize;
} vectors;

static void release_vectors(void *own)
{
    hd_mem_free(((vectors *)own)->job.vector);
}

static bool embeds(const hd_served *m)
{
    return hd_engine_takes(m->engine, HD_JOB_EMBED);
}

static void embed(hd_call *c)
{
    bool list, truncate;
    long dimensions;
    hd_line *line;
    const hd_served *m = hd_tei_model(c, embeds, "vectors");
    vectors *v = m ? hd_call_take(c, 1, sizeof *v) : NULL;
    if (!v) return;
    v->job.job.kind = HD_JOB_EMBED;
    c->own = v, c->release = release_vectors;
    if (!read_inputs(c, &line, &v->job.lines, &list, &v->job.job.tokens) ||
        !hd_tei_flag(c, "normalize", true, &v->normalize) || !hd_tei_flag(c, "truncate", false, &truncate))
        return;
    if (!hd_params_whole(c->params, "dimensions", 1, 1 << 20, 1 << 20, &dimensions)) {
        hd_call_fail(c, 422, "`dimensions` must be a number above 0");
        return;
    }
    v->job.line = line, v->dimensions = (size_t)dimensions;
    hd_call_submit(c, m->engine, &v->job.job);
}

static void embedded(hd_call *c)
{
    const vectors *v = c->own;
    size_t n = v->dimensions < v->job.width ? v->dimensions : v->job.width;
    hd_text out = {0};
    hd_member_begin(&out, NULL, '[');
    for (size_t i = 0; i < v->job.lines; i++) {
        const float *x = v->job.vector + i * v->job.width;
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += (double)x[k] * (double)x[k];
        double by = v->normalize && sum > 0 ? 1 / sqrt(sum) : 1;
        hd_member_begin(&out, NULL, '[');
        for (size_t k = 0; k < n; k++) hd_member_number(&out, NULL, by * (double)x[k], 9);
        hd_member_end(&out, ']');
    }
    hd_member_end(&out, ']');
    hd_call_answer(c, &out);
}

/* -- fill-mask -- */

typedef struct filling {
    hd_job job;
    hd_line *line;
    size_t lines, top;
    bool list;
    hd_text json;
} filling;

static void release_filling(void *own)
{
    hd_text_release(&((filling *)own)->json);
}

/* The text with a word in place of the mask of this number. */
static void put_sequence(hd_text *to, hd_line line, size_t mask, const char *word)
{
    hd_text whole = {0};
    const size_t known = strlen(HD_MASK_TEXT);
    const char *at = line.text, *end = line.text + line.size;
    for (const char *next; (next = memmem(at, (size_t)(end - at), HD_MASK_TEXT, known)); at = next + known) {
        hd_text_add(&whole, at, (size_t)(next - at));
        hd_text_put(&whole, mask-- ? HD_MASK_TEXT : word);
    }
    hd_text_add(&whole, at, (size_t)(end - at));
    hd_member_bytes(to, "sequence", whole.data ? whole.data : "", whole.size);
    if (whole.missed) to->missed = whole.missed;
    hd_text_release(&whole);
}

static hd_status put_choice(hd_text *to, const hd_model_folder *f, hd_line line, size_t mask, hd_filling one,
                            hd_err *err)
{
    hd_text word = {0};
    hd_status s = hd_tokenizer_decode(f->tokenizer[0], &one.id, 1, &word, err);
    hd_member_begin(to, NULL, '{');
    hd_member_number(to, "score", one.p, 9);
    hd_member_count(to, "token", (size_t)one.id);
    hd_member_text(to, "token_str", word.data ? word.data : "");
    put_sequence(to, line, mask, word.data ? word.data : "");
    hd_member_end(to, '}');
    hd_text_release(&word);
    return s;
}

/* One mask gives a list of choices, several a list of such lists. */
static hd_status put_line(hd_text *to, hd_run *r, const hd_model_folder *f, hd_line line, size_t top,
                          hd_err *err)
{
    hd_filled found = {0};
    hd_status s = hd_masked_fill(&found, r, f, line, top, err);
    if (!s && found.masks > 1) hd_member_begin(to, NULL, '[');
    for (size_t i = 0; !s && i < found.masks; i++) {
        hd_member_begin(to, NULL, '[');
        for (size_t k = 0; !s && k < found.top; k++)
            s = put_choice(to, f, line, i, found.choice[i * found.top + k], err);
        hd_member_end(to, ']');
    }
    if (!s && found.masks > 1) hd_member_end(to, ']');
    hd_filled_release(&found);
    return s;
}

static hd_status fill_lines(hd_job *j, hd_run *r, const hd_model_folder *f, hd_err *err)
{
    filling *a = (filling *)j;
    hd_status s = hd_masked_fill_check(f, err);
    if (a->list) hd_member_begin(&a->json, NULL, '[');
    for (size_t i = 0; !s && i < a->lines; i++) {
        if (hd_job_over(j)) return hd_err_set(err, HD_ELIMIT, "nobody waits any more");
        s = put_line(&a->json, r, f, a->line[i], a->top, err);
    }
    if (a->list) hd_member_end(&a->json, ']');
    return s ? s : hd_text_status(&a->json, err);
}

bool hd_tei_fills(const hd_served *m)
{
    hd_err none = {0};
    const hd_model_folder *f = hd_engine_model(m->engine);
    return f->task->id == HD_TRAIN_MLM && !hd_masked_fill_check(f, &none);
}

static void fill_mask(hd_call *c)
{
    long top;
    const hd_served *m = hd_tei_model(c, hd_tei_fills, "masks");
    filling *a = m ? hd_call_take(c, 1, sizeof *a) : NULL;
    if (!a) return;
    c->own = a, c->release = release_filling;
    if (!read_inputs(c, &a->line, &a->lines, &a->list, &a->job.tokens)) return;
    if (!hd_params_whole(c->params, "top_k", 1, CHOICES_MOST, CHOICES, &top)) {
        hd_call_fail(c, 422, "`top_k` must be a number from 1 to %d", CHOICES_MOST);
        return;
    }
    a->top = (size_t)top, a->job.visit = fill_lines;
    hd_call_submit(c, m->engine, &a->job);
}

static void filled(hd_call *c)
{
    hd_call_answer(c, &((filling *)c->own)->json);
}

static const hd_endpoint routes[] = {
    {"POST", "/embed", embed, embedded, false},
    {"POST", "/fill-mask", fill_mask, filled, false},
    {"POST", "/predict", hd_tei_predict, hd_tei_predicted, false},
    {"POST", "/rerank", hd_tei_rerank, hd_tei_reranked, false},
    {"POST", "/v1/rerank", hd_tei_rerank, hd_tei_reranked, false},
    {0},
};

const hd_protocol hd_protocol_tei = {routes, write_error, .no_key = 401, .wrong_key = 401};
