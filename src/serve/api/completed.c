/* What models wrote, as OpenAI's clients read it: whole answers, and streams of server-sent events. Functions
   of streams run in the engine's thread and hand bytes over, no more. */
#include <string.h>

#include "serve/api/completion.h"
#include "serve/api/token.h"

enum { DIGITS = 7 };

static const hd_tokenizer *tokenizer_of(const hd_completion *m)
{
    return hd_engine_model(m->call->engine)->tokenizer[0];
}

/* -- log-probabilities -- */

static void put_logp(hd_text *to, const char *key, float logp)
{
    hd_member_number(to, key, logp > -9999.f ? (double)logp : -9999, DIGITS); /* JSON has no infinity */
}

static void put_token(hd_text *to, const char *key, const hd_tokenizer *t, int32_t id)
{
    hd_text text = {0};
    hd_token_put(&text, t, id);
    hd_member_bytes(to, key, text.data ? text.data : "", text.size);
    hd_text_release(&text);
}

/* Tokens from .. to-1 of what was noted, of which [i * each] was drawn. */
typedef struct noted {
    const hd_said *said;
    size_t from, to, each;
    const hd_tokenizer *tokenizer;
} noted;

/* The likeliest as {"text": number}; of tokens that read alike the first one. */
static void put_top(hd_text *to, const noted *n, size_t token)
{
    hd_text text[32] = {{0}};
    hd_member_begin(to, NULL, '{');
    for (size_t i = 1; i < n->each && i < 32; i++) {
        const hd_said *s = &n->said[token * n->each + i];
        bool known = s->id < 0;
        if (!known) hd_token_put(&text[i], n->tokenizer, s->id);
        for (size_t j = 1; j < i; j++)
            known = known || (text[i].size == text[j].size && text[i].size &&
                              !memcmp(text[i].data, text[j].data, text[i].size));
        if (!known && text[i].size && !text[i].missed) put_logp(to, text[i].data, s->logp);
    }
    hd_member_end(to, '}');
    for (size_t i = 1; i < 32; i++) hd_text_release(&text[i]);
}

