/* The files of byte-level BPE: vocab.json with merges.txt and perhaps tokenizer_config.json and
   added_tokens.json, or tokenizer.json. They are hostile: every id is checked before it is used. */
#include <string.h>

#include "base/mem.h"
#include "text/published/added.h"
#include "text/published/bpe/bpe.h"
#include "text/published/bpe/byte_level.h"

static const char VOCAB[] = HD_BPE_VOCAB, MERGES[] = "merges.txt", WHOLE[] = "tokenizer.json",
                  CONFIG[] = "tokenizer_config.json", TEMPLATE[] = "chat_template.jinja";

/* The pieces of single bytes. Vocabularies of characters lack some, and others those of bytes that no text
   has. */
static hd_status place_bytes(hd_bpe *b, const char *path, hd_err *err)
{
    hd_text name = {0};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 256; i++) {
        name.size = 0;
        if (b->characters)
            hd_text_print(&name, "<0x%02X>", (unsigned)i);
        else
            hd_byte_level_add(&name, (uint8_t)i);
        s = hd_text_status(&name, err);
        b->byte[i] = s ? -1 : hd_vocab_find(&b->vocab, name.data, name.size);
        if (!s && b->byte[i] < 0 && !b->characters && i >= ' ' && i < 0x7f)
            s = hd_err_set(err, HD_EFORMAT,
                           "%s: no piece for the byte 0x%02x: not a vocabulary of byte-level BPE", path,
                           (unsigned)i);
    }
    hd_text_release(&name);
    for (int i = 0; i < 128; i++) {
        const char one = (char)i;
        b->ascii[i] = hd_vocab_find(&b->vocab, &one, i != 0);
        if (b->ascii[i] >= 0 && !b->vocab.seen[b->ascii[i]]) b->ascii[i] = -1;
    }
    return s;
}

static hd_status measure(hd_bpe *b, hd_err *err)
{
    b->width = hd_mem_array(b->vocab.count, sizeof *b->width);
    b->hidden = hd_mem_array(b->vocab.count, sizeof *b->hidden);
    if (!b->width || !b->hidden) return hd_err_nomem(err, b->vocab.count * sizeof *b->width);
    for (size_t i = 0; i < b->vocab.count; i++)
        for (const char *c = hd_vocab_piece(&b->vocab, (int32_t)i); *c; c++)
            b->width[i] += b->characters || ((uint8_t)*c & 0xc0) != 0x80;
    for (size_t i = 0; i < b->added.count; i++)
        if (b->added.at[i].special) b->hidden[b->added.at[i].id] = true;
    return HD_OK;
}

/* line: of merges.txt, or the number of the merge in tokenizer.json. */
static hd_status add_merge(hd_bpe *b, hd_line left, hd_line right, hd_text *both, const char *path,
                           size_t line, hd_err *err)
{
    both->size = 0;
    hd_text_add(both, left.text, left.size);
    hd_text_add(both, right.text, right.size);
    hd_status s = hd_text_status(both, err);
    if (s) return s;
    int32_t id[3] = {hd_vocab_find(&b->vocab, left.text, left.size),
                     hd_vocab_find(&b->vocab, right.text, right.size),
                     hd_vocab_find(&b->vocab, both->data, both->size)};
    const hd_line part[3] = {left, right, {both->data, both->size}};
    for (int i = 0; i < 3; i++)
        if (id[i] < 0)
            return hd_err_set(err, HD_EFORMAT, "%s:%zu: a merge names '%.*s', which is not a token", path,
                              line, part[i].size > 60 ? 60 : (int)part[i].size, part[i].text);
    s = hd_merges_add(&b->merges, id[0], id[1], id[2], err);
    return s == HD_EARG ? hd_err_set(err, HD_EFORMAT, "%s:%zu: the merge is there twice", path, line) : s;
}

/* "left right" */
static hd_status add_pair(hd_bpe *b, hd_line pair, hd_text *both, const char *path, size_t line, hd_err *err)
{
    const char *space = memchr(pair.text, ' ', pair.size);
    size_t left = space ? (size_t)(space - pair.text) : 0, right = space ? pair.size - left - 1 : 0;
    if (!left || !right || memchr(space + 1, ' ', right))
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: not a merge: two tokens separated by a space", path,
                          line);
    return add_merge(b, (hd_line){pair.text, left}, (hd_line){space + 1, right}, both, path, line, err);
}

static hd_status read_merges(hd_bpe *b, hd_line text, const char *path, hd_err *err)
{
    static const char version[] = "#version";
    hd_text both = {0};
    hd_line line;
    hd_status s = HD_OK;
    for (size_t number = 1; !s && hd_take_line(&text, &line); number++)
        if (line.size < sizeof version - 1 || memcmp(line.text, version, sizeof version - 1))
            s = add_pair(b, line, &both, path, number, err);
    hd_text_release(&both);
    return s;
}

static hd_line line_of(const json_t *text)
{
    return (hd_line){json_string_value(text), json_string_length(text)};
}

