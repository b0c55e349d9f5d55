/* The tokenizer `wordpiece`: BERT's. A text is normalized and cut at spaces and punctuation marks; a word
   becomes the longest piece of the vocabulary that begins it, then the longest "##" piece that continues it,
   and so on; if that fails, or the word is too long, all of it is one [UNK]. */
#include <string.h>

#include "base/mem.h"
#include "text/published/added.h"
#include "text/published/bert_text.h"
#include "text/character.h"
#include "text/published/tokenizer_json.h"
#include "text/published/bpe/word_cache.h"

static const char VOCAB[] = "vocab.txt", WHOLE[] = "tokenizer.json", CONFIG[] = "tokenizer_config.json";

enum { LONGEST_WORD = 100, LONGEST_PREFIX = 16 };

typedef struct wordpiece {
    hd_file_set files;
    hd_vocab vocab;
    hd_added added;
    hd_bert_rules rules;
    hd_text normal;              /* contents of the added tokens that are searched in normalized text */
    char prefix[LONGEST_PREFIX]; /* of a piece that continues a word */
    size_t prefix_size;
    size_t longest_word;  /* characters */
    size_t longest_piece; /* bytes */
    int32_t unk;          /* as named by the model; -1: not named */
    hd_word_cache *cache;
} wordpiece;

/* -- reading -- */

static hd_status read_lines(wordpiece *w, hd_line text, const char *path, hd_err *err)
{
    hd_line line;
    hd_status s = HD_OK;
    for (size_t number = 1; !s && hd_take_line(&text, &line); number++) {
        if (memchr(line.text, 0, line.size))
            return hd_err_set(err, HD_EFORMAT, "%s:%zu: a zero byte: no piece has one", path, number);
        int32_t twin = hd_vocab_find(&w->vocab, line.text, line.size);
        if (twin >= 0)
            return hd_err_set(err, HD_EFORMAT, "%s:%zu: '%.*s' is on line %d too: remove one of them", path,
                              number, line.size > 60 ? 60 : (int)line.size, line.text, twin + 1);
        s = hd_vocab_add(&w->vocab, line.text, line.size, err);
    }
    return s;
}

static hd_status finish(hd_tokenizer *t, const char *path, hd_err *err)
{
    wordpiece *w = t->state;
    hd_status s = hd_find_specials(&t->special, &w->vocab, &w->added, true, path, err);
    if (!s && w->unk >= 0) t->special.unk = w->unk;
    if (!s && t->special.unk < 0)
        s = hd_err_set(err, HD_EFORMAT, "%s: no [UNK]: WordPiece needs one for words it does not know", path);
    for (size_t i = 0; !s && i < w->vocab.count; i++) {
        size_t size = strlen(hd_vocab_piece(&w->vocab, (int32_t)i));
        if (size > w->longest_piece) w->longest_piece = size;
    }
    t->size = w->vocab.count;
    return s ? s : hd_word_cache_new(&w->cache, err);
}

/* [CLS] A [SEP], and for a pair followed by B [SEP]; an MPNet has two ends between them, and one type. */
static void frame_texts(hd_tokenizer *t)
{
    bool twice = !strcmp(hd_vocab_piece(&((wordpiece *)t->state)->vocab, t->special.end), "</s>");
    for (int pair = 0; pair < 2; pair++) {
        hd_frame_add(&t->frame[pair], t->special.start, 0);
        for (int i = 0; i <= pair; i++) {
            if (i && twice) hd_frame_add(&t->frame[pair], t->special.end, 0);
            hd_frame_add(&t->frame[pair], HD_FRAME_FIRST - i, i && !twice);
            hd_frame_add(&t->frame[pair], t->special.end, i && !twice);
        }
    }
}

static hd_status read_rules(wordpiece *w, const hd_tokenizer_json *j, const json_t *from, const char *clean,
                            const char *chinese, const char *lower)
{
    hd_bert_rules *r = &w->rules;
    hd_status s = hd_json_switch(j, from, clean, true, &r->clean);
    if (!s) s = hd_json_switch(j, from, chinese, true, &r->chinese);
    if (!s) s = hd_json_switch(j, from, lower, true, &r->lower);
    return s ? s : hd_json_switch(j, from, "strip_accents", r->lower, &r->unaccent);
}

