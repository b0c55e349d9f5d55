/* HTML: what is read of it, and where tags go. Words are aligned by hand. */
#include "check.h"

#include <ctype.h>

#include "base/mem.h"
#include "outcome.h"
#include "serve/html/html.h"
#include "serve/html/entity.h"

static hd_html read_html(const char *text)
{
    hd_html h;
    hd_err err = {0};
    if (hd_html_read(&h, (hd_line){text, strlen(text)}, &err)) fail_msg("%s", err.text);
    return h;
}

/* The texts of the passages, apart by "|". */
static const char *passages_of(const char *text)
{
    static char all[4096];
    hd_html h = read_html(text);
    size_t n = 0;
    all[0] = 0;
    for (size_t i = 0; i < h.passages; i++) {
        hd_line line = hd_html_text(&h, i);
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%.*s", i ? "|" : "", (int)line.size, line.text);
    }
    hd_html_release(&h);
    return all;
}

static void passages_are_what_stands_between_blocks(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a dog", "a dog"},
        {"<p>a <b>dog</b></p>", "a dog"},
        {"<p>a\n\t <b> dog</b> </p>", "a dog"},
        {"a dog<br>a cat<BR/>a cow", "a dog|a cat|a cow"},
        {"<ul><li>a dog</li><li>a cat</li></ul>", "a dog|a cat"},
        {"<h1 title='<p>'>a dog</h1>", "a dog"},
        {"un<b>believ</b>able", "unbelievable"},
        {"a &lt;b&gt; &amp; &#99; &#x64;&eacute;&nbsp;e", "a <b> & c d\xC3\xA9\xC2\xA0"
                                                          "e"},
        {"a &copy 1 &nosuch; b", "a \xC2\xA9 1 b"},
        {"a < b <3 c<", "a < b <3 c<"},
        {"a & b &; &# &#x;", "a & b &; &# &#x;"},
        {"&#0;a&#xD800;&#x110000;", "\xEF\xBF\xBD"
                                    "a\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"a<script>var b = '<p>c</p>';</script>d", "ad"},
        {"a<style>b</style> <!-- <p> c --> d", "a d"},
        {"a<!-->b<!--->c", "abc"},
        {"<pre>a\n  b\nc</pre>d\ne", "a|b|c|d e"},
        {"1, 2 ... 3", ""},
        {"<p>12</p><p>a</p>", "a"},
        {"", ""},
        {"<", ""},
        {"</", ""},
        {"a <b", "a"},
        {"a <b title=\"x>y", "a"},
        {"a <!-- b", "a"},
        {"a <script> b", "a"},
        {"a </> b </ c> d <?php e ?> f", "a b d f"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(passages_of(cases[i][0]), cases[i][1]))
            fail_msg("%s: %s", cases[i][0], passages_of(cases[i][0]));
}

/* -- placing -- */

typedef struct made {
    const char *translation; /* of each passage, apart by "|" */
    const char *links;       /* for each of its words the number of the source's; "-": none */
} made;

static hd_status put(hd_text *to, const hd_html *h, size_t passage, void *context, hd_err *err)
{
    const made *m = context;
    const char *text = m->translation, *link = m->links;
    for (size_t i = 0; i < passage; i++) text = strchr(text, '|') + 1, link = strchr(link, '|') + 1;
    const hd_line line = {text, strcspn(text, "|")};
    hd_html_words source, target;
    hd_html_links links = {0};
    assert_int_equal(hd_html_words_of(&source, h, passage, err), HD_OK);
    assert_int_equal(hd_html_words_read(&target, line, err), HD_OK);
    links.source = hd_mem_array(target.count + 1, sizeof *links.source);
    links.target = hd_mem_array(source.count + 1, sizeof *links.target);
    for (size_t i = 0; i < source.count; i++) links.target[i] = HD_HTML_NONE;
    for (size_t i = 0; i < target.count; i++) {
        link += strspn(link, " ");
        if (!*link || *link == '|') fail_msg("%s: %zu words", text, target.count);
        links.source[i] = *link == '-' ? HD_HTML_NONE : strtoul(link, NULL, 10);
        if (*link != '-') assert_true(links.source[i] < source.count);
        if (*link != '-' && links.target[links.source[i]] == HD_HTML_NONE) links.target[links.source[i]] = i;
        link += strcspn(link, " |");
    }
    hd_status s = hd_html_place(to, h, passage, line, &source, &target, &links, err);
    hd_html_links_release(&links);
    hd_html_words_release(&source);
    hd_html_words_release(&target);
    return s;
}

static void tags_go_where_their_words_go(void **state)
{
    (void)state;
    static const struct {
        const char *html, *translation, *links, *expected;
    } cases[] = {
        {"<p>A <b>black</b> dog.</p>", "Ein schwarzer Hund.", "0 1 2 3", "<p>Ein <b>schwarzer</b> Hund.</p>"},
        /* order changes */
        {"a <b>red</b> <i>house</i>", "une maison rouge", "0 2 1", "une <i>maison</i> <b>rouge</b>"},
        /* attributes stay */
        {"see <a href='x?a&amp;b' class=c>this page</a>.", "siehe diese Seite.", "0 1 2 3",
         "siehe <a href='x?a&amp;b' class=c>diese Seite</a>."},
        /* all of it */
        {"<b>red house</b>", "maison rouge", "- -", "<b>maison rouge</b>"},
        {"<b><i>red</i> house</b>", "maison rouge", "1 0", "<b>maison <i>rouge</i></b>"},
        /* a word apart does not make it longer */
        {"I <b>have seen</b> a dog", "ich habe einen Hund gesehen", "0 1 3 4 2",
         "ich <b>habe</b> einen Hund gesehen"},
        /* but an element in it does */
        {"I <b>have <i>seen</i></b> a dog", "ich habe einen Hund gesehen", "0 1 3 4 2",
         "ich <b>habe einen Hund <i>gesehen</i></b>"},
        /* what stands for nothing of it stays without words */
        {"a <b>very</b> old dog", "ein Hund", "0 3", "ein<b></b> Hund"},
        /* parts of a word */
        {"<b>un</b>likely", "unwahrscheinlich", "0", "<b>unwahrscheinlich</b>"},
        /* at one place */
        {"a <img src=x> dog", "ein Hund", "0 1", "ein <img src=x> Hund"},
        {"a<sup>1</sup> dog", "ein1 Hund", "1 2", "<sup>ein1</sup> Hund"},
        {"a dog<img>, a cat", "ein Hund, eine Katze", "0 1 2 3 4", "ein Hund<img>, eine Katze"},
        {"<img> a dog", "ein Hund", "0 1", "<img> ein Hund"},
        {"a dog <img>", "ein Hund", "0 1", "ein Hund <img>"},
        {"a dog <i class=icon></i>", "ein Hund", "0 1", "ein Hund <i class=icon></i>"},
        {"one<!-- c --> two", "zwei eins", "1 0", "zwei eins<!-- c -->"},
        {"a &nosuch; dog", "ein Hund", "0 1", "ein &nosuch; Hund"},
        /* white space and entities */
        {"<p>\n  a &lt; <b> b </b>\n</p>", "ein < b", "0 1 2", "<p>\n  ein &lt; <b>b</b>\n</p>"},
        {"<p><b> a</b> </p>", "ein", "0", "<p> <b>ein</b> </p>"},
        {"a dog", "a\xC2\xA0<dog> & c", "0 - 1 - - -", "a&nbsp;&lt;dog&gt; &amp; c"},
        /* over several passages */
        {"<b>one <i>two<br>three</i> four</b>", "zwei eins|drei vier", "1 0|0 1",
         "<b><i>zwei eins<br>drei</i> vier</b>"},
        {"<b>one two", "eins zwei", "0 1", "<b>eins zwei"},
        {"one</b> two", "zwei eins", "1 0", "zwei eins</b>"},
        {"<b>one <i>two</b> three</i>", "eins zwei drei", "0 1 2", "<b>eins <i>zwei</b> drei</i>"},
        /* characters of scripts without spaces */
        {"a <b>black</b> dog", "\xE9\xBB\x91\xE3\x81\x84\xE7\x8A\xAC", "1 1 2",
         "<b>\xE9\xBB\x91\xE3\x81\x84</b>\xE7\x8A\xAC"},
        {"a <b>dog</b>", "", "", "<b></b>"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_html h = read_html(cases[i].html);
        hd_text out = {0};
        hd_err err = {0};
        made m = {cases[i].translation, cases[i].links};
        assert_int_equal(hd_html_write(&out, &h, put, &m, &err), HD_OK);
        if (strcmp(out.data, cases[i].expected)) fail_msg("%s: %s", cases[i].html, out.data);
        hd_text_release(&out);
        hd_html_release(&h);
    }
}

/* -- any text -- */

static uint32_t drawn(uint32_t *seed, uint32_t most)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % most;
}

static int by_bytes(const void *a, const void *b)
{
    return *(const unsigned char *)a - *(const unsigned char *)b;
}

static bool put_words_back(hd_text *to, const hd_html *h, size_t passage, uint32_t *seed, hd_err *err)
{
    static const char text[] = "Lorem ipsum, dolor sit amet";
    hd_html_words source, target;
    hd_html_links links = {0};
    assert_int_equal(hd_html_words_of(&source, h, passage, err), HD_OK);
    assert_int_equal(hd_html_words_read(&target, (hd_line){text, strlen(text)}, err), HD_OK);
    links.source = hd_mem_array(target.count + 1, sizeof *links.source);
    links.target = hd_mem_array(source.count + 1, sizeof *links.target);
    for (size_t i = 0; i < target.count; i++) links.source[i] = drawn(seed, (uint32_t)source.count);
    for (size_t i = 0; i < source.count; i++) links.target[i] = drawn(seed, (uint32_t)target.count);
    hd_status s = hd_html_place(to, h, passage, (hd_line){text, strlen(text)}, &source, &target, &links, err);
    hd_html_links_release(&links);
    hd_html_words_release(&source);
    hd_html_words_release(&target);
    return !s;
}

static hd_status put_any(hd_text *to, const hd_html *h, size_t passage, void *seed, hd_err *err)
{
    assert_true(put_words_back(to, h, passage, seed, err));
    return HD_OK;
}

/* Tags of a text of single letters: whether they nest, and which there are, sorted. */
static bool nests(const char *text, char tags[256])
{
    char open[64];
    size_t depth = 0, n = 0;
    bool good = true;
    for (const char *at = text; (at = strchr(at, '<')); at++) {
        bool close = at[1] == '/';
        char name = at[1 + close];
        if (n < 255) tags[n++] = close ? (char)toupper(name) : name;
        if (name == 'x') continue;
        if (!close && depth < 64)
            open[depth++] = name;
        else if (close)
            good = good && depth && open[depth - 1] == name, depth -= depth > 0;
    }
    qsort(tags, n, 1, by_bytes);
    tags[n] = 0;
    return good && !depth;
}

/* Elements in elements, of inline and block ones, with random words and random alignment. */
static void tags_are_those_of_the_text_and_nest_if_they_did(void **state)
{
    (void)state;
    static const char *const words[] = {"aa", " bb ", ", ", "cc", "  "};
    char text[1024], before[256], after[256], open[16];
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t seed = round;
        size_t n = 0, depth = 0;
        bool nested = round % 4;
        for (uint32_t i = 0, parts = 3 + drawn(&seed, 40); i < parts; i++) {
            uint32_t what = drawn(&seed, 8);
            if (what < 4) {
                n += (size_t)snprintf(text + n, sizeof text - n, "%s", words[drawn(&seed, COUNT_OF(words))]);
            } else if (what < 6 && depth < COUNT_OF(open)) {
                open[depth++] = "biupqs"[drawn(&seed, 6)]; /* p begins another passage */
                n += (size_t)snprintf(text + n, sizeof text - n, "<%c>", open[depth - 1]);
            } else if (what == 6 && depth) {
                size_t which = nested ? depth - 1 : drawn(&seed, (uint32_t)depth);
                n += (size_t)snprintf(text + n, sizeof text - n, "</%c>", open[which]);
                open[which] = open[depth - 1];
                depth--;
            } else {
                n += (size_t)snprintf(text + n, sizeof text - n, "<x/>");
            }
        }
        while (depth && nested) n += (size_t)snprintf(text + n, sizeof text - n, "</%c>", open[--depth]);
        bool good = nests(text, before);
        hd_html h = read_html(text);
        hd_text out = {0};
        hd_err err = {0};
        assert_int_equal(hd_html_write(&out, &h, put_any, &seed, &err), HD_OK);
        bool still = nests(out.data ? out.data : "", after);
        if (strcmp(before, after) || (good && !still)) fail_msg("%s: %s", text, out.data);
        hd_text_release(&out);
        hd_html_release(&h);
    }
}

