/* The tokenizers: X(name, summary). One is a file that defines the table hd_tokenizer_NAME (see tokenizer.h).
 */
#ifndef HD_TEXT_TOKENIZER_LIST_H
#define HD_TEXT_TOKENIZER_LIST_H

#define HD_TOKENIZER_LIST(X)                                                             \
    X(sentencepiece, "subwords learned from the text, bytes for what it does not have")  \
    X(words, "words and punctuation marks, split at spaces and between the two")         \
    X(characters, "Unicode characters, one by one")                                      \
    X(bpe, "byte-level BPE as GPT-2's: vocab.json with merges.txt, or tokenizer.json")   \
    X(wordpiece, "WordPiece as BERT's: vocab.txt or tokenizer.json")                     \
    X(marian, "SentencePiece with ids of its own as MarianMT's: source.spm, vocab.json") \
    X(t5, "SentencePiece and sentinels as T5's: spiece.model")

#endif
