/* Draws sentences. Choices that would give an English sentence two readings, or a German one that nobody
   says, are not made here: the forms take every clause as it is. */
#include "data/grammar/grammar.h"

#include <string.h>

#include "base/mem.h"
#include "data/grammar/form.h"

enum { TRIES = 2000, FIRST_SLOTS = 1 << 12 };

static bool chance(hd_rng *rng, uint32_t percent)
{
    return hd_rng_below(rng, 100) < percent;
}

typedef bool fits_fn(const void *row, unsigned wanted);

/* A row of a table (its first field is its name, NULL behind the last) that fits, each as likely; NULL: none
 * does. */
static const void *pick(hd_rng *rng, const void *table, size_t size, fits_fn *fits, unsigned wanted)
{
    uint32_t count = 0, chosen;
    const char *row;
    for (row = table; *(const char *const *)(const void *)row; row += size) count += fits(row, wanted);
    if (!count) return NULL;
    chosen = hd_rng_below(rng, count);
    for (row = table;; row += size)
        if (fits(row, wanted) && !chosen--) return row;
}

static bool noun_is(const void *row, unsigned wanted)
{
    return ((const hd_noun *)row)->is & wanted;
}

static bool adjective_fits(const void *row, unsigned wanted)
{
    return ((const hd_adjective *)row)->fits & wanted;
}

static bool verb_has_frame(const void *row, unsigned wanted)
{
    return ((const hd_word_verb *)row)->frame == (hd_frame)wanted;
}

static bool manner_is(const void *row, unsigned wanted)
{
    return ((const hd_manner *)row)->kind & wanted;
}

/* wanted: a time, and LAST where it must be able to come last. */
static bool when_is(const void *row, unsigned wanted)
{
    unsigned when = ((const hd_when *)row)->when;
    return (when & wanted & ~(unsigned)LAST) && (when & LAST || !(wanted & LAST));
}

static bool any(const void *row, unsigned wanted)
{
    (void)row, (void)wanted;
    return true;
}

#define PICK(rng, table, fits, wanted) pick(rng, table, sizeof *(table), fits, wanted)

static hd_phrase draw_pronoun(hd_rng *rng)
{
    return (hd_phrase){.kind = HD_PRONOUN, .which = (int)hd_rng_below(rng, HD_PRONOUNS)};
}

static hd_phrase draw_name(hd_rng *rng)
{
    size_t count = 0;
    while (hd_names[count]) count++;
    return (hd_phrase){.kind = HD_NAME, .which = (int)hd_rng_below(rng, (uint32_t)count)};
}

static hd_phrase draw_noun(hd_rng *rng, unsigned classes)
{
    hd_phrase p = {.kind = HD_NOUN,
                   .noun = PICK(rng, hd_nouns, noun_is, classes),
                   .owner = (int)hd_rng_below(rng, HD_PRONOUNS)};
    const bool mass = p.noun->is & DRINK;
    uint32_t roll = hd_rng_below(rng, 100);
    p.plural = p.noun->en_plural && chance(rng, 25);
    p.article = roll < 45 ? HD_THE : roll < 75 ? HD_A : HD_POSSESSIVE;
    if (p.article == HD_A && (p.plural || mass)) p.article = HD_BARE;
    if (chance(rng, 30)) p.adjective = PICK(rng, hd_adjectives, adjective_fits, p.noun->is);
    return p;
}

/* Someone or something else than the subject: not "I see me", nor "we see me". */
static hd_phrase draw_object(hd_rng *rng, const hd_phrase *subject, unsigned classes, bool pronouns)
{
    static const int group[HD_PRONOUNS] = {0, 1, 2, 3, 0, 4};
    for (;;) {
        hd_phrase p;
        uint32_t roll = hd_rng_below(rng, 100);
        if (pronouns && classes & PERSON && roll < 25)
            p = draw_pronoun(rng);
        else if (pronouns && classes & PERSON && roll < 35)
            p = draw_name(rng);
        else
            p = draw_noun(rng, classes);
        if (p.kind != subject->kind) return p;
        if (p.kind == HD_PRONOUN && (group[p.which] != group[subject->which] || p.which == 2 || p.which == 3))
            return p;
        if (p.kind == HD_NAME && p.which != subject->which) return p;
        if (p.kind == HD_NOUN && p.noun != subject->noun) return p;
    }
}