/* Added tokens that are searched in normalized text are normalized, too. */
static hd_status normalize_added(wordpiece *w, hd_err *err)
{
    hd_bert_text n = {0};
    hd_status s = HD_OK;
    size_t kept = 0, at = 0;
    for (size_t i = 0; !s && i < w->added.count; i++) {
        hd_added_token token = w->added.at[i];
        if (token.normal) {
            s = hd_bert_text_set(&n, &w->rules, token.text, token.size, err);
            token.size = n.text.size;
            if (token.size) hd_text_add(&w->normal, n.text.data, n.text.size);
        }
        if (token.size) w->added.at[kept++] = token;
    }
    w->added.count = kept;
    hd_bert_text_release(&n);
    if (!s) s = hd_text_status(&w->normal, err);
    for (size_t i = 0; !s && i < kept; i++) {
        hd_added_token *token = &w->added.at[i];
        if (token->normal) token->text = w->normal.data + at, at += token->size;
    }
    hd_added_sort(&w->added);
    return s;
}

static hd_status read_vocab(hd_tokenizer *t, hd_line text, const char *path, hd_arena *arena, hd_err *err)
{
    wordpiece *w = t->state;
    char config[HD_PATH];
    hd_added_file more = {.root = NULL};
    hd_line settings;
    json_t *root = NULL;
    hd_status s = read_lines(w, text, path, err);
    if (!s) s = hd_beside(config, path, CONFIG, err);
    if (!s) s = hd_file_set_read_beside(&w->files, path, CONFIG, &settings, err);
    if (!s && settings.text) s = hd_file_json(&root, arena, settings, config, err);
    const hd_tokenizer_json j = {config, root, err};
    if (!s) s = read_rules(w, &j, root, "clean_text", "tokenize_chinese_chars", "do_lower_case");
    strcpy(w->prefix, "##");
    w->prefix_size = 2, w->longest_word = LONGEST_WORD;
    if (!s) s = hd_added_file_read(&more, &w->files, path, arena, err);
    if (!s) s = hd_added_file_join(&more, &w->vocab, err);
    if (!s) s = finish(t, path, err);
    if (!s) hd_name_specials(&t->special, &w->vocab, root);
    if (!s) s = hd_add_specials(&w->added, &t->special, &w->vocab, err);
    if (!s) s = hd_added_file_put(&more, &w->vocab, &w->added, err);
    if (!s) s = normalize_added(w, err);
    if (!s) frame_texts(t);
    return s;
}

static hd_status read_model(wordpiece *w, const hd_tokenizer_json *j, const json_t *model)
{
    const json_t *prefix = json_object_get(model, "continuing_subword_prefix"),
                 *most = json_object_get(model, "max_input_chars_per_word");
    const char *text = prefix ? json_string_value(prefix) : "##";
    json_int_t longest = most ? json_integer_value(most) : LONGEST_WORD;
    if (!text || strlen(text) >= LONGEST_PREFIX)
        return hd_err_set(j->err, HD_EFORMAT, "%s: \"continuing_subword_prefix\" is not a short text",
                          j->path);
    if (longest < 1 || longest > 1 << 20)
        return hd_err_set(j->err, HD_EFORMAT,
                          "%s: \"max_input_chars_per_word\" is not a whole number above 0", j->path);
    strcpy(w->prefix, text);
    w->prefix_size = strlen(text), w->longest_word = (size_t)longest;
    return HD_OK;
}

static hd_status read_whole(hd_tokenizer *t, hd_line text, const char *path, hd_arena *arena, hd_err *err)
{
    static const char *const models[] = {"WordPiece", NULL}, *const normals[] = {"BertNormalizer", NULL},
                             *const cuts[] = {"BertPreTokenizer", NULL};
    wordpiece *w = t->state;
    json_t *root = NULL;
    hd_status s = hd_file_json(&root, arena, text, path, err);
    const hd_tokenizer_json j = {path, root, err};
    const json_t *model = json_object_get(root, "model"), *normal = json_object_get(root, "normalizer"),
                 *added = json_object_get(root, "added_tokens");
    const char *unk = json_string_value(json_object_get(model, "unk_token"));
    hd_post post = {0};
    int which = 0, normalizer = 0, cut = 0;
    if (!s) s = hd_json_part(&j, model, "model", models, &which);
    if (!s) s = hd_json_part(&j, normal, "normalizer", normals, &normalizer);
    if (!s) s = hd_json_part(&j, json_object_get(root, "pre_tokenizer"), "pre_tokenizer", cuts, &cut);
    if (!s && cut < 0)
        s = hd_err_set(err, HD_EFORMAT, "%s: no pre_tokenizer: BertPreTokenizer is expected", path);
    if (!s && normalizer >= 0)
        s = read_rules(w, &j, normal, "clean_text", "handle_chinese_chars", "lowercase");
    if (!s) s = read_model(w, &j, model);
    if (!s) s = hd_json_vocab(&j, json_object_get(model, "vocab"), added, &w->vocab);
    if (!s) s = hd_json_added(&j, added, &w->vocab, &w->added);
    if (!s) s = normalize_added(w, err);
    if (!s) s = hd_json_post(&j, w->vocab.count, &post);
    if (!s && unk) w->unk = hd_vocab_find(&w->vocab, unk, strlen(unk));
    memcpy(t->frame, post.frame, sizeof t->frame);
    return s ? s : finish(t, path, err);
}

