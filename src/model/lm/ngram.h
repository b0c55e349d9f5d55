/* The n-gram language model: counts of up to `order` tokens in a row, smoothed.

       hd_ngram_new(&m, &(hd_ngram_opt){.vocab = 65, .order = 6, .smoothing = HD_SMOOTHING_KNESER_NEY,
                                        .start = 2, .end = 3, .unk = 1}, &err);
       while (...) hd_ngram_count(m, ids, n, &err);      one document or line at a time
       hd_ngram_finish(m, &err);
       hd_ngram_logp(m, context, n, token);

   Counting keeps the text, 4 bytes a token; finishing takes 16 more while it lasts, and time linear in the
   text. A finished model has 8 bytes for each n-gram of the full order and 16 for each shorter one (24 with
   three discounts). It does not change any more: any number of threads may share one. */
#ifndef HD_MODEL_LM_NGRAM_H
#define HD_MODEL_LM_NGRAM_H

#include <stdbool.h>

#include "model/stepper.h"

#define HD_NGRAM_FILE "ngram.bin" /* its name in a model's folder */

enum { HD_NGRAM_MOST = 12 }; /* the highest order */

/* X(NAME, name, what it does). Of a context h and a token w, with c = count(h w) and V tokens:
   add-k           (c + k) / (count(h) + k V); 1/V after a context never seen, also for k = 0, which otherwise
                   is the plain ratio of counts and gives what was not seen after h a probability of 0.
   kneser-ney      (c - D) / count(h) + D kinds(h) / count(h) p(w | h without its first token), interpolated
                   down to 1/V below the single tokens, so that no token has probability 0. Below the full
                   order c is the number of different tokens seen before "h w"; n-grams that begin a document
                   have none before them and keep their counts. D = n1 / (n1 + 2 n2) for each order, or 0.5
                   where nothing was seen once.
   kneser-ney-3    the same with three discounts for c = 1, 2 and more (Chen and Goodman's modified
                   Kneser-Ney); 0.5, 1, 1.5 where an order has too few counts to estimate them. */
#define HD_SMOOTHING_LIST(X)                                                      \
    X(ADD_K, "add-k", "k more of everything than was counted")                    \
    X(KNESER_NEY, "kneser-ney", "interpolated Kneser-Ney, one discount an order") \
    X(KNESER_NEY_3, "kneser-ney-3", "modified Kneser-Ney, three discounts an order")

#define X(NAME, name, text) HD_SMOOTHING_##NAME,
typedef enum hd_smoothing { HD_SMOOTHING_LIST(X) HD_SMOOTHINGS } hd_smoothing;
#undef X

extern const char *const hd_smoothing_names[HD_SMOOTHINGS + 1]; /* ends with NULL */

typedef struct hd_ngram_opt {
    size_t vocab; /* V: ids are below it */
    int order;    /* tokens of the longest n-gram: 1 to HD_NGRAM_MOST; the context is one less */
    hd_smoothing smoothing;
    double k;        /* of add-k; 0: maximum likelihood */
    double discount; /* of kneser-ney, up to 1; 0: each order's own, from its counts */
    int32_t start;   /* stands before every document: context alone, it is never counted as a next token */
    int32_t end;     /* is predicted behind every document; -1: documents just stop */
    int32_t unk; /* what an id outside the vocabulary is taken for when asked about; -1: it has probability
                    0, and no context with it was seen. A tokenizer's <unk> is a token like any other. */
} hd_ngram_opt;

typedef struct hd_ngram hd_ngram;

hd_status hd_ngram_new(hd_ngram **out, const hd_ngram_opt *opt, hd_err *err);
void hd_ngram_free(hd_ngram *m); /* accepts NULL */

/* A document: tokens below V, none of them `start`. start and end are added to it. */
hd_status hd_ngram_count(hd_ngram *m, const int32_t *ids, size_t n, hd_err *err);
/* Turns the text into counts. After a failure for want of memory the text is still there. */
hd_status hd_ngram_finish(hd_ngram *m, hd_err *err);

/* Of a finished model. A context is what stands before the token, oldest first; the last order-1 count. It
   begins with `start` where the document does; other short contexts are what is known of a longer one. */
double hd_ngram_logp(const hd_ngram *m, const int32_t *context, size_t n, int32_t token); /* natural */
void hd_ngram_row(const hd_ngram *m, const int32_t *context, size_t n, double *p); /* p [V], sums to 1 */
/* How the probability of a token came about: what each length of context adds, the shortest first. Kneser-Ney
   has one for every length that was seen, p = (seen - discount) / total + passed * p of the one before, which
   for the first is 1/V; add-k has the one longest context, whose p is (seen + k) / (total + k V). Returns how
   many; 0: nothing was seen after the context, and p is 1/V. */
typedef struct hd_ngram_share {
    int context;                 /* tokens of it */
    uint32_t seen, total, kinds; /* of the token behind it, of all tokens, and how many different ones */
    double discount, passed;     /* taken off seen; the share that goes to the shorter context */
    double p;
} hd_ngram_share;
int hd_ngram_shares(const hd_ngram *m, const int32_t *context, size_t n, int32_t token,
                    hd_ngram_share out[HD_NGRAM_MOST]);
/* Sum over a document, its end too; logp: NULL, or room for one a token and one for the end. */
double hd_ngram_score(const hd_ngram *m, const int32_t *ids, size_t n, double *logp);

const hd_ngram_opt *hd_ngram_options(const hd_ngram *m);
size_t hd_ngram_kinds(const hd_ngram *m, int length); /* different n-grams of 1 .. order tokens */
size_t hd_ngram_bytes(const hd_ngram *m);             /* of memory they take */
/* What is taken off counts of 1, 2 and more of n-grams of that length; all 0 for add-k. */
const double *hd_ngram_discount(const hd_ngram *m, int length);

/* A finished model as one file: the same counts give the same bytes. A file that is none, or that was cut or
   changed, is refused with a text that names it. */
hd_status hd_ngram_save(const hd_ngram *m, const char *path, hd_err *err);
hd_status hd_ngram_open(hd_ngram **out, const char *path, hd_err *err);

/* Continues prompts of at least one token, item after item (`start` at the front where one begins a
   document); they are copied, the model is not. A hypothesis is its last order-1 tokens. */
hd_status hd_ngram_stepper(hd_stepper *out, const hd_ngram *m, const int32_t *ids, const int32_t *len,
                           size_t items, hd_err *err);

#endif
