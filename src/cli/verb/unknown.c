/* Words missing from a model's vocabulary. */
#include "cli/verb/unknown.h"

#include <string.h>

/* The sum over both sides of a translator, which may share their tokenizer. */
static hd_unknown unknown_of(const hd_any_model *m)
{
    const hd_tokenizer *t = m->translator ? m->translator->tokenizer[0]
                            : m->language ? m->language->tokenizer
                            : m->masked   ? m->masked->tokenizer
                            : m->labeler  ? m->labeler->tokenizer
                                          : NULL;
    hd_unknown all = t ? hd_tokenizer_unknown(t) : (hd_unknown){0};
    if (!m->translator || m->translator->tokenizer[1] == t) return all;
    hd_unknown other = hd_tokenizer_unknown(m->translator->tokenizer[1]);
    all.tokens += other.tokens, all.unknown += other.unknown;
    for (size_t i = 0; i < other.words && all.words < HD_UNKNOWN_WORDS; i++)
        memcpy(all.word[all.words++], other.word[i], sizeof *other.word);
    return all;
}

void hd_unknown_warn(const hd_command *c, const hd_any_model *m)
{
    hd_unknown u = unknown_of(m);
    hd_text words = {0};
    for (size_t i = 0; i < u.words; i++) hd_text_print(&words, "%s'%s'", i ? ", " : ": ", u.word[i]);
    if (u.words && u.unknown > u.words) hd_text_put(&words, ", ...");
    if (u.unknown)
        hd_log_say(&c->log, HD_WARN, "%zu of %zu tokens are not in the model's vocabulary and read as <unk>%s",
                   u.unknown, u.tokens, words.data ? words.data : "");
    hd_text_release(&words);
}
