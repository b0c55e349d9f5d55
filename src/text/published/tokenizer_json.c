/* The common parts of tokenizer.json. Easy to get wrong: the file is hostile; ids are used as indices and
   must be checked before. */
#include "text/published/tokenizer_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static hd_status refuse(const hd_tokenizer_json *j, const char *what)
{
    return hd_err_set(j->err, HD_EFORMAT, "%s: %s", j->path, what);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

hd_status hd_json_part(const hd_tokenizer_json *j, const json_t *part, const char *name,
                       const char *const *known, int *which)
{
    *which = -1;
    if (!part || json_is_null(part)) return HD_OK;
    const char *type = text_of(part, "type");
    for (int i = 0; known[i]; i++)
        if (!strcmp(known[i], type)) return *which = i, HD_OK;
    return hd_err_set(j->err, HD_EFORMAT, "%s: %s \"%.60s\" of tokenizer.json is not known", j->path, name,
                      type);
}

hd_status hd_json_switch(const hd_tokenizer_json *j, const json_t *object, const char *key, bool otherwise,
                         bool *out)
{
    const json_t *v = json_object_get(object, key);
    *out = otherwise;
    if (!v || json_is_null(v)) return HD_OK;
    if (!json_is_boolean(v))
        return hd_err_set(j->err, HD_EFORMAT, "%s: \"%s\" is not true or false", j->path, key);
    *out = json_is_true(v);
    return HD_OK;
}

/* -- added tokens, as a list or by their ids -- */

typedef hd_status take_added(void *context, const json_t *token, const char *content, json_int_t id);

static hd_status one_added(const hd_tokenizer_json *j, const json_t *token, json_int_t id, take_added *take,
                           void *context)
{
    const char *content = text_of(token, "content");
    if (!*content) return refuse(j, "an added token has no \"content\"");
    return take(context, token, content, id);
}

static hd_status each_added(const hd_tokenizer_json *j, const json_t *added, take_added *take, void *context)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i), *id = json_object_get(token, "id");
        s = json_is_integer(id) ? one_added(j, token, json_integer_value(id), take, context)
                                : refuse(j, "an added token has no \"id\"");
    }
    const char *key;
    json_t *token;
    if (json_is_object(added)) json_object_foreach((json_t *)added, key, token)
        {
            char *end;
            long long id = strtoll(key, &end, 10);
            if (!s)
                s = *end || !*key ? refuse(j, "the key of an added token is not its id")
                                  : one_added(j, token, id, take, context);
        }
    return s;
}

/* -- vocabulary -- */

typedef struct table {
    const hd_tokenizer_json *j;
    const json_t *object;
    const char **piece; /* [size] by id */
    size_t size;
} table;

static hd_status count_added(void *context, const json_t *token, const char *content, json_int_t id)
{
    table *t = context;
    (void)token, (void)id;
    t->size += !json_object_get(t->object, content);
    return HD_OK;
}

static hd_status place(const table *t, const char *piece, json_int_t id)
{
    if (id < 0 || (size_t)id >= t->size)
        return hd_err_set(t->j->err, HD_EFORMAT,
                          "%s: the id %" JSON_INTEGER_FORMAT " of '%.60s' is not among those of %zu pieces",
                          t->j->path, id, piece, t->size);
    if (t->piece[id])
        return hd_err_set(t->j->err, HD_EFORMAT,
                          "%s: '%.60s' and '%.60s' have the same id %" JSON_INTEGER_FORMAT, t->j->path,
                          t->piece[id], piece, id);
    t->piece[id] = piece;
    return HD_OK;
}

static hd_status place_added(void *context, const json_t *token, const char *content, json_int_t id)
{
    const table *t = context;
    const json_t *known = json_object_get(t->object, content);
    (void)token;
    if (!known) return place(t, content, id);
    if (json_integer_value(known) == id) return HD_OK;
    return hd_err_set(t->j->err, HD_EFORMAT, "%s: the added token '%.60s' has another id in the vocabulary",
                      t->j->path, content);
}