static size_t characters(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

static void put_lists(hd_text *to, const noted *n, const hd_text *text)
{
    hd_member_begin(to, "logprobs", '{');
    hd_member_begin(to, "tokens", '[');
    for (size_t i = n->from; i < n->to; i++) put_token(to, NULL, n->tokenizer, n->said[i * n->each].id);
    hd_member_end(to, ']');
    hd_member_begin(to, "token_logprobs", '[');
    for (size_t i = n->from; i < n->to; i++) put_logp(to, NULL, n->said[i * n->each].logp);
    hd_member_end(to, ']');
    hd_member_begin(to, "top_logprobs", '[');
    for (size_t i = n->from; i < n->to; i++) put_top(to, n, i);
    hd_member_end(to, ']');
    hd_member_begin(to, "text_offset", '[');
    for (size_t i = n->from; i < n->to; i++) {
        size_t at = n->said[i * n->each].at;
        hd_member_count(to, NULL, characters(text->data, at < text->size ? at : text->size));
    }
    hd_member_end(to, ']');
    hd_member_end(to, '}');
}

/* A token of a chat, without the end of its object. */
static void put_chat_token(hd_text *to, const noted *n, const hd_said *s)
{
    hd_text text = {0};
    hd_token_put(&text, n->tokenizer, s->id);
    hd_member_begin(to, NULL, '{');
    hd_member_bytes(to, "token", text.data ? text.data : "", text.size);
    put_logp(to, "logprob", s->logp);
    hd_member_begin(to, "bytes", '[');
    for (size_t i = 0; i < text.size; i++) hd_member_count(to, NULL, (unsigned char)text.data[i]);
    hd_member_end(to, ']');
    hd_text_release(&text);
}

static void put_chat_tokens(hd_text *to, const char *key, const noted *n)
{
    hd_member_begin(to, key, '[');
    for (size_t i = n->from; i < n->to; i++) {
        put_chat_token(to, n, &n->said[i * n->each]);
        hd_member_begin(to, "top_logprobs", '[');
        for (size_t j = 1; j < n->each; j++) {
            if (n->said[i * n->each + j].id < 0) continue;
            put_chat_token(to, n, &n->said[i * n->each + j]);
            hd_member_end(to, '}');
        }
        hd_member_end(to, ']');
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_content(hd_text *to, const noted *n)
{
    hd_member_begin(to, "logprobs", '{');
    put_chat_tokens(to, "content", n);
    hd_member_text(to, "refusal", NULL);
    hd_member_end(to, '}');
}

void hd_completion_put_tokens(hd_text *to, const hd_completion *m, const char *key)
{
    const hd_generated *g = &m->job.out[0];
    const noted n = {g->said, 0, g->said ? g->tokens : 0, 1 + m->job.opt.likeliest, tokenizer_of(m)};
    put_chat_tokens(to, key, &n);
}

/* Of the tokens from number `from` on whose text begins before byte `end`; *next: how far that is. */
static void put_logprobs(hd_text *to, const hd_completion *m, const hd_generated *g, size_t from, size_t end,
                         size_t *next)
{
    noted n = {g->said, from, from, 1 + m->job.opt.likeliest, tokenizer_of(m)};
    while (g->said && n.to < g->tokens && g->said[n.to * n.each].at < end) n.to++;
    if (next) *next = n.to;
    if (!m->job.opt.scores)
        hd_member_text(to, "logprobs", NULL);
    else if (m->chat)
        put_content(to, &n);
    else
        put_lists(to, &n, &g->text);
}

/* -- answers -- */

static void put_head(hd_text *to, const hd_completion *m, const char *object)
{
    hd_text_put(to, "{"); /* whatever stands before it */
    hd_member_text(to, "id", m->id);
    hd_member_text(to, "object", object);
    hd_member_count(to, "created", (size_t)m->created);
    hd_member_text(to, "model", hd_engine_name(m->call->engine));
    hd_member_text(to, "system_fingerprint", NULL);
}

static void put_usage(hd_text *to, const hd_completion *m)
{
    size_t read = 0, reused = 0, written = 0;
    for (size_t i = 0; i < m->choices; i++) {
        const hd_generated *g = &m->job.out[i];
        written += g->tokens, reused += g->reused;
        if (i % m->job.opt.samples == 0) read += g->ids.count - g->tokens;
    }
    hd_member_begin(to, "usage", '{');
    hd_member_count(to, "prompt_tokens", read);
    hd_member_count(to, "completion_tokens", written);
    hd_member_count(to, "total_tokens", read + written);
    hd_member_begin(to, "prompt_tokens_details", '{');
    hd_member_count(to, "cached_tokens", reused);
    hd_member_end(to, '}');
    hd_member_end(to, '}');
}

static const char *reason_of(const hd_generated *g)
{
    return g->stopped ? "stop" : "length";
}

/* The text of a prompt that is to stand before what was written. */
static void put_prompt(hd_text *to, const hd_completion *m, size_t which)
{
    size_t p = which / m->job.opt.samples;
    hd_err err = {0};
    if (m->ids)
        hd_tokenizer_decode(tokenizer_of(m), m->ids[p].at, m->ids[p].count, to, &err);
    else
        hd_text_add(to, m->job.prompt[p].text, m->job.prompt[p].size);
}

static void put_choice(hd_text *to, const hd_completion *m, size_t i)
{
    const hd_generated *g = &m->job.out[i];
    hd_text text = {0};
    if (m->echo) put_prompt(&text, m, i);
    hd_text_add(&text, g->text.data ? g->text.data : "", g->text.size);
    hd_member_begin(to, NULL, '{');
    hd_member_count(to, "index", i);
    if (m->chat) {
        hd_member_begin(to, "message", '{');
        hd_member_text(to, "role", "assistant");
        hd_member_bytes(to, "content", text.data ? text.data : "", text.size);
        hd_member_text(to, "refusal", NULL);
        hd_member_end(to, '}');
    } else {
        hd_member_bytes(to, "text", text.data ? text.data : "", text.size);
    }
    put_logprobs(to, m, g, 0, g->stopped ? g->text.size : SIZE_MAX, NULL);
    hd_member_text(to, "finish_reason", reason_of(g));
    hd_member_end(to, '}');
    if (text.missed) to->missed = text.missed;
    hd_text_release(&text);
}

void hd_completion_write(const hd_completion *m, hd_text *to)
{
    if (m->llama) {
        hd_llama_put_whole(to, m, true);
        return;
    }
    put_head(to, m, m->chat ? "chat.completion" : "text_completion");
    hd_member_begin(to, "choices", '[');
    for (size_t i = 0; i < m->choices; i++) put_choice(to, m, i);
    hd_member_end(to, ']');
    put_usage(to, m);
    hd_member_end(to, '}');
}

/* -- streams -- */

/* An event, up to the choices. */
static void begin_event(hd_text *to, const hd_completion *m)
{
    hd_text_put(to, "data: ");
    put_head(to, m, m->chat ? "chat.completion.chunk" : "text_completion");
    hd_member_begin(to, "choices", '[');
}

static void end_event(hd_text *to, const hd_completion *m)
{
    hd_member_end(to, ']');
    if (m->usage) hd_member_text(to, "usage", NULL);
    hd_member_end(to, '}');
    hd_text_put(to, "\n\n");
}

/* One piece of one choice. text NULL: none, it has ended; first: what stands before all that is written. */
static void put_piece(hd_text *to, const hd_completion *m, size_t which, bool first, const char *text,
                      size_t size, const char *reason)
{
    const hd_generated *g = &m->job.out[which];
    begin_event(to, m);
    hd_member_begin(to, NULL, '{');
    hd_member_count(to, "index", which);
    if (m->chat) {
        hd_member_begin(to, "delta", '{');
        if (first) hd_member_text(to, "role", "assistant");
        if (text) hd_member_bytes(to, "content", text, size);
        hd_member_end(to, '}');
    } else {
        hd_member_bytes(to, "text", text ? text : "", text ? size : 0);
    }
    if (text && !first && m->job.opt.scores)
        put_logprobs(to, m, g, m->shown[which], (size_t)(text + size - g->text.data), &m->shown[which]);
    else
        hd_member_text(to, "logprobs", NULL);
    hd_member_text(to, "finish_reason", reason);
    hd_member_end(to, '}');
    end_event(to, m);
}

bool hd_completion_enough(const hd_job *j)
{
    return hd_request_full(((const hd_completion *)j)->call->request);
}

static void send(hd_completion *m, hd_text *bytes)
{
    hd_request *r = m->call->request;
    if (!bytes->missed) hd_request_send(r, bytes->data, bytes->size);
    hd_text_release(bytes);
    if (atomic_exchange(&m->stage, HD_COMPLETION_SENT) == HD_COMPLETION_WAITS) hd_request_wake(r);
}

/* What comes before the first piece of a choice. */
static void open_choice(hd_text *to, hd_completion *m, size_t which)
{
    hd_text prompt = {0};
    if (m->opened[which]) return;
    m->opened[which] = true;
    if (m->chat) put_piece(to, m, which, true, "", 0, NULL);
    if (!m->echo) return;
    put_prompt(&prompt, m, which);
    put_piece(to, m, which, true, prompt.data ? prompt.data : "", prompt.size, NULL);
    hd_text_release(&prompt);
}

hd_status hd_completion_tell(void *completion, size_t which, const char *text, size_t size, hd_err *err)
{
    hd_completion *m = completion;
    hd_text out = {0};
    (void)err;
    if (m->llama) {
        hd_llama_put_piece(&out, m, text, size);
    } else {
        open_choice(&out, m, which);
        put_piece(&out, m, which, false, text, size, NULL);
    }
    send(m, &out);
    return HD_OK;
}

static void put_end(hd_text *out, hd_completion *m)
{
    if (m->llama) {
        hd_text_put(out, "data: ");
        hd_llama_put_whole(out, m, false);
        hd_text_put(out, "\n\n");
        return;
    }
    for (size_t i = 0; i < m->choices; i++) {
        open_choice(out, m, i);
        put_piece(out, m, i, false, NULL, 0, reason_of(&m->job.out[i]));
    }
    if (m->usage) {
        begin_event(out, m);
        hd_member_end(out, ']');
        put_usage(out, m);
        hd_member_end(out, '}');
        hd_text_put(out, "\n\n");
    }
    hd_text_put(out, "data: [DONE]\n\n");
}

void hd_completion_done(hd_job *j)
{
    hd_completion *m = (hd_completion *)j;
    hd_request *r = m->call->request;
    hd_text out = {0};
    if (j->end == HD_JOB_DONE) {
        put_end(&out, m);
        send(m, &out);
    } else if (atomic_load(&m->stage) == HD_COMPLETION_SENT) {
        hd_text_put(&out, "data: ");
        hd_openai_error(&out, hd_call_status(m->call), hd_call_reason(m->call)); /* llama-server's, too */
        hd_text_put(&out, "\n\n");
        send(m, &out);
    } else {
        atomic_store(&m->stage, HD_COMPLETION_FAILED);
        hd_request_wake(r);
    }
    hd_request_end(r);
    hd_request_drop(r);
}
