/* Words missing from a model's vocabulary. */
#include "cli/verb/unknown.h"

#include <string.h>

/* The sum over both. */
static hd_unknown unknown_of(const hd_tokenizer *t, const hd_tokenizer *second)
{
    hd_unknown all = t ? hd_tokenizer_unknown(t) : (hd_unknown){0};
    if (!second || second == t) return all;
    hd_unknown other = hd_tokenizer_unknown(second);
    all.tokens += other.tokens, all.unknown += other.unknown;
    for (size_t i = 0; i < other.words && all.words < HD_UNKNOWN_WORDS; i++)
        memcpy(all.word[all.words++], other.word[i], sizeof *other.word);
    return all;
}

void hd_unknown_warn(const hd_command *c, const hd_tokenizer *t, const hd_tokenizer *other)
{
    hd_unknown u = unknown_of(t, other);
    hd_text words = {0};
    for (size_t i = 0; i < u.words; i++) hd_text_print(&words, "%s'%s'", i ? ", " : ": ", u.word[i]);
    if (u.words && u.unknown > u.words) hd_text_put(&words, ", ...");
    if (u.unknown)
        hd_log_say(&c->log, HD_WARN,
                   "%zu of %zu tokens are not in the model's vocabulary and read as <unk>%s", u.unknown,
                   u.tokens, words.data ? words.data : "");
    hd_text_release(&words);
}
