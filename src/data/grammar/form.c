/* The two forms of a clause. German has its finite verb second or last and the rest of the verb at the end;
   between them come pronouns, time, other objects, nicht, and then manner, company, place or goal, in this
   order. */
#include "data/grammar/form.h"

#include <string.h>

enum { NOMINATIVE, ACCUSATIVE, DATIVE };
enum { PLURAL = 3 }; /* the column behind the genders */

static void put(hd_text *to, const char *word)
{
    hd_text_put(to, word);
    hd_text_put(to, " ");
}

/* 0: ich, 1: du, 2: er, sie, es; 3: wir, sie */
static int person_of(const hd_phrase *p)
{
    static const int person[HD_PRONOUNS] = {0, 1, 2, 2, 3, 3};
    if (p->kind == HD_PRONOUN) return person[p->which];
    return p->plural ? 3 : 2;
}

/* -- English -- */

static void english_phrase(hd_text *to, const hd_phrase *p, bool subject)
{
    static const char *const pronoun[HD_PRONOUNS][2] = {{"me", "I"},    {"you", "you"}, {"him", "he"},
                                                        {"her", "she"}, {"us", "we"},   {"them", "they"}};
    static const char *const owner[HD_PRONOUNS] = {"my", "your", "his", "her", "our", "their"};
    if (p->kind == HD_PRONOUN) return put(to, pronoun[p->which][subject]);
    if (p->kind == HD_NAME) return put(to, hd_names[p->which]);
    const char *noun = p->plural ? p->noun->en_plural : p->noun->en;
    const char *next = p->adjective ? p->adjective->en : noun;
    bool counted = !p->plural && !(p->noun->is & DRINK);
    if (p->article == HD_THE)
        put(to, "the");
    else if (p->article == HD_POSSESSIVE)
        put(to, owner[p->owner]);
    else if (counted)
        put(to, strchr("aeiou", *next) ? "an" : "a");
    else if (p->article == HD_NO)
        put(to, "any");
    if (p->adjective) put(to, next);
    put(to, noun);
}

static void english_verb(hd_text *to, const hd_clause *c)
{
    static const char *const be[2][4] = {{"am", "are", "is", "are"}, {"was", "were", "was", "were"}};
    const int person = person_of(&c->subject);
    const bool third = person == 2, with_do = c->negative && c->modal && !strcmp(c->modal->negated, "*");
    if (c->modal && !with_do) {
        put(to, c->negative ? c->modal->negated : third ? c->modal->third : c->modal->en);
        put(to, c->verb->base);
    } else if (c->verb->frame == HD_BE && !c->modal) {
        put(to, be[c->past][person]);
        if (c->negative) put(to, "not");
    } else if (c->negative) {
        put(to, c->past ? "did" : third ? "does" : "do");
        put(to, "not");
        if (c->modal) put(to, c->modal->en);
        put(to, c->verb->base);
    } else {
        put(to, c->past ? c->verb->past : third ? c->verb->third : c->verb->base);
    }
}

static void english_with(hd_text *to, const char *preposition, const hd_phrase *p)
{
    if (!p->kind) return;
    put(to, preposition);
    english_phrase(to, p, false);
}

void hd_clause_english(hd_text *to, const hd_clause *c)
{
    if (c->when && c->when_first) put(to, c->when->en);
    english_phrase(to, &c->subject, true);
    english_verb(to, c);
    if (c->dative.kind) english_phrase(to, &c->dative, false);
    if (c->object.kind) english_phrase(to, &c->object, false);
    if (c->predicate) put(to, c->predicate->en);
    if (c->manner) put(to, c->manner->en);
    english_with(to, "to", &c->goal);
    if (c->city) put(to, "to"), put(to, c->city->en);
    english_with(to, "with", &c->company);
    english_with(to, "in", &c->place);
    if (c->when && !c->when_first) put(to, c->when->en);
}

/* -- German -- */