static hd_status list_merges(hd_bpe *b, const json_t *list, const char *path, hd_err *err)
{
    hd_text both = {0};
    hd_status s = json_is_array(list) ? HD_OK : hd_err_set(err, HD_EFORMAT, "%s: no list of merges", path);
    for (size_t i = 0; !s && i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i), *left = json_array_get(m, 0),
                     *right = json_array_get(m, 1);
        if (json_is_string(m))
            s = add_pair(b, line_of(m), &both, path, i + 1, err);
        else if (json_array_size(m) == 2 && json_is_string(left) && json_is_string(right))
            s = add_merge(b, line_of(left), line_of(right), &both, path, i + 1, err);
        else
            s = hd_err_set(err, HD_EFORMAT, "%s: merge %zu is not two pieces", path, i + 1);
    }
    hd_text_release(&both);
    return s;
}

static hd_status read_whole(hd_tokenizer *t, const hd_tokenizer_json *j, hd_arena *arena)
{
    hd_bpe *b = t->state;
    char config[HD_PATH];
    hd_line settings, template;
    json_t *root = NULL;
    hd_status s = hd_bpe_read_whole(t, j);
    if (!s) s = list_merges(b, json_object_get(json_object_get(j->root, "model"), "merges"), j->path, j->err);
    if (!s) s = hd_beside(config, j->path, CONFIG, j->err);
    if (!s) s = hd_file_set_read_beside(&b->files, j->path, CONFIG, &settings, j->err);
    if (!s && settings.text) s = hd_file_json(&root, arena, settings, config, j->err);
    if (!s) s = hd_bpe_read_config(t, &(hd_tokenizer_json){config, root, j->err});
    return s ? s : hd_file_set_read_beside(&b->files, j->path, TEMPLATE, &template, j->err);
}

static hd_status read_parts(hd_tokenizer *t, const hd_tokenizer_json *vocab, hd_arena *arena)
{
    hd_bpe *b = t->state;
    hd_err *err = vocab->err;
    char merges[HD_PATH], config[HD_PATH];
    hd_added_file more = {.root = NULL};
    hd_line text, settings;
    json_t *root = NULL;
    hd_status s = hd_beside(merges, vocab->path, MERGES, err);
    if (!s) s = hd_beside(config, vocab->path, CONFIG, err);
    if (!s) s = hd_file_set_read(&b->files, merges, MERGES, true, &text, err);
    if (!s) s = hd_file_set_read_beside(&b->files, vocab->path, CONFIG, &settings, err);
    if (!s && settings.text) s = hd_file_json(&root, arena, settings, config, err);
    if (s) return s;
    const hd_tokenizer_json j = {config, root, err};
    const json_t *added = json_object_get(root, "added_tokens_decoder");
    b->cut[b->cuts++] = hd_byte_level_word;
    b->unknown = -1;
    s = hd_json_switch(&j, root, "add_prefix_space", false, &b->prefix);
    if (!s) s = hd_json_vocab(&(hd_tokenizer_json){vocab->path, NULL, err}, vocab->root, added, &b->vocab);
    if (!s && !added) s = hd_added_file_read(&more, &b->files, vocab->path, arena, err);
    if (!s) s = hd_added_file_join(&more, &b->vocab, err);
    if (!s) s = hd_find_specials(&t->special, &b->vocab, &b->added, false, vocab->path, err);
    if (!s)
        s = added ? hd_json_added(&j, added, &b->vocab, &b->added)
                  : hd_add_specials(&b->added, &t->special, &b->vocab, err);
    if (!s) s = hd_added_file_put(&more, &b->vocab, &b->added, err);
    if (!s) s = read_merges(b, text, merges, err);
    for (int pair = 0; !s && pair < 2; pair++)
        for (int i = 0; i <= pair; i++) hd_frame_add(&t->frame[pair], HD_FRAME_FIRST - i, i);
    return s;
}

static hd_status read_files(hd_tokenizer *t, const char *path, hd_arena *arena, hd_err *err)
{
    hd_bpe *b = t->state;
    bool whole = hd_is_called(path, WHOLE);
    hd_line text;
    json_t *root = NULL;
    hd_status s = hd_file_set_read(&b->files, path, whole ? WHOLE : VOCAB, true, &text, err);
    if (!s) s = hd_file_json(&root, arena, text, path, err);
    if (s) return s;
    const hd_tokenizer_json j = {path, root, err};
    s = whole ? read_whole(t, &j, arena) : read_parts(t, &j, arena);
    if (!s) s = place_bytes(b, path, err);
    return s ? s : measure(b, err);
}

hd_status hd_bpe_read(hd_tokenizer *t, const char *path, hd_err *err)
{
    hd_arena arena;
    const hd_bpe *b = t->state;
    hd_status s = hd_file_set_find(t->from, path, VOCAB, WHOLE, err);
    if (s) return s;
    hd_arena_init(&arena, hd_allocator_host, 0);
    s = read_files(t, t->from, &arena, err);
    hd_arena_release(&arena);
    t->size = b->vocab.count;
    for (size_t i = 0; i < b->added.count; i++)
        if (b->added.at[i].id == t->special.mask) t->special.mask_strips = b->added.at[i].lstrip;
    return s;
}

hd_status hd_bpe_save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    static const char *const all[] = {VOCAB, MERGES, WHOLE, CONFIG, TEMPLATE, HD_ADDED_FILE, NULL};
    const hd_bpe *b = t->state;
    return hd_file_set_save(&b->files, path, all, err);
}
