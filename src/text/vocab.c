/* A list of pieces, found by hash. Easy to get wrong: the file is hostile, and a piece that occurs twice
   would silently make decoding and encoding disagree. */
#include "text/vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file/file.h"
#include "base/mem.h"

enum { MOST = 1 << 24, FIRST_SLOTS = 1024 };

void hd_vocab_release(hd_vocab *v)
{
    hd_mem_free(v->bytes);
    hd_mem_free(v->begin);
    hd_mem_free(v->seen);
    hd_mem_free(v->slot);
    *v = (hd_vocab){0};
}

const char *hd_vocab_piece(const hd_vocab *v, int32_t id)
{
    return v->bytes + v->begin[id];
}

static size_t size_of(const hd_vocab *v, size_t id)
{
    return (id + 1 < v->count ? v->begin[id + 1] : v->used) - v->begin[id] - 1;
}

static uint64_t hash_of(const char *piece, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)piece[i]) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* The slot of the piece, or the empty slot for it. There is always one. */
static uint32_t *slot_of(const hd_vocab *v, const char *piece, size_t size)
{
    size_t i = hash_of(piece, size) & (v->slots - 1);
    for (;; i = (i + 1) & (v->slots - 1)) {
        size_t id = v->slot[i] - 1;
        if (!v->slot[i]) return &v->slot[i];
        if (size_of(v, id) == size && !memcmp(v->bytes + v->begin[id], piece, size)) return &v->slot[i];
    }
}

int32_t hd_vocab_find(const hd_vocab *v, const char *piece, size_t size)
{
    return v->slots ? (int32_t)*slot_of(v, piece, size) - 1 : -1;
}

static hd_status grow_slots(hd_vocab *v, hd_err *err)
{
    size_t slots = v->slots ? 2 * v->slots : FIRST_SLOTS;
    uint32_t *slot = hd_mem_array(slots, sizeof *slot);
    if (!slot) return hd_err_nomem(err, slots * sizeof *slot);
    hd_mem_free(v->slot);
    v->slot = slot;
    v->slots = slots;
    for (size_t id = 0; id < v->count; id++)
        *slot_of(v, v->bytes + v->begin[id], size_of(v, id)) = (uint32_t)id + 1;
    return HD_OK;
}

static hd_status grow_places(hd_vocab *v, hd_err *err)
{
    size_t begins = v->places, counts = v->places;
    hd_status s = hd_mem_reserve(&v->begin, &begins, v->count + 1, sizeof *v->begin, err);
    if (!s) s = hd_mem_reserve(&v->seen, &counts, v->count + 1, sizeof *v->seen, err);
    if (!s) v->places = counts;
    return s;
}

static hd_status append(hd_vocab *v, const char *piece, size_t size, uint64_t seen, hd_err *err)
{
    hd_status s = HD_OK;
    if (v->count >= MOST)
        return hd_err_set(err, HD_ELIMIT, "more than %d different pieces: use sentencepiece instead", MOST);
    if (2 * v->count >= v->slots) s = grow_slots(v, err);
    if (!s && v->count == v->places) s = grow_places(v, err);
    if (!s) s = hd_mem_reserve(&v->bytes, &v->room, v->used + size + 1, 1, err);
    if (s) return s;
    uint32_t *slot = slot_of(v, piece, size);
    memcpy(v->bytes + v->used, piece, size);
    v->bytes[v->used + size] = 0;
    v->begin[v->count] = v->used;
    v->seen[v->count] = seen;
    v->used += size + 1;
    *slot = (uint32_t)++v->count;
    return HD_OK;
}

hd_status hd_vocab_add(hd_vocab *v, const char *piece, size_t size, hd_err *err)
{
    int32_t id = hd_vocab_find(v, piece, size);
    if (id < 0) return append(v, piece, size, 1, err);
    v->seen[id]++;
    return HD_OK;
}

hd_status hd_vocab_forget(hd_vocab *v, uint64_t least, hd_err *err)
{
    hd_vocab kept = {0};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < v->count; i++)
        if (v->seen[i] >= least) s = append(&kept, v->bytes + v->begin[i], size_of(v, i), v->seen[i], err);
    hd_vocab old = s ? kept : *v;
    if (!s) *v = kept;
    hd_vocab_release(&old);
    return s;
}

static int by_name(const void *a, const void *b, void *context)
{
    const hd_vocab *v = context;
    return strcmp(hd_vocab_piece(v, *(const int32_t *)a), hd_vocab_piece(v, *(const int32_t *)b));
}

hd_status hd_vocab_sort(hd_vocab *v, int32_t *place, hd_err *err)
{
    hd_vocab sorted = {0};
    int32_t *order = hd_mem_array(v->count + 1, sizeof *order);
    hd_status s = order ? HD_OK : hd_err_nomem(err, v->count * sizeof *order);
    for (size_t i = 0; !s && i < v->count; i++) order[i] = (int32_t)i;
    if (!s) qsort_r(order, v->count, sizeof *order, by_name, v);
    for (size_t i = 0; !s && i < v->count; i++) {
        size_t id = (size_t)order[i];
        place[id] = (int32_t)i;
        s = append(&sorted, v->bytes + v->begin[id], size_of(v, id), v->seen[id], err);
    }
    hd_vocab old = s ? sorted : *v;
    if (!s) *v = sorted;
    hd_vocab_release(&old);
    hd_mem_free(order);
    return s;
}

static int by_rank(const void *left, const void *right, void *context)
{
    const hd_vocab *v = context;
    size_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (v->seen[a] != v->seen[b]) return v->seen[a] > v->seen[b] ? -1 : 1;
    return strcmp(v->bytes + v->begin[a], v->bytes + v->begin[b]); /* as bytes: the order of code points */
}

