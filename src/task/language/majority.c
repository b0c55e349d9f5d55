/* Counting answers. Samples are few, so each is compared with all answers before it. */
#include "task/language/generate.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static hd_line trimmed(const hd_text *t)
{
    hd_line l = {t->data ? t->data : "", t->size};
    while (l.size && is_blank(l.text[l.size - 1])) l.size--;
    while (l.size && is_blank(l.text[0])) l.text++, l.size--;
    return l;
}

static bool same(hd_line a, hd_line b)
{
    return a.size == b.size && !memcmp(a.text, b.text, a.size);
}

static bool before(const hd_answer *a, const hd_answer *b)
{
    return a->count != b->count ? a->count > b->count : a->logp > b->logp;
}

size_t hd_vote(hd_answer *out, const hd_generated *sample, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        hd_line text = trimmed(&sample[i].text);
        size_t at = 0;
        while (at < count && !same(out[at].text, text)) at++;
        if (at == count) out[count++] = (hd_answer){.text = text};
        out[at].count++;
        out[at].logp += sample[i].logp;
    }
    for (size_t i = 1; i < count; i++) { /* equals stay in order */
        hd_answer one = out[i];
        size_t at = i;
        for (; at && before(&one, &out[at - 1]); at--) out[at] = out[at - 1];
        out[at] = one;
    }
    return count;
}
