/* The grammar: what it must be able to say, that no English sentence has two renderings, and agreement in
   samples, by rules written here and not taken from its tables. */
#include "data/fixture.h"

#include "data/grammar/grammar.h"

/* A set of sentences with their rendering, by hash. */
typedef struct book {
    uint64_t *english, *german;
    size_t slots, count;
} book;

static uint64_t hash_of(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u | 1;
}

static book book_of(size_t slots)
{
    return (book){calloc(slots, 8), calloc(slots, 8), slots, 0};
}

static void close_book(book *b)
{
    free(b->english);
    free(b->german);
}

/* Whether the sentence is new; where it is not, its rendering must be the same. */
static bool enter(book *b, const char *english, const char *german)
{
    uint64_t e = hash_of(english), g = hash_of(german);
    size_t i = e % b->slots;
    for (; b->english[i]; i = (i + 1) % b->slots) {
        if (b->english[i] != e) continue;
        if (b->german[i] != g) fail_msg("two renderings: %s = %s", english, german);
        return false;
    }
    b->english[i] = e;
    b->german[i] = g;
    b->count++;
    assert_true(b->count < b->slots / 2);
    return true;
}

/* What is not drawn in four million sentences cannot be said: the rarest comes about once in a million. */
static void it_says_what_it_must(void **state)
{
    (void)state;
    static const struct {
        const char *english, *german; /* parts of a sentence with spaces around */
    } cases[] = {
        {" I ate an apple .", " Ich habe einen Apfel gegessen ."},
        {" I get up early .", " Ich stehe früh auf ."},
        {" Today I see ", " Heute sehe ich "},
        {" although you came back .", " , obwohl du zurückgekommen bist ."},
        {" because I get up early .", " , weil ich früh aufstehe ."},
        {" that he does not sleep .", " , dass er nicht schläft ."},
        {" I cannot help you .", " Ich kann dir nicht helfen ."},
        {" gave him a book .", " hat ihm ein Buch gegeben ."},
        {" to the station .", " zum Bahnhof gegangen ."},
        {" the old bridge .", " zur alten Brücke "},
        {" does not have a dog .", " hat keinen Hund ."},
        {" with the children .", " mit den Kindern "},
        {" sees the boy .", " sieht den Jungen ."},
        {" cold milk .", " kalte Milch "},
        {" the cold coffee .", " den kalten Kaffee "},
        {" wants to open the door .", " will die Tür öffnen ."},
        {" will turn on the lamp .", " wird die Lampe einschalten ."},
        {" expensive car ", " teure Auto "},
        {" in the big garden .", " im großen Garten "},
        {" travelled to Munich .", " nach München gereist ."},
    };
    hd_text english = {0}, german = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(1, 1);
    bool found[COUNT_OF(cases)] = {false};
    size_t missing = COUNT_OF(cases);
    for (int i = 0; i < 4000000 && missing; i++) {
        ASSERT_OK(hd_grammar_draw(&rng, &english, &german, &err), err);
        char e[512], g[512];
        snprintf(e, sizeof e, " %s", english.data);
        for (size_t k = 0; k < COUNT_OF(cases); k++) {
            if (found[k] || !strstr(e, cases[k].english)) continue;
            snprintf(g, sizeof g, " %s", german.data);
            if (!strstr(g, cases[k].german)) continue;
            found[k] = true;
            missing--;
        }
    }
    for (size_t k = 0; k < COUNT_OF(cases); k++)
        if (!found[k]) fail_msg("never said: %s = %s", cases[k].english, cases[k].german);
    hd_text_release(&english);
    hd_text_release(&german);
}

static void a_sentence_has_one_rendering(void **state)
{
    (void)state;
    hd_text english = {0}, german = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(2, 2);
    book b = book_of(1 << 20);
    for (int i = 0; i < 300000; i++) {
        ASSERT_OK(hd_grammar_draw(&rng, &english, &german, &err), err);
        enter(&b, english.data, german.data);
    }
    assert_true(b.count > 200000); /* most are new */
    close_book(&b);
    hd_text_release(&english);
    hd_text_release(&german);
}

static bool is_one_of(const char *word, const char *list)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, " %.70s ", word);
    return strstr(list, wanted) != NULL;
}

/* Singular nouns whose form is no plural, and plurals whose form is no singular; the articles they go with;
   and behind these the ending of an adjective. */
