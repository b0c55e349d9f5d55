/* Of llama-server's interface: completions, tokens of texts, texts of tokens, and what is served. `model`
   names one of several models; without it the first is meant. */
#include <string.h>

#include "serve/api/completion.h"
#include "serve/api/token.h"
#include "task/language/chat/form.h"

static void write_error(hd_text *to, int status, const char *text)
{
    hd_member_begin(to, NULL, '{');
    hd_member_begin(to, "error", '{');
    hd_member_count(to, "code", (size_t)status);
    hd_member_text(to, "message", text);
    hd_member_text(to, "type",
                   status == 401   ? "authentication_error"
                   : status == 404 ? "not_found_error"
                   : status < 500  ? "invalid_request_error"
                                   : "unavailable_error");
    hd_text_put(to, "}}\n");
}

/* NULL: that is answered. */
static const hd_served *model_of(hd_call *c)
{
    const json_t *given = json_object_get(c->params, "model");
    const char *name = json_string_value(given);
    if (given && !name && !json_is_null(given))
        return hd_call_fail(c, 400, "'model' must be the name of a model"), NULL;
    const hd_served *m = name ? hd_models_named(&c->desk->models, name) : &c->desk->models.at[0];
    if (!m) hd_call_fail(c, 404, "there is no model '%.100s'", name);
    return m;
}

static const hd_tokenizer *tokenizer_of(hd_call *c)
{
    const hd_served *m = model_of(c);
    const hd_tokenizer *t = m ? hd_engine_model(m->engine)->tokenizer[0] : NULL;
    if (m && !t) hd_call_fail(c, 400, "the model '%s' reads no texts", m->name);
    return t;
}

/* -- tokens of a text -- */

static void put_piece(hd_text *to, const hd_tokenizer *t, int32_t id)
{
    hd_text text = {0};
    hd_token_put(&text, t, id);
    hd_member_begin(to, NULL, '{');
    hd_member_count(to, "id", (size_t)id);
    hd_member_bytes(to, "piece", text.data ? text.data : "", text.size);
    hd_member_end(to, '}');
    hd_text_release(&text);
}

/* A member that may be left out is true or false; false: that is answered. */
static bool read_flag(hd_call *c, const char *name, bool *to)
{
    const json_t *v = json_object_get(c->params, name);
    *to = json_is_true(v);
    if (!v || json_is_null(v) || json_is_boolean(v)) return true;
    return hd_call_fail(c, 400, "'%s' must be true or false", name), false;
}

static void put_tokens(hd_call *c, const hd_tokenizer *t, const hd_ids *ids, bool pieces)
{
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    hd_member_begin(&out, "tokens", '[');
    for (size_t i = 0; i < ids->count; i++) {
        if (pieces)
            put_piece(&out, t, ids->at[i]);
        else
            hd_member_count(&out, NULL, (size_t)ids->at[i]);
    }
    hd_text_put(&out, "]}");
    hd_call_answer(c, &out);
}

static void tokenize(hd_call *c)
{
    const json_t *content = json_object_get(c->params, "content");
    const hd_tokenizer *t = tokenizer_of(c);
    hd_ids ids = {0};
    hd_err err = {0};
    hd_status s = HD_OK;
    bool special, pieces;
    if (!t || !read_flag(c, "add_special", &special) || !read_flag(c, "with_pieces", &pieces)) return;
    if (!json_is_string(content)) {
        hd_call_fail(c, 400, "'content' must be a text");
        return;
    }
    const int32_t lead = hd_tokenizer_lead(t);
    if (special && lead >= 0) s = hd_ids_add(&ids, lead, &err);
    if (!s)
        s = hd_tokenizer_encode_ids(t, json_string_value(content), json_string_length(content), &ids, &err);
    if (s)
        hd_call_fail(c, 503, "%s", err.text);
    else
        put_tokens(c, t, &ids, pieces);
    hd_ids_release(&ids);
}

/* -- the text of tokens -- */

/* One that the model does not have reads like its <unk>. */
static bool read_tokens(hd_call *c, hd_ids *ids)
{
    const json_t *list = json_object_get(c->params, "tokens");
    hd_err err = {0};
    if (!json_is_array(list)) return hd_call_fail(c, 400, "'tokens' must be a list of numbers"), false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t id;
        if (!hd_params_integer(json_array_get(list, i), &id) || id < 0 || id > INT32_MAX)
            return hd_call_fail(c, 400, "tokens[%zu] is not a token", i), false;
        if (hd_ids_add(ids, (int32_t)id, &err)) return hd_call_fail(c, 503, "%s", err.text), false;
    }
    return true;
}