static hd_status open_files(hd_tokenizer *t, const char *path, hd_err *err)
{
    hd_arena arena;
    hd_line text;
    char *found = t->from;
    wordpiece *w = t->state = hd_mem_zero(sizeof *w);
    if (!w) return hd_err_nomem(err, sizeof *w);
    t->vocab = &w->vocab;
    w->unk = -1;
    hd_status s = hd_file_set_find(found, path, VOCAB, WHOLE, err);
    bool whole = !s && hd_is_called(found, WHOLE);
    if (!s) s = hd_file_set_read(&w->files, found, whole ? WHOLE : VOCAB, true, &text, err);
    if (s) return s;
    hd_arena_init(&arena, hd_allocator_host, 0);
    s = whole ? read_whole(t, text, found, &arena, err) : read_vocab(t, text, found, &arena, err);
    hd_arena_release(&arena);
    return s;
}

static hd_status save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    static const char *const all[] = {VOCAB, WHOLE, CONFIG, HD_ADDED_FILE, NULL};
    const wordpiece *w = t->state;
    return hd_file_set_save(&w->files, path, all, err);
}

static void release(hd_tokenizer *t)
{
    wordpiece *w = t->state;
    if (!w) return;
    hd_word_cache_free(w->cache);
    hd_text_release(&w->normal);
    hd_added_release(&w->added);
    hd_vocab_release(&w->vocab);
    hd_file_set_release(&w->files);
    hd_mem_free(w);
}

/* -- encoding -- */

typedef struct walk {
    const hd_tokenizer *t;
    const wordpiece *w;
    hd_piece_sink to;
    hd_err *err;
    hd_bert_text normal;
    hd_text word; /* with room for the prefix before it */
    hd_ids ids;
    size_t begin; /* in the text, of the normalized part */
} walk;

/* A piece that is bytes at .. end-1 of the normalized text. */
static hd_status put(walk *k, int32_t id, size_t at, size_t end)
{
    const struct hd_origin *from = k->normal.from;
    hd_piece p = {.id = id,
                  .begin = (uint32_t)k->begin + from[at].begin,
                  .end = (uint32_t)k->begin + from[end - 1].end};
    return k->to.put(k->to.context, p) ? HD_OK : hd_err_nomem(k->err, sizeof p);
}

static hd_status put_ids(walk *k, const int32_t *id, size_t count, size_t at, size_t size)
{
    hd_status s = HD_OK;
    size_t end = at + size;
    for (size_t i = 0; !s && i < count; i++) {
        size_t wide = strlen(hd_vocab_piece(&k->w->vocab, id[i])) - (i ? k->w->prefix_size : 0);
        if (id[i] == k->t->special.unk && count == 1) wide = size;
        s = put(k, id[i], at, at + wide < end ? at + wide : end);
        at += wide;
    }
    return s;
}

static size_t characters_of(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++) count += ((uint8_t)text[i] & 0xc0) != 0x80;
    return count;
}

/* The id and length of the longest piece at word[at]; -1: there is none. The bytes before it are already
   matched, so the prefix may overwrite them. */
static int32_t longest_at(const wordpiece *w, char *word, size_t at, size_t size, size_t *taken)
{
    size_t prefix = at ? w->prefix_size : 0, most = size - at;
    char *begin = word + at - prefix;
    if (prefix + most > w->longest_piece) most = w->longest_piece > prefix ? w->longest_piece - prefix : 0;
    memcpy(begin, w->prefix, prefix);
    for (; most; most--) {
        if (at + most < size && ((uint8_t)word[at + most] & 0xc0) == 0x80) continue; /* within a character */
        int32_t id = hd_vocab_find(&w->vocab, begin, prefix + most);
        if (id >= 0 && w->vocab.seen[id]) return *taken = most, id;
    }
    return -1;
}

