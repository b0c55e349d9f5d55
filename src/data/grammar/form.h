/* A clause in features, and its two forms: English and German. */
#ifndef HD_DATA_GRAMMAR_FORM_H
#define HD_DATA_GRAMMAR_FORM_H

#include "base/text.h"
#include "data/grammar/words.h"

typedef enum hd_article { HD_THE, HD_A, HD_BARE, HD_NO, HD_POSSESSIVE } hd_article;

typedef enum hd_phrase_kind { HD_NO_PHRASE, HD_PRONOUN, HD_NAME, HD_NOUN } hd_phrase_kind;

enum { HD_PRONOUNS = 6 }; /* I, you, he, she, we, they */

typedef struct hd_phrase {
    hd_phrase_kind kind;
    int which; /* of the pronouns or names */
    const hd_noun *noun;
    const hd_adjective *adjective; /* may be NULL */
    bool plural;
    hd_article article; /* HD_NO: kein; the English verb is negated then */
    int owner;          /* a pronoun */
} hd_phrase;

typedef struct hd_clause {
    hd_phrase subject;
    const hd_word_verb *verb;
    const hd_modal *modal; /* or NULL */
    bool past, negative;
    hd_phrase dative, object; /* kind HD_NO_PHRASE: none */
    const hd_adjective *predicate;
    const hd_manner *manner;
    hd_phrase place, goal, company;
    const hd_pair_of *city;
    const hd_when *when;
    bool when_first;
} hd_clause;

/* Words, each followed by a space. Main clauses start with `when` where it is first. */
void hd_clause_english(hd_text *to, const hd_clause *c);

typedef enum hd_order {
    HD_MAIN,     /* the finite verb second */
    HD_INVERTED, /* first: something else stands before the clause */
    HD_FINAL     /* last: a subordinate clause, behind its conjunction */
} hd_order;

void hd_clause_german(hd_text *to, const hd_clause *c, hd_order order);

#endif
