/* Texts that a verb found for files. */
#include "cli/frame/written.h"

#include "view/draw/json_members.h"

static void put_text(hd_text *to, const hd_tokenizer *t, const hd_written *c)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "text", c->text);
    hd_member_begin(to, "tokens", '[');
    for (size_t i = 0; i < c->length; i++) hd_member_text(to, NULL, hd_tokenizer_piece(t, c->ids[i]));
    hd_member_end(to, ']');
    hd_member_number(to, "score", c->score, 17);
    hd_member_number(to, "logprob", c->sum, 17);
    hd_member_begin(to, "token_logprobs", '[');
    for (size_t i = 0; i < c->length; i++) hd_member_number(to, NULL, (double)c->logp[i], 9);
    hd_member_end(to, ']');
    hd_member_flag(to, "finished", c->finished);
    hd_member_end(to, '}');
}

static void put_object(hd_text *to, const char *key, const hd_tokenizer *t, const char *name,
                       const hd_written *of, size_t count, const char *why)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "file", name);
    if (why) hd_member_text(to, "error", why);
    if (!why) hd_member_begin(to, key, '[');
    for (size_t i = 0; !why && i < count; i++) put_text(to, t, &of[i]);
    if (!why) hd_member_end(to, ']');
    hd_member_end(to, '}');
    hd_text_put(to, "\n");
}

/* What could end a line or a column becomes a space. */
static void put_line(hd_text *to, const char *text)
{
    for (; *text; text++) hd_text_add(to, *text == '\n' || *text == '\r' || *text == '\t' ? " " : text, 1);
}

void hd_written_put(hd_text *to, const hd_written_how *how, const hd_tokenizer *t, const char *name,
                    const hd_written *of, size_t count, const char *why)
{
    if (how->json) {
        put_object(to, how->key, t, name, of, count, why);
        return;
    }
    for (size_t i = 0; i < (count ? count : 1); i++) {
        put_line(to, name);
        hd_text_put(to, "\t");
        if (count) put_line(to, of[i].text);
        if (count && how->scores) hd_text_print(to, "\t%.6f", of[i].score);
        hd_text_put(to, "\n");
    }
}
