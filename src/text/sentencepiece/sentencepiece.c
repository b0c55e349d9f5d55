/* The tokenizer `sentencepiece`: subwords by byte-pair encoding or a unigram model, through the
   SentencePiece library. Easy to get wrong: the library checks its assumptions by aborting, so lines are
   filtered before it gets them. */
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "text/list.h"
#include "text/sentencepiece/sentencepiece_file.h"
#include "text/sentencepiece/sentencepiece_json.h"

enum {
    LINE_MOST = 4000,    /* bytes: it skips lines above 4192, and takes no word above 65535 characters */
    TEXT_MOST = 1 << 30, /* bytes: it counts in int */
    VOCAB_MOST = 1 << 24,
};

#define COVERAGE 0.9995

struct state {
    hd_spm_file file;
    int pieces; /* of the model, followed by the specials it lacks */
    int lacks[HD_SPECIALS];
    int lacking;
};

/* Lines that are passed to the library. */
struct lines {
    hd_feed from;
    hd_line rest;  /* of a line that is cut */
    size_t taken;  /* bytes */
    bool too_much; /* there are lines that were not used */
};

/* Length of the next part of a line: all of it, or up to a space, or else up to the end of a character. */
static size_t part_of(hd_line line)
{
    if (line.size <= LINE_MOST) return line.size;
    size_t space = LINE_MOST, end = LINE_MOST;
    while (space && line.text[space] != ' ') space--;
    while (end > LINE_MOST - 4 && ((uint8_t)line.text[end] & 0xc0) == 0x80) end--;
    return space ? space : end;
}

/* Whether anything remains of the line after normalization. The library skips lines with a character that
   it uses itself. */
static bool is_useful(hd_line line)
{
    bool visible = false;
    for (size_t i = 0; i < line.size;) {
        int32_t point;
        i += hd_character(line.text + i, line.size - i, &point);
        if (point == 0x2585) return false;
        if (visible || point <= ' ' || point == 0x2581 || point == 0xfffd) continue;
        utf8proc_category_t category = utf8proc_category(point);
        visible = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_SO;
    }
    return visible;
}

static bool next_part(void *context, const char **text, size_t *size)
{
    struct lines *l = context;
    for (;;) {
        if (!l->rest.size && !l->from.next(l->from.context, &l->rest)) return false;
        hd_line part = {l->rest.text, part_of(l->rest)};
        l->rest.text += part.size;
        l->rest.size -= part.size;
        if (!is_useful(part)) continue;
        l->too_much = l->taken + part.size > TEXT_MOST;
        if (l->too_much) return false;
        l->taken += part.size;
        *text = part.text;
        *size = part.size;
        return true;
    }
}

/* Assigns ids to the specials: the model's own, or new ones after its pieces. */
static void place_specials(hd_tokenizer *t, struct state *m)
{
    hd_spm_special own = hd_spm_specials(m->file.model);
    const int has[HD_SPECIALS] = {own.pad, own.unk, own.start, own.end};
    int32_t *place[HD_SPECIALS] = {&t->special.pad, &t->special.unk, &t->special.start, &t->special.end};
    m->pieces = hd_spm_size(m->file.model);
    for (int i = 0; i < HD_SPECIALS; i++) {
        *place[i] = has[i] >= 0 ? has[i] : m->pieces + m->lacking;
        if (has[i] < 0) m->lacks[m->lacking++] = i;
    }
    t->size = (size_t)(m->pieces + m->lacking);
}

static struct state *state_new(hd_tokenizer *t, hd_err *err)
{
    struct state *m = t->state = hd_mem_zero(sizeof *m);
    if (!m) hd_err_nomem(err, sizeof *m);
    return m;
}

static hd_status load(hd_tokenizer *t, hd_err *err)
{
    struct state *m = t->state;
    hd_status s = hd_spm_file_load(&m->file, err);
    if (!s) place_specials(t, m);
    return s;
}

static hd_status learn(struct state *m, struct lines *lines, const hd_spm_plan *plan, hd_err *err)
{
    size_t needed;
    hd_err why = {0};
    hd_status s = hd_spm_train(plan, next_part, lines, hd_spm_take_text, &m->file.bytes, &needed, &why);
    if (!s) return s;
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", why.text);
    if (!lines->taken) return hd_err_set(err, HD_EARG, "there is no text to learn a vocabulary from");
    if (needed)
        return hd_err_set(
            err, HD_EARG,
            "a vocabulary of %zu is too small: specials, bytes and the characters of the text are %zu",
            plan->vocab, needed);
    return hd_err_set(err, s, "%s", why.text);
}

