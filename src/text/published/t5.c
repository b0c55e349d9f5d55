/* The tokenizer `t5`: a SentencePiece model, followed by the sentinels <extra_id_99> to <extra_id_0>,
   which are matched literally in a text. The span between two of them is encoded as a separate text. Without
   a spiece.model, a tokenizer.json has all of this among its pieces; that of an XLM-R, or its
   sentencepiece.bpe.model, has <s> and <mask> instead of sentinels. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/sentencepiece/sentencepiece_file.h"
#include "text/published/unigram.h"

static const char MODEL[] = "spiece.model", CONFIG[] = "tokenizer_config.json", WHOLE[] = "tokenizer.json",
                  FAIRSEQ[] = "sentencepiece.bpe.model";

static const char MASK[] = "<mask>";

enum { SENTINELS = 100, MOST_SENTINELS = 10000, SENTINEL_ROOM = 24 };

typedef struct t5 {
    hd_spm_file file;
    hd_file_set config;
    hd_added added;
    char (*sentinel)[SENTINEL_ROOM]; /* by id, after the pieces */
    int pieces, sentinels;
    bool made; /* its model is built from `config` instead of a file */
} t5;

static hd_status read_config(t5 *m, const char *path, hd_err *err)
{
    char config[HD_PATH];
    hd_arena arena;
    hd_line text;
    json_t *root = NULL;
    m->sentinels = SENTINELS;
    hd_status s = hd_beside(config, path, CONFIG, err);
    if (!s) s = hd_file_set_read_beside(&m->config, path, CONFIG, &text, err);
    if (s || !text.text) return s;
    hd_arena_init(&arena, hd_allocator_host, 0);
    s = hd_file_json(&root, &arena, text, config, err);
    const json_t *extra = json_object_get(root, "extra_ids");
    json_int_t n = json_integer_value(extra);
    if (!s && extra && (!json_is_integer(extra) || n < 0 || n > MOST_SENTINELS))
        s = hd_err_set(err, HD_EFORMAT, "%s: \"extra_ids\" is not a whole number from 0 to %d", config,
                       MOST_SENTINELS);
    if (!s && extra) m->sentinels = (int)n;
    hd_arena_release(&arena);
    return s;
}

static hd_status add_sentinels(t5 *m, hd_err *err)
{
    hd_status s = HD_OK;
    m->sentinel = hd_mem_array((size_t)m->sentinels + 1, sizeof *m->sentinel);
    if (!m->sentinel) return hd_err_nomem(err, (size_t)m->sentinels * sizeof *m->sentinel);
    for (int i = 0; !s && i < m->sentinels; i++) {
        int size = snprintf(m->sentinel[i], SENTINEL_ROOM, "<extra_id_%d>", m->sentinels - 1 - i);
        s = hd_added_put(
            &m->added,
            (hd_added_token){
                .text = m->sentinel[i], .size = (size_t)size, .id = m->pieces + i, .special = true},
            err);
    }
    return s;
}

/* The model's own special tokens are matched in a text, too. */
static hd_status add_specials(hd_tokenizer *t, const char *path, hd_err *err)
{
    t5 *m = t->state;
    hd_spm_special own = hd_spm_specials(m->file.model);
    if (own.unk < 0 || own.end < 0 || own.pad < 0)
        return hd_err_set(err, HD_EFORMAT, "%s: not a model of T5: <pad>, </s> or <unk> is missing", path);
    hd_special *to = &t->special;
    to->pad = own.pad, to->unk = own.unk, to->end = own.end;
    if (to->start < 0) to->start = own.pad;
    const int id[5] = {own.pad, own.unk, own.end, to->start, to->mask};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 5; i++) {
        const char *text = id[i] < 0 ? "" : hd_spm_piece(m->file.model, id[i]);
        if (*text && !hd_added_special(&m->added, id[i]))
            s = hd_added_put(
                &m->added, (hd_added_token){.text = text, .size = strlen(text), .id = id[i], .special = true},
                err);
    }
    hd_added_sort(&m->added);
    return s;
}

