/* heed_generate, heed_chat. */
#include <math.h>
#include <string.h>

#include "api/api.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

enum { MOST_TOKENS = 100000000, MOST_SAMPLES = 100000, MOST = 1000000 };

static const heed_generate_options defaults = {
    .size = sizeof defaults, .tokens = 200, .samples = 1, .temperature = 1, .repetition = 1, .seed = 1};

void heed_generate_options_init(heed_generate_options *options, size_t size)
{
    hd_api_defaults(options, size, &defaults, sizeof defaults);
}

static hd_status check(const heed_generate_options *o, hd_err *err)
{
    const hd_api_size size[] = {{"tokens", o->tokens, 1, MOST_TOKENS},
                                {"samples", o->samples, 1, MOST_SAMPLES},
                                {"top_k", o->top_k, 0, MOST},
                                {"no_repeat", o->no_repeat, 0, MOST},
                                {0}};
    const hd_api_real real[] = {{"temperature", o->temperature, 0, 100},
                                {"top_p", o->top_p, 0, 1},
                                {"min_p", o->min_p, 0, 1},
                                {"repetition", o->repetition, 0.01, 100},
                                {0}};
    hd_status s = hd_api_ranges(size, real, err);
    if (s) return s;
    if (o->stops && !o->stop) return hd_err_set(err, HD_EARG, "stop is NULL");
    for (size_t i = 0; i < o->stops; i++)
        if (!o->stop[i] || !*o->stop[i])
            return hd_err_set(err, HD_EARG, "stop %zu of %zu is empty", i + 1, o->stops);
    return HD_OK;
}

/* -- while texts are written -- */

static hd_status tell(void *context, size_t which, const char *text, size_t size, hd_err *err)
{
    const heed_generate_options *o = context;
    hd_status s = (hd_status)o->tell(o->tell_user, which, text, size);
    return s ? hd_err_set(err, s, "stopped by the function that is told of the text: %s", hd_status_text(s))
             : HD_OK;
}

/* -- results -- */

static hd_status give(heed_texts **out, heed_model *m, const hd_generated *g, size_t count, hd_err *err)
{
    hd_api_held *h;
    heed_texts *shown = hd_api_hold(&h, sizeof *shown, m, err);
    if (!shown) return HD_ENOMEM;
    heed_text *all = hd_api_take(h, count, sizeof *all);
    const heed_text **at = hd_api_take(h, count, sizeof *at);
    for (size_t i = 0; at && i < count; i++) {
        int32_t *id = hd_api_take(h, g[i].ids.count, sizeof *id);
        if (id && g[i].ids.count) memcpy(id, g[i].ids.at, g[i].ids.count * sizeof *id);
        all[i] = (heed_text){.text = hd_api_copy(h, g[i].text.data, g[i].text.size),
                             .size = g[i].text.size,
                             .stopped = g[i].stopped,
                             .tokens = g[i].tokens,
                             .log_probability = g[i].logp,
                             .length = g[i].ids.count,
                             .id = id};
        at[i] = &all[i];
    }
    shown->count = count, shown->text = at;
    return hd_api_give(out, shown, h, HD_OK, err);
}

void heed_texts_free(heed_texts *texts)
{
    hd_api_drop(texts);
}

/* -- the call -- */

static hd_status lines_of(hd_line *line, const char *const *prompt, size_t count,
                          const heed_generate_options *o, hd_err *err)
{
    hd_status s = hd_api_lines(line, prompt, o->prompt_size, count, "prompt", false, err);
    for (size_t i = 0; !s && i < count; i++)
        if (hd_utf8_good(line[i].text, line[i].size) < line[i].size)
            s = hd_err_set(err, HD_EARG, "prompt %zu of %zu is not UTF-8", i + 1, count);
    return s;
}

/* Texts behind lines, or behind the one list of tokens. */
static hd_status write_texts(heed_texts **out, heed_context *c, const hd_line *line, const hd_ids *ids,
                             size_t count, const heed_generate_options *o, hd_err *err)
{
    const hd_generation_said all = {true, true, true, true, true, true, true, o->stops > 0};
    hd_generate_opt opt = {.tokens = o->tokens,
                           .temperature = (float)o->temperature,
                           .top_k = o->top_k,
                           .top_p = (float)o->top_p,
                           .min_p = (float)o->min_p,
                           .no_repeat = o->no_repeat,
                           .repetition = (float)o->repetition,
                           .seed = o->seed,
                           .key = o->first_prompt,
                           .samples = o->samples,
                           .stop = o->stop,
                           .stops = o->stops,
                           .ids = ids,
                           .tell = o->tell ? tell : NULL,
                           .context = (void *)(uintptr_t)o};
    size_t texts = count * o->samples;
    hd_generated *made = hd_mem_array(texts, sizeof *made);
    hd_status s = made ? HD_OK : hd_err_nomem(err, texts * sizeof *made);
    hd_generation_apply(&c->model->generation[!!ids], &all, &opt);
    if (!s && count) s = hd_generate(made, &c->run, &c->model->folder, line, count, &opt, err);
    if (!s) s = give(out, c->model, made, texts, err);
    for (size_t i = 0; made && i < texts; i++) hd_generated_release(&made[i]);
    hd_mem_free(made);
    return s;
}

