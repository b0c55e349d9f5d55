/* The tokenizers of BLEU. Each is a row of passes over the whole text, and their order is their meaning: a
   pass that replaces pairs consumes both characters, so that in a run of dots every second one is seen. */
#include "metric/corpus/bleu_tokenizer.h"

#include <string.h>
#include <utf8proc.h>

#include "metric/corpus/ptb.h"

const char *const hd_bleu_tokenizer_names[] = {
#define X(name, help) #name,
    HD_BLEU_TOKENIZER_LIST(X)
#undef X
        NULL,
};

void hd_bleu_words_release(hd_bleu_words *t)
{
    hd_runes_release(&t->text);
    hd_runes_release(&t->other);
    hd_word_list_release(&t->words);
}

static void swap(hd_bleu_words *t)
{
    hd_runes text = t->text;
    t->text = t->other;
    t->other = text;
}

/* One pass over characters: those that stand `alone` get a space on both sides. */
static hd_status space_if(hd_bleu_words *t, bool (*alone)(uint32_t c), hd_err *err)
{
    const hd_runes *from = &t->text;
    hd_status s = hd_runes_reserve(&t->other, 3 * from->count, err);
    if (s) return s;
    uint32_t *to = t->other.at;
    for (size_t i = 0; i < from->count; i++) {
        bool apart = alone(from->at[i]);
        if (apart) *to++ = ' ';
        *to++ = from->at[i];
        if (apart) *to++ = ' ';
    }
    t->other.count = (size_t)(to - t->other.at);
    swap(t);
    return HD_OK;
}

/* One pass over pairs: where `splits` says so, the pair ab becomes "a b " or, with `first`, " a b". */
static hd_status split_pairs(hd_bleu_words *t, bool (*splits)(uint32_t a, uint32_t b), bool first,
                             hd_err *err)
{
    const hd_runes *from = &t->text;
    hd_status s = hd_runes_reserve(&t->other, 2 * from->count, err);
    if (s) return s;
    uint32_t *to = t->other.at;
    for (size_t i = 0; i < from->count; i++) {
        if (i + 1 == from->count || !splits(from->at[i], from->at[i + 1])) {
            *to++ = from->at[i];
            continue;
        }
        if (first) *to++ = ' ';
        *to++ = from->at[i++];
        *to++ = ' ';
        *to++ = from->at[i];
        if (!first) *to++ = ' ';
    }
    t->other.count = (size_t)(to - t->other.at);
    swap(t);
    return HD_OK;
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_stop(uint32_t c)
{
    return c == '.' || c == ',';
}

/* ---- 13a ---- */

/* Replaces every `old` by `put` (not longer), in place. */
static void replace(hd_runes *r, const char *old, const char *put)
{
    size_t length = strlen(old), to = 0;
    for (size_t i = 0; i < r->count;) {
        size_t same = 0;
        while (same < length && i + same < r->count && r->at[i + same] == (uint8_t)old[same]) same++;
        if (same == length) {
            for (const char *p = put; *p; p++) r->at[to++] = (uint8_t)*p;
            i += length;
        } else {
            r->at[to++] = r->at[i++];
        }
    }
    r->count = to;
}

/* A space in front and behind: the passes over pairs need something there. */
static hd_status pad(hd_runes *r, hd_err *err)
{
    hd_status s = hd_runes_reserve(r, r->count + 2, err);
    if (s) return s;
    memmove(r->at + 1, r->at, r->count * sizeof *r->at);
    r->at[0] = r->at[r->count + 1] = ' ';
    r->count += 2;
    return HD_OK;
}

static bool has(const hd_runes *r, uint32_t c)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i] == c) return true;
    return false;
}

/* The ASCII signs, but for ' - . , */
static bool stands_alone(uint32_t c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static bool stop_behind_other(uint32_t a, uint32_t b)
{
    return !is_digit(a) && is_stop(b);
}

static bool stop_before_other(uint32_t a, uint32_t b)
{
    return is_stop(a) && !is_digit(b);
}

static bool dash_behind_digit(uint32_t a, uint32_t b)
{
    return is_digit(a) && b == '-';
}

static hd_status tokenize_13a(hd_bleu_words *t, hd_err *err)
{
    replace(&t->text, "<skipped>", "");
    replace(&t->text, "-\n", "");
    replace(&t->text, "\n", " ");
    if (has(&t->text, '&')) { /* one after the other: "&amp;lt;" becomes "<" */
        replace(&t->text, "&quot;", "\"");
        replace(&t->text, "&amp;", "&");
        replace(&t->text, "&lt;", "<");
        replace(&t->text, "&gt;", ">");
    }
    hd_status s = pad(&t->text, err);
    if (!s) s = space_if(t, stands_alone, err);
    if (!s) s = split_pairs(t, stop_behind_other, false, err);
    if (!s) s = split_pairs(t, stop_before_other, true, err);
    if (!s) s = split_pairs(t, dash_behind_digit, false, err);
    return s;
}

/* ---- intl ---- */

static bool is_number(uint32_t c)
{
    utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    return is >= UTF8PROC_CATEGORY_ND && is <= UTF8PROC_CATEGORY_NO;
}

static bool is_punctuation(uint32_t c)
{
    utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    return is >= UTF8PROC_CATEGORY_PC && is <= UTF8PROC_CATEGORY_PO;
}

static bool is_symbol(uint32_t c)
{
    utf8proc_category_t is = utf8proc_category((utf8proc_int32_t)c);
    return is >= UTF8PROC_CATEGORY_SM && is <= UTF8PROC_CATEGORY_SO;
}

static bool punctuation_behind_other(uint32_t a, uint32_t b)
{
    return !is_number(a) && is_punctuation(b);
}

static bool punctuation_before_other(uint32_t a, uint32_t b)
{
    return is_punctuation(a) && !is_number(b);
}

static hd_status tokenize_intl(hd_bleu_words *t, hd_err *err)
{
    hd_status s = split_pairs(t, punctuation_behind_other, false, err);
    if (!s) s = split_pairs(t, punctuation_before_other, true, err);
    if (!s) s = space_if(t, is_symbol, err);
    return s;
}

/* ---- char, none and ptb ---- */

static bool always(uint32_t c)
{
    (void)c;
    return true;
}

static hd_status tokenize_char(hd_bleu_words *t, hd_err *err)
{
    return space_if(t, always, err);
}

static hd_status tokenize_none(hd_bleu_words *t, hd_err *err)
{
    (void)t;
    (void)err;
    return HD_OK;
}

static hd_status tokenize_ptb(hd_bleu_words *t, hd_err *err)
{
    hd_status s = hd_ptb_words(&t->other, &t->text, err);
    if (!s) swap(t);
    return s;
}

hd_status hd_bleu_tokenize(hd_bleu_words *t, hd_bleu_tokenizer by, bool lowercase, hd_line line, hd_err *err)
{
    static hd_status (*const apply[])(hd_bleu_words *, hd_err *) = {
#define X(name, help) tokenize_##name,
        HD_BLEU_TOKENIZER_LIST(X)
#undef X
    };
    hd_status s = hd_runes_decode(&t->text, line, err);
    if (!s && lowercase) {
        s = hd_runes_lower(&t->other, &t->text, err);
        if (!s) swap(t);
    }
    if (s) return s;
    hd_runes_strip_end(&t->text);
    s = apply[by](t, err);
    return s ? s : hd_word_split(&t->words, &t->text, err);
}
