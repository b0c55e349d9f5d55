/* Reading a model's template, and rendered texts as tokens. Files of a model's folder are hostile. */
#include "task/language/chat/form.h"

#include <string.h>
#include <unistd.h>

#include "base/file/file.h"
#include "base/mem.h"

enum { CONFIG_MOST = 64 << 20 };

const char hd_chat_plain[] =
    "{% for message in messages %}\n"
    "{{ bos_token + message.role + eos_token + message.content|trim|replace('\\n', ' ') + eos_token }}\n"
    "{%- endfor %}\n"
    "{% if add_generation_prompt %}{{ bos_token + 'assistant' + eos_token }}{% endif %}\n";

/* A special token is a string, or an object with its content. */
static const char *token_text(const json_t *j)
{
    return json_string_value(json_is_object(j) ? json_object_get(j, "content") : j);
}

/* Special tokens of tokenizer_config.json, and those of the tokenizer where that has none. */
static hd_status read_tokens(hd_chat_form *f, const json_t *config, const hd_tokenizer *t, hd_err *err)
{
    const hd_special special = hd_tokenizer_special(t);
    const struct {
        const char *name;
        int32_t id;
    } known[] = {{"bos_token", special.start}, {"eos_token", special.end}, {"pad_token", special.pad},
                 {"unk_token", special.unk},   {"sep_token", -1},          {"cls_token", -1}};
    hd_text text = {0};
    hd_json_begin();
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *said = token_text(json_object_get(config, known[i].name));
        if (!said && known[i].id >= 0) said = hd_tokenizer_piece(t, known[i].id);
        if (said) hd_json_set(all, known[i].name, hd_json_string(said));
    }
    hd_status s = hd_json_write(&text, all, JSON_COMPACT, err); /* into the arena, as all that is read */
    if (!s) s = hd_json_parse(&f->tokens, &f->arena, text.data, text.size, "tokens", err);
    hd_text_release(&text);
    return s;
}

/* The template in tokenizer_config.json: a string, or a list of which "default" is meant. */
static const json_t *config_template(const json_t *config)
{
    const json_t *t = json_object_get(config, "chat_template");
    for (size_t i = 0; i < json_array_size(t); i++) {
        const json_t *row = json_array_get(t, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        if (name && !strcmp(name, "default")) return json_object_get(row, "template");
    }
    return json_is_string(t) ? t : NULL;
}

static hd_status set_template(hd_chat_form *f, const char *text, size_t size, const char *name, hd_err *err)
{
    f->source = hd_arena_copy(&f->arena, text, size, err);
    return f->source ? hd_template_new(&f->template, text, size, name, err) : HD_ENOMEM;
}

static hd_status read_file(hd_chat_form *f, const char *path, hd_err *err)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    hd_status s = hd_file_read(&bytes, &size, path, HD_TEMPLATE_MOST, err);
    if (!s) s = set_template(f, (const char *)bytes, size, path, err);
    hd_mem_free(bytes);
    return s;
}

hd_status hd_chat_form_open(hd_chat_form *out, const char *folder, const char *file, const hd_tokenizer *t,
                            hd_err *err)
{
    char path[HD_PATH] = "", config_path[HD_PATH] = "";
    json_t *config = NULL;
    hd_chat_form f = {0};
    bool plain = !folder;
    hd_arena_init(&f.arena, hd_allocator_host, 0);
    hd_status s = plain ? HD_OK : hd_path(config_path, folder, "tokenizer_config.json", err);
    if (!s && !plain && !access(config_path, F_OK))
        s = hd_json_read(&config, &f.arena, config_path, CONFIG_MOST, err);
    if (!s) s = read_tokens(&f, config, t, err);
    if (!s && !plain) s = hd_path(path, folder, HD_CHAT_TEMPLATE, err);
    const json_t *said = config_template(config);
    if (!s && plain)
        s = set_template(&f, hd_chat_plain, strlen(hd_chat_plain), HD_CHAT_TEMPLATE, err);
    else if (!s && file)
        s = read_file(&f, file, err);
    else if (!s && !access(path, F_OK))
        s = read_file(&f, path, err);
    else if (!s && said)
        s = set_template(&f, json_string_value(said), json_string_length(said), config_path, err);
    else if (!s)
        s = hd_err_set(
            err, HD_EARG,
            "%s has no chat template: give one with --template FILE, or train the model on dialogues",
            folder);
    if (s)
        hd_chat_form_release(&f);
    else
        *out = f;
    return s;
}

void hd_chat_form_release(hd_chat_form *f)
{
    hd_template_free(f->template);
    hd_arena_release(&f->arena);
    *f = (hd_chat_form){0};
}

hd_status hd_chat_carry(const char *from, const char *to, hd_err *err)
{
    hd_status s = hd_file_carry(from, to, HD_CHAT_TEMPLATE, HD_TEMPLATE_MOST, false, err);
    return s ? s : hd_file_carry(from, to, "generation_config.json", CONFIG_MOST, false, err);
}