static hd_phrase draw_subject(hd_rng *rng, unsigned classes)
{
    uint32_t roll = hd_rng_below(rng, 100);
    return roll < 45 ? draw_pronoun(rng) : roll < 58 ? draw_name(rng) : draw_noun(rng, classes);
}

/* A place is one, and known. */
static hd_phrase draw_place(hd_rng *rng, unsigned classes)
{
    hd_phrase p = draw_noun(rng, classes);
    p.plural = false;
    p.article = p.noun->is & (ROOM | AREA) && p.article == HD_POSSESSIVE && !(p.noun->is & GOAL)
                    ? HD_POSSESSIVE
                    : HD_THE;
    return p;
}

static bool is_unknown(const hd_phrase *p)
{
    return p->kind == HD_NOUN && (p->article == HD_A || p->article == HD_BARE);
}

static hd_frame draw_frame(hd_rng *rng)
{
    uint32_t roll = hd_rng_below(rng, 100);
    return roll < 20   ? HD_ALONE
           : roll < 60 ? HD_OBJECT
           : roll < 70 ? HD_TO_WHOM
           : roll < 80 ? HD_GIVE
           : roll < 90 ? HD_GO
                       : HD_BE;
}

/* What kind of clause: an open one, or one inside a sentence. */
typedef struct limits {
    bool past;  /* may be past */
    bool first; /* may begin with an adverb of time */
    bool last;  /* may end with one */
    bool will;  /* may have "will" */
} limits;

static void draw_tense(hd_rng *rng, hd_clause *c, limits may)
{
    if (may.past && !(c->verb->flags & NO_PAST) && chance(rng, 35))
        c->past = true;
    else if (c->verb->frame != HD_SAY && chance(rng, 30))
        c->modal = PICK(rng, hd_modals, any, 0);
    if (c->modal && c->modal->when == FUTURE && !may.will) c->modal = NULL;
    bool can_negate = !is_unknown(&c->subject) && (!c->modal || c->modal->negated);
    c->negative = can_negate && chance(rng, 18);
}

static void draw_objects(hd_rng *rng, hd_clause *c)
{
    const hd_word_verb *v = c->verb;
    if (v->frame == HD_GIVE) {
        c->dative = draw_object(rng, &c->subject, PERSON, true);
        c->object = draw_object(rng, &c->subject, v->takes, false);
    } else if (v->frame == HD_OBJECT || v->frame == HD_TO_WHOM) {
        c->object = draw_object(rng, &c->subject, v->takes, !(v->flags & NO_PRONOUN));
    }
    if (!c->negative) return;
    /* "not ... a" is kein, which only the accusative is asked for */
    if (is_unknown(&c->dative)) c->dative.article = HD_THE;
    if (is_unknown(&c->object)) c->object.article = v->frame == HD_TO_WHOM ? HD_THE : HD_NO;
}

static void draw_circumstances(hd_rng *rng, hd_clause *c)
{
    const hd_word_verb *v = c->verb;
    const unsigned manners = v->flags & (EARLY | WELL | SLOWLY | QUIETLY | ALONE);
    const bool told = c->object.kind && c->negative; /* where would nicht go? */
    if (v->frame == HD_GO) {
        if (v->flags & CITY && chance(rng, 40))
            c->city = PICK(rng, hd_cities, any, 0);
        else
            c->goal = draw_place(rng, GOAL);
    }
    if (manners && chance(rng, 40)) {
        c->manner = PICK(rng, hd_manners, manner_is, manners);
        return;
    }
    if (v->flags & WITH && chance(rng, 30)) c->company = draw_object(rng, &c->subject, PERSON | ANIMAL, true);
    if (is_unknown(&c->company) && c->negative) c->company.article = HD_THE;
    if (v->flags & INSIDE && !told && chance(rng, 25)) c->place = draw_place(rng, ROOM | AREA);
}

