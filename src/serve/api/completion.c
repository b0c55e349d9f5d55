/* What OpenAI's clients ask of a model that writes: fields are read and checked, and become a job. */
#include "serve/api/completion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"

enum { PROMPTS_MOST = 256, CHOICES_MOST = 128, EACH_MOST = 4, STOPS_MOST = 16 };

static const json_t *given(const hd_call *c, const char *name)
{
    const json_t *j = json_object_get(c->params, name);
    return j && !json_is_null(j) ? j : NULL;
}

/* All of these return false where a field is not as it should be, and that is answered. */

static bool read_real(hd_call *c, const char *name, double least, double most, float *out, bool *said)
{
    const json_t *j = given(c, name);
    double x = j ? json_number_value(j) : 0;
    if (!j) return true;
    if (!json_is_number(j) || !(x >= least && x <= most))
        return hd_call_fail(c, 400, "'%s' must be a number from %g to %g", name, least, most), false;
    *out = (float)x;
    if (said) *said = true;
    return true;
}

static bool read_count(hd_call *c, const char *name, long least, long most, size_t *out, bool *said)
{
    long x;
    if (!given(c, name)) return true;
    if (!hd_params_whole(c->params, name, least, most, 0, &x))
        return hd_call_fail(c, 400, "'%s' must be a whole number from %ld to %ld", name, least, most), false;
    *out = (size_t)x;
    if (said) *said = true;
    return true;
}

static bool read_flag(hd_call *c, const json_t *in, const char *name, bool *out)
{
    const json_t *j = json_object_get(in, name);
    if (in && !json_is_object(in) && !json_is_null(in))
        return hd_call_fail(c, 400, "what should hold '%s' is not an object", name), false;
    if (!j || json_is_null(j)) return true;
    if (!json_is_boolean(j)) return hd_call_fail(c, 400, "'%s' must be true or false", name), false;
    *out = json_is_true(j);
    return true;
}

static bool read_stops(hd_call *c, hd_completion *m)
{
    const json_t *j = given(c, "stop");
    size_t n = json_is_array(j) ? json_array_size(j) : j ? 1 : 0;
    const char **stop = n ? hd_call_take(c, n, sizeof *stop) : NULL;
    if (n && !stop) return false;
    if (n > STOPS_MOST) return hd_call_fail(c, 400, "'stop' may have %d texts", STOPS_MOST), false;
    for (size_t i = 0; i < n; i++) {
        stop[i] = json_string_value(json_is_array(j) ? json_array_get(j, i) : j);
        if (!stop[i] || !*stop[i])
            return hd_call_fail(c, 400, "'stop' must be a text or a list of texts, none of them empty"),
                   false;
    }
    m->job.opt.stop = stop, m->job.opt.stops = n;
    m->job.said.stop = n;
    return true;
}

static bool read_seed(hd_call *c, hd_generate_opt *o)
{
    const json_t *j = given(c, "seed");
    int64_t seed = 0;
    const int64_t most = 9000000000000000000;
    if (j && (!hd_params_integer(j, &seed) || seed < -most || seed > most))
        return hd_call_fail(c, 400, "'seed' must be a whole number of at most 63 bits"), false;
    struct timespec now = {0};
    if (seed == -1) j = NULL;            /* so llama-server's clients ask for any */
    clock_gettime(CLOCK_REALTIME, &now); /* whoever gives no seed wants another text each time */
    hd_rng rng = hd_rng_make((uint64_t)now.tv_nsec + (uint64_t)now.tv_sec * 1000000000u, c->request->id);
    o->seed = j ? (uint64_t)seed : hd_rng_u32(&rng);
    return true;
}

/* What would change texts and is not done here. */
static bool refuse_fields(hd_call *c, const hd_completion *m)
{
    static const char *const numbers[] = {"presence_penalty", "frequency_penalty"};
    static const char *const lists[] = {"logit_bias", "tools", "functions", "modalities", "audio"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const json_t *j = given(c, numbers[i]);
        if (j && (!json_is_number(j) || json_number_value(j) < 0 || json_number_value(j) > 0))
            return hd_call_fail(c, 400, "'%s' is not supported, but 'repetition_penalty' is", numbers[i]),
                   false;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *j = given(c, lists[i]);
        if (j && (!(json_is_object(j) || json_is_array(j)) || json_object_size(j) || json_array_size(j)))
            return hd_call_fail(c, 400, "'%s' is not supported", lists[i]), false;
    }
    const json_t *format = given(c, "response_format");
    const char *form = hd_params_text(format, "type");
    if (format && (!form || strcmp(form, "text")))
        return hd_call_fail(c, 400, "'response_format' must be text"), false;
    if (given(c, "suffix")) return hd_call_fail(c, 400, "'suffix' is not supported"), false;
    if (m->echo && m->job.opt.scores)
        return hd_call_fail(c, 400, "'echo' with 'logprobs' is not supported"), false;
    return true;
}

