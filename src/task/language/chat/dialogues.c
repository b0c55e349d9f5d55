/* Reading dialogues. Easy to get wrong: a token may lie on both sides of where an answer begins, and what
   ends an answer must be learned with it, or the model never stops. */
#include "task/language/chat/dialogues.h"

#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"
#include "run/data.h"
#include "task/language/chat/form.h"
#include "task/language/passages.h"

typedef struct reader {
    const hd_chat_form *form;
    const hd_tokenizer *tokenizer;
    hd_text contents; /* of a fresh vocabulary: roles and contents, line by line */
    hd_passages passages;
    size_t answers; /* tokens of them */
} reader;

bool hd_is_dialogues(const char *path)
{
    const char *at = strstr(path, ".jsonl");
    return at && (!at[6] || (at[6] == '.' && !strchr(at + 6, '/')));
}

/* -- one dialogue -- */

static hd_status check_messages(const json_t *root, const char *file, size_t line, hd_err *err)
{
    const json_t *messages = json_object_get(root, "messages");
    if (!json_array_size(messages))
        return hd_err_set(err, HD_EFORMAT,
                          "%s:%zu: a dialogue is {\"messages\": [{\"role\": ..., \"content\": ...}, ...]}",
                          file, line);
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        if (!json_is_string(json_object_get(m, "role")) || !json_is_string(json_object_get(m, "content")))
            return hd_err_set(err, HD_EFORMAT,
                              "%s:%zu: message %zu needs \"role\" and \"content\", both texts", file, line,
                              i + 1);
    }
    return HD_OK;
}

/* Whether a token cannot come from what people write: it ends an answer. */
static hd_status is_control(bool *out, const hd_tokenizer *t, int32_t id, hd_err *err)
{
    const char *piece = hd_tokenizer_piece(t, id);
    size_t size = piece ? strlen(piece) : 0;
    hd_ids ids = {0};
    *out = id == hd_tokenizer_special(t).end;
    if (*out || !size) return HD_OK;
    hd_status s = hd_tokenizer_encode_typed(t, piece, size, &(hd_byte_span){0, size}, 1, &ids, err);
    hd_ids plain = {0};
    if (!s) s = hd_tokenizer_encode_ids(t, piece, size, &plain, err);
    *out = !s && plain.count == 1 && plain.at[0] == id && !(ids.count == 1 && ids.at[0] == id);
    hd_ids_release(&ids);
    hd_ids_release(&plain);
    return s;
}

static char mark_of(const hd_marked *m, const hd_piece *p)
{
    char most = m->mark.data[p->begin < m->mark.size ? p->begin : m->mark.size - 1];
    for (size_t i = p->begin; i < p->end; i++)
        if (m->mark.data[i] > most) most = m->mark.data[i];
    return most;
}

static hd_status add_tokens(reader *r, const hd_marked *m, hd_err *err)
{
    hd_passages *t = &r->passages;
    hd_pieces p = {0};
    size_t first = t->ids.count;
    hd_status s = hd_chat_form_pieces(r->tokenizer, m, &p, err);
    if (!s && p.count > 1) s = hd_ids_add_pieces(&t->ids, &p, err);
    if (!s && p.count > 1) s = hd_passages_add(t, first, err);
    bool ends = false;
    for (size_t i = 0; !s && p.count > 1 && i < p.count; i++) {
        char mark = mark_of(m, &p.at[i]);
        bool control = false, after = ends && mark == HD_MARK_TEMPLATE;
        if (after) s = is_control(&control, r->tokenizer, p.at[i].id, err);
        t->learned[first + i] = mark == HD_MARK_ANSWER || after;
        r->answers += t->learned[first + i];
        ends = mark == HD_MARK_ANSWER || (after && !control);
    }
    hd_pieces_release(&p);
    return s;
}

/* Adds what a vocabulary is to be learned from, or the tokens. */
static hd_status add_dialogue(reader *r, const json_t *messages, hd_err *err)
{
    hd_marked m = {0};
    for (size_t i = 0; !r->tokenizer && i < json_array_size(messages); i++) {
        const json_t *one = json_array_get(messages, i);
        hd_text_print(&r->contents, "%s\n", json_string_value(json_object_get(one, "role")));
        hd_text_print(&r->contents, "%s\n", json_string_value(json_object_get(one, "content")));
    }
    if (!r->tokenizer) return hd_text_status(&r->contents, err);
    hd_status s = hd_chat_form_text(r->form, messages, false, &m, err);
    if (!s && m.text.size) s = add_tokens(r, &m, err);
    hd_marked_release(&m);
    return s;
}

/* -- files -- */

