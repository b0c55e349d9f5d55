/* The verbs, in the order help shows them: X(name, summary). A verb is one file that defines the function
   hd_verb_NAME and the table hd_verb_NAME_usage (see verb.h). */
#ifndef HD_CLI_FRAME_VERB_LIST_H
#define HD_CLI_FRAME_VERB_LIST_H

#define HD_VERB_LIST(X)                                                            \
    X(explain, "show what a model made of a sentence, every number with its name") \
    X(train, "learn to translate, a language model, or labels")                    \
    X(translate, "translate lines with a model")                                   \
    X(rank, "sort given translations or texts by a model's log-probability")       \
    X(embed, "turn lines into vectors with a model")                               \
    X(generate, "write text with a language model")                                \
    X(fill, "fill in the blanks of a text with a masked language model")           \
    X(perplexity, "measure how well a language model expects a text")              \
    X(compare, "measure several language models on one text: the ladder")          \
    X(plot, "draw the loss curves of training runs")                               \
    X(classify, "find the label of every line")                                    \
    X(tag, "find the label of every token")                                        \
    X(tokenize, "show the tokens of lines, or the text of tokens")                 \
    X(import, "make a model of a folder that transformers wrote")                  \
    X(export, "write a model as a folder that transformers reads")                 \
    X(info, "show what a model folder holds")                                      \
    X(score, "score translations with BLEU, chrF and TER, as sacreBLEU does")      \
    X(bench, "time training and search on this machine")                           \
    X(corpus, "write a small English-German corpus to learn from")                 \
    X(help, "show help on heed or on a verb")

#endif