/* What llama-server does where a request says nothing. */
static void set_defaults(hd_completion *m)
{
    m->job.opt.temperature = 0.8F, m->job.opt.top_k = 40;
    m->job.opt.top_p = 0.95F, m->job.opt.min_p = 0.05F;
    m->job.said = (hd_generation_said){
        .temperature = true, .top_k = true, .top_p = true, .min_p = true, .tokens = true};
}

/* How tokens are drawn and texts end, for all interfaces. */
static bool read_drawing(hd_call *c, hd_completion *m)
{
    hd_generate_opt *o = &m->job.opt;
    hd_generation_said *said = &m->job.said;
    size_t of = 1;
    o->temperature = 1, o->samples = 1;
    if (m->llama) set_defaults(m);
    bool good = read_real(c, "temperature", 0, 2, &o->temperature, &said->temperature) &&
                read_real(c, "top_p", 0, 1, &o->top_p, &said->top_p) &&
                read_real(c, "min_p", 0, 1, &o->min_p, &said->min_p) &&
                read_count(c, "top_k", 0, 1000000, &o->top_k, &said->top_k) &&
                read_real(c, "repeat_penalty", 0.01, 100, &o->repetition, &said->repetition) &&
                read_real(c, "repetition_penalty", 0.01, 100, &o->repetition, &said->repetition) &&
                read_count(c, "max_tokens", 0, (long)c->desk->most_tokens, &o->tokens, &said->tokens) &&
                read_count(c, "n", 1, CHOICES_MOST, &o->samples, NULL) && read_stops(c, m) &&
                read_seed(c, o) && read_flag(c, c->params, "stream", &m->streams) &&
                read_flag(c, json_object_get(c->params, "stream_options"), "include_usage", &m->usage);
    if (!good) return false;
    if (said->top_p && !(o->top_p > 0)) o->top_p = 1e-9f; /* 0 stands for all of them otherwise */
    of = o->samples;
    if (!read_count(c, "best_of", 1, CHOICES_MOST, &of, NULL)) return false;
    if (of != o->samples) return hd_call_fail(c, 400, "'best_of' must be 'n'"), false;
    return true;
}

static hd_completion *new_completion(hd_call *c, bool chat)
{
    hd_completion *m = hd_call_take(c, 1, sizeof *m);
    if (!m) return NULL;
    m->call = c, m->chat = chat;
    m->job.job.kind = HD_JOB_GENERATE;
    m->created = (int64_t)time(NULL);
    snprintf(m->id, sizeof m->id, "%s-%llx%06llx", chat ? "chatcmpl" : "cmpl", (unsigned long long)m->created,
             (unsigned long long)c->request->id);
    atomic_init(&m->stage, HD_COMPLETION_WAITS);
    return m;
}

static void release(void *own)
{
    hd_completion *m = own;
    for (size_t i = 0; m->job.out && i < m->choices; i++) hd_generated_release(&m->job.out[i]);
    for (size_t i = 0; m->ids && i < m->job.prompts; i++) hd_ids_release(&m->ids[i]);
}

/* The job, once all is read. */
static void submit(hd_call *c, hd_completion *m, const hd_served *to)
{
    hd_generate_opt *o = &m->job.opt;
    size_t n = m->choices = m->job.prompts * o->samples;
    if (m->job.prompts > 1 && o->samples > EACH_MOST) {
        hd_call_fail(c, 400, "'n' must be at most %d with several prompts", EACH_MOST);
        return;
    }
    m->job.out = hd_call_take(c, n, sizeof *m->job.out);
    m->shown = m->job.out ? hd_call_take(c, n, sizeof *m->shown) : NULL;
    m->opened = m->shown ? hd_call_take(c, n, sizeof *m->opened) : NULL;
    if (!m->opened) return;
    m->job.job.tokens += n * (o->tokens < 256 ? o->tokens : 256);
    if (m->streams) {
        o->tell = hd_completion_tell, o->context = m;
        m->job.job.done = hd_completion_done, m->job.enough = hd_completion_enough, c->streams = true;
    }
    hd_call_submit(c, to->engine, &m->job.job);
}

