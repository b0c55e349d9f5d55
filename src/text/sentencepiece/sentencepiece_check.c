/* Checks a SentencePiece model, a protocol buffer, where the library (0.1.97 and 0.2.0) would read outside
   its memory:
   1. Fields 3 and 5 (normalizer, denormalizer) have in hd_proto_field 2 a table: the size of a trie (uint32),
   the trie, and the strings its leaves point into, each ended by a zero byte. The trie is a double array
   (darts-clone) of 32 bits a unit: from the unit at place p the children are at p ^ offset ^ label, the
   value, if there is one, at p ^ offset. No text may match more than 32 of its keys. Only reachable units
   are checked: unused ones may hold anything.
   2. No text may match more than 64 user-defined pieces (hd_proto_field 1, of type 4) at one place. */
#include "text/sentencepiece/sentencepiece_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/sentencepiece/protobuf.h"

enum { MATCHES = 32, USER_MATCHES = 64, USER_DEFINED = 4, DEEPEST = 1000, ON_PATH = 255 };

static hd_status broken(hd_err *err, const char *what)
{
    return hd_err_set(err, HD_EFORMAT, "not a SentencePiece model: %s", what);
}

typedef struct trie {
    hd_proto_span units, strings;
    size_t count;
    uint8_t *
        most; /* [count] 0: not seen yet; else most keys that end at or below the place, plus 1; or ON_PATH */
} trie;

static uint32_t unit_at(const trie *t, size_t place)
{
    uint32_t unit;
    memcpy(&unit, t->units.at + place * sizeof unit, sizeof unit);
    return unit;
}

/* Two nodes may share children, but none may be below itself. */
static bool walk(trie *t, size_t place, int depth)
{
    uint32_t unit = unit_at(t, place);
    size_t base = place ^ (size_t)((unit >> 10) << ((unit & (1u << 9)) >> 6));
    bool has_value = unit & (1u << 8);
    int most = 0;
    if (depth > DEEPEST || (base | 255) >= t->count) return false;
    if (has_value && (unit_at(t, base) & 0x7fffffffu) >= t->strings.size) return false;
    t->most[place] = ON_PATH;
    for (uint32_t label = 0; label < 256; label++) { /* 0: a text may hold zero bytes */
        size_t child = base ^ label;
        bool stays = child == place && !has_value; /* no effect, and no harm */
        if ((unit_at(t, child) & 0x800000ffu) != label || stays) continue;
        if (t->most[child] == ON_PATH || (!t->most[child] && !walk(t, child, depth + 1))) return false;
        if (t->most[child] - 1 > most) most = t->most[child] - 1;
    }
    t->most[place] = (uint8_t)(most + has_value + 1);
    return most + has_value <= MATCHES;
}

static hd_status check_table(hd_proto_span table, hd_err *err)
{
    uint32_t size;
    if (!table.size) return HD_OK; /* no normalization */
    if (table.size <= sizeof size) return broken(err, "its normalization table is cut short");
    memcpy(&size, table.at, sizeof size);
    table.at += sizeof size, table.size -= sizeof size;
    if (size >= table.size || size < sizeof size || table.at[table.size - 1])
        return broken(err, "its normalization table is damaged");
    trie t = {.units = {table.at, size},
              .strings = {table.at + size, table.size - size},
              .count = size / sizeof size};
    t.most = hd_mem_array(t.count, 1);
    if (!t.most) return hd_err_nomem(err, t.count);
    bool good = walk(&t, 0, 0);
    hd_mem_free(t.most);
    return good ? HD_OK : broken(err, "its normalization table is damaged");
}

static hd_status check_normalizer(hd_proto_span message, hd_err *err)
{
    hd_proto_field f;
    hd_status s = HD_OK;
    while (!s && message.size) {
        if (!hd_proto_take(&message, &f)) return broken(err, "damaged");
        if (f.number == 2) s = check_table(f.bytes, err);
    }
    return s;
}

/* The piece where the message is one the user defined, else an empty span. */
static hd_proto_span user_piece(hd_proto_span message)
{
    hd_proto_field f;
    hd_proto_span piece = {0};
    uint64_t type = 0;
    while (message.size && hd_proto_take(&message, &f)) {
        if (f.number == 1) piece = f.bytes;
        if (f.number == 3) type = f.value;
    }
    return type == USER_DEFINED ? piece : (hd_proto_span){0};
}

static int by_bytes(const void *left, const void *right)
{
    const hd_proto_span *a = left, *b = right;
    int order = memcmp(a->at, b->at, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* In sorted order the prefixes of a piece come right before it, except for other pieces with the same
   prefix. */
static bool few_nested(hd_proto_span *piece, size_t count)
{
    size_t open[USER_MATCHES], depth = 0;
    qsort(piece, count, sizeof *piece, by_bytes);
    for (size_t i = 0; i < count; i++) {
        while (depth) {
            const hd_proto_span *outer = &piece[open[depth - 1]];
            if (outer->size <= piece[i].size && !memcmp(outer->at, piece[i].at, outer->size)) break;
            depth--;
        }
        if (depth == USER_MATCHES) return false;
        open[depth++] = i;
    }
    return true;
}

static hd_status check_user_pieces(hd_proto_span message, size_t count, hd_err *err)
{
    hd_proto_field f;
    size_t used = 0;
    hd_proto_span *piece = hd_mem_array(count, sizeof *piece);
    if (!piece) return hd_err_nomem(err, count * sizeof *piece);
    while (message.size && hd_proto_take(&message, &f)) {
        hd_proto_span user = f.number == 1 ? user_piece(f.bytes) : (hd_proto_span){0};
        if (user.size) piece[used++] = user;
    }
    bool good = few_nested(piece, used);
    hd_mem_free(piece);
    return good ? HD_OK : broken(err, "too many user-defined pieces that begin alike");
}

hd_status hd_spm_check(const uint8_t *bytes, size_t size, hd_err *err)
{
    hd_proto_span message = {bytes, size};
    hd_proto_field f;
    size_t pieces = 0, users = 0;
    hd_status s = HD_OK;
    while (!s && message.size) {
        if (!hd_proto_take(&message, &f)) return broken(err, "damaged or cut short");
        if (f.number == 1) {
            pieces++;
            users += user_piece(f.bytes).size > 0;
        } else if (f.number == 3 || f.number == 5) {
            s = check_normalizer(f.bytes, err);
        }
    }
    if (!s && !pieces) return broken(err, "it has no pieces");
    if (!s && users > USER_MATCHES) s = check_user_pieces((hd_proto_span){bytes, size}, users, err);
    return s;
}
