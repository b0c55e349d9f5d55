/* Sentences of a line, in many languages: a table of lines with a bar where a sentence ends, and that nothing
   but white space is lost whatever the bytes. */
#include "check.h"

#include "text/splitter.h"

/* Every line with " | " between its sentences; its text is the line without bars. */
static const char *const cases[] = {
    "",
    "Hello",
    "Hello. | How are you? | I am fine!",
    "Really?! | No!!! | Yes.",
    /* tokenized before: marks stand alone, quotes too */
    "He knows me . | She sleeps . | The dog barks .",
    "he knows me . | she sleeps ! | does the dog bark ?",
    "He said \" I go . \" | She left .",
    "\" Stop ! \" he said . | He left .",
    "Wait . . . what ? | Yes .",
    "Mr. Smith sleeps . | Dr. Jones wakes .",
    "He left . | \" I stay , \" she said .",
    "( He left . ) | She stayed .",
    /* no capital letter anywhere */
    "hi there. | how are you? | i am fine.",
    "that costs e.g. five euros. | ok.",
    "well... maybe. | yes.",
    /* abbreviations */
    "Mr. Smith met Dr. Jones at 3 p.m. in the U.S. | They talked.",
    "He lives in the U.S. Government officials agreed.",
    "Prof. Lee vs. Gen. Grant, i.e. St. Louis, e.g. Mt. Everest. | Done.",
    "J. R. R. Tolkien wrote it. | So did I. | He died.",
    "See No. 5. | He said no. | Then he left.",
    "See p. 12 and Fig. 3 and vol. 2. | The end.",
    "Acme Inc. sold it. | Acme Inc. | The firm closed. | Acme Co. Ltd. was there.",
    "On Jan. 5 he came. | On Mon. he left.",
    "He changed his mind. | She sat in the sun. | We swam.",
    "We solve for x. | The value of y. | Then we stop.",
    "Das ist z.B. gut. | Das ist z. B. Peter. | D.h. er kommt usw. | Und so weiter.",
    "Hr. Meier bzw. Fr. Schulz kamen ca. 5 Min. zu spät. | Schade.",
    "Sie wohnt in der Goethestr. 5. | Er nicht.",
    "M. Dupont et Mme. Martin sont là. | Mlle. Petit aussi.",
    "El Sr. García y la Sra. López viven en EE. UU. desde 1990. | Bien.",
    "Il Sig. Rossi e il Dott. Bianchi. | Va bene.",
    "De heer J. de Vries, bijv. vandaag. | Hij komt.",
    "Pan mgr. Nowak, np. dzisiaj. | Tak.",
    "Он пришёл, т.е. ушёл. | Она спит, напр. дома. | Да.",
    /* numbers and dates */
    "It costs 3.14 dollars. | He paid 1,000.50. | 200 people came.",
    "Am 1. Januar 2024 kam er. | Der 2. Weltkrieg endete 1945. | Danach war Ruhe.",
    "Er kam am 12.5.2024. | Sie kam am 3. 4. 2024. | Ende.",
    "Im 19. Jahrhundert war das so. | Heute nicht.",
    "1. Introduction follows. | 2. The end.",
    /* quotes, brackets, references, ellipses */
    "\"Stop!\" he said. | \"Go.\" | \"No.\"",
    "\"I go.\" | She left. | (He stayed.) | [Then he left.] | End.",
    "„Geh!“, sagte er. | »Nein.« | Sie blieb.",
    "« Bonjour ! » dit-il. | « Ça va ? » | Elle rit.",
    "“I go.” | ‘You stay.’ | Good.",
    "The war ended.[12] | The peace began.",
    "Wait... what? | Well… | Yes.",
    "... Yes. | No ...",
    "He left. | - She stayed. | – He slept.",
    "Yahoo! is good. | He likes it.",
    "Visit example.com. | Then www.heed.org/index.html. | Done.",
    "Version 2.0.1 is out. | Install libheed.so.0 now.",
    /* other scripts */
    "他来了。|她走了！|真的吗？|是的。",
    "他说：“你好。”|她走了。",
    "「行く。」と彼は言った。|「帰る。」|彼女は言った。",
    "3．14です。|はい。",
    "안녕하세요. | 저는 학생입니다. | 네?",
    "هل تأتي؟ | نعم. | شكرا!",
    "کیا آپ آئیں گے؟ | ہاں۔ | شکریہ۔",
    "वह आया। | वह गया। | क्या?",
    "Τι κάνεις; Καλά. | Εσύ;",
    "¿Qué tal? | ¡Hola! | ¿y tú? | Bien.",
    "שלום. | מה שלומך? | טוב.",
    "Բարև։ | Ինչպես ես։",
    /* paragraphs: an empty line parts them, an end of a line does not */
    "Title\n\n|First\nline. | Second.",
    "Title\r\n \r\n|Text",
    "one\xe2\x80\xa9|two",
    /* nothing to split */
    "? ! .",
    "...",
    "\"",
    ". . . .",
    "a.b.c.d",
};