/* -- completions -- */

static bool read_ids(hd_call *c, const hd_served *to, const json_t *list, hd_ids *ids)
{
    size_t vocab = hd_tokenizer_size(hd_engine_model(to->engine)->tokenizer[0]);
    hd_err err = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t id;
        if (!hd_params_integer(json_array_get(list, i), &id) || id < 0 || (uint64_t)id >= vocab)
            return hd_call_fail(c, 400, "'prompt' has a token that is not one of the model's %zu", vocab),
                   false;
        if (hd_ids_add(ids, (int32_t)id, &err)) return hd_call_fail(c, 503, "%s", err.text), false;
    }
    if (!ids->count) return hd_call_fail(c, 400, "'prompt' must not be empty"), false;
    return true;
}

/* A text, texts, tokens, or lists of tokens. */
static bool read_prompts(hd_call *c, hd_completion *m, const hd_served *to)
{
    const json_t *p = given(c, "prompt"), *first = json_array_get(p, 0);
    bool lists = json_is_array(p) && (json_is_string(first) || json_is_array(first));
    bool ids = json_is_number(first) || json_is_array(first);
    size_t n = lists ? json_array_size(p) : 1;
    if (n > PROMPTS_MOST) return hd_call_fail(c, 400, "'prompt' may have %d texts", PROMPTS_MOST), false;
    if (json_is_array(p) && !lists && !ids)
        return hd_call_fail(c, 400, "'prompt' must be a text or tokens, or a list of them"), false;
    hd_line *line = hd_call_take(c, n, sizeof *line);
    hd_ids *list = line && ids ? hd_call_take(c, n, sizeof *list) : NULL;
    if (!line || (ids && !list)) return false;
    m->job.prompts = n, m->job.prompt = line, m->ids = list, m->job.ids = list;
    for (size_t i = 0; i < n; i++) {
        const json_t *one = lists ? json_array_get(p, i) : p;
        if (ids && !(json_is_array(one) && read_ids(c, to, one, &list[i]))) {
            if (!json_is_array(one)) hd_call_fail(c, 400, "'prompt' mixes texts and tokens");
            return false;
        }
        if (!ids && one && !json_is_string(one))
            return hd_call_fail(c, 400, "'prompt' must be a text or tokens, or a list of them"), false;
        line[i] = ids || !one ? (hd_line){"", 0} : (hd_line){json_string_value(one), json_string_length(one)};
        m->job.job.tokens += ids ? list[i].count : line[i].size / 3 + 1;
    }
    return true;
}

void hd_completion_begin(hd_call *c)
{
    const hd_served *to = hd_openai_model(c, HD_JOB_GENERATE);
    hd_completion *m = to ? new_completion(c, false) : NULL;
    if (!m) return;
    hd_generate_opt *o = &m->job.opt;
    c->own = m, c->release = release;
    o->tokens = c->desk->most_tokens < 16 ? c->desk->most_tokens : 16, m->job.said.tokens = true;
    if (read_drawing(c, m) && read_flag(c, c->params, "echo", &m->echo) &&
        read_count(c, "logprobs", 0, 20, &o->likeliest, &o->scores) && refuse_fields(c, m) &&
        read_prompts(c, m, to))
        submit(c, m, to);
}

/* -- llama-server's -- */

/* The one that is named, or else the first that writes. */
static const hd_served *writer_of(hd_call *c)
{
    const hd_models *m = &c->desk->models;
    if (given(c, "model")) return hd_openai_model(c, HD_JOB_GENERATE);
    for (size_t i = 0; i < m->count; i++)
        if (hd_engine_takes(m->at[i].engine, HD_JOB_GENERATE)) return &m->at[i];
    return hd_call_fail(c, 501, "there is no language model here"), NULL;
}

void hd_completion_begin_llama(hd_call *c)
{
    const hd_served *to = writer_of(c);
    hd_completion *m = to ? new_completion(c, false) : NULL;
    long tokens;
    if (!m) return;
    hd_generate_opt *o = &m->job.opt;
    const long most = (long)c->desk->most_tokens,
               context = (long)hd_model_folder_lm(hd_engine_model(to->engine))->opt.context;
    m->llama = true;
    c->own = m, c->release = release;
    if (!given(c, "prompt")) {
        hd_call_fail(c, 400, "'prompt' must be provided");
        return;
    }
    if (!hd_params_whole(c->params, "n_predict", -1, most, -1, &tokens)) {
        hd_call_fail(c, 400, "'n_predict' must be a whole number from -1 to %ld", most);
        return;
    }
    if (!read_drawing(c, m) || !read_count(c, "n_probs", 0, 20, &o->likeliest, NULL) ||
        !refuse_fields(c, m) || !read_prompts(c, m, to))
        return;
    if (m->job.prompts != 1 || o->samples != 1) {
        hd_call_fail(c, 400, "one 'prompt' and one text are possible: /v1/completions has several");
        return;
    }
    o->tokens = (size_t)(tokens >= 0 ? tokens : context < most ? context : most);
    o->scores = o->likeliest > 0;
    submit(c, m, to);
}

