/* Options of verbs that search for what a model writes: rows of a table of options whose owner has
   `opt.search` (decode/search.h) and `sample`. */
#ifndef HD_CLI_FRAME_SEARCHING_H
#define HD_CLI_FRAME_SEARCHING_H

#include "cli/frame/option.h"
#include "decode/search.h"

#define HD_SEARCHING(name, letter, argument, fallback, help, ...)              \
    {                                                                          \
        name, letter, argument, fallback, help, .group = "Search", __VA_ARGS__ \
    }
#define HD_SAMPLING(name, argument, fallback, help, ...)                    \
    {                                                                       \
        name, 0, argument, fallback, help, .group = "Sampling", __VA_ARGS__ \
    }

/* one: "translation"; item: "line", each of which gets one */
#define HD_SEARCH_ROWS(OWNER, one, item)                                                               \
    HD_SEARCHING("beam", 'b', "N", "5", "beam size; 1: greedy search",                                 \
                 HD_COUNT_INTO(OWNER, opt.search.beam, 1, 1000)),                                      \
        HD_SEARCHING("n-best", 0, "N", "1", one "s to show for each " item,                            \
                     HD_COUNT_INTO(OWNER, opt.search.best, 1, 1000)),                                  \
        HD_SEARCHING("length-penalty", 0, "KIND", "average",                                           \
                     "what the log-probability is divided by: none (1), average (the length) or gnmt", \
                     HD_CHOICE_INTO(OWNER, opt.search.length.kind, hd_length_names)),                  \
        HD_SEARCHING("alpha", 0, "X", "0.6", "gnmt: ((5 + length) / 6) ^ alpha",                       \
                     HD_FLOAT_INTO(OWNER, opt.search.length.alpha, -10, 10)),                          \
        HD_SEARCHING(                                                                                  \
            "stop", 0, "WHEN", "full",                                                                 \
            "when beam search ends: full (what has finished fills the beam, unless others are better " \
            "so far; those far behind leave), proven (no better " one                                  \
            " is possible; slower), limit or best",                                                    \
            HD_CHOICE_INTO(OWNER, opt.search.stop, hd_stop_names)),                                    \
        HD_SEARCHING("min-length", 0, "N", "0", "fewest tokens of a " one,                             \
                     HD_COUNT_INTO(OWNER, opt.search.min_length, 0, 1000000))

#define HD_SAMPLING_ROWS(OWNER)                                                                           \
    HD_SAMPLING("sample", NULL, NULL, "sample tokens by their probability", HD_FLAG_INTO(OWNER, sample)), \
        HD_SAMPLING("temperature", "X", "1", "below 1 favors likely tokens, above 1 unlikely ones",       \
                    HD_FLOAT_INTO(OWNER, opt.search.temperature, 0, 100)),                                \
        HD_SAMPLING("top-k", "N", "0", "sample from the N most likely tokens; 0: all",                    \
                    HD_COUNT_INTO(OWNER, opt.search.top_k, 0, 1000000)),                                  \
        HD_SAMPLING("top-p", "X", "0",                                                                    \
                    "sample from the most likely tokens whose probabilities add up to X; 0: all",         \
                    HD_FLOAT_INTO(OWNER, opt.search.top_p, 0, 1)),                                        \
        HD_SAMPLING("seed", "N", "1", "seed of the sampling",                                             \
                    HD_COUNT_INTO(OWNER, opt.search.seed, 0, 2147483647))

#endif
