/* The options of learning from rewards. */
#include "task/reward/training.h"

#include <stdio.h>

#include "task/language/language.h"

/* -- what is not given -- */

static hd_status choose(hd_preset *out, const hd_option_set *set, hd_err *err)
{
    (void)set, (void)err;
    *out = HD_PRESET_REWARD;
    return HD_OK;
}

/* The model says what it is; of that only the width decides something here. */
static hd_status take(hd_taking *t, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, t->options->from, "lm", err);
    if (s) return s;
    const hd_lm *m = hd_model_folder_lm(&f);
    if (m->type->lm.count)
        s = hd_err_set(err, HD_EARG, "--from %s: an %s counts and cannot learn from rewards",
                       t->options->from, m->type->name);
    if (!s) s = hd_taking_number(t, "width", m->opt.stack.width ? m->opt.stack.width : 1, err);
    hd_model_folder_release(&f);
    return s;
}

static hd_status derive(const hd_option_set *set, bool named, hd_err *err)
{
    const hd_train_options *o = set->into;
    bool dapo = o->variant == HD_TRAIN_DAPO;
    (void)named;
    hd_status s = hd_recipe_follow(set, "lr", (o->lora ? 0.3 : 0.03) / o->width, err);
    if (!s && dapo) s = hd_recipe_follow(set, "clip-high", 0.28, err);
    if (!s && dapo) s = hd_recipe_follow(set, "resample", 3, err);
    if (!s && dapo) s = hd_recipe_follow(set, "length-slack", o->tokens / 5, err);
    return s || o->valid.count ? s : hd_recipe_follow(set, "valid-fraction", 0.05, err);
}

static hd_run_parts parts_of(const hd_train_options *o)
{
    (void)o;
    return HD_HAS_UPDATES;
}

static const char *shape(const hd_train_options *o, char to[HD_RECIPE_TEXT])
{
    snprintf(to, HD_RECIPE_TEXT, "the model is that of --from %s", o->from ? o->from : "FOLDER");
    return to;
}

const hd_recipe hd_recipe_reward = {NULL, choose, take, derive, parts_of, shape};

/* -- whether they go together -- */

hd_status hd_reward_check(const hd_train_options *o, hd_err *err)
{
    hd_rewards *rewards = NULL;
    if (!o->from)
        return hd_err_set(err, HD_EARG, "--from is required: the language model that learns from rewards");
    if (!o->prompts.count) return hd_err_set(err, HD_EARG, "--prompts is required: the prompts to answer");
    if (o->valid.count > 1) return hd_err_set(err, HD_EARG, "--valid takes one file of prompts here");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    if (o->length_slack > o->tokens)
        return hd_err_set(err, HD_EARG, "--length-slack %d is more than --tokens %d", o->length_slack,
                          o->tokens);
    hd_status s = hd_rewards_new(&rewards, &o->reward, o->answer, err);
    hd_rewards_free(rewards);
    return s ? s : hd_train_check_end(o, err);
}
