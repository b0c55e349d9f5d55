/* A tokenizer whose vocabulary is a list of pieces; words and characters. */
#include "text/list.h"

#include "base/mem.h"

enum { COUNTED = 1 << 22 };

static hd_vocab *state_new(hd_tokenizer *t, hd_err *err)
{
    t->vocab = t->state = hd_mem_zero(sizeof(hd_vocab));
    if (!t->state) hd_err_nomem(err, sizeof(hd_vocab));
    return t->state;
}

static bool is_piece(const char *text, size_t size)
{
    int32_t point;
    hd_character(text, size, &point);
    return point > 0; /* neither invalid nor a zero byte; a longer piece contains neither */
}

static hd_status count_line(hd_vocab *v, hd_line line, hd_list_cut *cut, hd_err *err)
{
    hd_status s = HD_OK;
    size_t skip = 0, size;
    for (size_t i = 0; !s && i < line.size; i += skip + size) {
        size = cut(line.text + i, line.size - i, &skip);
        if (!size) break;
        if (is_piece(line.text + i + skip, size)) s = hd_vocab_add(v, line.text + i + skip, size, err);
    }
    return s;
}

/* Keeps the counts within their bound: pieces that are rare so far will hardly be among the most frequent. */
static hd_status forget_rare(hd_vocab *all, size_t most, uint64_t *least, hd_err *err)
{
    hd_status s = HD_OK;
    while (!s && all->count > most / 2) s = hd_vocab_forget(all, ++*least, err);
    return s;
}

hd_status hd_list_train(hd_tokenizer *t, hd_feed lines, const hd_tokenizer_opt *opt, hd_err *err)
{
    hd_vocab *v = state_new(t, err), all = {0};
    hd_status s = v ? HD_OK : HD_ENOMEM;
    size_t most = opt->counted ? opt->counted : COUNTED;
    uint64_t forgotten = 1; /* pieces seen less often */
    for (hd_line line = {0}; !s && lines.next(lines.context, &line);) {
        s = count_line(&all, line, t->type->list->cut, err);
        if (!s && all.count > most) s = forget_rare(&all, most, &forgotten, err);
    }
    if (!s && forgotten > 1)
        hd_log_say(opt->log, HD_INFO,
                   "more than %zu different pieces: the rarest were not counted to the end", most);
    if (!s && !all.count) s = hd_err_set(err, HD_EARG, "there is no text to learn a vocabulary from");
    if (!s) s = hd_vocab_rank(v, &all, opt->vocab, opt->least, err);
    if (!s) {
        t->size = v->count;
        if (opt->vocab > v->count)
            hd_log_say(opt->log, HD_INFO, "the text has %zu pieces: the vocabulary is %zu, not %zu",
                       all.count, v->count, opt->vocab);
    }
    hd_vocab_release(&all);
    return s;
}

hd_status hd_list_open(hd_tokenizer *t, const char *path, hd_err *err)
{
    hd_vocab *v = state_new(t, err);
    hd_status s = v ? hd_vocab_open(v, path, t->type->list->check, err) : HD_ENOMEM;
    if (!s) t->size = v->count;
    return s;
}

hd_status hd_list_save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    return hd_vocab_save(t->state, path, err);
}

void hd_list_release(hd_tokenizer *t)
{
    if (t->state) hd_vocab_release(t->state);
    hd_mem_free(t->state);
}

hd_status hd_list_encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    size_t skip = 0, part;
    for (size_t i = 0; i < size; i += skip + part) {
        part = t->type->list->cut(text + i, size - i, &skip);
        if (!part) break;
        int32_t id = hd_vocab_find(t->state, text + i + skip, part);
        /* no cut gives "<s>": a text cannot contain the specials */
        hd_piece piece = {
            .id = id < 0 ? HD_UNK_ID : id, .begin = (uint32_t)(i + skip), .end = (uint32_t)(i + skip + part)};
        if (!to.put(to.context, piece)) return hd_err_nomem(err, sizeof piece);
    }
    return HD_OK;
}

hd_status hd_list_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    const hd_list_rules *rules = t->type->list;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        int32_t id = ids[i];
        if (id == HD_PAD_ID || id == HD_START_ID || id == HD_END_ID) continue;
        if (!first) hd_text_put(out, rules->joint);
        first = false;
        bool known = id >= HD_SPECIALS && (size_t)id < t->size;
        hd_text_put(out, known ? hd_vocab_piece(t->state, id) : rules->unknown);
    }
    return hd_text_status(out, err);
}

hd_status hd_list_describe(const hd_tokenizer *t, json_t *root, const char *piece, json_t *decoder)
{
    json_t *vocab = json_object();
    for (size_t id = 0; id < t->size; id++)
        hd_json_set(vocab, hd_vocab_piece(t->state, (int32_t)id), json_integer((json_int_t)id));
    hd_json_set(root, "normalizer", json_null());
    /* "invert": matches are kept, the text between them is removed */
    hd_json_set(root, "pre_tokenizer",
                json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex", piece, "behavior",
                          "Removed", "invert", 1));
    hd_json_set(root, "decoder", decoder);
    json_t *model = json_pack("{s:s,s:s}", "type", "WordLevel", "unk_token", hd_special_piece[HD_UNK_ID]);
    hd_json_set(model, "vocab", vocab);
    hd_json_set(root, "model", model);
    return HD_OK;
}