static const struct {
    const char *nouns, *articles, *adjectives;
} rules[] = {
    {" Mann Freund Arzt Bruder Sohn Hund Vogel Apfel Keks Brief Tisch Stuhl Ball Hut Mantel Schuh Kaffee Tee "
     "Saft Park Wald Garten "
     "Bahnhof Markt Fluss Strand ",
     " der den dem ein einen einem kein keinen mein meinen meinem sein seinen seinem unser unseren unserem "
     "im zum ",
     " der-e den-en dem-en ein-er einen-en einem-en kein-er keinen-en mein-er meinen-en meinem-en im-en "
     "zum-en "},
    {" Frau Schwester Tochter Tante Königin Katze Kuh Maus Ente Banane Birne Kartoffel Tomate Wurst Milch "
     "Blume Tasse Zeitung "
     "Tasche Kiste Flasche Tür Jacke Lampe Küche Schule Kirche Brücke Stadt Maschine ",
     " die der eine einer keine meine meiner seine seiner unsere unserer zur ",
     " die-e der-en eine-e einer-en keine-e meine-e meiner-en zur-en "},
    {" Kind Pferd Schwein Ei Wasser Buch Bild Geschenk Hemd Kleid Radio Auto Fahrrad Dorf Büro Hotel ",
     " das dem ein einem kein mein meinem sein seinem unser unserem im zum ",
     " das-e dem-en ein-es einem-en kein-es mein-es meinem-en im-en zum-en "},
    {" Männer Kinder Freunde Ärzte Brüder Söhne Hunde Vögel Pferde Kühe Äpfel Eier Bücher Briefe Tische "
     "Stühle Schuhe ",
     " die keine meine seine unsere ", " die-en keine-en meine-en "},
    {" Männern Kindern Freunden Ärzten Brüdern Söhnen Töchtern Hunden Vögeln Pferden ",
     " den meinen seinen unseren ", " den-en meinen-en "},
};

static bool is_article(const char *word)
{
    return is_one_of(word, " der die das den dem ein eine einen einem einer kein keine keinen mein meine "
                           "meinen meinem meiner sein "
                           "seine seinen seinem seiner unser unsere unseren unserem unserer im zum zur ");
}

/* word[0] is the noun, word[-1] what stands before it, word[-2] what stands before that. */
static void assert_agrees(char *const *word, const char *sentence)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (!is_one_of(word[0], rules[i].nouns)) continue;
        if (is_article(word[-1]) && !is_one_of(word[-1], rules[i].articles))
            fail_msg("'%s %s' in: %s", word[-1], word[0], sentence);
        bool small = word[-1][0] >= 'a' && word[-1][0] <= 'z'; /* an adjective, not another noun */
        if (!small || is_article(word[-1]) || !is_article(word[-2]) || strspn(word[-2], "su") > 0) continue;
        size_t size = strlen(word[-1]);
        char pair[64];
        snprintf(pair, sizeof pair, "%s-%s", word[-2], word[-1] + size - (word[-1][size - 1] == 'e' ? 1 : 2));
        if (!is_one_of(pair, rules[i].adjectives))
            fail_msg("'%s %s %s' in: %s", word[-2], word[-1], word[0], sentence);
    }
}

static void articles_and_adjectives_agree_with_their_nouns(void **state)
{
    (void)state;
    hd_text english = {0}, german = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(3, 3);
    for (int i = 0; i < 100000; i++) {
        ASSERT_OK(hd_grammar_draw(&rng, &english, &german, &err), err);
        char words[512], *word[64] = {"", ""}, *rest = NULL;
        int count = 2;
        snprintf(words, sizeof words, "%s", german.data);
        if (words[0] >= 'A' && words[0] <= 'Z') words[0] |= 32; /* an article may be first */
        for (char *w = strtok_r(words, " ", &rest); w && count < 64; w = strtok_r(NULL, " ", &rest))
            word[count++] = w;
        for (int k = 2; k < count; k++) assert_agrees(word + k, german.data);
    }
    hd_text_release(&english);
    hd_text_release(&german);
}

