/* Items with labels: texts of a class each, or sentences whose tokens have a label each. A text is an item of
   one unit, a pair of texts one of two, a sentence one of as many units as it has tokens and as many labels.
   */
#ifndef HD_DATA_LABELS_LABELED_H
#define HD_DATA_LABELS_LABELED_H

#include "text/vocab.h"

typedef struct hd_labeled {
    size_t count, units, labels;
    size_t *begin;  /* [count + 1] in units */
    size_t *first;  /* [count + 1] in labels */
    size_t *end;    /* [units] in bytes */
    int32_t *label; /* [labels] its number; -1: none */
    double *value;  /* [labels] the label as a number; NaN: it is read as a name */
    char *bytes;
    size_t used, room, places, unit_places, label_places;
} hd_labeled;

/* Labels: a list that is empty gets those that are found, in alphabetical order; of one that is not, a label
   that it does not have is an error. Empty lines are left out, spaces around a text are no part of it; what
   is not UTF-8 is refused. Plain or gzip. Each fails where nothing is left. */

/* A file for every class in a folder, named like it but for the ending; a text a line. Names that begin with
   a dot do not count. */
hd_status hd_labeled_folder(hd_labeled *out, hd_vocab *labels, const char *folder, hd_err *err);

/* A file on its way into items. */
typedef struct hd_labeled_reader {
    hd_labeled *into;
    hd_vocab *labels;
    bool fixed; /* no label may be added */
    hd_lines *lines;
} hd_labeled_reader;
/* Gives the item that is read the labels in a column: a name, or a number. */
typedef hd_status hd_labeled_column(hd_labeled_reader *r, hd_line text, hd_err *err);
hd_labeled_column hd_labeled_name, hd_labeled_number;
/* HD_EFORMAT: the line that is read is wrong. */
hd_status hd_labeled_refuse(const hd_labeled_reader *r, const char *what, hd_err *err);

/* Columns parted by tabs, which the first line names: `label`, `text` and, of pairs, `text2`; others do not
   count. "-": standard input, also below. */
hd_status hd_labeled_table(hd_labeled *out, hd_vocab *labels, const char *path, hd_labeled_column *how,
                           hd_err *err);
/* The same of columns that are called otherwise. */
enum { HD_COLUMN_LABEL, HD_COLUMN_TEXT, HD_COLUMN_TEXT2, HD_COLUMNS };
typedef struct hd_labeled_columns {
    const char *name[HD_COLUMNS]; /* text2: NULL, or it may be missing */
    bool nameless;                /* the first line is an item; columns are: */
    size_t at[HD_COLUMNS];        /* from 0 on; SIZE_MAX: there is none */
    bool lenient;                 /* lines that lack a column are left out */
} hd_labeled_columns;
hd_status hd_labeled_table_of(hd_labeled *out, hd_vocab *labels, const char *path,
                              const hd_labeled_columns *columns, hd_labeled_column *how, hd_err *err);
/* A token, a tab and its label on each line, an empty line between sentences. Columns between them do not
 * count. */
hd_status hd_labeled_tokens(hd_labeled *out, hd_vocab *labels, const char *path, hd_err *err);
void hd_labeled_release(hd_labeled *x); /* accepts {0} */

/* To put one together: units and labels, then the end of their item. */
hd_status hd_labeled_add(hd_labeled *x, hd_line unit, hd_err *err);
hd_status hd_labeled_mark(hd_labeled *x, int32_t label, double value, hd_err *err);
hd_status hd_labeled_end(hd_labeled *x, hd_err *err);

static inline hd_line hd_labeled_unit(const hd_labeled *x, size_t unit)
{
    size_t begin = unit ? x->end[unit - 1] : 0;
    return (hd_line){x->bytes + begin, x->end[unit] - begin};
}

/* Whether they are pairs of texts. */
static inline bool hd_labeled_pairs(const hd_labeled *x)
{
    return x->count && x->begin[1] == 2;
}

/* Leaves out what is there before with the same labels; *dropped says how many. */
hd_status hd_labeled_distinct(hd_labeled *x, size_t *dropped, hd_err *err);

/* Moves a share of the items to out. Texts that are equal stay together, whatever their labels: none lies in
   both parts. Which ones move depends on the seed and the texts, not on their order. At least one on either
   side; HD_EARG where there are too few. */
hd_status hd_labeled_split(hd_labeled *x, double fraction, uint64_t seed, hd_labeled *out, hd_err *err);

/* Units from the first item to the last, for a vocabulary. The walk is the feed's context. */
typedef struct hd_labeled_walk {
    const hd_labeled *of;
    size_t next;
} hd_labeled_walk;

hd_feed hd_labeled_feed(hd_labeled_walk *walk);

#endif
