/* How the rows of a line become one vector. */
#ifndef HD_TASK_POOLING_H
#define HD_TASK_POOLING_H

/* X(NAME, name, what becomes of the rows of a line, hd_reduction) */
#define HD_POOLING_LIST(X)                                                                               \
    X(AUTO, auto, "as the folder of a sentence model says, 1 long where it says so; else mean", HD_MEAN) \
    X(MEAN, mean, "their mean", HD_MEAN)                                                                 \
    X(LAST, last, "the last one", HD_LAST)                                                               \
    X(MAX, max, "the most of each column", HD_MAX)                                                       \
    X(FIRST, first, "the first one", HD_FIRST)                                                           \
    X(CLS, cls, "the same, by the name that BERT gives it", HD_FIRST)                                    \
    X(SQRT, sqrt, "their sum over the square root of their number", HD_MEAN)                             \
    X(NONE, none, "all of them", HD_SUM)                                                                 \
    X(POOLER, pooler, "the first one through BERT's pooler", HD_FIRST)

#define X(NAME, name, text, reduction) HD_POOLING_##NAME,
typedef enum hd_pooling { HD_POOLING_LIST(X) HD_POOLINGS } hd_pooling;
#undef X

extern const char *const hd_pooling_names[HD_POOLINGS + 1]; /* ends with NULL */

#endif