static hd_status read_file(reader *r, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line;
    hd_arena arena;
    hd_arena_init(&arena, hd_allocator_host, 1 << 16);
    hd_status s = hd_lines_open(&lines, path, &(hd_lines_opt){.utf8 = true}, err);
    while (!s && !(s = hd_lines_next(lines, &line, err)) && line.text) {
        json_error_t e;
        size_t number = hd_lines_count(lines);
        if (!line.size) continue;
        hd_arena_reset(&arena);
        const json_t *root = hd_json_load(&arena, line.text, line.size, &e);
        if (!root && hd_json_missed())
            s = hd_err_nomem(err, hd_json_missed());
        else if (!root)
            s = hd_err_set(err, HD_EFORMAT, "%s:%zu: not JSON: %s", path, number, e.text);
        if (!s) s = check_messages(root, path, number, err);
        hd_err why = {0};
        if (!s && (s = add_dialogue(r, json_object_get(root, "messages"), &why)))
            hd_err_set(err, s, "%s:%zu: %s", path, number, why.text);
    }
    hd_lines_close(lines);
    hd_arena_release(&arena);
    return s;
}

static hd_status read_files(reader *r, const hd_files *files, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < files->count; i++)
        s = hd_is_dialogues(files->at[i])
                ? read_file(r, files->at[i], err)
                : hd_err_set(err, HD_EARG, "%s is no file of dialogues (.jsonl), as others here are",
                             files->at[i]);
    if (!s && r->tokenizer && (!r->passages.count || !r->answers))
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: there is no answer to learn from: no message has the role \"assistant\"",
                       files->at[0]);
    return s;
}

static void release(reader *r)
{
    hd_text_release(&r->contents);
    hd_passages_release(&r->passages);
}

static bool next_content(void *context, hd_line *line)
{
    hd_line *left = context;
    if (!left->size) return false;
    const char *end = memchr(left->text, '\n', left->size);
    *line = (hd_line){left->text, (size_t)(end - left->text)};
    left->size -= line->size + 1, left->text = end + 1;
    return true;
}

static hd_status learn(hd_tokenizer **tokenizer, hd_session *s, const hd_files *files, hd_err *err)
{
    reader r = {0};
    hd_status st = read_files(&r, files, err);
    hd_line left = {r.contents.data, r.contents.size};
    if (!st && !left.size) st = hd_err_set(err, HD_EFORMAT, "%s: there is no dialogue in it", files->at[0]);
    if (!st) st = hd_session_tokenizer(s, tokenizer, (hd_feed){next_content, &left}, err);
    release(&r);
    return st;
}

static hd_status encode(hd_stream_text *train, hd_stream_text *valid, const hd_chat_form *form,
                        const hd_tokenizer *t, const hd_files files[2], double fraction, hd_err *err)
{
    reader r = {.form = form, .tokenizer = t}, held = {.form = form, .tokenizer = t};
    hd_status s = read_files(&r, &files[0], err);
    if (!s && files[1].count) s = read_files(&held, &files[1], err);
    if (!s) s = hd_passages_split(train, valid, &r.passages, &held.passages, fraction, err);
    release(&r);
    release(&held);
    return s;
}

hd_status hd_dialogues_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                            hd_session *s, hd_err *err)
{
    const hd_train_options *o = s->options;
    const char *folder = hd_session_folder(s);
    hd_files files[2] = {0};
    hd_chat_form form = {0};
    hd_status st = hd_data_files(&files[0], &o->train, err);
    if (!st) st = hd_data_files(&files[1], &o->valid, err);
    if (!st && !*tokenizer) st = learn(tokenizer, s, &files[0], err);
    bool made_here = !st && hd_tokenizer_learns(hd_tokenizer_kind_of(*tokenizer));
    if (!st) st = hd_chat_form_open(&form, made_here ? NULL : folder, NULL, *tokenizer, err);
    if (!st) st = encode(train, valid, &form, *tokenizer, files, o->valid_fraction, err);
    s->train = train->hash, s->valid = valid->hash, s->validates = valid->count > 0;
    hd_chat_form_release(&form);
    hd_files_release(&files[0]);
    hd_files_release(&files[1]);
    return st;
}

hd_status hd_dialogues_save(const hd_tokenizer *t, const char *folder, hd_err *err)
{
    char path[HD_PATH];
    if (!hd_tokenizer_learns(hd_tokenizer_kind_of(t))) return HD_OK;
    hd_status s = hd_path(path, folder, HD_CHAT_TEMPLATE, err);
    return s ? s : hd_save_bytes(path, hd_chat_plain, strlen(hd_chat_plain), err);
}
