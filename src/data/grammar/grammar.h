/* A small English and German, drawn at random: articles, gender, case and number, adjectives with their
   endings, separable verbs, the perfect, modal verbs, negation, inversion and subordinate clauses. Each
   English sentence has one German rendering, so whatever a model gets wrong it got wrong. */
#ifndef HD_DATA_GRAMMAR_GRAMMAR_H
#define HD_DATA_GRAMMAR_GRAMMAR_H

#include "base/rng.h"
#include "base/text.h"

/* The sentence that is in no corpus, so that a model can be asked for it. */
#define HD_GRAMMAR_RESERVED "I ate an apple ."

/* One sentence and its translation, tokens parted by spaces, replace what the texts hold. */
hd_status hd_grammar_draw(hd_rng *rng, hd_text *english, hd_text *german, hd_err *err);

/* Sentences drawn one after the other, none twice and never the reserved one. */
typedef struct hd_grammar hd_grammar;

hd_status hd_grammar_new(hd_grammar **out, uint64_t seed, hd_err *err);
void hd_grammar_free(hd_grammar *g); /* accepts NULL */
/* Fails with HD_ELIMIT when new sentences have become too rare. */
hd_status hd_grammar_next(hd_grammar *g, hd_text *english, hd_text *german, hd_err *err);

#endif
