/* The tokenizer `marian`: a SentencePiece model cuts the text, and vocab.json beside it has the ids of its
   pieces; source.spm and target.spm share one (or the target has target_vocab.json). A language code >>xx<<
   in front of a text is a piece of its own. */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "text/sentencepiece/sentencepiece_file.h"
#include "text/published/tokenizer_json.h"

static const char VOCAB[] = "vocab.json", TARGET_VOCAB[] = "target_vocab.json";

typedef struct marian {
    hd_spm_file file;
    hd_file_set files; /* the vocabulary */
    hd_vocab vocab;
    hd_added added;
} marian;

static hd_status read_vocab(hd_tokenizer *t, const char *path, hd_err *err)
{
    marian *m = t->state;
    char *vocab = t->from;
    hd_arena arena;
    hd_line text;
    json_t *root = NULL;
    const char *name = TARGET_VOCAB;
    hd_status s = hd_beside(vocab, path, name, err);
    if (!s && (!hd_is_called(path, "target.spm") || access(vocab, F_OK)))
        s = hd_beside(vocab, path, name = VOCAB, err);
    if (!s) s = hd_file_set_read(&m->files, vocab, name, true, &text, err);
    hd_arena_init(&arena, hd_allocator_host, 0);
    if (!s) s = hd_file_json(&root, &arena, text, vocab, err);
    if (!s) s = hd_json_vocab(&(hd_tokenizer_json){vocab, root, err}, root, NULL, &m->vocab);
    if (!s) s = hd_find_specials(&t->special, &m->vocab, &m->added, false, vocab, err);
    if (!s && (t->special.unk < 0 || t->special.pad < 0))
        s = hd_err_set(err, HD_EFORMAT, "%s: not a vocabulary of Marian: <unk> or <pad> is missing", vocab);
    t->special.start = t->special.pad; /* the first input of its decoders */
    if (!s) s = hd_add_specials(&m->added, &t->special, &m->vocab, err);
    hd_arena_release(&arena);
    return s;
}

static hd_status open_files(hd_tokenizer *t, const char *path, hd_err *err)
{
    marian *m = t->state = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    t->vocab = &m->vocab;
    hd_status s = hd_spm_file_open(&m->file, path, err);
    if (!s) s = read_vocab(t, path, err);
    t->size = m->vocab.count;
    return s;
}

static hd_status save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    static const char *const none[] = {NULL};
    const marian *m = t->state;
    hd_status s = hd_spm_file_save(&m->file, path, err);
    return s ? s : hd_file_set_save(&m->files, path, none, err);
}

static void release(hd_tokenizer *t)
{
    marian *m = t->state;
    if (!m) return;
    hd_added_release(&m->added);
    hd_vocab_release(&m->vocab);
    hd_file_set_release(&m->files);
    hd_spm_file_release(&m->file);
    hd_mem_free(m);
}

typedef struct walk {
    const hd_tokenizer *t;
    hd_piece_sink to;
    size_t begin; /* of the span in the text */
} walk;

static bool put(const walk *w, const char *piece, size_t size, size_t begin, size_t end)
{
    const marian *m = w->t->state;
    int32_t id = hd_vocab_find(&m->vocab, piece, size);
    return w->to.put(
        w->to.context,
        (hd_piece){.id = id < 0 ? w->t->special.unk : id, .begin = (uint32_t)begin, .end = (uint32_t)end});
}

static bool put_piece(void *context, const hd_spm_piece_of *p)
{
    const walk *w = context;
    return put(w, p->piece, p->size, w->begin + p->begin, w->begin + p->end);
}

/* Length of the language code at the start of a span: ">>", some text on the same line, "<<"; 0: there is
   none. */
static size_t code_of(const char *text, size_t size)
{
    if (size < 5 || memcmp(text, ">>", 2) || text[2] == '\n') return 0;
    for (size_t at = 3; at + 2 <= size && text[at] != '\n'; at++)
        if (!memcmp(text + at, "<<", 2)) return at + 2;
    return 0;
}

static hd_status put_stretch(walk *w, const char *text, size_t size, hd_err *err)
{
    const marian *m = w->t->state;
    size_t code = code_of(text, size);
    if (code && !put(w, text, code, w->begin, w->begin + code)) return hd_err_nomem(err, sizeof(hd_piece));
    w->begin += code;
    return code == size ? HD_OK : hd_spm_encode(m->file.model, text + code, size - code, put_piece, w, err);
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    const marian *m = t->state;
    hd_stretch part;
    hd_status s = HD_OK;
    for (size_t at = 0; !s && hd_added_next(&m->added, HD_ADDED_RAW, text, size, &at, &part);) {
        walk w = {t, to, part.begin};
        if (!part.token)
            s = put_stretch(&w, text + part.begin, part.end - part.begin, err);
        else if (!put(&w, part.token->text, part.token->size, part.begin, part.end))
            s = hd_err_nomem(err, sizeof(hd_piece));
    }
    return s;
}

/* The pieces joined, U+2581 being a space, without surrounding spaces. */
static hd_status decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    static const char space[] = "\xe2\x96\x81";
    const marian *m = t->state;
    hd_text all = {0};
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= t->size || hd_added_special(&m->added, ids[i])) continue;
        for (const char *at = hd_vocab_piece(&m->vocab, ids[i]), *next; *at; at = next) {
            const char *mark = strstr(at, space);
            hd_text_add(&all, at, mark ? (size_t)(mark - at) : strlen(at));
            if (mark) hd_text_put(&all, " ");
            next = mark ? mark + 3 : at + strlen(at);
        }
    }
    hd_status s = hd_text_status(&all, err);
    size_t begin = 0, end = all.size;
    while (!s && begin < end && all.data[begin] == ' ') begin++;
    while (!s && end > begin && all.data[end - 1] == ' ') end--;
    if (!s && end > begin) hd_text_add(out, all.data + begin, end - begin);
    hd_text_release(&all);
    return s ? s : hd_text_status(out, err);
}

const hd_tokenizer_type hd_tokenizer_marian = {
    .file = {"source.spm", "target.spm", "source.spm"},
    .open = open_files,
    .save = save,
    .release = release,
    .encode = encode,
    .decode = decode,
};
