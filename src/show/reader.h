/* What makes rows of texts, whatever else a model does with them: an encoder of stages, a BERT or a language
   model, which may be the whole of a model or the body of one that gives labels. And how it reads a line:
   pieces, and the special tokens around them. */
#ifndef HD_SHOW_READER_H
#define HD_SHOW_READER_H

#include "base/file/lines.h"
#include "task/any_model.h"

typedef struct hd_reader {
    const hd_encoder *encoder; /* one of the three */
    const hd_bert *bert;
    const hd_lm *lm;
    const hd_params *params; /* NULL: it is counted */
    const hd_tokenizer *tokenizer;
    size_t longest;   /* most tokens that are read at once, the special ones included */
    bool start, end;  /* the special tokens that it reads before and behind a line */
    bool drops_start; /* the start has no row of its own */
    bool masks;       /* "[MASK]" in a line is one */
    bool words;       /* each word between blanks is cut into pieces by itself, as a tagger learned them */
} hd_reader;

hd_reader hd_reader_of(const hd_any_model *m); /* all of it is borrowed */

int hd_reader_layers(const hd_reader *a);
hd_param *hd_reader_table(const hd_reader *a);         /* of token vectors, [V, width]; NULL: it has none */
size_t hd_reader_width(const hd_reader *a, int layer); /* of the rows of a layer, 1 to all; 0: the last */
size_t hd_reader_around(const hd_reader *a);           /* special tokens that an empty line has, too */

/* Appends the pieces of a line, with their places in it and without special tokens. */
hd_status hd_reader_pieces(const hd_reader *a, hd_line line, hd_pieces *out, hd_err *err);
/* Appends the ids of a line with the special tokens around them. */
hd_status hd_reader_encode(const hd_reader *a, hd_line line, hd_ids *out, hd_err *err);

/* Rows of layer number `layers`, 1 to all, for each of the ids; the later layers are not run. */
hd_rows hd_reader_behind(hd_run *r, const hd_reader *a, int layers, const int32_t *ids, const hd_seg *seg);

#endif