static hd_status read_options(heed_generate_options *o, const heed_generate_options *given, size_t count,
                              hd_err *err)
{
    size_t texts = 0, bytes = 0;
    *o = defaults;
    hd_status s = hd_api_options(o, sizeof *o, given, "heed_generate_options", err);
    if (!s) s = check(o, err);
    if (!s && (!hd_size_mul(count, o->samples, &texts) || !hd_size_mul(texts, sizeof(hd_generated), &bytes)))
        s = hd_err_set(err, HD_ELIMIT, "%zu prompts of %zu samples are too many", count, o->samples);
    return s;
}

static hd_status generate(heed_texts **out, heed_context *c, const char *const *prompt, size_t count,
                          const heed_generate_options *given, hd_err *err)
{
    heed_generate_options o;
    hd_status s = read_options(&o, given, count, err);
    hd_line *line = s ? NULL : hd_mem_array(count, sizeof *line);
    if (!s && !line) s = hd_err_nomem(err, count * sizeof *line);
    if (!s) s = lines_of(line, prompt, count, &o, err);
    if (!s) s = write_texts(out, c, line, NULL, count, &o, err);
    hd_mem_free(line);
    return s;
}

heed_status heed_generate(heed_context *context, const char *const *prompts, size_t count,
                          const heed_generate_options *options, heed_texts **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !prompts && count ? "prompts" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_generate", missing, &err);
    const bool entered = !s;
    if (!s) s = hd_api_reads(context->model, "generate", "heed_generate", &err);
    if (!s) s = generate(out, context, prompts, count, options, &err);
    return hd_api_leave(context, entered, error, &err, s);
}

/* -- conversations -- */

static hd_status read_messages(json_t **out, const heed_message *message, size_t count, hd_err *err)
{
    hd_status s = count ? HD_OK : hd_err_set(err, HD_EARG, "there is no message");
    for (size_t i = 0; !s && i < count; i++) {
        const char *of[] = {message[i].role, message[i].content};
        for (int k = 0; !s && k < 2; k++) {
            const char *name = k ? "content" : "role";
            if (!of[k])
                s = hd_err_set(err, HD_EARG, "message %zu of %zu: %s is NULL", i + 1, count, name);
            else if (hd_utf8_good(of[k], strlen(of[k])) < strlen(of[k]))
                s = hd_err_set(err, HD_EARG, "message %zu of %zu: %s is not UTF-8", i + 1, count, name);
        }
    }
    if (s) return s;
    hd_json_begin();
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_object();
        hd_json_set(one, "role", hd_json_string(message[i].role));
        hd_json_set(one, "content", hd_json_string(message[i].content));
        hd_json_append(all, one);
    }
    *out = all;
    return all && !hd_json_missed() ? HD_OK : hd_err_nomem(err, hd_json_missed());
}

static hd_status chat(heed_texts **out, heed_context *c, const heed_message *message, size_t count,
                      const heed_generate_options *given, hd_err *err)
{
    const heed_model *m = c->model;
    heed_generate_options o;
    json_t *messages = NULL;
    hd_ids ids = {0};
    hd_status s = read_options(&o, given, 1, err);
    if (!s && !m->chats) s = hd_err_set(err, m->no_chat.status, "%s", m->no_chat.text);
    if (!s) s = read_messages(&messages, message, count, err);
    if (!s)
        s = hd_chat_form_prompt(&m->form, m->folder.tokenizer[0], messages,
                                hd_model_folder_lm(&m->folder)->opt.context, &ids, &o.tokens, err);
    if (!s) s = write_texts(out, c, NULL, &ids, 1, &o, err);
    json_decref(messages);
    hd_ids_release(&ids);
    return s;
}

heed_status heed_chat(heed_context *context, const heed_message *messages, size_t count,
                      const heed_generate_options *options, heed_texts **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !messages && count ? "messages" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_chat", missing, &err);
    const bool entered = !s;
    if (!s) s = hd_api_reads(context->model, "generate", "heed_chat", &err);
    if (!s) s = chat(out, context, messages, count, options, &err);
    return hd_api_leave(context, entered, error, &err, s);
}