static hd_status train(hd_tokenizer *t, hd_feed feed, const hd_tokenizer_opt *opt, hd_err *err)
{
    struct lines lines = {.from = feed};
    const hd_spm_plan plan = {.vocab = opt->vocab ? opt->vocab : HD_SUBWORDS,
                              .unigram = opt->unigram,
                              .coverage = opt->coverage > 0 ? opt->coverage : COVERAGE,
                              .pad = HD_PAD_ID,
                              .unk = HD_UNK_ID,
                              .start = HD_START_ID,
                              .end = HD_END_ID};
    if (plan.vocab > VOCAB_MOST)
        return hd_err_set(err, HD_ELIMIT, "a vocabulary of %zu is too large: %d at most", plan.vocab,
                          VOCAB_MOST);
    if (!(plan.coverage >= 0.98 && plan.coverage <= 1))
        return hd_err_set(err, HD_EARG, "a coverage of %g is not between 0.98 and 1", plan.coverage);
    struct state *m = state_new(t, err);
    hd_status s = m ? learn(m, &lines, &plan, err) : HD_ENOMEM;
    if (!s) s = load(t, err);
    if (s) return s;
    if (lines.too_much)
        hd_log_say(opt->log, HD_WARN, "the vocabulary was learned from the first %zu bytes of the text only",
                   lines.taken);
    if (t->size < plan.vocab)
        hd_log_say(opt->log, HD_INFO, "the text supports a vocabulary of %zu, not of %zu", t->size,
                   plan.vocab);
    return HD_OK;
}

static hd_status open_model(hd_tokenizer *t, const char *path, hd_err *err)
{
    struct state *m = state_new(t, err);
    hd_status s = m ? hd_spm_file_open(&m->file, path, err) : HD_ENOMEM;
    if (!s) place_specials(t, m);
    return s;
}

static hd_status save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    const struct state *m = t->state;
    return hd_spm_file_save(&m->file, path, err);
}

static void release(hd_tokenizer *t)
{
    struct state *m = t->state;
    if (!m) return;
    hd_spm_file_release(&m->file);
    hd_mem_free(m);
}

static bool put_piece(void *context, const hd_spm_piece_of *p)
{
    const hd_piece_sink *to = context;
    return to->put(to->context,
                   (hd_piece){.id = p->id, .begin = (uint32_t)p->begin, .end = (uint32_t)p->end});
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    const struct state *m = t->state;
    return hd_spm_encode(m->file.model, text, size, put_piece, &to, err);
}

static hd_status decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    const struct state *m = t->state;
    int32_t *known = hd_mem_array(count, sizeof *known);
    if (!known) return hd_err_nomem(err, count * sizeof *known);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= m->pieces && (size_t)ids[i] < t->size) continue; /* a special the model lacks */
        known[used++] = ids[i] < 0 || (size_t)ids[i] >= t->size ? t->special.unk : ids[i];
    }
    hd_status s = hd_spm_decode(m->file.model, known, used, hd_spm_take_text, out, err);
    hd_mem_free(known);
    return s;
}

static const char *piece(const hd_tokenizer *t, int32_t id)
{
    const struct state *m = t->state;
    return id < m->pieces ? hd_spm_piece(m->file.model, id) : hd_special_piece[m->lacks[id - m->pieces]];
}

static int32_t id_of(const hd_tokenizer *t, const char *name)
{
    const struct state *m = t->state;
    for (int i = 0; i < m->lacking; i++)
        if (!strcmp(name, hd_special_piece[m->lacks[i]])) return m->pieces + i;
    return hd_spm_id(m->file.model, name);
}

static hd_status describe(const hd_tokenizer *t, json_t *root, bool continues, hd_err *err)
{
    const struct state *m = t->state;
    return hd_spm_describe(&m->file, root, continues ? HD_SPM_CONTINUES : 0, err);
}

const hd_tokenizer_type hd_tokenizer_sentencepiece = {
    .file = {"source.model", "target.model", "tokenizer.model"},
    .train = train,
    .open = open_model,
    .save = save,
    .release = release,
    .encode = encode,
    .decode = decode,
    .describe = describe,
    .piece = piece,
    .id = id_of,
};
