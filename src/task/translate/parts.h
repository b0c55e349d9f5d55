/* Lines in parts as the model takes them: ids of a sentence at a time, or of what a sentence that is too long
   is cut into; and the best ways to choose one guess for each part. */
#ifndef HD_TASK_TRANSLATE_PARTS_H
#define HD_TASK_TRANSLATE_PARTS_H

#include "decode/found.h"
#include "task/translate/translate.h"

/* -- parts of lines -- */

typedef struct hd_part {
    size_t line;             /* it belongs to */
    size_t index;            /* among the parts of that line */
    size_t begin, size;      /* in ids and pieces, end included */
    hd_span bytes;           /* of the line */
    size_t prefix, prefixes; /* in forced, and how many */
} hd_part;

typedef struct hd_parts {
    hd_part *at; /* in the order of the lines */
    size_t count, room;
    hd_ids ids;       /* sources */
    hd_pieces pieces; /* the same with their places in the line */
    hd_ids forced;    /* prefixes */
} hd_parts;

/* Appends the parts of a line, or none and why in *to. */
hd_status hd_parts_add(hd_parts *p, const hd_model_folder *f, size_t number, hd_line line,
                       const hd_line *prefix, const hd_translate_opt *opt, hd_translation *to, hd_err *err);
void hd_parts_release(hd_parts *p);

/* -- guesses of parts -- */

typedef struct hd_choices {
    const hd_guess *at; /* best first, in the order that is asked for */
    size_t count;
} hd_choices;

/* Up to `most` different combinations by the sum of their scores, finished_first: those with fewest
   unfinished guesses before the others; pick [most, parts] gets the number of each part's guess, 0 where it
   has none. Returns how many in *count, at least 1. */
hd_status hd_combine(size_t *pick, size_t *count, const hd_choices *part, size_t parts, size_t most,
                     bool finished_first, hd_err *err);

#endif
