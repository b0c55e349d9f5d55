/* How much each owner may ask for. */
#include "serve/quota.h"

/* The owner's place, or the one it may have: within a few steps of where its number leads. */
static size_t place_of(const hd_quota *q, uint64_t owner)
{
    enum { STEPS = 16 };
    size_t from = (size_t)(owner ^ owner >> 32), best = from % HD_QUOTA_OWNERS;
    for (size_t i = 0; i < STEPS; i++) {
        size_t at = (from + i) % HD_QUOTA_OWNERS;
        if (q->of[at].when > 0 && q->of[at].owner == owner) return at;
        if (q->of[at].when < q->of[best].when) best = at;
    }
    return best;
}

bool hd_quota_take(hd_quota *q, uint64_t owner, size_t tokens, double now, double *retry)
{
    if (q->rate <= 0) return true;
    size_t at = place_of(q, owner);
    bool known = q->of[at].when > 0 && q->of[at].owner == owner;
    double left = known ? q->of[at].left + (now - q->of[at].when) * q->rate / 60 : q->rate;
    double need = (double)tokens < q->rate ? (double)tokens : q->rate;
    if (left > q->rate) left = q->rate;
    bool may = left >= need;
    if (!may) *retry = (need - left) * 60 / q->rate;
    q->of[at].owner = owner, q->of[at].when = now, q->of[at].left = may ? left - (double)tokens : left;
    return may;
}