/* -- chat -- */

/* Texts of a message's content, one behind the other; NULL: that is answered. */
static json_t *content_of(hd_call *c, const json_t *content)
{
    hd_text all = {0};
    if (json_is_string(content)) return json_incref((json_t *)(uintptr_t)content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        const char *type = hd_params_text(part, "type");
        const json_t *text = json_object_get(part, "text");
        if (!type || strcmp(type, "text") || !json_is_string(text)) {
            hd_text_release(&all);
            return hd_call_fail(c, 400, "'content' must be a text, or a list of parts of type text"), NULL;
        }
        hd_text_add(&all, json_string_value(text), json_string_length(text));
    }
    if (!json_is_array(content) && content && !json_is_null(content))
        return hd_call_fail(c, 400, "'content' must be a text, or a list of parts of type text"), NULL;
    json_t *s = json_stringn(all.data ? all.data : "", all.size);
    hd_text_release(&all);
    if (!s) hd_call_fail(c, 503, "out of memory");
    return s;
}

/* Makes messages what templates read: {"role", "content"}, both texts. */
static bool read_messages(hd_call *c, hd_completion *m)
{
    static const char *const roles[] = {"system", "developer", "user", "assistant", "tool"};
    const json_t *list = given(c, "messages");
    size_t n = json_array_size(list);
    if (!n || n > c->desk->most_texts)
        return hd_call_fail(c, 400, "'messages' must be a list of 1 to %zu messages", c->desk->most_texts),
               false;
    for (size_t i = 0; i < n; i++) {
        json_t *one = json_array_get(list, i);
        const char *role = hd_params_text(one, "role");
        size_t k = 0;
        while (role && k < sizeof roles / sizeof *roles && strcmp(role, roles[k])) k++;
        if (!role || k == sizeof roles / sizeof *roles)
            return hd_call_fail(c, 400, "messages[%zu].role must be system, user or assistant", i), false;
        json_t *content = content_of(c, json_object_get(one, "content"));
        if (!content) return false;
        m->job.job.tokens += json_string_length(content) / 3 + 4;
        bool set = !json_object_set_new(one, "content", content);
        if (k == 1) set = set && !json_object_set_new(one, "role", json_string("system"));
        if (!set) return hd_call_fail(c, 503, "out of memory"), false;
    }
    m->job.messages = list, m->job.prompts = 1;
    return true;
}

void hd_completion_begin_chat(hd_call *c)
{
    const hd_served *to = hd_openai_model(c, HD_JOB_GENERATE);
    hd_completion *m = to ? new_completion(c, true) : NULL;
    if (!m) return;
    hd_generate_opt *o = &m->job.opt;
    size_t top = 0;
    c->own = m, c->release = release;
    o->tokens = c->desk->most_tokens; /* or as many as fit */
    if (read_drawing(c, m) && read_flag(c, c->params, "logprobs", &o->scores) &&
        read_count(c, "max_completion_tokens", 0, (long)c->desk->most_tokens, &o->tokens,
                   &m->job.said.tokens) &&
        read_count(c, "top_logprobs", 0, 20, &top, NULL) && refuse_fields(c, m) && read_messages(c, m)) {
        o->likeliest = o->scores ? top : 0;
        submit(c, m, to);
    }
}

void hd_completion_finish(hd_call *c)
{
    hd_completion *m = c->own;
    hd_text out = {0};
    if (!hd_call_done(c, m->streams && atomic_load(&m->stage) == HD_COMPLETION_SENT)) return;
    if (m->streams) {
        hd_request_put_header(c->request, "Cache-Control", "no-cache");
        hd_request_put_header(c->request, "X-Accel-Buffering", "no");
        hd_request_stream(c->request, 200, "text/event-stream", c->job->deadline);
        return;
    }
    hd_completion_write(m, &out);
    hd_call_answer(c, &out);
}
