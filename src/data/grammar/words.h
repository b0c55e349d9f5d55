/* The words of the small English and German that `heed corpus` writes. Chosen so that an English sentence has
   one German rendering: no verb whose past looks like its present (read, put), no noun whose plural looks
   like its singular (fish, sheep), "you" is always du. */
#ifndef HD_DATA_GRAMMAR_WORDS_H
#define HD_DATA_GRAMMAR_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hd_gender { HD_MASCULINE, HD_FEMININE, HD_NEUTER } hd_gender;

/* What a noun is, and so what may be done with it. */
enum {
    PERSON = 1,
    ANIMAL = 2,
    FOOD = 4,
    DRINK = 8, /* a mass noun */
    THING = 16,
    CLOTHES = 32,
    DEVICE = 64,
    TEXT = 128,
    OPENING = 256,
    ROOM = 512,  /* one is in it, tidies it up */
    AREA = 1024, /* one is in it */
    GOAL = 2048, /* one goes to it */
    WHEELS = 4096,
    ANYTHING = PERSON | ANIMAL | FOOD | THING | CLOTHES | DEVICE | TEXT | WHEELS,
};

typedef struct hd_noun {
    const char *en, *en_plural; /* the plural NULL for a mass noun or where it is not used */
    const char *de;
    const char *oblique; /* accusative and dative singular of a weak noun; NULL: as the nominative */
    const char *plural, *dative_plural;
    hd_gender gender;
    unsigned is;
} hd_noun;

typedef struct hd_adjective {
    const char *en;
    const char *de;   /* after "sein" */
    const char *stem; /* takes an ending */
    unsigned fits;
} hd_adjective;

typedef enum hd_frame {
    HD_ALONE,   /* she sleeps */
    HD_OBJECT,  /* accusative: she sees the dog */
    HD_TO_WHOM, /* dative: she helps the man */
    HD_GIVE,    /* dative and accusative: she gives the man a book */
    HD_GO,      /* she goes to the station */
    HD_SAY,     /* she knows that ... */
    HD_BE       /* she is tired */
} hd_frame;

/* Adverbs of manner a verb goes with, and what else. */
enum {
    EARLY = 1,
    WELL = 2,
    SLOWLY = 4,
    QUIETLY = 8,
    ALONE = 16,
    INSIDE = 32,      /* "in the garden" */
    WITH = 64,        /* "with the dog" */
    CITY = 128,       /* "to Berlin" */
    NO_PRONOUN = 256, /* English would put it before the particle */
    NO_PAST = 512,
    SEIN = 1024,  /* the perfect is made with sein, not haben */
    BEAST = 2048, /* animals do it too */
};

typedef struct hd_word_verb {
    const char *base, *third, *past;                     /* English */
    const char *infinitive, *ich, *du, *er, *participle; /* German; wir and sie have the infinitive's form */
    const char *prefix; /* of a separable verb, else ""; infinitive and finite forms are without it, the
                           participle has it */
    hd_frame frame;
    unsigned takes; /* class of the object */
    unsigned flags;
} hd_word_verb;

typedef struct hd_modal {
    const char *en, *third; /* before the English base form */
    const char *negated;    /* NULL: not negated; "*": with do */
    const char *ich, *du, *er, *wir;
    unsigned when; /* of hd_when */
} hd_modal;

typedef struct hd_manner {
    const char *en, *de;
    unsigned kind;
} hd_manner;

enum { PRESENT = 1, PAST = 2, FUTURE = 4, LAST = 8 /* also at the end of the English sentence */ };

typedef struct hd_when {
    const char *en, *de;
    unsigned when;
} hd_when;

typedef struct hd_pair_of {
    const char *en, *de;
} hd_pair_of;

/* Each ends with a row of zeros. */
extern const hd_noun hd_nouns[];
extern const hd_adjective hd_adjectives[];
extern const hd_word_verb hd_word_verbs[];
extern const hd_modal hd_modals[];
extern const hd_manner hd_manners[];
extern const hd_when hd_whens[];
extern const hd_pair_of hd_cities[], hd_conjunctions[];
extern const char *const hd_names[];

#endif
