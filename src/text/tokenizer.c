/* The registry of tokenizers, and the checks before a type's own function is called. */
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "text/vocab.h"

enum { TEXT_LONGEST = 1 << 30 }; /* bytes: offsets and SentencePiece's own numbers stay below 2^31 */

const char *const hd_special_piece[HD_SPECIALS] = {"<pad>", "<unk>", "<s>", "</s>"};

static const struct {
    const char *name, *summary;
    const hd_tokenizer_type *type;
} kinds[HD_TOKENIZERS] = {
#define X(name, summary) {#name, summary, &hd_tokenizer_##name},
    HD_TOKENIZER_LIST(X)
#undef X
};

const char *hd_tokenizer_name(hd_tokenizer_kind kind)
{
    return kinds[kind].name;
}

const char *hd_tokenizer_summary(hd_tokenizer_kind kind)
{
    return kinds[kind].summary;
}

int hd_tokenizer_find(const char *name)
{
    for (int i = 0; i < HD_TOKENIZERS; i++)
        if (!strcmp(kinds[i].name, name)) return i;
    return -1;
}

bool hd_tokenizer_learns(hd_tokenizer_kind kind)
{
    return kinds[kind].type->train != NULL;
}

const char *hd_tokenizer_file(hd_tokenizer_kind kind, hd_tokenizer_place place)
{
    return kinds[kind].type->file[place];
}

static hd_tokenizer *new_of(hd_tokenizer_kind kind, hd_err *err)
{
    hd_tokenizer *t = hd_mem_zero(sizeof *t);
    hd_tally *tally = t ? hd_tally_new() : NULL;
    if (!tally) {
        hd_err_nomem(err, sizeof *t);
        hd_mem_free(t);
        return NULL;
    }
    *t = (hd_tokenizer){.kind = kind,
                        .type = kinds[kind].type,
                        .special = {HD_PAD_ID, HD_UNK_ID, HD_START_ID, HD_END_ID, .mask = -1},
                        .lead = HD_LEAD_END,
                        .tally = tally};
    return t;
}

bool hd_frame_add(hd_text_frame *f, int32_t id, int type)
{
    if (f->count == HD_FRAME_MOST) return false;
    f->at[f->count].id = id;
    f->at[f->count++].type = (int8_t)type;
    return true;
}

static void end_texts(hd_tokenizer *t)
{
    for (int pair = 0; pair < 2; pair++)
        for (int i = 0; i <= pair; i++) {
            hd_frame_add(&t->frame[pair], HD_FRAME_FIRST - i, i);
            hd_frame_add(&t->frame[pair], t->special.end, i);
        }
}

static hd_status publish(hd_tokenizer **out, hd_tokenizer *t, hd_status s)
{
    if (!s && !t->frame[0].count) end_texts(t);
    if (s)
        hd_tokenizer_free(t);
    else
        *out = t;
    return s;
}

hd_status hd_tokenizer_train(hd_tokenizer **out, hd_tokenizer_kind kind, hd_feed lines,
                             const hd_tokenizer_opt *opt, hd_err *err)
{
    if (!hd_tokenizer_learns(kind))
        return hd_err_set(err, HD_EARG, "%s cannot be trained here: give an existing file",
                          hd_tokenizer_name(kind));
    hd_tokenizer *t = new_of(kind, err);
    if (!t) return HD_ENOMEM;
    return publish(out, t, t->type->train(t, lines, opt, err));
}

const char *hd_tokenizer_before(const char *name, char buffer[HD_PATH])
{
    snprintf(buffer, HD_PATH, "%s", name);
    const char *base = strrchr(buffer, '/');
    char *at = strstr(base ? base : buffer, "tokenizer");
    if (!at) return NULL;
    at[strlen("tokeni")] = 's';
    return buffer;
}

hd_status hd_tokenizer_open(hd_tokenizer **out, hd_tokenizer_kind kind, const char *path, hd_err *err)
{
    char buffer[HD_PATH];
    const char *before = access(path, F_OK) ? hd_tokenizer_before(path, buffer) : NULL;
    hd_tokenizer *t = new_of(kind, err);
    if (!t) return HD_ENOMEM;
    if (before && !access(before, F_OK)) path = before;
    snprintf(t->from, sizeof t->from, "%s", path);
    return publish(out, t, t->type->open(t, path, err));
}

hd_status hd_tokenizer_save(const hd_tokenizer *t, const char *path, hd_err *err)
{
    return t->type->save(t, path, err);
}

