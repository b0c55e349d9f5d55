/* The loss of a token that a model has drawn itself and that a reward was given for (PPO, GRPO), the same on
   every backend. With the ratio p of its probability now and when it was drawn, and q of that under a
   reference and now:

       loss = -min(p A, clip(p, 1 - low, 1 + high) A) + kl (q - ln q - 1) */
#ifndef HD_BACKEND_POLICY_H
#define HD_BACKEND_POLICY_H

#include <math.h>

#ifndef HD_BOTH /* marks functions that also run on the device */
#define HD_BOTH
#endif

typedef struct hd_policy_opt {
    float low, high, kl;
} hd_policy_opt;

/* Columns that tell of a row: the advantage A; the log-probability when it was drawn (NaN: that of now, so
   that p is 1); that under the reference, which kl 0 leaves unread. */
enum { HD_POLICY_ADVANTAGE, HD_POLICY_BEFORE, HD_POLICY_REFERENCE, HD_POLICY_COLUMNS };

/* The loss by the log-probability of now; *slope gets its derivative. */
HD_BOTH static inline double hd_policy_loss(hd_policy_opt o, double logp, double advantage, double before,
                                            double reference, double *slope)
{
    double p = isnan(before) ? 1 : exp(logp - before), low = 1 - (double)o.low, high = 1 + (double)o.high;
    double clipped = p < low ? low : p > high ? high : p;
    bool stays = p * advantage <= clipped * advantage; /* what is clipped has no slope */
    double loss = stays ? -p * advantage : -clipped * advantage;
    *slope = stays ? -p * advantage : 0;
    if (!(o.kl > 0)) return loss;
    double q = exp(reference - logp);
    *slope += (double)o.kl * (1 - q);
    return loss + (double)o.kl * (q - (reference - logp) - 1);
}

#endif
