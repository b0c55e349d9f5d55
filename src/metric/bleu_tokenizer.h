/* The tokenizers of BLEU, as sacreBLEU has them. */
#ifndef HD_METRIC_BLEU_TOKENIZER_H
#define HD_METRIC_BLEU_TOKENIZER_H

#include "metric/word.h"

/* X(name, help): the name is that of the signature, the function is cut_NAME in cut.c. */
#define HD_CUT_LIST(X)                                                   \
    X(13a, "mteval-v13a, for languages written like English")            \
    X(intl, "mteval-v14, punctuation and symbols of any script cut off") \
    X(char, "every character a token")                                   \
    X(none, "cut at whitespace alone")

typedef enum hd_cut {
#define X(name, help) HD_CUT_##name,
    HD_CUT_LIST(X)
#undef X
} hd_cut;

extern const char *const hd_cut_names[]; /* ends with NULL */

/* What a tokenizer works with. {0} before first use; one for each text whose words are kept. */
typedef struct hd_cut_text {
    hd_runes text, other; /* the words lie in one of them */
    hd_word_list words;
} hd_cut_text;

void hd_cut_release(hd_cut_text *t);

/* Cuts a line into t->words: lower-cases it if asked to, strips its end, applies the tokenizer, splits. */
hd_status hd_cut_line(hd_cut_text *t, hd_cut by, bool lowercase, hd_line line, hd_err *err);

#endif
