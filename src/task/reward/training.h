/* Training a language model by rewards (GRPO and its variants). */
#ifndef HD_TASK_REWARD_TRAINING_H
#define HD_TASK_REWARD_TRAINING_H

#include "run/session.h"
#include "task/reward/rollout.h"

extern const hd_recipe hd_recipe_reward;
/* HD_EARG where options do not go together. */
hd_status hd_reward_check(const hd_train_options *o, hd_err *err);

/* The state of the task. */
typedef struct hd_rewarded {
    hd_model_folder folder; /* what learns; first, as hd_task_save asks for */
    hd_lm *lm, *reference;  /* lm: in its folder */
    char *base;             /* of an adapter that is resumed: the folder of its model; NULL: none */
    hd_rewards *rewards;
    hd_text stop; /* of --stop, unescaped */
    hd_author author;
    hd_prompts train, valid; /* valid.count 0: there are none */
    size_t *order;           /* [train.count] of the epoch `ordered` - 1 */
    uint64_t ordered;
    size_t each, update, updates; /* texts of a prompt; of an update; updates of a rollout */
    hd_rollout rollout;
    size_t first;  /* of its texts, the first of this update */
    size_t tokens; /* drawn ones of the update */
    char pass_name[32];
    /* of the part that is computed */
    hd_lm_batch sent;
    hd_tensor *policy, *weight;
} hd_rewarded;

/* Draws the texts of a number of updates, which follow from the number, the options and the weights. */
hd_status hd_reward_draw(hd_session *s, uint64_t number, hd_err *err);

/* Judges the model by prompts that are held back. */
hd_status hd_reward_validate(hd_run *r, hd_session *s, hd_validation *out, hd_err *err);

#endif
