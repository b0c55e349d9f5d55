/* The verbs, in the order help shows them: X(name, summary). A verb is one file that defines the function
   hd_verb_NAME and the table hd_verb_NAME_usage (see verb.h). */
#ifndef HD_CLI_VERB_LIST_H
#define HD_CLI_VERB_LIST_H

#define HD_VERB_LIST(X)                                                            \
    X(explain, "show every matrix of one Transformer step, with names and shapes") \
    X(train, "learn to translate from sentence pairs, or a language model")        \
    X(translate, "translate lines with a model")                                   \
    X(generate, "write text with a language model")                                \
    X(perplexity, "measure how well a language model expects a text")              \
    X(compare, "measure several language models on one text: the ladder")          \
    X(tokenize, "show the tokens of lines, or the text of tokens")                 \
    X(info, "show what a model folder holds")                                      \
    X(score, "score translations with BLEU, chrF and TER, as sacreBLEU does")      \
    X(bench, "time training and search on this machine")                           \
    X(corpus, "write a small English-German corpus to learn from")                 \
    X(help, "show help on heed or on a verb")

#endif
