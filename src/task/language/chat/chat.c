/* Turns of a conversation. Easy to get wrong: the text of an answer need not give the tokens that were drawn,
   so those stay, and only the text behind them becomes new tokens. */
#include "task/language/chat/chat.h"

#include <string.h>

#include "base/mem.h"

struct hd_chat {
    const hd_model_folder *model;
    const hd_chat_form *form;
    hd_talk *talk;
    json_t *messages; /* owned */
    hd_marked text;   /* through the last answer, without what ended it */
    hd_ids ids;       /* its tokens, and that end if it was drawn */
    bool ended;
    size_t dropped, turns;
};

hd_status hd_chat_new(hd_chat **out, const hd_model_folder *f, const hd_chat_form *form, hd_err *err)
{
    hd_chat *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(err, sizeof *c);
    c->model = f, c->form = form;
    hd_status s = hd_talk_new(&c->talk, hd_model_folder_lm(f), err);
    if (!s) s = hd_chat_begin(c, NULL, err);
    if (s)
        hd_chat_free(c);
    else
        *out = c;
    return s;
}

void hd_chat_free(hd_chat *c)
{
    if (!c) return;
    hd_talk_free(c->talk);
    json_decref(c->messages);
    hd_marked_release(&c->text);
    hd_ids_release(&c->ids);
    hd_mem_free(c);
}

size_t hd_chat_dropped(const hd_chat *c)
{
    return c->dropped;
}

size_t hd_chat_read(const hd_chat *c)
{
    return hd_talk_read(c->talk);
}

const json_t *hd_chat_messages(const hd_chat *c)
{
    return c->messages;
}

static hd_status add_message(hd_chat *c, const char *role, const char *content, hd_err *err)
{
    hd_json_begin();
    json_t *m = json_object();
    hd_json_set(m, "role", hd_json_string(role));
    hd_json_set(m, "content", hd_json_string(content));
    hd_json_append(c->messages, m);
    return hd_json_missed() ? hd_err_nomem(err, hd_json_missed()) : HD_OK;
}

static void forget_text(hd_chat *c)
{
    hd_marked_release(&c->text);
    c->ids.count = 0, c->ended = false;
}

hd_status hd_chat_begin(hd_chat *c, const char *system, hd_err *err)
{
    json_t *fresh = json_array();
    if (!fresh) return hd_err_nomem(err, 1);
    json_decref(c->messages);
    c->messages = fresh, c->dropped = 0;
    forget_text(c);
    return system ? add_message(c, "system", system, err) : HD_OK;
}

/* -- the tokens of a turn -- */

/* Where the text goes on behind what is in c->ids: 0 if it does not begin as that did. */
static size_t known_text(hd_chat *c, const hd_marked *text)
{
    size_t n = c->text.text.size;
    if (!n || text->text.size <= n || memcmp(text->text.data, c->text.text.data, n)) return 0;
    if (!c->ended) return n;
    const char *end = hd_tokenizer_piece(c->model->tokenizer[0], c->ids.at[c->ids.count - 1]);
    size_t size = end ? strlen(end) : 0;
    if (size && size <= text->text.size - n && !memcmp(text->text.data + n, end, size)) return n + size;
    c->ids.count--, c->ended = false; /* it was no part of the text after all, and is not in the cache */
    return n;
}

static hd_status tokens_of_turn(hd_chat *c, hd_marked *text, hd_ids *ids, hd_err *err)
{
    hd_marked_release(text);
    ids->count = 0;
    hd_status s = hd_chat_form_text(c->form, c->messages, true, text, err);
    size_t from = s ? 0 : known_text(c, text);
    if (!s && from) s = hd_ids_reserve(ids, c->ids.count, err);
    if (!s && from) memcpy(ids->at, c->ids.at, c->ids.count * sizeof *ids->at), ids->count = c->ids.count;
    return s ? s : hd_chat_form_ids(c->model->tokenizer[0], text, from, ids, err);
}

/* The oldest turn goes: messages up to the next one of the user. False: there is none but the last. */
static bool drop_turn(hd_chat *c)
{
    const char *role = json_string_value(json_object_get(json_array_get(c->messages, 0), "role"));
    size_t first = role && !strcmp(role, "system"), n = json_array_size(c->messages), next = first + 1;
    for (; next < n; next++) {
        role = json_string_value(json_object_get(json_array_get(c->messages, next), "role"));
        if (role && !strcmp(role, "user")) break;
    }
    if (next >= n) return false;
    for (size_t i = first; i < next; i++) json_array_remove(c->messages, first), c->dropped++;
    forget_text(c);
    return true;
}

/* Tokens that a conversation may have. */
static size_t room_of(const hd_chat *c, const hd_generate_opt *opt)
{
    size_t room = hd_talk_room(c->talk), most = opt->rules ? opt->rules->max_length : 0;
    return most && most < room ? most : room;
}

static hd_status fit(hd_chat *c, size_t room, size_t tokens, hd_marked *text, hd_ids *ids, hd_err *err)
{
    size_t least = room / 4 ? room / 4 : 1;
    if (least > tokens) least = tokens;
    hd_status s = tokens_of_turn(c, text, ids, err);
    while (!s && ids->count + least > room && drop_turn(c)) s = tokens_of_turn(c, text, ids, err);
    if (!s && !ids->count) s = hd_err_set(err, HD_EARG, "the template gives no text for the message");
    if (!s && ids->count >= room)
        s = hd_err_set(err, HD_ELIMIT, "the message has %zu tokens, the model takes %zu: shorten it",
                       ids->count, room);
    return s;
}

hd_status hd_chat_answer(hd_chat *c, hd_run *r, const char *message, const hd_generate_opt *opt,
                         hd_generated *answer, hd_err *err)
{
    hd_marked text = {0};
    hd_ids ids = {0};
    hd_generate_opt o = *opt;
    hd_status s = add_message(c, "user", message, err);
    if (s) return s;
    s = fit(c, room_of(c, opt), opt->tokens, &text, &ids, err);
    size_t left = s ? 0 : hd_talk_room(c->talk) - ids.count + 1; /* the last one is not read */
    if (o.tokens > left) o.tokens = left;
    o.ids = &ids, o.talk = c->talk, o.samples = 1, o.key += (int32_t)c->turns;
    if (!s) s = hd_generate(answer, r, c->model, NULL, 1, &o, err);
    if (!s) s = add_message(c, "assistant", answer->text.data ? answer->text.data : "", err);
    if (s)
        json_array_remove(c->messages, json_array_size(c->messages) - 1), forget_text(c);
    else {
        hd_ids_release(&c->ids);
        c->ids = answer->ids, answer->ids = (hd_ids){0};
        hd_marked_release(&c->text);
        hd_marked_fill(&text, answer->text.data ? answer->text.data : "", answer->text.size, HD_MARK_ANSWER);
        c->text = text, text = (hd_marked){0};
        int32_t last = c->ids.at[c->ids.count - 1];
        c->ended = false;
        for (size_t i = 0; i < o.ending_count && answer->tokens; i++)
            c->ended = c->ended || o.endings[i] == last;
        c->turns++;
        s = hd_marked_status(&c->text, err);
    }
    hd_marked_release(&text);
    hd_ids_release(&ids);
    return s;
}
