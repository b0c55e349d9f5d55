/* The model that a classifier begins with: the folder of a masked language model, a language model with
   states or another classifier gives body, tokenizer and weights. */
#ifndef HD_TASK_LABEL_PRETRAINED_H
#define HD_TASK_LABEL_PRETRAINED_H

#include "task/label/labeler.h"

typedef struct hd_origin {
    hd_body_opt body; /* its positions: the most it can take; of recurrent ones 0, which is any */
    hd_tokenizer *tokenizer;
    hd_classifier_opt head; /* of a classifier: pool, classes and whether it gives numbers; else classes 0 */
    hd_vocab labels;        /* of a classifier */
} hd_origin;

hd_status hd_origin_open(hd_origin *out, const char *folder, hd_err *err); /* without weights */
void hd_origin_release(hd_origin *o);                                      /* accepts {0} */

/* Gives a classifier that was drawn the weights in the folder. What the folder does not have stays as drawn:
   a pooler, and the last layer unless its labels are the same. */
hd_status hd_origin_take(const hd_origin *o, const char *folder, hd_classifier *m, const hd_vocab *labels,
                         hd_err *err);

#endif
