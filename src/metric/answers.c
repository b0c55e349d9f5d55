/* Counting answers. Samples are few, so each is compared with all answers before it. */
#include "metric/answers.h"

#include <math.h>
#include <regex.h>
#include <string.h>

#include "base/mem.h"

/* -- where they stand -- */

struct hd_answer_rule {
    bool has_regex;
    regex_t regex;
};

hd_status hd_answer_rule_new(hd_answer_rule **out, const char *regex, hd_err *err)
{
    hd_answer_rule *r = hd_mem_zero(sizeof *r);
    if (!r) return hd_err_nomem(err, sizeof *r);
    int code = regex ? regcomp(&r->regex, regex, REG_EXTENDED) : 0;
    if (code) {
        char why[128];
        regerror(code, &r->regex, why, sizeof why);
        hd_mem_free(r);
        return hd_err_set(err, code == REG_ESPACE ? HD_ENOMEM : HD_EARG, "'%s' is no regular expression: %s",
                          regex, why);
    }
    r->has_regex = regex;
    *out = r;
    return HD_OK;
}

void hd_answer_rule_free(hd_answer_rule *r)
{
    if (r && r->has_regex) regfree(&r->regex);
    hd_mem_free(r);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

hd_line hd_answer_trimmed(hd_line l)
{
    while (l.size && is_blank(l.text[l.size - 1])) l.size--;
    while (l.size && is_blank(l.text[0])) l.text++, l.size--;
    return l;
}

bool hd_answer_same(hd_line a, hd_line b)
{
    return a.text && b.text && a.size == b.size && !memcmp(a.text, b.text, a.size);
}

/* The last match: a search begins behind the one before it, and one letter on where that was empty. */
static hd_line last_match(const hd_answer_rule *r, hd_line text)
{
    hd_line found = {0};
    regmatch_t m[2];
    const char *at = text.text, *end = text.text + text.size;
    while (at <= end && !regexec(&r->regex, at, 2, m, at > text.text ? REG_NOTBOL : 0)) {
        const regmatch_t *is = r->regex.re_nsub ? &m[1] : &m[0];
        if (is->rm_so >= 0)
            found = hd_answer_trimmed((hd_line){at + is->rm_so, (size_t)(is->rm_eo - is->rm_so)});
        at += m[0].rm_eo > 0 ? m[0].rm_eo : 1;
    }
    return found;
}

hd_line hd_answer_find(const hd_answer_rule *r, hd_line text)
{
    if (r->has_regex) return last_match(r, text);
    for (size_t i = text.size; i; i--)
        if (text.text[i - 1] == '=') return hd_answer_trimmed((hd_line){text.text + i, text.size - i});
    return hd_answer_trimmed(text);
}

bool hd_answer_matches(const hd_answer_rule *r, hd_line text)
{
    return !regexec(&r->regex, text.text, 0, NULL, 0);
}

/* -- votes -- */

static bool before(const hd_answer *a, const hd_answer *b)
{
    return a->count != b->count ? a->count > b->count : a->logp > b->logp;
}

size_t hd_vote(hd_answer *answer, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const hd_answer one = answer[i];
        size_t at = 0;
        if (!one.text.text) continue;
        while (at < count && !hd_answer_same(answer[at].text, one.text)) at++;
        if (at == count) answer[count++] = (hd_answer){.text = one.text};
        answer[at].count += one.count;
        answer[at].logp += one.logp;
    }
    for (size_t i = 1; i < count; i++) { /* equals stay in order */
        hd_answer one = answer[i];
        size_t at = i;
        for (; at && before(&one, &answer[at - 1]); at--) answer[at] = answer[at - 1];
        answer[at] = one;
    }
    return count;
}

/* -- how many are right -- */

double hd_pass_at(size_t n, size_t right, size_t k)
{
    double none = 1; /* of k samples is right */
    if (!k || k > n || right > n) return NAN;
    if (n - right < k) return 1;
    for (size_t j = n - right + 1; j <= n; j++) none *= 1 - (double)k / (double)j;
    return 1 - none;
}
