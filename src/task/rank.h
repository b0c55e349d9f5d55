/* What a model thinks of texts that are given: translations of a source each, scored by a translator, or
   texts scored by a language model as whole lines. Neighbors with the same source share its encoding.

       hd_verdict v[n];
       hd_rank_judge(v, run, &model, sources, texts, n, &(hd_rank_opt){0}, &err);
       hd_rank_sort(v, n);
*/
#ifndef HD_TASK_RANK_H
#define HD_TASK_RANK_H

#include "base/file/lines.h"
#include "task/model_folder.h"

typedef struct hd_rank_opt {
    size_t batch;   /* texts scored side by side; 0: HD_RANK_BATCH */
    bool normalize; /* the score is that of a token */
} hd_rank_opt;

enum { HD_RANK_BATCH = 256 };

typedef struct hd_verdict {
    size_t place;     /* of the text among those given */
    hd_status status; /* HD_OK, or why it has no score, which is minus infinity then; `why` is the text */
    const char *why;  /* constant */
    double logp;      /* sum over its tokens */
    size_t tokens;    /* its end included */
    double score;     /* logp, or logp / tokens */
} hd_verdict;

/* out and text [count]; source [count], which language models do not read: NULL will do for them. Texts that
   cannot be scored (not UTF-8, too long, no source) have a status of their own; the call fails only for lack
   of memory and the like. The run's step memory is used. */
hd_status hd_rank_judge(hd_verdict *out, hd_run *r, const hd_model_folder *m, const hd_line *source,
                        const hd_line *text, size_t count, const hd_rank_opt *opt, hd_err *err);

/* Best score first; equal ones stay in order. */
void hd_rank_sort(hd_verdict *v, size_t count);

#endif