/* Pronoun subjects: the finite verb is next to them in a main clause and last in a subordinate one. */
static void verbs_agree_with_their_subjects(void **state)
{
    (void)state;
    hd_text english = {0}, german = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(4, 4);
    int seen = 0;
    for (int i = 0; i < 100000; i++) {
        ASSERT_OK(hd_grammar_draw(&rng, &english, &german, &err), err);
        char words[512], *rest = NULL;
        snprintf(words, sizeof words, "%s", german.data);
        char *subject = strtok_r(words, " ", &rest), *verb = strtok_r(NULL, " ", &rest);
        static const char *const modal = " kann muss soll will darf möchte weiß war ";
        const size_t size = strlen(verb);
        bool good = true, looked = true;
        if (!strcmp(subject, "Ich"))
            good = verb[size - 1] == 'e' || is_one_of(verb, " bin kann muss soll will darf weiß war ");
        else if (!strcmp(subject, "Du"))
            good = !strcmp(verb + size - 2, "st") || verb[size - 1] == 't'; /* tanzt, isst, weißt */
        else if (!strcmp(subject, "Er"))
            good = verb[size - 1] == 't' || is_one_of(verb, modal) || is_one_of(verb, " hat wird ist ");
        else if (!strcmp(subject, "Wir"))
            good = verb[size - 1] == 'n' || !strcmp(verb, "sind");
        else
            looked = false;
        if (!good) fail_msg("'%s %s' in: %s", subject, verb, german.data);
        seen += looked;
    }
    assert_true(seen > 10000);
    hd_text_release(&english);
    hd_text_release(&german);
}

/* Form: a capital first, single spaces, the full stop last, a comma before each conjunction inside. */
static void sentences_are_in_order(void **state)
{
    (void)state;
    hd_text text[2] = {{0}};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(5, 5);
    for (int i = 0; i < 100000; i++) {
        ASSERT_OK(hd_grammar_draw(&rng, &text[0], &text[1], &err), err);
        for (int k = 0; k < 2; k++) {
            const char *s = text[k].data;
            size_t size = text[k].size;
            assert_int_equal(size, strlen(s));
            assert_true((s[0] >= 'A' && s[0] <= 'Z') || (uint8_t)s[0] == 0xc3); /* Ärzte */
            assert_null(strstr(s, "  "));
            assert_string_equal(s + size - 2, " .");
            assert_int_equal(hd_utf8_good(s, size), size);
        }
        static const char *const conjunction[] = {" weil ", " obwohl ", " wenn ", " dass "};
        for (size_t k = 0; k < COUNT_OF(conjunction); k++) {
            const char *at = strstr(text[1].data, conjunction[k]);
            if (at) assert_true(at > text[1].data && at[-1] == ',');
        }
    }
    hd_text_release(&text[0]);
    hd_text_release(&text[1]);
}

static void draw_some(book *b, uint64_t seed, int count)
{
    hd_grammar *g = NULL;
    hd_text english = {0}, german = {0};
    hd_err err = {0};
    ASSERT_OK(hd_grammar_new(&g, seed, &err), err);
    for (int i = 0; i < count; i++) {
        ASSERT_OK(hd_grammar_next(g, &english, &german, &err), err);
        assert_string_not_equal(english.data, HD_GRAMMAR_RESERVED);
        assert_true(enter(b, english.data, german.data)); /* none twice */
    }
    hd_grammar_free(g);
    hd_text_release(&english);
    hd_text_release(&german);
}

static void sentences_are_different_and_follow_the_seed(void **state)
{
    (void)state;
    book a = book_of(1 << 20), same = book_of(1 << 20), b = book_of(1 << 20);
    draw_some(&a, 1, 100000);
    draw_some(&same, 1, 100000);
    draw_some(&b, 2, 100000);
    assert_memory_equal(a.english, same.english, a.slots * 8);
    assert_memory_equal(a.german, same.german, a.slots * 8);
    assert_memory_not_equal(a.english, b.english, a.slots * 8);
    close_book(&a);
    close_book(&same);
    close_book(&b);
}

static hd_status draw_many(hd_err *err)
{
    hd_grammar *g = NULL;
    hd_text english = {0}, german = {0};
    hd_status s = hd_grammar_new(&g, 1, err);
    for (int i = 0; !s && i < 5000; i++) s = hd_grammar_next(g, &english, &german, err);
    hd_grammar_free(g);
    hd_text_release(&english);
    hd_text_release(&german);
    return s;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    walk_through_failures(draw_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_it_must),
        cmocka_unit_test(a_sentence_has_one_rendering),
        cmocka_unit_test(articles_and_adjectives_agree_with_their_nouns),
        cmocka_unit_test(verbs_agree_with_their_subjects),
        cmocka_unit_test(sentences_are_in_order),
        cmocka_unit_test(sentences_are_different_and_follow_the_seed),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