static hd_status fill(const table *t, const json_t *added, hd_vocab *out)
{
    hd_status s = HD_OK;
    const char *key;
    json_t *id;
    json_object_foreach((json_t *)t->object, key, id)
    {
        if (!json_is_integer(id))
            return hd_err_set(t->j->err, HD_EFORMAT, "%s: the id of '%.60s' is not a whole number",
                              t->j->path, key);
        if ((s = place(t, key, json_integer_value(id)))) return s;
    }
    s = each_added(t->j, added, place_added, (void *)t);
    for (size_t i = 0; !s && i < t->size; i++) {
        s = t->piece[i] ? hd_vocab_add(out, t->piece[i], strlen(t->piece[i]), t->j->err)
                        : hd_err_set(t->j->err, HD_EFORMAT, "%s: no piece has the id %zu", t->j->path, i);
        if (!s && out->count != i + 1) s = refuse(t->j, "an added token is there twice");
        if (!s) out->seen[i] = json_object_get(t->object, t->piece[i]) != NULL;
    }
    return s;
}

hd_status hd_json_vocab(const hd_tokenizer_json *j, const json_t *object, const json_t *added, hd_vocab *out)
{
    if (!json_object_size(object)) return refuse(j, "the vocabulary is not an object of pieces and ids");
    if (added && !json_is_null(added) && !json_is_array(added))
        return refuse(j, "\"added_tokens\" is not a list of tokens");
    table t = {j, object, NULL, json_object_size(object)};
    hd_status s = each_added(j, added, count_added, &t);
    if (s) return s;
    t.piece = hd_mem_array(t.size, sizeof *t.piece);
    if (!t.piece) return hd_err_nomem(j->err, t.size * sizeof *t.piece);
    s = fill(&t, added, out);
    hd_mem_free(t.piece);
    return s;
}

/* -- options of added tokens -- */

typedef struct adding {
    const hd_tokenizer_json *j;
    const hd_vocab *vocab;
    hd_added *out;
} adding;

static hd_status add_token(void *context, const json_t *token, const char *content, json_int_t id)
{
    const adding *a = context;
    hd_added_token t = {.id = (int32_t)id, .size = strlen(content)};
    hd_status s = hd_json_switch(a->j, token, "special", false, &t.special);
    if (!s) s = hd_json_switch(a->j, token, "normalized", !t.special, &t.normal);
    if (!s) s = hd_json_switch(a->j, token, "single_word", false, &t.word);
    if (!s) s = hd_json_switch(a->j, token, "lstrip", false, &t.lstrip);
    if (!s) s = hd_json_switch(a->j, token, "rstrip", false, &t.rstrip);
    if (s) return s;
    t.text = hd_vocab_piece(a->vocab, t.id); /* checked by fill() to be the content */
    return hd_added_put(a->out, t, a->j->err);
}

hd_status hd_json_added(const hd_tokenizer_json *j, const json_t *added, const hd_vocab *v, hd_added *out)
{
    hd_status s = each_added(j, added, add_token, &(adding){j, v, out});
    hd_added_sort(out);
    return s;
}

/* -- special tokens around a text -- */

static hd_status frame_id(const hd_tokenizer_json *j, size_t count, const json_t *id, int32_t *out)
{
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
    if (n < 0 || (size_t)n >= count) return refuse(j, "post_processor: an id is not in the vocabulary");
    *out = (int32_t)n;
    return HD_OK;
}

static hd_status frame_put(const hd_tokenizer_json *j, hd_text_frame *f, int32_t id, json_int_t type)
{
    if (type < 0 || type > 127) return refuse(j, "post_processor: a type_id is not between 0 and 127");
    return hd_frame_add(f, id, (int)type) ? HD_OK : refuse(j, "post_processor: too many parts");
}