/* Every added token is a piece of the model; <pad>, </s> and <unk> are added automatically. */
static hd_status add_tokens(t5 *m, const json_t *added, hd_err *err)
{
    hd_spm_special own = hd_spm_specials(m->file.model);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(added); i++) {
        int32_t id = (int32_t)json_integer_value(json_object_get(json_array_get(added, i), "id"));
        const char *text = hd_spm_piece(m->file.model, id);
        if (text && *text && id != own.pad && id != own.end && id != own.unk)
            s = hd_added_put(&m->added,
                             (hd_added_token){.text = text, .size = strlen(text), .id = id, .special = true},
                             err);
    }
    return s;
}

/* <s> and <mask> of an XLM-R: T5s have neither. */
static hd_status find_start(hd_tokenizer *t, const hd_tokenizer_json *j)
{
    t5 *m = t->state;
    hd_post post;
    hd_status s = hd_json_post(j, (size_t)hd_spm_size(m->file.model), &post);
    if (s || post.frame[0].at[0].id < 0) return s;
    memcpy(t->frame, post.frame, sizeof t->frame);
    t->special.start = post.frame[0].at[0].id;
    int32_t mask = hd_spm_id(m->file.model, MASK);
    if (hd_added_special(&m->added, mask)) t->special.mask = mask;
    return HD_OK;
}

static hd_status open_whole(hd_tokenizer *t, const char *path, hd_err *err)
{
    t5 *m = t->state;
    hd_arena arena;
    hd_line text;
    json_t *root = NULL;
    hd_err why = {0};
    m->made = true;
    hd_status s = hd_file_set_read(&m->config, path, WHOLE, true, &text, err);
    if (s) return s;
    hd_arena_init(&arena, hd_allocator_host, 0);
    s = hd_file_json(&root, &arena, text, path, err);
    const hd_tokenizer_json j = {path, root, err};
    if (!s) s = hd_unigram_of_json(&j, &m->file.bytes);
    if (!s && (s = hd_spm_file_load(&m->file, &why))) hd_err_set(err, s, "%s: %s", path, why.text);
    if (!s) s = hd_file_set_read_beside(&m->config, path, CONFIG, &text, err);
    if (!s) s = add_tokens(m, json_object_get(root, "added_tokens"), err);
    if (!s) s = find_start(t, &j);
    hd_arena_release(&arena);
    return s;
}

/* <s> A </s>, and for a pair followed by </s> B </s>. */
static hd_status open_fairseq(hd_tokenizer *t, const char *path, hd_err *err)
{
    enum { START, PAD, END };
    t5 *m = t->state;
    hd_line bytes;
    hd_err why = {0};
    m->made = true;
    hd_status s = hd_file_set_read(&m->config, path, FAIRSEQ, false, &bytes, err);
    if (!s) s = hd_unigram_of_fairseq(&m->file.bytes, bytes, path, err);
    if (!s && (s = hd_spm_file_load(&m->file, &why))) hd_err_set(err, s, "%s: %s", path, why.text);
    if (!s) s = hd_file_set_read_beside(&m->config, path, CONFIG, &bytes, err);
    if (s) return s;
    t->special.start = START, t->special.mask = (int32_t)hd_spm_size(m->file.model) - 1;
    for (int pair = 0; pair < 2; pair++) {
        hd_frame_add(&t->frame[pair], START, 0);
        for (int i = 0; i <= pair; i++) {
            if (i) hd_frame_add(&t->frame[pair], END, 0);
            hd_frame_add(&t->frame[pair], HD_FRAME_FIRST - i, 0);
            hd_frame_add(&t->frame[pair], END, 0);
        }
    }
    return HD_OK;
}

