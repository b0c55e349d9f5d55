/* Rules of which tokens may stand where. */
#include "decode/rules.h"

#include <math.h>
#include <string.h>

static bool has(const hd_token_set *s, int32_t id)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i] == id) return true;
    return false;
}

static void forbid(hd_real *row, const hd_token_set *s)
{
    for (size_t i = 0; i < s->count; i++) row[s->at[i]] = -INFINITY;
}

static void allow_only(hd_real *row, size_t vocab, const hd_token_set *s)
{
    for (size_t i = 0; s->count && i < vocab; i++)
        if (!has(s, (int32_t)i)) row[i] = -INFINITY;
}

void hd_rules_ban(const hd_rules *r, bool *banned)
{
    for (size_t i = 0; i < r->never.count; i++) banned[r->never.at[i]] = true;
    for (size_t i = 0; i < r->run_count; i++) {
        const hd_token_set *run = &r->runs[i];
        if (run->count == 1 && !has(&r->ends, run->at[0])) banned[run->at[0]] = true;
    }
}

bool hd_rules_vary(const hd_rules *r)
{
    bool longer = false;
    for (size_t i = 0; i < r->run_count; i++) longer = longer || r->runs[i].count > 1;
    return longer || r->never_first.count || r->first.count || r->last.count ||
           (r->ends.count && (r->min_length || r->min_drawn));
}

void hd_rules_mask(const hd_rules *r, const hd_history *of, hd_real *row, size_t vocab)
{
    for (size_t i = 0; i < r->run_count; i++) {
        const hd_token_set *run = &r->runs[i];
        size_t n = run->count - 1; /* those before its last token */
        if (n && n <= of->count && !memcmp(of->ids + of->count - n, run->at, n * sizeof *run->at))
            row[run->at[n]] = -INFINITY;
    }
    if (of->length < r->min_length || of->drawn < r->min_drawn) forbid(row, &r->ends);
    if (of->length == 1) allow_only(row, vocab, &r->first);
    if (of->left == 1) allow_only(row, vocab, &r->last);
    if (!of->drawn) forbid(row, &r->never_first);
}