static void what_is_too_deep_stays(void **state)
{
    (void)state;
    char text[1024] = "<p>dog</p>";
    for (int i = 0; i <= HD_HTML_DEPTH; i++) strcat(text, "<b>");
    strcat(text, "a");
    for (int i = 0; i <= HD_HTML_DEPTH; i++) strcat(text, "</b>");
    assert_string_equal(passages_of(text), "dog");
}

static void memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    static const char text[] = "<p>a <b>red <i>big</i></b> &amp; old <img> dog</p> cat";
    size_t blocks = hd_mem_now().blocks;
    for (size_t n = 1; n < 60; n++) {
        hd_html h = {0};
        hd_err err = {0};
        hd_html_words words = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_html_read(&h, (hd_line){text, strlen(text)}, &err);
        if (!s) s = hd_html_words_of(&words, &h, 0, &err);
        hd_mem_fail_at(0);
        if (s) assert_int_equal(s, HD_ENOMEM);
        hd_html_words_release(&words);
        hd_html_release(&h);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passages_are_what_stands_between_blocks),
        cmocka_unit_test(tags_go_where_their_words_go),
        cmocka_unit_test(tags_are_those_of_the_text_and_nest_if_they_did),
        cmocka_unit_test(what_is_too_deep_stays),
        cmocka_unit_test(memory_that_runs_out_is_an_error),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