static hd_status open_files(hd_tokenizer *t, const char *path, hd_err *err)
{
    char *found = t->from;
    t5 *m = t->state = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    t->special.start = t->special.mask = -1;
    hd_status s = hd_file_set_find(found, path, MODEL, WHOLE, err);
    if (!s && !hd_is_called(found, WHOLE)) s = hd_file_set_find(found, path, MODEL, FAIRSEQ, err);
    if (s) return s;
    s = hd_is_called(found, WHOLE)     ? open_whole(t, found, err)
        : hd_is_called(found, FAIRSEQ) ? open_fairseq(t, found, err)
                                       : hd_spm_file_open(&m->file, found, err);
    if (s) return s;
    m->pieces = hd_spm_size(m->file.model);
    if (!m->made) s = read_config(m, found, err);
    if (!s) s = add_sentinels(m, err);
    if (!s) s = add_specials(t, found, err);
    t->size = (size_t)(m->pieces + m->sentinels);
    return s;
}

static hd_status save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    static const char *const parts[] = {CONFIG, WHOLE, FAIRSEQ, NULL}, *const made[] = {CONFIG, MODEL, WHOLE,
                                                                                        FAIRSEQ, NULL};
    const t5 *m = t->state;
    hd_status s = m->made ? HD_OK : hd_spm_file_save(&m->file, path, err);
    return s ? s : hd_file_set_save(&m->config, path, m->made ? made : parts, err);
}

static void release(hd_tokenizer *t)
{
    t5 *m = t->state;
    if (!m) return;
    hd_added_release(&m->added);
    hd_mem_free(m->sentinel);
    hd_file_set_release(&m->config);
    hd_spm_file_release(&m->file);
    hd_mem_free(m);
}

typedef struct walk {
    hd_piece_sink to;
    size_t begin; /* of the span in the text */
} walk;

static bool put(walk *w, int32_t id, size_t begin, size_t end)
{
    return w->to.put(w->to.context, (hd_piece){.id = id, .begin = (uint32_t)begin, .end = (uint32_t)end});
}

static bool put_piece(void *context, const hd_spm_piece_of *p)
{
    walk *w = context;
    return put(w, p->id, w->begin + p->begin, w->begin + p->end);
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    const t5 *m = t->state;
    walk w = {.to = to};
    hd_stretch part;
    hd_status s = HD_OK;
    for (size_t at = 0; !s && hd_added_next(&m->added, HD_ADDED_RAW, text, size, &at, &part);) {
        w.begin = part.begin;
        if (!part.token)
            s = hd_spm_encode(m->file.model, text + part.begin, part.end - part.begin, put_piece, &w, err);
        else if (!put(&w, part.token->id, part.begin, part.end))
            s = hd_err_nomem(err, sizeof(hd_piece));
    }
    return s;
}

/* Sentinels have no text: they mark what a model is to fill in. */
static hd_status decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    const t5 *m = t->state;
    hd_ids known = {0};
    hd_status s = hd_ids_reserve(&known, count, err);
    for (size_t i = 0; !s && i < count; i++)
        if (ids[i] < m->pieces || (size_t)ids[i] >= t->size)
            known.at[known.count++] = ids[i] < 0 || (size_t)ids[i] >= t->size ? t->special.unk : ids[i];
    if (!s) s = hd_spm_decode(m->file.model, known.at, known.count, hd_spm_take_text, out, err);
    hd_ids_release(&known);
    return s;
}

static const char *piece(const hd_tokenizer *t, int32_t id)
{
    const t5 *m = t->state;
    return id < m->pieces ? hd_spm_piece(m->file.model, id) : m->sentinel[id - m->pieces];
}

static int32_t id_of(const hd_tokenizer *t, const char *name)
{
    const t5 *m = t->state;
    for (int i = 0; i < m->sentinels; i++)
        if (!strcmp(name, m->sentinel[i])) return m->pieces + i;
    return hd_spm_id(m->file.model, name);
}

const hd_tokenizer_type hd_tokenizer_t5 = {
    .file = {"source.spiece.model", "target.spiece.model", MODEL},
    .open = open_files,
    .save = save,
    .release = release,
    .encode = encode,
    .decode = decode,
    .piece = piece,
    .id = id_of,
};