/* The pieces of a word into k->ids. */
static hd_status cut_word(walk *k, const char *word, size_t size)
{
    const wordpiece *w = k->w;
    k->word.size = k->ids.count = 0;
    hd_text_add(&k->word, w->prefix, w->prefix_size);
    hd_text_add(&k->word, word, size);
    hd_status s = hd_text_status(&k->word, k->err);
    bool known = !s && characters_of(word, size) <= w->longest_word;
    for (size_t at = 0, taken = 0; !s && known && at < size; at += taken) {
        int32_t id = longest_at(w, k->word.data + w->prefix_size, at, size, &taken);
        known = id >= 0;
        s = hd_ids_reserve(&k->ids, 1, k->err);
        if (!s) k->ids.at[k->ids.count++] = id;
    }
    if (s || known) return s;
    k->ids.count = 0;
    s = hd_ids_reserve(&k->ids, 1, k->err);
    if (!s) k->ids.at[k->ids.count++] = k->t->special.unk;
    return s;
}

static hd_status put_word(walk *k, size_t at, size_t size)
{
    int32_t known[HD_CACHED_IDS];
    const char *word = k->normal.text.data + at;
    size_t count = hd_word_cache_get(k->w->cache, word, size, known);
    if (count) return put_ids(k, known, count, at, size);
    hd_status s = cut_word(k, word, size);
    if (s) return s;
    hd_word_cache_put(k->w->cache, word, size, k->ids.at, k->ids.count);
    return put_ids(k, k->ids.at, k->ids.count, at, size);
}

/* The words of bytes at .. end-1 of the normalized text. */
static hd_status put_words(walk *k, size_t at, size_t end)
{
    const char *text = k->normal.text.data;
    size_t begin = at;
    hd_status s = HD_OK;
    int32_t point;
    for (size_t wide; !s && at < end; at += wide) {
        wide = hd_character(text + at, end - at, &point);
        bool mark = hd_is_punctuation(point);
        if (!mark && !hd_is_space(point)) continue;
        if (at > begin) s = put_word(k, begin, at - begin);
        if (!s && mark) s = put_word(k, at, wide);
        begin = at + wide;
    }
    return !s && end > begin ? put_word(k, begin, end - begin) : s;
}

static hd_status put_stretch(walk *k, const char *text, size_t size)
{
    hd_stretch part;
    hd_status s = hd_bert_text_set(&k->normal, &k->w->rules, text, size, k->err);
    for (size_t at = 0; !s && hd_added_next(&k->w->added, HD_ADDED_NORMAL, k->normal.text.data,
                                            k->normal.text.size, &at, &part);)
        s = part.token ? put(k, part.token->id, part.begin, part.end) : put_words(k, part.begin, part.end);
    return s;
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    const wordpiece *w = t->state;
    walk k = {.t = t, .w = w, .to = to, .err = err};
    hd_status s = HD_OK;
    hd_stretch part;
    for (size_t at = 0; !s && hd_added_next(&w->added, HD_ADDED_RAW, text, size, &at, &part);) {
        k.begin = part.begin;
        if (!part.token) {
            s = put_stretch(&k, text + part.begin, part.end - part.begin);
            continue;
        }
        hd_piece p = {.id = part.token->id, .begin = (uint32_t)part.begin, .end = (uint32_t)part.end};
        if (!to.put(to.context, p)) s = hd_err_nomem(err, sizeof p);
    }
    hd_bert_text_release(&k.normal);
    hd_text_release(&k.word);
    hd_ids_release(&k.ids);
    return s;
}

/* -- decoding -- */

/* Pieces with a space between them, except before those that continue a word. */
static hd_status decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    const wordpiece *w = t->state;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        bool is_id = ids[i] >= 0 && (size_t)ids[i] < t->size;
        if (is_id && hd_added_special(&w->added, ids[i])) continue;
        const char *text = hd_vocab_piece(&w->vocab, is_id ? ids[i] : t->special.unk);
        bool more = !first && w->prefix_size && !strncmp(text, w->prefix, w->prefix_size);
        if (!first && !more) hd_text_put(out, " ");
        hd_text_put(out, more ? text + w->prefix_size : text);
        first = false;
    }
    return hd_text_status(out, err);
}

const hd_tokenizer_type hd_tokenizer_wordpiece = {
    .file = {"source.vocab.txt", "target.vocab.txt", VOCAB},
    .open = open_files,
    .save = save,
    .release = release,
    .encode = encode,
    .decode = decode,
};
