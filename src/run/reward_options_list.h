/* The options of learning from rewards, rows of run/options_list.h. */
/* clang-format off */

    FILES("prompts", 0, "FILE", prompts, 1,
        "prompts to answer, one a line: the prompt, a tab and the right answer, which `exact` and `regex` need", REWARDS)
    TEXTS("reward", 0, "RULE", reward,
        "what a text is rewarded for; exact: 1 where its answer is the right one; regex:REGEX: the same, of the answer "
        "that the regular expression finds; format:REGEX: 1 where it matches the text; command:COMMAND: a command of the "
        "shell that reads a line of JSON (prompt, text, answer) for each text and prints a number for each. X* before a "
        "rule multiplies it, as in 0.1*format:^[0-9]+$; several add up, and the first says which texts are right", REWARDS)
    TEXT("answer", 0, "REGEX", NULL, answer,
        "where the answer stands in a text for exact, majority and pass@k, as heed generate --answer has it", REWARDS)
    TEXT("stop", 0, "TEXT", NULL, stop,
        "a text ends where this would stand in it, with \\n, \\t and \\\\ for a line end, a tab and \\; if not given, with the "
        "token that ends a line", REWARDS)
    CHOICE("variant", 0, "NAME", "grpo", variant, hd_train_variants,
        "grpo: advantages over the deviation of their group, the mean over the tokens of each text; dr-grpo: neither; "
        "dapo: the mean over all tokens, --clip-high 0.28, --resample 3 and --length-slack of a fifth of --tokens", REWARDS)
    INT("group-size", 0, "N", "16", group_size, 2, 100000, "texts drawn for each prompt", REWARDS)
    INT("tokens", 0, "N", "16", tokens, 1, 1000000, "most tokens of a text", REWARDS)
    INT("rollout-updates", 0, "N", "1", rollout_updates, 1, 10000,
        "updates before the model draws new texts: --batch-size prompts are answered for each of them", REWARDS)
    REAL("clip-low", 0, "X", "0.2", clip_low, 0, 1,
        "a text that became less likely by more than this fraction is not made less likely still", REWARDS)
    REAL("clip-high", 0, "X", "0.2", clip_high, 0, 1000, "the same of texts that became more likely", REWARDS)
    REAL("kl", 0, "X", "0", kl, 0, 1000,
        "weight of the KL divergence from the model of --from, token by token; 0: none", REWARDS)
    INT("resample", 0, "N", "0", resample, 0, 100,
        "prompts whose texts all have the same reward teach nothing: replace them by others, up to N times", REWARDS)
    INT("length-slack", 0, "N", "0", length_slack, 0, 1000000,
        "texts lose up to 1 of their reward over the last N of --tokens; 0: nothing", REWARDS)
    INT("valid-prompts", 0, "N", "100", valid_prompts, 1, 1000000, "most prompts to validate with", REWARDS)
    INT("valid-samples", 0, "N", "16", valid_samples, 1, 10000, "texts for each of them", REWARDS)
