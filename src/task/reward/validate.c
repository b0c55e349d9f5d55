/* How good a model is at prompts that are held back: its own draws, their majority, and its likeliest text.
 */
#include <math.h>

#include "backend/ranks.h"
#include "base/mem.h"
#include "task/reward/training.h"

enum { SEED = 0x72776b65 }; /* validations draw alike, so that they differ by the model alone */

typedef struct judged {
    double pass, majority, greedy, right, reward, entropy, kl, length;
} judged;

static double majority_of(const hd_groups *g, const hd_rewarded *x, hd_answer *answer)
{
    double sum = 0;
    for (size_t i = 0; i < g->groups; i++) {
        hd_line right = {0};
        for (size_t j = 0; j < g->each; j++) {
            const hd_generated *text = &g->made[i * g->each + j];
            hd_line found = hd_rewards_answer(
                x->rewards, (hd_line){text->text.data ? text->text.data : "", text->text.size});
            answer[j] = (hd_answer){found, 1, text->logp};
            if (g->right[i * g->each + j]) right = found; /* what rules call right, whatever they are */
        }
        sum += hd_vote(answer, g->each) && hd_answer_same(answer->text, right);
    }
    return sum / (double)g->groups;
}

static hd_status judge_draws(judged *to, hd_session *s, const size_t *which, size_t count, hd_err *err)
{
    hd_rewarded *x = s->state;
    size_t each = (size_t)s->options->valid_samples;
    hd_groups g = {0};
    hd_rollout o = {0};
    float *now = NULL, *reference = NULL;
    hd_answer *answer = hd_mem_array(each, sizeof *answer);
    hd_status st = answer ? hd_groups_init(&g, count, each, err) : hd_err_nomem(err, each * sizeof *answer);
    if (!st)
        st = hd_groups_draw(&g, &x->author, &x->valid, which, 0, count, (uint64_t)s->options->seed ^ SEED, 1,
                            err);
    if (!st) st = hd_rollout_lay(&o, &g, x->lm, err);
    if (!st) st = hd_rollout_logp(&now, &o, &s->run, x->lm, err);
    if (!st) st = hd_rollout_logp(&reference, &o, &s->run, x->reference, err);
    for (size_t i = 0; !st && i < count; i++) {
        bool some = false;
        for (size_t j = 0; j < each; j++) some = some || g.right[i * each + j];
        to->pass += (double)some / (double)count;
    }
    if (!st) {
        to->majority = majority_of(&g, x, answer);
        to->right = o.figures.right, to->reward = o.figures.reward, to->length = o.figures.length;
        to->entropy = o.figures.entropy, to->kl = hd_rollout_kl(&o, now, reference);
    }
    hd_groups_release(&g);
    hd_rollout_release(&o);
    hd_mem_free(now);
    hd_mem_free(reference);
    hd_mem_free(answer);
    return st;
}

static hd_status judge_greedy(judged *to, hd_session *s, const size_t *which, size_t count, hd_err *err)
{
    hd_rewarded *x = s->state;
    hd_groups g = {0};
    hd_status st = hd_groups_init(&g, count, 1, err);
    if (!st) st = hd_groups_draw(&g, &x->author, &x->valid, which, 0, count, 0, 0, err);
    for (size_t i = 0; !st && i < count; i++) to->greedy += (double)g.right[i] / (double)count;
    hd_groups_release(&g);
    return st;
}

/* Every process does all of it: what they find is the same. */
hd_status hd_reward_validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err)
{
    hd_rewarded *x = s->state;
    size_t most = (size_t)s->options->valid_prompts, count = x->valid.count < most ? x->valid.count : most;
    size_t *which = hd_mem_array(count, sizeof *which);
    judged j = {0};
    (void)r;
    for (size_t i = 0; which && i < count; i++) which[i] = i;
    hd_status st = which ? judge_draws(&j, s, which, count, err) : hd_err_nomem(err, count * sizeof *which);
    if (!st) st = judge_greedy(&j, s, which, count, err);
    hd_mem_free(which);
    *out = (hd_validation){.loss = st ? NAN : j.entropy, .quality = j.right};
    const hd_figure figures[HD_FIGURES] = {
        {"pass@1", "pass@1", .value = j.right, .share = true},
        {x->pass_name, x->pass_name, .value = j.pass, .share = true},
        {"majority", "majority", .value = j.majority, .share = true},
        {"greedy", "greedy", .value = j.greedy, .share = true},
        {"reward", "reward", .value = j.reward, .places = 3},
        {"entropy", "entropy", .value = j.entropy, .places = 3},
        {"kl", "KL", .value = j.kl, .places = 3},
        {"length", .value = j.length},
    };
    for (size_t i = 0; i < HD_FIGURES; i++) out->figure[i] = figures[i];
    return hd_ranks_agree(st, NULL, 0, err);
}