/* {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": "[CLS]", "type_id": 0}} */
static hd_status template_part(const hd_tokenizer_json *j, size_t count, const json_t *post,
                               const json_t *part, hd_text_frame *f)
{
    const json_t *sequence = json_object_get(part, "Sequence"),
                 *special = json_object_get(part, "SpecialToken");
    const json_t *of = sequence ? sequence : special;
    json_int_t type = json_integer_value(json_object_get(of, "type_id"));
    const char *name = text_of(of, "id");
    if (sequence && (!strcmp(name, "A") || !strcmp(name, "B")))
        return frame_put(j, f, *name == 'A' ? HD_FRAME_FIRST : HD_FRAME_SECOND, type);
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(post, "special_tokens"), name), "ids");
    if (!special || !json_array_size(ids))
        return refuse(j, "post_processor: a part of a template is unclear");
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(ids); i++) {
        int32_t id = 0;
        s = frame_id(j, count, json_array_get(ids, i), &id);
        if (!s) s = frame_put(j, f, id, type);
    }
    return s;
}

static hd_status template_post(const hd_tokenizer_json *j, size_t count, const json_t *post, hd_post *out)
{
    static const char *const name[] = {"single", "pair"};
    hd_status s = HD_OK;
    for (int pair = 0; pair < 2; pair++) {
        const json_t *parts = json_object_get(post, name[pair]);
        out->frame[pair].count = 0;
        for (size_t i = 0; !s && i < json_array_size(parts); i++)
            s = template_part(j, count, post, json_array_get(parts, i), &out->frame[pair]);
        if (!s && !out->frame[pair].count) s = refuse(j, "post_processor: a template is empty");
    }
    return s;
}

/* cls A sep, and for a pair sep B sep (BERT) or sep sep B sep (RoBERTa, which has one type). */
static hd_status classic_post(const hd_tokenizer_json *j, size_t count, const json_t *post, bool roberta,
                              hd_post *out)
{
    int32_t cls = 0, sep = 0;
    hd_status s = frame_id(j, count, json_array_get(json_object_get(post, "cls"), 1), &cls);
    if (!s) s = frame_id(j, count, json_array_get(json_object_get(post, "sep"), 1), &sep);
    for (int pair = 0; !s && pair < 2; pair++) {
        hd_text_frame *f = &out->frame[pair];
        f->count = 0;
        hd_frame_add(f, cls, 0);
        hd_frame_add(f, HD_FRAME_FIRST, 0);
        hd_frame_add(f, sep, 0);
        if (!pair) continue;
        if (roberta) hd_frame_add(f, sep, 0);
        hd_frame_add(f, HD_FRAME_SECOND, !roberta);
        hd_frame_add(f, sep, !roberta);
    }
    return s;
}

static hd_status one_post(const hd_tokenizer_json *j, size_t count, const json_t *post, hd_post *out)
{
    enum { BYTE_LEVEL, TEMPLATE, BERT, ROBERTA };
    static const char *const known[] = {"ByteLevel", "TemplateProcessing", "BertProcessing",
                                        "RobertaProcessing", NULL};
    int which;
    hd_status s = hd_json_part(j, post, "post_processor", known, &which);
    if (s || which < 0) return s;
    if (which == BYTE_LEVEL || which == ROBERTA) {
        s = hd_json_switch(j, post, "trim_offsets", true, &out->trim);
        if (!s) s = hd_json_switch(j, post, "add_prefix_space", true, &out->prefixed);
    }
    if (s || which == BYTE_LEVEL) return s;
    return which == TEMPLATE ? template_post(j, count, post, out)
                             : classic_post(j, count, post, which == ROBERTA, out);
}