/* The sentences of a line with bars before all but the first, the white space between them kept. */
static void with_bars(char *to, hd_line line)
{
    hd_splitter s = hd_splitter_of(line);
    hd_line one;
    size_t at = 0, n = 0;
    while (hd_splitter_next(&s, &one)) {
        size_t begin = (size_t)(one.text - line.text);
        assert_true(begin >= at && one.size > 0 && begin + one.size <= line.size);
        memcpy(to, line.text + at, begin - at), to += begin - at;
        if (n++) *to++ = '|';
        memcpy(to, one.text, one.size), to += one.size;
        at = begin + one.size;
    }
    memcpy(to, line.text + at, line.size - at), to += line.size - at;
    *to = 0;
}

static void sentences_end_where_people_end_them(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[512], expected[512], found[1024];
        size_t size = 0, kept = 0;
        for (const char *c = cases[i]; *c; c++) { /* a bar and the space behind it are not part of the line */
            bool bar = *c == '|';
            if (bar && c > cases[i] && c[-1] == ' ' && c[1] == ' ') c++;
            if (bar)
                expected[kept++] = '|';
            else
                line[size++] = expected[kept++] = *c;
        }
        expected[kept] = 0;
        with_bars(found, (hd_line){line, size});
        if (strcmp(found, expected)) print_error("expected %s\nfound    %s\n", expected, found), wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* Marks, quotes, spaces, letters of all kinds and broken bytes at random: only white space is left out, every
   sentence has something in it, and nothing is read beyond the end. */
static void nothing_is_lost_of_any_bytes(void **state)
{
    (void)state;
    static const char *const bits[] = {".",  "!",  "?",  "…", "。",  "！", "\"", "'",    "”",
                                       "«",  "»",  "(",  ")", "[1]", " ",  "  ", "\t",   "\n",
                                       "a",  "B",  "Ö",  "ж", "Dr",  "1",  "19", "z.B",  "中",
                                       "「", "」", "と", "۔", "।",   "-",  "–",  "\xff", "\xe3\x80"};
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char line[256];
        size_t size = 0;
        for (int n = 0; n < 24; n++) {
            seed = seed * 1664525u + 1013904223u;
            const char *bit = bits[(seed >> 8) % COUNT_OF(bits)];
            memcpy(line + size, bit, strlen(bit)), size += strlen(bit);
        }
        char *exact = malloc(size); /* one byte too far is found out */
        memcpy(exact, line, size);
        hd_splitter s = hd_splitter_of((hd_line){exact, size});
        hd_line one;
        size_t at = 0;
        while (hd_splitter_next(&s, &one)) {
            size_t begin = (size_t)(one.text - exact);
            for (size_t i = at; i < begin; i++) assert_non_null(strchr(" \t\n", exact[i]));
            assert_true(one.size && !strchr(" \t\n", one.text[0]) &&
                        !strchr(" \t\n", one.text[one.size - 1]));
            at = begin + one.size;
        }
        for (size_t i = at; i < size; i++) assert_non_null(strchr(" \t\n", exact[i]));
        free(exact);
    }
}

/* Lines of a megabyte that look ahead at every byte: a square of that would not end today. */
static void time_grows_with_the_bytes_alone(void **state)
{
    (void)state;
    static const char *const bits[] = {".",    ". ",      ".\"",  ". (",  ".\n",  " ",     "\n", "\"",
                                       "[",    ".[1",     "Dr.",  "a",    "a.",   "1. ",   "…",  "。",
                                       "\xff", "Dr. \n(", "a . ", "A. a", "A. B", "x\n \n"};
    enum { SIZE = 1 << 20 };
    char *line = malloc(SIZE);
    for (size_t i = 0; i < COUNT_OF(bits); i++) {
        size_t length = strlen(bits[i]), bytes = 0;
        for (size_t k = 0; k < SIZE; k++) line[k] = bits[i][k % length];
        hd_splitter s = hd_splitter_of((hd_line){line, SIZE});
        for (hd_line one; hd_splitter_next(&s, &one);) bytes += one.size;
        assert_true(bytes <= SIZE);
    }
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_end_where_people_end_them),
        cmocka_unit_test(nothing_is_lost_of_any_bytes),
        cmocka_unit_test(time_grows_with_the_bytes_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
