/* The data of a labeler's training run. */
#ifndef HD_TASK_LABEL_DATA_H
#define HD_TASK_LABEL_DATA_H

#include "run/options.h"
#include "task/label/labeler.h"

/* What is held back is kept there below the model's folder, for `heed classify` and `heed tag`. */
#define HD_HELD_OUT "train/held-out.tsv"

typedef struct hd_label_set {
    hd_labeled train, valid; /* valid.count 0: there is none */
    size_t repeated;         /* items that were there before, left out */
} hd_label_set;

/* Reads, leaves repeated items out and holds a part back; labels get the labels. */
hd_status hd_label_set_read(hd_label_set *out, hd_vocab *labels, const hd_train_options *o, hd_err *err);
void hd_label_set_release(hd_label_set *s); /* accepts {0} */

/* Writes what is held back below a model folder, as hd_labeled_table or hd_labeled_tokens read it. */
hd_status hd_label_set_keep(const hd_label_set *s, const hd_vocab *labels, hd_train_task task,
                            const char *folder, hd_err *err);

#endif