static const char *const definite[3][4] = {
    {"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}};
/* of ein, kein, mein, ... */
static const char *const article_ending[3][4] = {
    {"", "e", "", "e"}, {"en", "e", "", "e"}, {"em", "er", "em", "en"}};
/* of the adjective: behind the definite article; behind ein and its kin; without an article */
static const char *const adjective_ending[3][3][4] = {
    {{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}},
    {{"er", "e", "es", "en"}, {"en", "e", "es", "en"}, {"en", "en", "en", "en"}},
    {{"er", "e", "es", "e"}, {"en", "e", "es", "e"}, {"em", "er", "em", "en"}}};

static const char *noun_form(const hd_phrase *p, int grammatical_case)
{
    const hd_noun *n = p->noun;
    if (p->plural) return grammatical_case == DATIVE ? n->dative_plural : n->plural;
    return n->oblique && grammatical_case != NOMINATIVE ? n->oblique : n->de;
}

/* The phrase without its article, which `article` says it had. */
static void german_rest(hd_text *to, const hd_phrase *p, int grammatical_case)
{
    int kin = p->article == HD_THE ? 0 : p->article == HD_BARE ? 2 : 1;
    if (p->adjective) {
        hd_text_put(to, p->adjective->stem);
        put(to, adjective_ending[kin][grammatical_case][p->plural ? PLURAL : (int)p->noun->gender]);
    }
    put(to, noun_form(p, grammatical_case));
}

static void german_phrase(hd_text *to, const hd_phrase *p, int grammatical_case)
{
    static const char *const pronoun[HD_PRONOUNS][3] = {{"ich", "mich", "mir"}, {"du", "dich", "dir"},
                                                        {"er", "ihn", "ihm"},   {"sie", "sie", "ihr"},
                                                        {"wir", "uns", "uns"},  {"sie", "sie", "ihnen"}};
    static const char *const owner[HD_PRONOUNS] = {"mein", "dein", "sein", "ihr", "unser", "ihr"};
    if (p->kind == HD_PRONOUN) return put(to, pronoun[p->which][grammatical_case]);
    if (p->kind == HD_NAME) return put(to, hd_names[p->which]);
    int column = p->plural ? PLURAL : (int)p->noun->gender;
    if (p->article == HD_THE) {
        put(to, definite[grammatical_case][column]);
    } else if (p->article != HD_BARE) {
        hd_text_put(to, p->article == HD_POSSESSIVE ? owner[p->owner] : p->article == HD_NO ? "kein" : "ein");
        put(to, article_ending[grammatical_case][column]);
    }
    german_rest(to, p, grammatical_case);
}

/* "in dem" is im, "zu dem" zum, "zu der" zur. */
static void german_with(hd_text *to, const char *preposition, const hd_phrase *p)
{
    if (!p->kind) return;
    bool feminine = p->kind == HD_NOUN && p->noun->gender == HD_FEMININE;
    const char *joined = !strcmp(preposition, "in") && !feminine ? "im"
                         : !strcmp(preposition, "zu")            ? (feminine ? "zur" : "zum")
                                                                 : NULL;
    if (joined && p->kind == HD_NOUN && !p->plural && p->article == HD_THE) {
        put(to, joined);
        german_rest(to, p, DATIVE);
    } else {
        put(to, preposition);
        german_phrase(to, p, DATIVE);
    }
}

static const char *finite_form(const hd_clause *c)
{
    static const char *const haben[4] = {"habe", "hast", "hat", "haben"},
                             *const sein[4] = {"bin", "bist", "ist", "sind"},
                             *const war[4] = {"war", "warst", "war", "waren"};
    const hd_word_verb *v = c->verb;
    const int person = person_of(&c->subject);
    if (c->modal) {
        const char *const forms[4] = {c->modal->ich, c->modal->du, c->modal->er, c->modal->wir};
        return forms[person];
    }
    if (v->frame == HD_BE) return (c->past ? war : sein)[person];
    if (c->past) return (v->flags & SEIN ? sein : haben)[person];
    const char *const forms[4] = {v->ich, v->du, v->er, v->infinitive};
    return forms[person];
}

/* Between the two parts of the verb. */
static void german_middle(hd_text *to, const hd_clause *c)
{
    const bool kein = c->object.article == HD_NO && c->object.kind == HD_NOUN;
    for (int pronouns = 1; pronouns >= 0; pronouns--) {
        if (c->dative.kind && (c->dative.kind == HD_PRONOUN) == pronouns)
            german_phrase(to, &c->dative, DATIVE);
        if (c->object.kind && (c->object.kind == HD_PRONOUN) == pronouns)
            german_phrase(to, &c->object, c->verb->frame == HD_TO_WHOM ? DATIVE : ACCUSATIVE);
        if (pronouns && c->when && !c->when_first) put(to, c->when->de);
    }
    if (c->negative && !kein) put(to, "nicht");
    if (c->manner) put(to, c->manner->de);
    german_with(to, "mit", &c->company);
    german_with(to, "in", &c->place);
    german_with(to, "zu", &c->goal);
    if (c->city) put(to, "nach"), put(to, c->city->de);
    if (c->predicate) put(to, c->predicate->de);
}

/* What of the verb stands at the end of a main clause. */
static void german_tail(hd_text *to, const hd_clause *c)
{
    if (c->modal) {
        hd_text_put(to, c->verb->prefix);
        put(to, c->verb->infinitive);
    } else if (c->past && c->verb->frame != HD_BE) {
        put(to, c->verb->participle);
    }
}

void hd_clause_german(hd_text *to, const hd_clause *c, hd_order order)
{
    const bool alone =
        !c->modal && (!c->past || c->verb->frame == HD_BE); /* the verb is one word, its prefix apart */
    const bool first = c->when && c->when_first;
    if (first) put(to, c->when->de);
    if (order == HD_MAIN && !first) german_phrase(to, &c->subject, NOMINATIVE);
    if (order != HD_FINAL) put(to, finite_form(c));
    if (order != HD_MAIN || first) german_phrase(to, &c->subject, NOMINATIVE);
    german_middle(to, c);
    german_tail(to, c);
    if (alone && *c->verb->prefix) {
        hd_text_put(to, c->verb->prefix);
        if (order != HD_FINAL) hd_text_put(to, " ");
    }
    if (order == HD_FINAL) put(to, finite_form(c));
}
