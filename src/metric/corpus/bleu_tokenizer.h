/* The tokenizers of BLEU, as sacreBLEU has them. */
#ifndef HD_METRIC_CORPUS_BLEU_TOKENIZER_H
#define HD_METRIC_CORPUS_BLEU_TOKENIZER_H

#include "metric/corpus/word.h"

/* X(name, help): the name is that of the signature, the function is tokenize_NAME in bleu_tokenizer.c. */
#define HD_BLEU_TOKENIZER_LIST(X)                                          \
    X(13a, "mteval-v13a, for languages written like English")              \
    X(intl, "mteval-v14, punctuation and symbols of any script split off") \
    X(char, "every character is a token")                                  \
    X(none, "split at whitespace only")                                    \
    X(ptb, "words of the Penn Treebank without punctuation, as captions are scored")

typedef enum hd_bleu_tokenizer {
#define X(name, help) HD_BLEU_TOKENIZER_##name,
    HD_BLEU_TOKENIZER_LIST(X)
#undef X
} hd_bleu_tokenizer;

extern const char *const hd_bleu_tokenizer_names[]; /* ends with NULL */

/* What a tokenizer works with. {0} before first use; one for each text whose words are kept. */
typedef struct hd_bleu_words {
    hd_runes text, other; /* the words lie in one of them */
    hd_word_list words;
} hd_bleu_words;

void hd_bleu_words_release(hd_bleu_words *t);

/* Cuts a line into t->words: lower-cases it if asked to, strips its end, applies the tokenizer, splits. */
hd_status hd_bleu_tokenize(hd_bleu_words *t, hd_bleu_tokenizer by, bool lowercase, hd_line line, hd_err *err);

#endif
