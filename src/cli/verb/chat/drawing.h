/* How tokens are drawn: options that generate and chat share, and what a model's generation_config.json says.
 */
#ifndef HD_CLI_VERB_CHAT_DRAWING_H
#define HD_CLI_VERB_CHAT_DRAWING_H

#include "cli/frame/verb.h"
#include "task/language/chat/generation.h"

/* Rows for a struct S with a hd_generate_opt `opt`; temperature is each verb's own. */
#define HD_DRAWING_ROWS(S)                                                                           \
    {"top-k",                                                                                        \
     0,                                                                                              \
     "N",                                                                                            \
     "0",                                                                                            \
     "sample from the N most likely tokens; 0: all",                                                 \
     SAMPLING,                                                                                       \
     HD_COUNT_INTO(S, opt.top_k, 0, 1000000)},                                                       \
        {"top-p",                                                                                    \
         0,                                                                                          \
         "X",                                                                                        \
         "0",                                                                                        \
         "sample from the most likely tokens whose probabilities add up to X; 0: all",               \
         SAMPLING,                                                                                   \
         HD_FLOAT_INTO(S, opt.top_p, 0, 1)},                                                         \
        {"min-p",                                                                                    \
         0,                                                                                          \
         "X",                                                                                        \
         "0",                                                                                        \
         "sample from tokens at least X times as likely as the most likely one; 0: all",             \
         SAMPLING,                                                                                   \
         HD_FLOAT_INTO(S, opt.min_p, 0, 1)},                                                         \
        {"repetition-penalty",                                                                       \
         0,                                                                                          \
         "X",                                                                                        \
         "1",                                                                                        \
         "divide positive logits of tokens that already occur by X, multiply negative ones; 1: off", \
         SAMPLING,                                                                                   \
         HD_FLOAT_INTO(S, opt.repetition, 0.01, 100)},                                               \
    {                                                                                                \
        "no-repeat", 0, "N", "0", "never repeat a run of N tokens; 0: off", SAMPLING,                \
            HD_COUNT_INTO(S, opt.no_repeat, 0, 1000000)                                              \
    }

/* Sets of o what was not given as the model's generation_config.json has it; `g` must outlive o. */
hd_status hd_drawing_set(const hd_command *m, hd_generation *g, hd_generate_opt *o, hd_err *err);

#endif
