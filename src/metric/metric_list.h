/* The metrics over pairs of hypothesis and references, in the order they are shown: X(name, key, help). A
   metric is one file that defines the table hd_metric_NAME (see metric.h); the key is its name in options and
   in JSON. */
#ifndef HD_METRIC_LIST_H
#define HD_METRIC_LIST_H

#define HD_METRIC_LIST(X)                                                                \
    X(bleu, "bleu", "n-grams of words the hypothesis got right")                         \
    X(chrf2, "chrf2", "n-grams of characters, recall counted twice")                     \
    X(chrf2pp, "chrf2++", "the same with n-grams of words")                              \
    X(ter, "ter", "edits needed, of words and blocks of words")                          \
    X(bleu1, "bleu-1", "of captions: words the hypothesis got right, without smoothing") \
    X(bleu2, "bleu-2", "the same with n-grams of up to two words")                       \
    X(bleu3, "bleu-3", "up to three")                                                    \
    X(bleu4, "bleu-4", "up to four")                                                     \
    X(rouge_l, "rouge-l", "of captions: longest common subsequence of words")            \
    X(cider_d, "cider-d", "of captions: n-grams weighted by how rare they are")          \
    X(wer, "wer", "of transcripts: word errors over the words of the reference")         \
    X(cer, "cer", "the same of characters, spaces included")

#endif