static void detokenize(hd_call *c)
{
    const hd_tokenizer *t = tokenizer_of(c);
    hd_ids ids = {0};
    hd_text text = {0}, out = {0};
    hd_err err = {0};
    if (t && read_tokens(c, &ids)) {
        if (hd_tokenizer_decode(t, ids.at, ids.count, &text, &err)) {
            hd_call_fail(c, 503, "%s", err.text);
        } else {
            hd_member_begin(&out, NULL, '{');
            hd_member_bytes(&out, "content", text.data ? text.data : "", text.size);
            hd_member_end(&out, '}');
            hd_call_answer(c, &out);
        }
    }
    hd_text_release(&text);
    hd_ids_release(&ids);
}

/* -- completions -- */

void hd_llama_put_piece(hd_text *to, const hd_completion *m, const char *text, size_t size)
{
    hd_text_put(to, "data: {");
    hd_member_count(to, "index", 0);
    hd_member_bytes(to, "content", text, size);
    hd_member_flag(to, "stop", false);
    hd_member_text(to, "model", hd_engine_name(m->call->engine));
    hd_text_put(to, "}\n\n");
}

/* Which stop ended the text: the first that stands in it, as its tokens have it. */
static const char *stop_of(const hd_completion *m, const hd_generated *g)
{
    const hd_tokenizer *t = hd_engine_model(m->call->engine)->tokenizer[0];
    const char *first = NULL, *found = "";
    hd_text text = {0};
    hd_err none = {0};
    hd_tokenizer_decode(t, g->ids.at + g->ids.count - g->tokens, g->tokens, &text, &none);
    for (size_t i = 0; text.data && i < m->job.opt.stops; i++) {
        const char *at = strstr(text.data, m->job.opt.stop[i]);
        if (at && (!first || at < first)) first = at, found = m->job.opt.stop[i];
    }
    hd_text_release(&text);
    return found;
}

void hd_llama_put_whole(hd_text *to, const hd_completion *m, bool content)
{
    const hd_generated *g = &m->job.out[0];
    const char *word = g->stopped ? stop_of(m, g) : "";
    hd_text_put(to, "{"); /* whatever stands before it */
    hd_member_count(to, "index", 0);
    hd_member_bytes(to, "content", content && g->text.data ? g->text.data : "", content ? g->text.size : 0);
    hd_member_flag(to, "stop", true);
    hd_member_text(to, "model", hd_engine_name(m->call->engine));
    hd_member_count(to, "tokens_predicted", g->tokens);
    hd_member_count(to, "tokens_evaluated", g->ids.count - g->tokens);
    hd_member_flag(to, "truncated", false);
    hd_member_text(to, "stop_type", !g->stopped ? "limit" : *word ? "word" : "eos");
    hd_member_text(to, "stopping_word", word);
    if (m->job.opt.scores) hd_completion_put_tokens(to, m, "completion_probabilities");
    hd_member_end(to, '}');
}

/* -- what is served -- */

/* "": it has none */
static void put_template(hd_text *to, const hd_served *m)
{
    const hd_tokenizer *t = hd_engine_model(m->engine)->tokenizer[0];
    hd_chat_form form = {0};
    hd_err none = {0};
    bool chats =
        hd_engine_takes(m->engine, HD_JOB_GENERATE) && !hd_chat_form_open(&form, m->folder, NULL, t, &none);
    hd_member_text(to, "chat_template", chats ? form.source : "");
    hd_chat_form_release(&form);
}

static void props(hd_call *c)
{
    const hd_served *m = model_of(c);
    hd_text out = {0};
    if (!m) return;
    const bool writes = hd_engine_takes(m->engine, HD_JOB_GENERATE);
    const hd_lm *lm = writes ? hd_model_folder_lm(hd_engine_model(m->engine)) : NULL;
    const size_t batch = hd_engine_options(m->engine)->translate.batch;
    hd_member_begin(&out, NULL, '{');
    hd_member_begin(&out, "default_generation_settings", '{');
    hd_member_count(&out, "n_ctx", lm ? lm->opt.context : 0);
    hd_member_end(&out, '}');
    hd_member_count(&out, "total_slots", batch ? batch : HD_GENERATE_SEATS);
    hd_member_text(&out, "model_path", m->name); /* where it lies is nobody's business */
    hd_member_text(&out, "model_alias", m->name);
    put_template(&out, m);
    hd_member_text(&out, "build_info", "heed");
    hd_member_end(&out, '}');
    hd_call_answer(c, &out);
}

static const hd_endpoint routes[] = {
    {"POST", "/completion", hd_completion_begin_llama, hd_completion_finish, false},
    {"POST", "/tokenize", tokenize, NULL, false},
    {"POST", "/detokenize", detokenize, NULL, false},
    {"GET", "/props", props, NULL, false},
    {0},
};

const hd_protocol hd_protocol_llama = {routes, write_error, .no_key = 401, .wrong_key = 401};
