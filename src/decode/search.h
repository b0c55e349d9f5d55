/* Search for likely sentences over any stepper, many sentences at once. What is found for one sentence
   depends neither on the others in the batch nor on the number of threads, to the bit.

       hd_search_opt o = {.kind = HD_SEARCH_BEAM, .beam = 4, .end = eos, .max_ratio = 2, .max_extra = 10};
       hd_encdec_stepper(&s, model, ids, len, items, bos, &err);
       hd_search(&found, run, &s, &o, &err);
       hd_stepper_release(&s);
*/
#ifndef HD_DECODE_SEARCH_H
#define HD_DECODE_SEARCH_H

#include "decode/found.h"
#include "decode/length.h"
#include "model/stepper.h"

/* X(NAME, name, what it finds): a line here and a file that defines hd_method_NAME (loop.h) is a search */
#define HD_SEARCH_LIST(X)                                                    \
    X(GREEDY, greedy, "the likeliest token, then the likeliest after it")    \
    X(BEAM, beam, "the best of the likeliest beginnings, kept side by side") \
    X(SAMPLE, sample, "tokens drawn by their probability")                   \
    X(EXHAUSTIVE, exhaustive, "the best of all sentences; for small problems")

#define X(NAME, name, text) HD_SEARCH_##NAME,
typedef enum hd_search_kind { HD_SEARCH_LIST(X) HD_SEARCHES } hd_search_kind;
#undef X

extern const char *const hd_search_names[HD_SEARCHES];

/* X(NAME, name, when a beam is done with a sentence) */
#define HD_STOP_LIST(X)                                                                               \
    X(PROVEN, proven, "no live hypothesis can still beat the worst of the finished to be returned")   \
    X(FULL, full,                                                                                     \
      "each that finishes takes a place, unless others are better so far; what is far behind leaves") \
    X(LIMIT, limit, "the length limit is reached")                                                    \
    X(BEST, best, "the best in the beam is finished; the finished take up places in it (the lectures' rule)")

#define X(NAME, name, text) HD_STOP_##NAME,
typedef enum hd_stop { HD_STOP_LIST(X) HD_STOPS } hd_stop;
#undef X

extern const char *const hd_stop_names[HD_STOPS + 1]; /* ends with NULL */

/* Rules of a model about what may follow. Called for every hypothesis that is not forced, on the host:
   `token` has all of it so far, a prefix included, and logp [vocab] the log-probabilities of the next token,
   to be changed in place; -INFINITY bans one. What guesses say of log-probabilities are the changed ones. */
typedef struct hd_adjust {
    void (*row)(void *context, size_t item, const int32_t *token, size_t count, hd_real *logp);
    void *context;
} hd_adjust;

typedef struct hd_search_opt {
    hd_search_kind kind;
    size_t best; /* guesses for each sentence: n-best or number of samples; 0: one. Greedy search has one. */
    int32_t end; /* the end token, or -1: only the limit ends a sentence */

    /* Lengths count all tokens, a prefix and the end token too. The smallest limit holds. */
    size_t max_length; /* 0: no such limit */
    double max_ratio;  /* times the source's length, plus max_extra; 0: no such limit */
    size_t max_extra;
    size_t min_length;     /* the end token is banned before */
    const int32_t *banned; /* tokens never to be taken, but in a prefix: <pad>, <unk> */
    size_t banned_count;

    const int32_t *prefix, *prefix_len; /* first tokens of each sentence, one after the other; or NULL */
    hd_adjust adjust;                   /* row NULL: none */

    hd_length length; /* of beam and exhaustive search; the scores of the others follow it too */
    size_t beam;      /* BEAM: hypotheses side by side */
    hd_stop stop;     /* BEAM */
    bool cut_equal; /* what the limit cut is ranked among the finished, by its score: as transformers does */

    /* SAMPLE. Draw t of sample j of sentence i depends on seed, key[i], j and t alone. */
    float temperature; /* 1: the model's own probabilities; 0: always the likeliest token */
    size_t top_k;      /* 0: all */
    float top_p;       /* 0: all */
    uint64_t seed;
    const int32_t
        *key; /* [items]: the sentences' numbers in the corpus; NULL: their places among the items */

    bool unscored; /* GREEDY: nobody reads log-probabilities and scores: they may be 0 */
    size_t seats;  /* most hypotheses side by side: sentences wait, and join as others leave; 0: any number */
    void (*tell)(void *context, size_t done, size_t of); /* whenever sentences are done; may be NULL */
    void *context;
} hd_search_opt;

/* Guesses come best first, all finished ones before those cut by the limit (cut_equal and HD_STOP_BEST: by
   score alone);
   samples in the order of their numbers. Beam and exhaustive search never give a sentence twice and may find
   fewer than `best`. Steps the stepper to its end; the run's step memory is used. */
hd_status hd_search(hd_found **out, hd_run *r, const hd_stepper *s, const hd_search_opt *opt, hd_err *err);

#endif
