/* Counting unknown words. */
#include "text/tally.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "text/character.h"

struct hd_tally {
    atomic_size_t tokens, unknown, words;
    atomic_flag busy; /* a word is being added */
    char word[HD_UNKNOWN_WORDS][HD_UNKNOWN_ROOM];
};

hd_tally *hd_tally_new(void)
{
    hd_tally *t = hd_mem_zero(sizeof *t);
    if (t) atomic_flag_clear(&t->busy);
    return t;
}

void hd_tally_free(hd_tally *t)
{
    hd_mem_free(t);
}

void hd_tally_add(hd_tally *t, size_t tokens, size_t unknown)
{
    atomic_fetch_add_explicit(&t->tokens, tokens, memory_order_relaxed);
    if (unknown) atomic_fetch_add_explicit(&t->unknown, unknown, memory_order_relaxed);
}

bool hd_tally_wants_words(hd_tally *t)
{
    return atomic_load(&t->words) < HD_UNKNOWN_WORDS;
}

/* The text without white space around it, cut to whole characters. */
static void copy_word(char to[HD_UNKNOWN_ROOM], const char *text, size_t size)
{
    size_t at = 0, kept = 0, used;
    for (; at < size; at += used) {
        int32_t c;
        used = hd_character(text + at, size - at, &c);
        if (hd_is_space(c) && !kept) continue;
        if (c < ' ' || kept + used >= HD_UNKNOWN_ROOM) break;
        memcpy(to + kept, text + at, used);
        kept += used;
    }
    while (kept && to[kept - 1] == ' ') kept--;
    to[kept] = 0;
}

void hd_tally_add_word(hd_tally *t, const char *text, size_t size)
{
    char word[HD_UNKNOWN_ROOM];
    copy_word(word, text, size);
    if (!*word || atomic_flag_test_and_set(&t->busy)) return; /* another thread is adding one: skip this */
    size_t n = atomic_load(&t->words), same = 0;
    while (same < n && strcmp(t->word[same], word)) same++;
    if (same == n && n < HD_UNKNOWN_WORDS) {
        memcpy(t->word[n], word, sizeof word);
        atomic_store(&t->words, n + 1);
    }
    atomic_flag_clear(&t->busy);
}

hd_unknown hd_tally_of(hd_tally *t)
{
    hd_unknown u = {.tokens = atomic_load(&t->tokens),
                    .unknown = atomic_load(&t->unknown),
                    .words = atomic_load(&t->words)};
    for (size_t i = 0; i < u.words; i++) memcpy(u.word[i], t->word[i], sizeof u.word[i]);
    return u;
}
