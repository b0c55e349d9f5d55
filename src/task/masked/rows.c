/* Masking tokens. Easy to get wrong: what is drawn must depend on the generator alone, and special tokens are
   neither asked for nor put in another's place. */
#include "task/masked/training.h"

#include <string.h>

#include "base/mem.h"
#include "op/replay.h"

enum { FILL = 64, TRIES = 16 };

hd_status hd_masked_rows_init(hd_masked_rows *m, size_t items, size_t length, hd_err *err)
{
    size_t rows = 0;
    *m = (hd_masked_rows){.most_items = items};
    if (!hd_size_mul(items, length, &rows)) return hd_err_nomem(err, SIZE_MAX);
    m->most_rows = rows;
    m->ids = hd_mem_array(rows, sizeof *m->ids);
    m->target = hd_mem_array(rows, sizeof *m->target);
    m->len = hd_mem_array(items, sizeof *m->len);
    m->word = hd_mem_array(length + 1, sizeof *m->word);
    return m->ids && m->target && m->len && m->word ? HD_OK : hd_err_nomem(err, rows * sizeof *m->ids);
}

void hd_masked_rows_release(hd_masked_rows *m)
{
    hd_mem_free(m->ids);
    hd_mem_free(m->target);
    hd_mem_free(m->len);
    hd_mem_free(m->word);
    *m = (hd_masked_rows){0};
}

void hd_masked_rows_clear(hd_masked_rows *m)
{
    m->items = m->rows = m->asked = 0;
}

/* -- what is masked -- */

static bool begins_with(const char *piece, const char *mark)
{
    return !strncmp(piece, mark, strlen(mark));
}

/* Whether a token goes on with the word of the one before it. */
static bool goes_on(const hd_tokenizer *t, int32_t id, int32_t before)
{
    static const char space[] = "\xe2\x96\x81"; /* what SentencePiece puts before words */
    const char *piece = hd_tokenizer_piece(t, id), *last = hd_tokenizer_piece(t, before);
    if (!piece || !last || hd_masked_is_special(t, before)) return false;
    switch (hd_tokenizer_kind_of(t)) {
    case HD_TOKENIZER_sentencepiece:
        return !begins_with(piece, space);
    case HD_TOKENIZER_characters:
        return !strchr(" \t", *piece) && !strchr(" \t", *last);
    case HD_TOKENIZER_wordpiece:
        return begins_with(piece, "##");
    default:
        return false;
    }
}

/* Where the tokens that may be masked begin, or the words of them; *tokens: how many there are. */
static size_t find_words(size_t *word, const hd_masking *how, const int32_t *ids, size_t n, size_t *tokens)
{
    size_t words = 0;
    *tokens = 0;
    for (size_t i = 0; i < n; i++) {
        if (hd_masked_is_special(how->tokenizer, ids[i])) continue;
        ++*tokens;
        if (!how->whole_words || !i || !goes_on(how->tokenizer, ids[i], ids[i - 1])) word[words++] = i;
    }
    return words;
}

/* What is read in place of a token. */
static int32_t disguise(const hd_masking *how, int32_t id, hd_rng *rng)
{
    double way = hd_rng_unit(rng);
    if (way < 0.8) return hd_masked_id(how->tokenizer);
    for (int i = 0; way < 0.9 && i < TRIES; i++) {
        int32_t any = (int32_t)hd_rng_below(rng, (uint32_t)hd_tokenizer_size(how->tokenizer));
        if (!hd_masked_is_special(how->tokenizer, any)) return any;
    }
    return id;
}

/* Masks the word that begins at `at`; how many tokens it has. */
static size_t mask_word(int32_t *read, int32_t *target, const hd_masking *how, const int32_t *ids, size_t n,
                        size_t at, hd_rng *rng)
{
    size_t i = at;
    do {
        target[i] = ids[i];
        read[i] = disguise(how, ids[i], rng);
        i++;
    } while (how->whole_words && i < n && !hd_masked_is_special(how->tokenizer, ids[i]) &&
             goes_on(how->tokenizer, ids[i], ids[i - 1]));
    return i - at;
}

void hd_masked_rows_add(hd_masked_rows *m, const hd_masking *how, const int32_t *ids, size_t n, hd_rng *rng)
{
    int32_t *read = m->ids + m->rows, *target = m->target + m->rows;
    size_t tokens = 0, words = find_words(m->word, how, ids, n, &tokens);
    size_t want = (size_t)(HD_MASKED_SHARE * (double)tokens + 0.5), asked = 0;
    if (!want) want = 1;
    *read++ = hd_tokenizer_special(how->tokenizer).start, *target++ = -1;
    memcpy(read, ids, n * sizeof *ids);
    for (size_t i = 0; i < n; i++) target[i] = -1;
    for (size_t left = words; left && asked < want; left--) { /* a word that was not drawn yet */
        size_t pick = hd_rng_below(rng, (uint32_t)left), at = m->word[pick];
        m->word[pick] = m->word[left - 1];
        asked += mask_word(read, target, how, ids, n, at, rng);
    }
    m->asked += asked;
    m->rows += n + 1;
    m->len[m->items++] = (int32_t)(n + 1);
}

size_t hd_masked_window(const int32_t *ids, size_t count, size_t from, size_t room, int32_t end)
{
    size_t most = count - from < room ? count - from : room, n = most;
    while (n && ids[from + n - 1] != end) n--;
    return n ? n : most;
}

/* -- sending -- */

/* Rows that are asked for, filled up where steps are captured, so that few shapes are. */
static size_t asked_within(const hd_run *r, size_t asked)
{
    if (!asked) asked = 1;
    return hd_fills_now(r) ? (asked + FILL - 1) / FILL * FILL : asked;
}

static size_t rows_before(const hd_masked_rows *m, size_t item)
{
    size_t rows = 0;
    for (size_t i = 0; i < item; i++) rows += (size_t)m->len[i];
    return rows;
}

uint64_t hd_masked_rows_send(hd_run *r, hd_bert_batch *out, const hd_masked_rows *m, size_t from, size_t to)
{
    size_t first = rows_before(m, from), live = rows_before(m, to) - first, items = to - from, asked = 0;
    hd_bounds bounds = hd_bounds_now(r, m->len + from, items);
    *out = (hd_bert_batch){0};
    for (size_t i = 0; i < live; i++) asked += m->target[first + i] >= 0;
    size_t rows = bounds.rows, count = asked_within(r, asked), n = 0;
    int32_t *all = hd_host_take(r, 2 * (rows + count) * sizeof *all),
            *key = hd_host_take(r, (items + 1) * sizeof *key);
    if (!all || !key) return 0;
    int32_t *type = all + rows, *place = type + rows, *target = place + count;
    for (size_t i = 0; i < items; i++) key[i] = (int32_t)(from + i);
    for (size_t i = 0; i < rows; i++) all[i] = i < live ? m->ids[first + i] : -1, type[i] = i < live ? 0 : -1;
    for (size_t i = 0; i < live; i++)
        if (m->target[first + i] >= 0) place[n] = (int32_t)i, target[n++] = m->target[first + i];
    for (; n < count; n++) place[n] = target[n] = -1;
    *out = (hd_bert_batch){.seg = hd_seg_within(r, m->len + from, items, key, bounds),
                           .ids = hd_ints(r, all, rows),
                           .type = hd_ints(r, type, rows),
                           .place = hd_ints(r, place, count),
                           .target = hd_ints(r, target, count),
                           .count = count};
    return hd_shape_mix(hd_shape_of(bounds, live), count);
}
