/* A line as the model of a folder reads it: pieces with their offsets in the line, and the special tokens.
   Needs config.json and the tokenizer, not the weights. */
#ifndef HD_SHOW_FRAMED_H
#define HD_SHOW_FRAMED_H

#include "task/model_folder.h"

typedef struct hd_frame {
    const hd_tokenizer *tokenizer; /* borrowed */
    hd_line_kind kind;             /* an item has a start and an end around each text */
    bool pairs, bare; /* of an item: it may be two texts; of it and of words: nothing stands around */
    size_t longest;   /* an item is cut to so many tokens */
} hd_frame;

/* Of a folder of heed, by its task. Anything else, as a published folder or a file, is framed by the
   tokenizer itself; so are translators and language models, whose lines are followed by an end. */
hd_status hd_frame_open(hd_frame *out, const hd_tokenizer *t, const char *path, hd_err *err);
/* Appends the model's input; special tokens have begin and end 0. */
hd_status hd_frame_encode(const hd_frame *f, hd_line line, hd_pieces *out, hd_err *err);

/* The id of [MASK] after the tokenizer's last; -1: none. It has no text. */
int32_t hd_frame_mask(const hd_frame *f);
const char *hd_frame_piece(const hd_frame *f, int32_t id); /* that of [MASK], too */

#endif