void hd_tokenizer_free(hd_tokenizer *t)
{
    if (!t) return;
    t->type->release(t);
    hd_tally_free(t->tally);
    hd_mem_free(t);
}

void hd_tokenizer_free_pair(hd_tokenizer *t[2])
{
    if (t[1] != t[0]) hd_tokenizer_free(t[1]);
    hd_tokenizer_free(t[0]);
    t[0] = t[1] = NULL;
}

hd_tokenizer_kind hd_tokenizer_kind_of(const hd_tokenizer *t)
{
    return t->kind;
}

size_t hd_tokenizer_between(const hd_tokenizer *t)
{
    const hd_text_frame *f = &t->frame[1];
    size_t count = 0, i = 0;
    while (i < f->count && f->at[i].id != HD_FRAME_FIRST) i++;
    for (; i < f->count && f->at[i].id != HD_FRAME_SECOND; i++) count += f->at[i].id == t->special.end;
    return count ? count : 1;
}

bool hd_tokenizer_keeps_lines(const hd_tokenizer *t)
{
    return t->type->keeps_lines;
}

size_t hd_tokenizer_unwritten(const hd_tokenizer *t, int32_t out[3])
{
    const hd_special *s = &t->special;
    if (t->type->writes_all) return 0;
    const int32_t all[] = {s->pad, hd_tokenizer_learns(t->kind) ? s->unk : -1, s->start};
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] >= 0 && all[i] != s->end) out[count++] = all[i];
    return count;
}

hd_special hd_tokenizer_special(const hd_tokenizer *t)
{
    return t->special;
}

size_t hd_tokenizer_size(const hd_tokenizer *t)
{
    return t->size;
}

const char *hd_tokenizer_from(const hd_tokenizer *t)
{
    return t->from;
}

const char *hd_tokenizer_piece(const hd_tokenizer *t, int32_t id)
{
    if (id < 0 || (size_t)id >= t->size) return NULL;
    return t->vocab ? hd_vocab_piece(t->vocab, id) : t->type->piece(t, id);
}

int32_t hd_tokenizer_id(const hd_tokenizer *t, const char *piece)
{
    return t->vocab ? hd_vocab_find(t->vocab, piece, strlen(piece)) : t->type->id(t, piece);
}

static bool put_piece(void *context, hd_piece piece)
{
    return hd_pieces_add(context, piece);
}

static bool put_id(void *context, hd_piece piece)
{
    hd_ids *ids = context;
    if (hd_ids_reserve(ids, 1, NULL)) return false;
    ids->at[ids->count++] = piece.id;
    return true;
}

static hd_status refuse_length(size_t size, hd_err *err)
{
    return hd_err_set(err, HD_ELIMIT, "a text of %zu bytes is too long for a tokenizer: split it into lines",
                      size);
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    if (size > TEXT_LONGEST) return refuse_length(size, err);
    return size ? t->type->encode(t, text, size, to, err) : HD_OK;
}

hd_status hd_tokenizer_encode_again(const hd_tokenizer *t, const char *text, size_t size, hd_pieces *out,
                                    hd_err *err)
{
    return encode(t, text, size, (hd_piece_sink){put_piece, out}, err);
}

/* Counts the pieces of a text; the words of the first unknown ones are kept. */
static void count(const hd_tokenizer *t, const char *text, const hd_piece *piece, size_t count)
{
    size_t unknown = 0;
    for (size_t i = 0; i < count; i++) {
        if (piece[i].id != t->special.unk) continue;
        unknown++;
        if (hd_tally_wants_words(t->tally))
            hd_tally_add_word(t->tally, text + piece[i].begin, piece[i].end - piece[i].begin);
    }
    hd_tally_add(t->tally, count, unknown);
}

hd_status hd_tokenizer_encode(const hd_tokenizer *t, const char *text, size_t size, hd_pieces *out,
                              hd_err *err)
{
    size_t from = out->count;
    hd_status s = hd_tokenizer_encode_again(t, text, size, out, err);
    if (!s && t->special.unk >= 0) count(t, text, out->at + from, out->count - from);
    return s;
}

/* Ids do not tell the words: while words are still collected, a text with unknown ones is read again. */
static hd_status count_ids(const hd_tokenizer *t, const char *text, size_t size, const int32_t *ids,
                           size_t ids_count, hd_err *err)
{
    size_t unknown = 0;
    hd_pieces piece = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; i < ids_count; i++) unknown += ids[i] == t->special.unk;
    if (!unknown || !hd_tally_wants_words(t->tally)) return hd_tally_add(t->tally, ids_count, unknown), HD_OK;
    s = hd_tokenizer_encode(t, text, size, &piece, err);
    hd_pieces_release(&piece);
    return s;
}

