/* The tokenisers: X(name, summary). One is a file that defines the table hd_tokeniser_NAME (see tokeniser.h).
 */
#ifndef HD_TEXT_TOKENISER_LIST_H
#define HD_TEXT_TOKENISER_LIST_H

#define HD_TOKENISER_LIST(X)                                                            \
    X(sentencepiece, "subwords learned from the text, bytes for what it does not have") \
    X(words, "words and punctuation marks, split at spaces and between the two")        \
    X(characters, "Unicode characters, one by one")

#endif
