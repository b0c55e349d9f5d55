/* Items with labels, texts in ids, packed: what a classifier or a tagger learns from and is asked about. */
#ifndef HD_DATA_LABELS_EXAMPLES_H
#define HD_DATA_LABELS_EXAMPLES_H

#include "data/image/set.h"
#include "data/labels/labeled.h"

typedef struct hd_examples {
    size_t count, rows, labels;
    int32_t *id;    /* [rows] */
    size_t *begin;  /* [count + 1] in id */
    size_t *second; /* [count] rows before its second text; where it has none, all of them */
    int32_t *label; /* [labels] -1: not known */
    double *value;  /* [labels] the label as a number */
    int32_t *row;   /* [labels] where in its example it stands */
    size_t *first;  /* [count + 1] in label */
    bool plain;     /* every row has a label */
    size_t cut;     /* items that were too long */
    uint64_t hash;  /* tells changed data from the same */
} hd_examples;

typedef struct hd_examples_opt {
    bool each; /* a label for every unit, at the row of its first piece; else those of each item. Rows stand
                  between <s> and </s>, of pairs and some tokenizers </s> twice; behind that a second text and
                  </s> once more */
    bool bare; /* nothing stands around them, but in place of an empty text its end */
    size_t longest; /* rows; at least 3. A longer text is cut, of two the longer one first, a longer sentence
                       becomes several examples */
} hd_examples_opt;

/* Appends an item as a model reads it, one text or a pair, with the special tokens around; places are those
   in each text. *cut: it was too long. */
hd_status hd_item_pieces(const hd_tokenizer *t, const hd_line text[2], bool pair, const hd_examples_opt *opt,
                         hd_pieces *out, bool *cut, hd_err *err);

/* Appends the pieces of a token of a sentence, at least one, with their places in the token. spaced: it is
   read as a part of a text, in which pieces of a BPE begin with the space before them. */
hd_status hd_token_pieces(const hd_tokenizer *t, hd_line token, bool spaced, hd_pieces *out, hd_err *err);

/* Labels keep the order of the units. */
hd_status hd_examples_make(hd_examples *out, const hd_labeled *from, const hd_tokenizer *t,
                           const hd_examples_opt *opt, hd_err *err);
/* The labels of pictures, which have no rows here. */
hd_status hd_examples_of_pictures(hd_examples *out, const hd_image_set *from, hd_err *err);
void hd_examples_release(hd_examples *x); /* accepts {0} */

#endif