hd_status hd_tokenizer_encode_ids(const hd_tokenizer *t, const char *text, size_t size, hd_ids *out,
                                  hd_err *err)
{
    size_t from = out->count;
    hd_status s = encode(t, text, size, (hd_piece_sink){put_id, out}, err);
    if (!s && t->special.unk >= 0) s = count_ids(t, text, size, out->at + from, out->count - from, err);
    return s;
}

hd_status hd_tokenizer_encode_typed(const hd_tokenizer *t, const char *text, size_t size,
                                    const hd_byte_span *typed, size_t spans, hd_ids *out, hd_err *err)
{
    if (!t->type->encode_typed || !spans || !size) return hd_tokenizer_encode_ids(t, text, size, out, err);
    if (size > TEXT_LONGEST) return refuse_length(size, err);
    return t->type->encode_typed(t, text, size, typed, spans, (hd_piece_sink){put_id, out}, err);
}

int32_t hd_tokenizer_lead(const hd_tokenizer *t)
{
    return t->lead == HD_LEAD_END ? t->special.end : t->lead;
}

hd_unknown hd_tokenizer_unknown(const hd_tokenizer *t)
{
    return hd_tally_of(t->tally);
}

/* Pieces of the text as part of a frame. */
static hd_status frame_text(const hd_tokenizer *t, hd_line text, int which, int8_t type, hd_pieces *out,
                            hd_err *err)
{
    size_t from = out->count;
    hd_status s = hd_tokenizer_encode(t, text.text, text.size, out, err);
    for (size_t i = from; i < out->count; i++) out->at[i].text = (int8_t)which, out->at[i].type = type;
    return s;
}

hd_status hd_tokenizer_encode_framed(const hd_tokenizer *t, hd_line first, const hd_line *second,
                                     hd_pieces *out, hd_err *err)
{
    const hd_text_frame *f = &t->frame[second != NULL];
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < f->count; i++) {
        int32_t id = f->at[i].id;
        int8_t type = f->at[i].type;
        if (id == HD_FRAME_FIRST)
            s = frame_text(t, first, 0, type, out, err);
        else if (id == HD_FRAME_SECOND)
            s = second ? frame_text(t, *second, 1, type, out, err) : HD_OK;
        else if (!hd_pieces_add(out, (hd_piece){.id = id, .text = -1, .type = type}))
            s = hd_err_nomem(err, sizeof(hd_piece));
    }
    return s;
}

hd_status hd_tokenizer_decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out,
                              hd_err *err)
{
    return t->type->decode(t, ids, count, out, err);
}

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0xbf58476d1ce4e5b9u;
    return h ^ h >> 29;
}

static hd_status hash_cut(const hd_tokenizer *t, const char *text, hd_pieces *cut, uint64_t *h, hd_err *err)
{
    cut->count = 0;
    hd_status s = hd_tokenizer_encode_again(t, text, strlen(text), cut, err);
    for (const char *c = text; *c; c++) *h = mix(*h, (uint8_t)*c);
    for (size_t i = 0; i < cut->count; i++) *h = mix(*h, (uint32_t)cut->at[i].id);
    return s;
}

hd_status hd_tokenizer_hash(const hd_tokenizer *t, uint64_t *hash, hd_err *err)
{
    static const char *const difficult[] = {
        "The  Quick\tbrown fox's 1,234.5 jumps\n\n over",
        "\xef\xbc\xa1\xcc\x88 \xc3\x84\xc3\xa4\xc3\x9f \xef\xac\x81",
        "\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x99\x82 \xe2\x80\x94 <s> \\u00e4"};
    const hd_special *special = &t->special;
    hd_pieces cut = {0};
    hd_status s = HD_OK;
    uint64_t h = mix(mix(mix((uint64_t)t->kind, t->size), (uint32_t)special->start), (uint32_t)special->end);
    for (size_t i = 0; !s && i < t->size; i++) {
        const char *piece = hd_tokenizer_piece(t, (int32_t)i);
        if (piece) s = hash_cut(t, piece, &cut, &h, err);
    }
    for (size_t i = 0; !s && i < sizeof difficult / sizeof *difficult; i++)
        s = hash_cut(t, difficult[i], &cut, &h, err);
    hd_pieces_release(&cut);
    *hash = h;
    return s;
}