hd_status hd_json_post(const hd_tokenizer_json *j, size_t pieces, hd_post *out)
{
    const json_t *post = json_object_get(j->root, "post_processor"),
                 *list = json_object_get(post, "processors");
    *out = (hd_post){0};
    for (int pair = 0; pair < 2; pair++)
        for (int i = 0; i <= pair; i++) hd_frame_add(&out->frame[pair], HD_FRAME_FIRST - i, i);
    if (strcmp(text_of(post, "type"), "Sequence")) return one_post(j, pieces, post, out);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(list); i++)
        s = one_post(j, pieces, json_array_get(list, i), out);
    return s;
}

/* -- special tokens by name -- */

/* The names of decoders, where there is no token of those that all use. */
static void find_decoder(hd_special *out, const hd_vocab *v)
{
    static const char *const names[][2] = {{"<bos>", "<eos>"},
                                           {"<|begin_of_text|>", "<|end_of_text|>"},
                                           {"<\xef\xbd\x9c"
                                            "begin\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>",
                                            "<\xef\xbd\x9c"
                                            "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"},
                                           {"<|im_start|>", "<|im_end|>"}};
    for (size_t i = 0; out->end < 0 && i < sizeof names / sizeof *names; i++) {
        out->end = hd_vocab_find(v, names[i][1], strlen(names[i][1]));
        if (out->end >= 0) out->start = hd_vocab_find(v, names[i][0], strlen(names[i][0]));
    }
}

hd_status hd_find_specials(hd_special *out, const hd_vocab *v, const hd_added *added, bool brackets,
                           const char *path, hd_err *err)
{
    static const char *const names[5][3] = {{"<pad>", "[PAD]", "<|pad|>"},
                                            {"<unk>", "[UNK]", "<|unk|>"},
                                            {"<s>", "[CLS]", "<|endoftext|>"},
                                            {"</s>", "[SEP]", "<|endoftext|>"},
                                            {"<mask>", "[MASK]", "<|mask|>"}};
    out->mask_strips = false;
    int32_t *const place[5] = {&out->pad, &out->unk, &out->start, &out->end, &out->mask};
    for (int i = 0; i < 5; i++) {
        *place[i] = -1;
        for (int k = 0; k < 6 && *place[i] < 0; k++) {
            const char *name = names[i][brackets && k % 3 < 2 ? !(k % 3) : k % 3];
            int32_t id = hd_vocab_find(v, name, strlen(name));
            if (k >= 3 || hd_added_special(added, id)) *place[i] = id;
        }
    }
    find_decoder(out, v);
    if (out->end < 0)
        return hd_err_set(err, HD_EFORMAT,
                          "%s: no end token: one of </s>, [SEP] and <|endoftext|> is expected", path);
    if (out->start < 0) out->start = out->end;
    return HD_OK;
}

void hd_name_specials(hd_special *out, const hd_vocab *v, const json_t *config)
{
    static const char *const keys[5] = {"pad_token", "unk_token", "cls_token", "sep_token", "mask_token"};
    int32_t *const place[5] = {&out->pad, &out->unk, &out->start, &out->end, &out->mask};
    for (int i = 0; i < 5; i++) {
        const json_t *token = json_object_get(config, keys[i]);
        const char *name = json_is_string(token) ? json_string_value(token) : text_of(token, "content");
        int32_t id = hd_vocab_find(v, name, strlen(name));
        if (id >= 0) *place[i] = id;
    }
}

hd_status hd_add_specials(hd_added *out, const hd_special *special, const hd_vocab *v, hd_err *err)
{
    const int32_t id[5] = {special->pad, special->unk, special->start, special->end, special->mask};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 5; i++) {
        bool known = id[i] < 0;
        for (int k = 0; k < i; k++) known |= id[k] == id[i];
        if (known) continue;
        const char *text = hd_vocab_piece(v, id[i]);
        s = hd_added_put(out,
                         (hd_added_token){.text = text,
                                          .size = strlen(text),
                                          .id = id[i],
                                          .special = true,
                                          .lstrip = !strcmp(text, "<mask>")},
                         err);
    }
    hd_added_sort(out);
    return s;
}
