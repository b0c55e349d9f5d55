/* Rewards for what a language model writes: prompts, rules, advantages. */
#ifndef HD_TASK_REWARD_REWARD_H
#define HD_TASK_REWARD_REWARD_H

#include "metric/answers.h"
#include "run/option.h"

/* -- prompts -- */

typedef struct hd_prompt {
    size_t prompt, prompt_size, answer, answer_size; /* in bytes */
} hd_prompt;

typedef struct hd_prompts {
    hd_text bytes; /* a zero byte behind each text */
    hd_prompt *at;
    size_t count, room;
    uint64_t hash;
} hd_prompts;

/* Lines of a prompt, with the escapes of hd_prompt_unescape, a tab and the right answer. A file without lines
   is refused, and one without answers where `answered` asks for them. */
hd_status hd_prompts_read(hd_prompts *out, const char *path, bool answered, hd_err *err);
/* Moves the last of them to `tail`, about `fraction`; either side keeps one. */
hd_status hd_prompts_split(hd_prompts *p, double fraction, hd_prompts *tail, hd_err *err);
void hd_prompts_release(hd_prompts *p); /* accepts {0} */

hd_line hd_prompts_text(const hd_prompts *p, size_t i);
hd_line hd_prompts_answer(const hd_prompts *p, size_t i); /* "" where there is none */

/* -- rules -- */

/* A text that was drawn, and what is asked of it; zero bytes stand behind all three. */
typedef struct hd_sampled {
    hd_line prompt, text, answer;
} hd_sampled;

typedef struct hd_rewards hd_rewards;

/* asked: what --reward says; answer: that of --answer, or NULL. HD_EARG names the option at fault. */
hd_status hd_rewards_new(hd_rewards **out, const hd_texts *asked, const char *answer, hd_err *err);
void hd_rewards_free(hd_rewards *r); /* accepts NULL */

/* Whether a rule compares with the right answer. */
bool hd_rewards_compare(const hd_rewards *r);
/* The answer in a text, as votes count it. */
hd_line hd_rewards_answer(const hd_rewards *r, hd_line text);

/* reward [n] and right [n]: whether the first rule gives 1 or more, before it is multiplied. A command that
   fails or does not print n numbers is a failure. */
hd_status hd_rewards_give(const hd_rewards *r, const hd_sampled *sample, size_t n, double *reward,
                          bool *right, hd_err *err);

/* -- advantages -- */

/* What the rewards of a group are beside their mean, over their deviation (that of a sample) where `scaled`.
   false: all are equal, and teach nothing; the advantages are 0. */
bool hd_advantages(double *out, const double *reward, size_t n, bool scaled);

/* 0, and over the last `slack` of `most` tokens down to -1. */
double hd_length_penalty(size_t tokens, size_t most, size_t slack);

#endif