hd_status hd_chat_form_text(const hd_chat_form *f, const json_t *messages, bool answer, hd_marked *to,
                            hd_err *err)
{
    hd_json_begin();
    json_t *v = json_object();
    json_object_update(v, f->tokens);
    json_object_set(v, "messages", (json_t *)messages);
    hd_json_set(v, "tools", json_null());
    hd_json_set(v, "documents", json_null());
    hd_json_set(v, "add_generation_prompt", json_boolean(answer));
    hd_status s = v && !hd_json_missed() ? hd_template_render(f->template, v, NULL, to, err)
                                         : hd_err_nomem(err, hd_json_missed());
    json_decref(v);
    return s;
}

/* -- tokens -- */

/* Of a tokenizer that finds no tokens by name: the special one that the template spells here, or -1. */
static int32_t spelled(const hd_tokenizer *t, const hd_marked *m, size_t at, size_t *size)
{
    const hd_special s = hd_tokenizer_special(t);
    const int32_t known[] = {s.start, s.end};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *piece = known[i] >= 0 ? hd_tokenizer_piece(t, known[i]) : NULL;
        size_t n = piece ? strlen(piece) : 0;
        if (!n || n > m->text.size - at || memcmp(m->text.data + at, piece, n)) continue;
        size_t plain = 0;
        while (plain < n && m->mark.data[at + plain] == HD_MARK_TEMPLATE) plain++;
        if (plain == n) return *size = n, known[i];
    }
    return -1;
}

/* The pieces of the text from..to-1, which names no tokens. */
static hd_status add_plain(const hd_tokenizer *t, const hd_marked *m, size_t from, size_t to, hd_pieces *out,
                           hd_err *err)
{
    size_t first = out->count;
    hd_status s = to > from ? hd_tokenizer_encode(t, m->text.data + from, to - from, out, err) : HD_OK;
    hd_pieces_move(out, first, from);
    return s;
}

static hd_status spelled_pieces(const hd_tokenizer *t, const hd_marked *m, hd_pieces *out, hd_err *err)
{
    hd_status s = HD_OK;
    size_t from = 0, size = 0;
    for (size_t at = 0; !s && at < m->text.size;) {
        int32_t id = spelled(t, m, at, &size);
        if (id < 0) {
            at++;
            continue;
        }
        s = add_plain(t, m, from, at, out, err);
        hd_piece p = {.id = id, .begin = (uint32_t)at, .end = (uint32_t)(at + size)};
        if (!s && !hd_pieces_add(out, p)) s = hd_err_nomem(err, sizeof p);
        from = at += size;
    }
    return s ? s : add_plain(t, m, from, m->text.size, out, err);
}

static bool put_piece(void *context, hd_piece piece)
{
    return hd_pieces_add(context, piece);
}

hd_status hd_chat_form_pieces(const hd_tokenizer *t, const hd_marked *m, hd_pieces *out, hd_err *err)
{
    size_t size = m->text.size, spans = 0, room = 0;
    hd_byte_span *span = NULL;
    hd_status s = HD_OK;
    if (size > INT32_MAX) return hd_err_set(err, HD_ELIMIT, "a conversation of %zu bytes is too long", size);
    if (!t->type->encode_typed || !size) return spelled_pieces(t, m, out, err);
    for (size_t i = 0, end; !s && i < size; i = end) {
        end = i + 1;
        if (m->mark.data[i] == HD_MARK_TEMPLATE) continue;
        while (end < size && m->mark.data[end] != HD_MARK_TEMPLATE) end++;
        s = hd_mem_reserve(&span, &room, spans + 1, sizeof *span, err);
        if (!s) span[spans++] = (hd_byte_span){i, end};
    }
    if (!s)
        s = t->type->encode_typed(t, m->text.data, size, span, spans, (hd_piece_sink){put_piece, out}, err);
    hd_mem_free(span);
    return s;
}

hd_status hd_chat_form_ids(const hd_tokenizer *t, const hd_marked *m, size_t from, hd_ids *to, hd_err *err)
{
    hd_marked rest = {.text = {.data = m->text.data + from, .size = m->text.size - from},
                      .mark = {.data = m->mark.data + from, .size = m->text.size - from}};
    hd_pieces pieces = {0};
    hd_status s = from < m->text.size ? hd_chat_form_pieces(t, &rest, &pieces, err) : HD_OK;
    if (!s) s = hd_ids_add_pieces(to, &pieces, err);
    hd_pieces_release(&pieces);
    return s;
}

hd_status hd_chat_form_prompt(const hd_chat_form *f, const hd_tokenizer *t, const json_t *messages,
                              size_t room, hd_ids *to, size_t *tokens, hd_err *err)
{
    hd_marked text = {0};
    hd_status s = hd_chat_form_text(f, messages, true, &text, err);
    if (!s) s = hd_chat_form_ids(t, &text, 0, to, err);
    hd_marked_release(&text);
    if (s) return s;
    if (!to->count) return hd_err_set(err, HD_EARG, "the chat template gives no text for the messages");
    if (room && to->count >= room)
        return hd_err_set(err, HD_EARG, "the messages have %zu tokens, the model takes %zu: shorten them",
                          to->count, room);
    size_t left = room ? room - to->count + 1 : SIZE_MAX; /* the last one is not read */
    if (*tokens > left) *tokens = left;
    return HD_OK;
}
