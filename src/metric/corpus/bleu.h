/* BLEU in full, from the sums of its metric. */
#ifndef HD_METRIC_CORPUS_BLEU_H
#define HD_METRIC_CORPUS_BLEU_H

#include <stdbool.h>

enum { HD_BLEU_ORDER = 4 };

typedef struct hd_bleu {
    double score, penalty, ratio;    /* penalty for brevity; hypothesis by reference length */
    double precision[HD_BLEU_ORDER]; /* in percent, smoothed */
    double correct[HD_BLEU_ORDER], total[HD_BLEU_ORDER];
    double hyp_len, ref_len;
} hd_bleu;

/* With `effective`, orders longer than the hypothesis do not count: for single sentences. */
hd_bleu hd_bleu_of(const double *stat, bool effective);

#endif
