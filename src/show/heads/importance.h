/* What each attention head of a model is worth: the loss or BLEU without it, and how steep the loss is in its
   factor, which one backward pass tells of all heads. */
#ifndef HD_SHOW_HEADS_IMPORTANCE_H
#define HD_SHOW_HEADS_IMPORTANCE_H

#include "model/heads.h"
#include "run/option.h"
#include "task/model_folder.h"

typedef struct hd_head_importance {
    const hd_heads_layer *layer;
    size_t head;
    double without;    /* loss or BLEU with a factor of 0 */
    double difference; /* to that of the model as it is */
    double gradient; /* mean over the tokens of |d loss / d factor|, taken item by item; NaN: not asked for */
    double slope;    /* the same with its signs */
} hd_head_importance;

typedef struct hd_importance {
    hd_head_importance *head; /* [count], the most important first */
    size_t count;
    bool bleu;     /* measured by BLEU, else by the loss in nats a token */
    double all;    /* of the model as it is */
    double tokens; /* that the loss is the mean of; NaN with BLEU alone */
    double
        correlation; /* Spearman's, of gradients and how much worse it becomes; NaN: there are no gradients */
    double seconds;
} hd_importance;

typedef struct hd_importance_opt {
    hd_texts files; /* sentence pairs as --valid of heed train has them, or a text */
    bool bleu, gradient;
    const hd_log *log;                                         /* may be NULL */
    void (*tell)(void *context, size_t heads_done, size_t of); /* may be NULL */
    void *context;
} hd_importance_opt;

/* heads: those of the model; their factors are what heads are left out of, and are the same afterwards. out
   points into them. HD_EARG for a model that predicts no texts, and where there are no gradients or no BLEU.
 */
hd_status hd_importance_measure(hd_importance *out, hd_run *r, const hd_model_folder *f, hd_heads *heads,
                                const hd_importance_opt *opt, hd_err *err);
void hd_importance_release(hd_importance *i); /* accepts {0} */

#endif
