/* What a model makes of a text, in numbers: tokens with their probabilities and what else was likely, the
   hypotheses that a search looked at, where the model looked. Factors of heads and forced tokens change it. A
   translator translates one sentence of the text, a language model continues it, a masked language model says
   what stands at each [MASK].

       hd_inspection *x;
       hd_inspect(&x, run, folder, &(hd_inspect_ask){.text = line, .top = 5}, &err);
       ... x->target[0].logp ...
       hd_inspection_free(x);
*/
#ifndef HD_SHOW_LIVE_INSPECTION_H
#define HD_SHOW_LIVE_INSPECTION_H

#include "show/attention.h"

/* X(NAME, name): by what the model can do */
#define HD_INSPECTION_LIST(X) X(TRANSLATOR, translator) X(LANGUAGE, language) X(MASKED, masked)

#define X(NAME, name) HD_INSPECTION_##NAME,
typedef enum hd_inspection_kind { HD_INSPECTION_LIST(X) HD_INSPECTIONS } hd_inspection_kind;
#undef X

extern const char *const hd_inspection_names[HD_INSPECTIONS];

typedef struct hd_inspect_ask { /* all borrowed */
    hd_line text;
    size_t longest;        /* most tokens, read and written together; 0: as many as the model takes */
    const char *heads;     /* factors (model/heads.h); NULL: none */
    size_t top;            /* likely tokens at each place */
    const int32_t *forced; /* [forced_count] tokens that what is written begins with */
    size_t forced_count;
    hd_line forced_text; /* the same as a text, in their place; {0}: none */
    bool whole;          /* they are all of it, the end token behind a text: nothing is searched or written */
    bool bare;           /* tokens alone: no probabilities, no alignment */
    /* of a translator: */
    size_t part;          /* the sentence, from 0 */
    hd_search_opt search; /* with kind, beam, length, limits or what draws are made by */
    /* of a language model: */
    size_t tokens; /* to be written */
    float temperature, top_p;
    size_t top_k;
    uint64_t seed;
    /* Asked between operations: whether nobody waits any more; NULL: somebody does. Then it fails with
       HD_ELIMIT. */
    bool (*over)(void *context);
    void *context;
} hd_inspect_ask;

typedef struct hd_inspect_choice {
    hd_shown_token token;
    double logp;
} hd_inspect_choice;

typedef struct hd_inspect_token {
    hd_shown_token token;
    size_t begin, end; /* bytes of `read` or `written`; none: a special token */
    bool given;        /* it was forced, or is the text that a language model continues */
    double logp;       /* NaN: it was not foreseen */
    size_t rank;       /* 1: the likeliest; 0: it was not foreseen */
    hd_inspect_choice *top;
    size_t tops;
} hd_inspect_token;

typedef enum hd_inspect_state { HD_INSPECT_PRUNED, HD_INSPECT_LIVE, HD_INSPECT_FINISHED } hd_inspect_state;

typedef struct hd_inspect_node { /* a hypothesis with its last token */
    int32_t parent;              /* in the step before; -1: the forced tokens, or nothing */
    hd_shown_token token;
    double logp, sum, score;
    hd_inspect_state state;
} hd_inspect_node;

typedef struct hd_inspect_step { /* of a search: the best first */
    hd_inspect_node *node;
    size_t nodes;
} hd_inspect_step;

typedef struct hd_inspect_guess {
    const char *text;
    double sum, score;
    bool finished;
} hd_inspect_guess;

typedef struct hd_inspection {
    hd_arena memory; /* of all that follows */
    hd_inspection_kind kind;
    const char *read; /* the sentence, or the text of a masked language model; NULL: a language model has
                         nothing but what is written */
    const char *written;
    hd_span *part; /* [parts] sentences of the text */
    size_t part_number, parts;
    hd_inspect_token *source, *target; /* what is read and what is written, with the end tokens. Target 0 of
                                          a language model is what stands before every text */
    size_t sources, targets;
    hd_inspect_choice *next; /* of a language model: what may follow */
    size_t nexts;
    double sum, score; /* of all of the target, or of what a language model foresaw */
    bool finished;
    hd_inspect_guess *guess; /* the best first */
    size_t guesses;
    hd_inspect_step *step;
    size_t steps, forced; /* forced: tokens before the first step */
    float *alignment;     /* [targets, sources] the mean of the heads of the last layer; NULL: it has none */
} hd_inspection;

/* Which it is; HD_EARG where it is none of them. */
hd_status hd_inspection_kind_of(hd_inspection_kind *out, const hd_model_folder *f, hd_err *err);
/* Uses the step memory of the run. HD_EARG, HD_EFORMAT and HD_ELIMIT: the asker's fault, in words. */
hd_status hd_inspect(hd_inspection **out, hd_run *r, const hd_model_folder *f, const hd_inspect_ask *ask,
                     hd_err *err);
void hd_inspection_free(hd_inspection *x); /* accepts NULL */

/* Attention when the model reads what x has, with the factors of the ask. kinds: bits, as of
   hd_attention_ask. */
hd_status hd_inspect_attention(hd_attention_maps *out, hd_run *r, const hd_model_folder *f,
                               const hd_inspection *x, const hd_inspect_ask *ask, unsigned kinds,
                               hd_err *err);

#endif