hd_status hd_vocab_rank(hd_vocab *out, const hd_vocab *v, size_t most, uint64_t least, hd_err *err)
{
    if (most && most < HD_SPECIALS)
        return hd_err_set(err, HD_EARG, "a vocabulary of %zu is too small: the specials alone are %d", most,
                          HD_SPECIALS);
    uint32_t *order = hd_mem_array(v->count, sizeof *order);
    if (!order) return hd_err_nomem(err, v->count * sizeof *order);
    for (size_t i = 0; i < v->count; i++) order[i] = (uint32_t)i;
    qsort_r(order, v->count, sizeof *order, by_rank, (void *)v);
    hd_status s = HD_OK;
    for (int i = 0; !s && i < HD_SPECIALS; i++)
        s = append(out, hd_special_piece[i], strlen(hd_special_piece[i]), 0, err);
    for (size_t i = 0; !s && i < v->count && (!most || out->count < most); i++) {
        size_t id = order[i];
        const char *piece = v->bytes + v->begin[id];
        if (v->seen[id] < least) break;
        if (hd_vocab_find(out, piece, size_of(v, id)) < 0)
            s = append(out, piece, size_of(v, id), v->seen[id], err);
    }
    hd_mem_free(order);
    return s;
}

static int hex_of(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Resolves "\xNN" and "\\" in place. Returns the size, or 0 with *wrong set for any other backslash. */
static size_t unescape(char *text, size_t size, const char **wrong)
{
    size_t to = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\\') {
            int high = i + 3 < size && text[i + 1] == 'x' ? hex_of(text[i + 2]) : -1;
            int low = high >= 0 ? hex_of(text[i + 3]) : -1;
            if (i + 1 < size && text[i + 1] == '\\') {
                i++;
            } else if (low >= 0) {
                text[to++] = (char)(high << 4 | low);
                i += 3;
                continue;
            } else {
                *wrong = "a backslash is written \\\\, another byte \\xNN";
                return 0;
            }
        }
        text[to++] = text[i];
    }
    return to;
}

static const char *find_fault(const char *piece, size_t size, size_t id, hd_vocab_check *check)
{
    if (!size) return "empty: remove the line";
    if (memchr(piece, 0, size)) return "a zero byte: no piece has one";
    if (hd_utf8_good(piece, size) < size) return "not UTF-8: convert the file";
    if (id >= HD_SPECIALS) return check(piece, size);
    if (size == strlen(hd_special_piece[id]) && !memcmp(piece, hd_special_piece[id], size)) return NULL;
    return "a vocabulary starts with the lines <pad>, <unk>, <s> and </s>";
}

static hd_status add_line(hd_vocab *v, const hd_lines *l, hd_line line, hd_text *piece, hd_vocab_check *check,
                          hd_err *err)
{
    const char *wrong = NULL;
    piece->size = 0;
    hd_text_add(piece, line.text, line.size);
    hd_status s = hd_text_status(piece, err);
    if (s) return s;
    size_t size = unescape(piece->data, line.size, &wrong);
    if (!wrong) wrong = find_fault(piece->data, size, v->count, check);
    if (wrong) return hd_err_set(err, HD_EFORMAT, "%s:%zu: %s", hd_lines_name(l), hd_lines_count(l), wrong);
    int32_t twin = hd_vocab_find(v, piece->data, size);
    if (twin >= 0)
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: '%.*s' is on line %d too: remove one of them",
                          hd_lines_name(l), hd_lines_count(l), size > 100 ? 100 : (int)size, piece->data,
                          twin + 1);
    return append(v, piece->data, size, 0, err);
}

hd_status hd_vocab_open(hd_vocab *out, const char *path, hd_vocab_check *check, hd_err *err)
{
    hd_lines *l = NULL;
    hd_line line = {0};
    hd_text piece = {0};
    hd_vocab v = {0};
    hd_status s = hd_lines_open(&l, path, NULL, err);
    while (!s && !(s = hd_lines_next(l, &line, err)) && line.text)
        s = add_line(&v, l, line, &piece, check, err);
    if (!s && v.count < HD_SPECIALS)
        s = hd_err_set(err, HD_EFORMAT,
                       "%s: %zu lines: a vocabulary starts with the lines <pad>, <unk>, <s> and </s>", path,
                       v.count);
    hd_text_release(&piece);
    hd_lines_close(l);
    if (s)
        hd_vocab_release(&v);
    else
        *out = v;
    return s;
}

static hd_status save_piece(hd_save *file, const char *piece, hd_err *err)
{
    char escape[8];
    hd_status s = HD_OK;
    for (; !s && *piece; piece++) {
        uint8_t byte = (uint8_t)*piece;
        if (byte == '\\')
            s = hd_save_write(file, "\\\\", 2, err);
        else if (byte <= ' ' || byte == 0x7f)
            s = hd_save_write(file, escape, (size_t)snprintf(escape, sizeof escape, "\\x%02x", byte), err);
        else
            s = hd_save_write(file, piece, 1, err);
    }
    return s ? s : hd_save_write(file, "\n", 1, err);
}

hd_status hd_vocab_save(const hd_vocab *v, const char *path, hd_err *err)
{
    hd_save *file = NULL;
    hd_status s = hd_save_open(&file, path, err);
    if (s) return s;
    for (size_t id = 0; !s && id < v->count; id++) s = save_piece(file, v->bytes + v->begin[id], err);
    if (!s) return hd_save_commit(file, err);
    hd_save_abandon(file);
    return s;
}