static void draw_time(hd_rng *rng, hd_clause *c, limits may)
{
    unsigned when = c->modal ? c->modal->when : c->past ? PAST : PRESENT;
    c->when_first = may.first && chance(rng, may.last ? 60 : 100);
    bool last = may.last && !c->negative && !c->manner;
    if (!c->when_first && !last) return;
    c->when = PICK(rng, hd_whens, when_is, when | (c->when_first ? 0 : (unsigned)LAST));
}

static hd_clause draw_clause(hd_rng *rng, hd_frame frame, limits may)
{
    hd_clause c = {.verb = PICK(rng, hd_word_verbs, verb_has_frame, frame)};
    if (frame == HD_BE) {
        c.predicate = PICK(rng, hd_adjectives, any, 0);
        c.subject = draw_noun(rng, c.predicate->fits & ~(unsigned)DRINK ? c.predicate->fits & ~(unsigned)DRINK
                                                                        : DRINK);
        if (c.predicate->fits & PERSON) c.subject = draw_subject(rng, c.predicate->fits);
        if (c.subject.adjective == c.predicate) c.subject.adjective = NULL; /* not "the old man is old" */
    } else {
        c.subject = draw_subject(rng, c.verb->flags & BEAST ? PERSON | ANIMAL : PERSON);
    }
    draw_tense(rng, &c, may);
    draw_objects(rng, &c);
    draw_circumstances(rng, &c);
    if ((may.first || may.last) && frame != HD_SAY && chance(rng, 35)) draw_time(rng, &c, may);
    return c;
}

/* ... because ...; or with the subordinate clause first, which then inverts the other. */
static void draw_joined(hd_rng *rng, hd_text *english, hd_text *german)
{
    const hd_pair_of *conjunction = PICK(rng, hd_conjunctions, any, 0);
    const bool past_too = strcmp(conjunction->en, "if"), first = chance(rng, 35);
    hd_clause main = draw_clause(rng, draw_frame(rng),
                                 (limits){.past = past_too, .first = !first, .last = true, .will = true});
    hd_clause sub =
        draw_clause(rng, draw_frame(rng), (limits){.past = past_too, .last = past_too, .will = past_too});
    if (first) {
        hd_text_print(english, "%s ", conjunction->en);
        hd_clause_english(english, &sub);
        hd_text_put(english, ", ");
        hd_clause_english(english, &main);
        hd_text_print(german, "%s ", conjunction->de);
        hd_clause_german(german, &sub, HD_FINAL);
        hd_text_put(german, ", ");
        hd_clause_german(german, &main, HD_INVERTED);
    } else {
        hd_clause_english(english, &main);
        hd_text_print(english, "%s ", conjunction->en);
        hd_clause_english(english, &sub);
        hd_clause_german(german, &main, HD_MAIN);
        hd_text_print(german, ", %s ", conjunction->de);
        hd_clause_german(german, &sub, HD_FINAL);
    }
}

static void draw_told(hd_rng *rng, hd_text *english, hd_text *german)
{
    hd_clause main = draw_clause(rng, HD_SAY, (limits){0});
    hd_clause sub = draw_clause(rng, draw_frame(rng), (limits){.past = true, .last = true, .will = true});
    hd_clause_english(english, &main);
    hd_text_put(english, "that ");
    hd_clause_english(english, &sub);
    hd_clause_german(german, &main, HD_MAIN);
    hd_text_put(german, ", dass ");
    hd_clause_german(german, &sub, HD_FINAL);
}

