/* How tokens are drawn and texts end: options that chat and generate share, and what a model's
   generation_config.json says where they say nothing. */
#ifndef HD_CLI_VERB_CHAT_SAMPLING_H
#define HD_CLI_VERB_CHAT_SAMPLING_H

#include "cli/frame/verb.h"
#include "task/language/chat/generation.h"

typedef struct hd_sampling_options {
    hd_generate_opt opt; /* but for what --stop says */
    bool greedy;
    hd_texts stop;
} hd_sampling_options;

#define HD_SAMPLING_GROUP   .group = "Sampling"
#define HD_CHAT_TEMPERATURE "0.7" /* of answers */

/* clang-format off */
/* Rows for a struct S with a hd_sampling_options `sampling`; the temperature if none is given, as text. */
#define HD_SAMPLING_ROWS(S, TEMPERATURE)                                                                      \
    {"stop", 0, "TEXT", NULL, "end before this text; \\n, \\t and \\\\ stand for a line end, a tab and \\; may be repeated", \
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, S, sampling.stop)},                       \
    {"temperature", 't', "X", TEMPERATURE,                                                                    \
     "below 1 favors likely tokens, above 1 unlikely ones; 0: --greedy; the default is that of models " \
     "whose generation_config.json says nothing", HD_SAMPLING_GROUP, HD_FLOAT_INTO(S, sampling.opt.temperature, 0, 100)},             \
    {"top-k", 0, "N", "0", "sample from the N most likely tokens; 0: all", HD_SAMPLING_GROUP,                 \
     HD_COUNT_INTO(S, sampling.opt.top_k, 0, 1000000)},                                                       \
    {"top-p", 0, "X", "0", "sample from the most likely tokens whose probabilities add up to X; 0: all",      \
     HD_SAMPLING_GROUP, HD_FLOAT_INTO(S, sampling.opt.top_p, 0, 1)},                                          \
    {"min-p", 0, "X", "0", "sample from tokens at least X times as likely as the most likely one; 0: all",    \
     HD_SAMPLING_GROUP, HD_FLOAT_INTO(S, sampling.opt.min_p, 0, 1)},                                          \
    {"repetition-penalty", 0, "X", "1",                                                                       \
     "divide positive logits of tokens that already occur by X, multiply negative ones; 1: off",              \
     HD_SAMPLING_GROUP, HD_FLOAT_INTO(S, sampling.opt.repetition, 0.01, 100)},                                \
    {"no-repeat", 0, "N", "0", "never repeat a run of N tokens; 0: off", HD_SAMPLING_GROUP,                   \
     HD_COUNT_INTO(S, sampling.opt.no_repeat, 0, 1000000)},                                                   \
    {"greedy", 0, NULL, NULL, "always take the most likely token", HD_SAMPLING_GROUP,                         \
     HD_FLAG_INTO(S, sampling.greedy)},                                                                       \
    {"seed", 0, "N", "1", "seed of the sampling", HD_SAMPLING_GROUP,                                          \
     HD_COUNT_INTO(S, sampling.opt.seed, 0, 2147483647)}
/* clang-format on */

typedef struct hd_sampling {
    hd_generate_opt opt;
    hd_generation generation;
    char *stop[HD_OPTION_MOST];
} hd_sampling;

/* The options, once all are read. */
hd_status hd_sampling_check(hd_sampling *s, const hd_command *m, const hd_sampling_options *o, hd_err *err);
/* What was not given becomes what the generation_config.json of the model says; of what that says in vain a
   warning tells. answers: the tokenizer's end token ends a text. */
hd_status hd_sampling_open(hd_sampling *s, hd_command *m, bool answers, hd_err *err);
void hd_sampling_release(hd_sampling *s); /* accepts {0} */

#endif
