/* GLUE as it is distributed: a folder for each set, with tables whose columns have names of their own; CoLA's
   have none. What is judged by is dev.tsv, as labels of test.tsv are not given away. */
#ifndef HD_DATA_LABELS_GLUE_H
#define HD_DATA_LABELS_GLUE_H

#include "base/file/folder.h"
#include "data/labels/labeled.h"

enum { HD_GLUE_SETS = 9, HD_GLUE_LABELS = 3 };

typedef struct hd_glue_set {
    const char *name, *folder, *file;
    hd_labeled_columns columns;
    const char
        *label[HD_GLUE_LABELS]; /* as they stand in the file, in the order of their numbers; none: numbers */
    const char *title[HD_GLUE_LABELS]; /* what models call them, in letters of any size */
    const char *figure;                /* of hd_judged, that papers show */
} hd_glue_set;

extern const hd_glue_set hd_glue_sets[HD_GLUE_SETS]; /* in the order of BERT's table; MNLI is two */

size_t hd_glue_labels(const hd_glue_set *set); /* 0: numbers */
/* The file of a set in a folder of all sets, or in its own folder. False: there is none. */
bool hd_glue_path(char path[HD_PATH], const hd_glue_set *set, const char *folder);
/* Labels are numbers of set->label. */
hd_status hd_glue_read(hd_labeled *out, const hd_glue_set *set, const char *path, hd_err *err);
/* Which of a model's labels is label `number` of a set: one of that name or title, or the one of that number
   where they have no names but LABEL_0, LABEL_1, ... -1: none. */
int32_t hd_glue_label(const hd_glue_set *set, size_t number, const hd_vocab *labels);

#endif
