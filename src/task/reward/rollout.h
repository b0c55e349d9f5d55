/* What a model writes while it learns: groups of texts for prompts, their rewards and advantages, and the
   log-probabilities that the loss compares with. */
#ifndef HD_TASK_REWARD_ROLLOUT_H
#define HD_TASK_REWARD_ROLLOUT_H

#include "task/language/generate.h"
#include "task/reward/reward.h"
#include "train/optimizer.h"

/* Who writes, and for what. */
typedef struct hd_author {
    hd_run *run;
    const hd_model_folder *folder;
    const hd_rewards *rewards;
    const char *stop; /* NULL: the end of a line */
    size_t tokens;    /* most of a text */
} hd_author;

/* Texts that were drawn, group after group. */
typedef struct hd_groups {
    size_t groups, each; /* each: texts of a group */
    hd_generated *made;  /* [groups * each] */
    double *reward;      /* [groups * each] */
    bool *right;         /* [groups * each] */
} hd_groups;

hd_status hd_groups_init(hd_groups *g, size_t groups, size_t each, hd_err *err);
void hd_groups_release(hd_groups *g); /* accepts {0} */

/* Draws a group for prompt which[i], for i from `from` on, `count` of them, and has them rewarded. A draw
   depends on the seed, the group's number, the text's and which token it is. temperature 0: the likeliest. */
hd_status hd_groups_draw(hd_groups *g, const hd_author *w, const hd_prompts *prompts, const size_t *which,
                         size_t from, size_t count, uint64_t seed, float temperature, hd_err *err);

/* Means over texts, or over tokens (entropy, kl). */
typedef struct hd_rollout_figures {
    double reward, right, entropy, kl, dead, length;
} hd_rollout_figures;

/* Texts as the loss reads them. */
typedef struct hd_rollout {
    uint64_t number; /* 1 + its number; 0: there is none */
    size_t samples;
    hd_ids ids;                /* of all texts, prompts included, each with `lead` start tokens before it */
    int32_t *length, *drawn;   /* [samples] tokens of a text with its prompt, and those that the model drew */
    size_t *begin;             /* [samples] */
    float *advantage;          /* [samples] */
    float *before, *reference; /* [ids.count] log-probabilities of drawn tokens; NULL: nobody asks */
    hd_rollout_figures figures;
} hd_rollout;

/* Takes down texts; the rest is 0. */
hd_status hd_rollout_lay(hd_rollout *o, const hd_groups *g, const hd_lm *m, hd_err *err);
void hd_rollout_release(hd_rollout *o); /* accepts {0} */

/* Log-probabilities of the drawn tokens under a model, where they stand in ids; to be freed. */
hd_status hd_rollout_logp(float **out, const hd_rollout *o, hd_run *r, const hd_lm *m, hd_err *err);
/* Mean of q - ln q - 1 over drawn tokens, with q = exp(reference - now). */
double hd_rollout_kl(const hd_rollout *o, const float *now, const float *reference);

/* The window of a text, and the text of all windows. */
hd_window hd_rollout_window(const hd_rollout *o, size_t sample);
hd_stream_text hd_rollout_text(const hd_rollout *o); /* borrowed */

/* To keep it in checkpoints; it must have so many samples. */
hd_status hd_rollout_save(const hd_rollout *o, const char *folder, hd_err *err);
hd_status hd_rollout_load(hd_rollout *o, size_t samples, const hd_lm *m, const char *folder, hd_err *err);

#endif