static hd_status finish(hd_text *t, hd_err *err)
{
    hd_text_put(t, ".");
    if (!t->missed && *t->data >= 'a' && *t->data <= 'z') *t->data = (char)(*t->data - 'a' + 'A');
    return hd_text_status(t, err);
}

hd_status hd_grammar_draw(hd_rng *rng, hd_text *english, hd_text *german, hd_err *err)
{
    uint32_t roll = hd_rng_below(rng, 100);
    english->size = german->size = 0;
    if (roll < 15) {
        draw_joined(rng, english, german);
    } else if (roll < 25) {
        draw_told(rng, english, german);
    } else {
        hd_clause c = draw_clause(rng, draw_frame(rng),
                                  (limits){.past = true, .first = true, .last = true, .will = true});
        hd_clause_english(english, &c);
        hd_clause_german(german, &c, HD_MAIN);
    }
    hd_status s = finish(english, err);
    return s ? s : finish(german, err);
}

struct hd_grammar {
    hd_rng rng;
    uint64_t *slot; /* hash table of the hashes of the sentences drawn; 0: empty */
    size_t slots, count;
};

hd_status hd_grammar_new(hd_grammar **out, uint64_t seed, hd_err *err)
{
    hd_grammar *g = hd_mem_zero(sizeof *g);
    if (!g) return hd_err_nomem(err, sizeof *g);
    g->rng = hd_rng_make(seed, 0x6772616d6d617200u);
    g->slots = FIRST_SLOTS;
    g->slot = hd_mem_array(g->slots, sizeof *g->slot);
    if (!g->slot) {
        hd_mem_free(g);
        return hd_err_nomem(err, FIRST_SLOTS * sizeof *g->slot);
    }
    *out = g;
    return HD_OK;
}

void hd_grammar_free(hd_grammar *g)
{
    if (g) hd_mem_free(g->slot);
    hd_mem_free(g);
}

static uint64_t hash_of(const hd_text *t)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < t->size; i++) h = (h ^ (uint8_t)t->data[i]) * 0x100000001b3u;
    h = (h ^ h >> 32) * 0xbf58476d1ce4e5b9u;
    return h ? h : 1;
}

/* False where it was there. Two sentences of one hash are taken for one: the second is then lost, which harms
 * nobody. */
static bool insert(uint64_t *slot, size_t slots, uint64_t hash)
{
    size_t i = hash & (slots - 1);
    while (slot[i] && slot[i] != hash) i = (i + 1) & (slots - 1);
    bool is_new = !slot[i];
    slot[i] = hash;
    return is_new;
}

static hd_status grow(hd_grammar *g, hd_err *err)
{
    if (2 * g->count < g->slots) return HD_OK;
    size_t slots = 2 * g->slots;
    uint64_t *slot = hd_mem_array(slots, sizeof *slot);
    if (!slot) return hd_err_nomem(err, slots * sizeof *slot);
    for (size_t i = 0; i < g->slots; i++)
        if (g->slot[i]) insert(slot, slots, g->slot[i]);
    hd_mem_free(g->slot);
    g->slot = slot;
    g->slots = slots;
    return HD_OK;
}

hd_status hd_grammar_next(hd_grammar *g, hd_text *english, hd_text *german, hd_err *err)
{
    hd_status s = grow(g, err);
    for (int i = 0; !s && i < TRIES; i++) {
        s = hd_grammar_draw(&g->rng, english, german, err);
        if (s || !strcmp(english->data, HD_GRAMMAR_RESERVED)) continue;
        if (!insert(g->slot, g->slots, hash_of(english))) continue;
        g->count++;
        return HD_OK;
    }
    return s ? s
             : hd_err_set(err, HD_ELIMIT,
                          "the grammar has hardly more than %zu different sentences: ask for fewer",
                          g->count);
}
