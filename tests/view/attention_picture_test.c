/* Pictures: SVG is well-formed and says all labels and weights; PNG and PDF are what they claim to be. */
#include "view/maps.h"

#include <ctype.h>

#include "base/file/lines.h"
#include "outcome.h"
#include "view/attention/format.h"
#include "view/draw/drawing.h"

static bool has_cairo(void)
{
    return !hd_attention_png.missing;
}

/* Reads what may stand between tags or in an attribute; returns what is behind it. */
static const char *xml_text(const char *s, char until)
{
    for (; *s && *s != until; s++) {
        if (*s == '<') fail_msg("a bare < before %.30s", s);
        if ((unsigned char)*s < ' ' && *s != '\n') fail_msg("a control character before %.30s", s);
        if (*s != '&') continue;
        size_t n = strcspn(s, ";");
        static const char *const known[] = {"&amp", "&lt", "&gt", "&quot", "&#9", "&#10", "&#13"};
        bool found = false;
        for (size_t i = 0; i < COUNT_OF(known); i++)
            found = found || (n == strlen(known[i]) && !strncmp(s, known[i], n));
        if (!found) fail_msg("an unknown entity at %.10s", s);
    }
    return s;
}

static size_t xml_name(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '-' || s[n] == ':') n++;
    return n;
}

/* Attributes up to the end of a tag; returns what stands there, ">" or "/>". */
static const char *xml_attributes(const char *s)
{
    while (*s == ' ') {
        size_t n = xml_name(++s);
        assert_true(n > 0 && s[n] == '=' && s[n + 1] == '"');
        s = xml_text(s + n + 2, '"');
        assert_int_equal(*s++, '"');
    }
    return s;
}

/* A document without DTD, comments and CDATA: tags nest, attributes are quoted, entities are known. */
static void assert_well_formed(const char *s, size_t size)
{
    struct {
        const char *name;
        size_t length;
    } open[8];
    size_t depth = 0, elements = 0;
    static const char first[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    assert_int_equal(strlen(s), size);
    assert_int_equal(hd_utf8_good(s, size), size);
    assert_memory_equal(s, first, sizeof first - 1);
    for (s += sizeof first - 1; *s;) {
        if (*s != '<') {
            const char *end = strchr(s, '<');
            if (!depth) assert_string_equal(s, "\n");
            s = end ? (xml_text(s, '<'), end) : s + strlen(s);
            continue;
        }
        bool closing = s[1] == '/';
        s += 1 + closing;
        size_t n = xml_name(s);
        assert_true(n > 0);
        if (closing) {
            assert_true(depth > 0 && open[depth - 1].length == n && !strncmp(open[depth - 1].name, s, n));
            depth--, s += n;
            assert_int_equal(*s++, '>');
            continue;
        }
        assert_true(depth < COUNT_OF(open) && (depth || !elements));
        open[depth].name = s, open[depth++].length = n, elements++;
        s = xml_attributes(s + n);
        if (*s == '/') depth--, s++;
        assert_int_equal(*s++, '>');
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 1);
}

static const char *const odd[] = {"</text>", "a & b", "\"q\"",
                                  "\n",      " ",     "日本語",
                                  "שלום",    "\x01",  "Donaudampfschifffahrtsgesellschaftskapitänsmütze"};

static void svg_is_well_formed(void **state)
{
    (void)state;
    static const maps_shape shapes[] = {{3, 3, 1, 1, NULL, NULL},
                                        {9, 9, 2, 2, odd, odd},
                                        {1, 1, 1, 1, NULL, NULL},
                                        {120, 90, 1, 2, NULL, NULL},
                                        {2, 60, 1, 1, NULL, NULL}};
    maps_folder f = maps_folder_new();
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (int kind = 0; kind <= HD_ATTENTION_KINDS; kind++) {
            hd_attention_maps a = maps_of(&shapes[i]);
            size_t size;
            maps_write(&f, "a.svg", &(hd_attention_pick){.kind = kind}, &a, 1);
            char *svg = maps_read(&f, "a.svg", &size);
            assert_well_formed(svg, size);
            free(svg);
            hd_attention_release(&a);
        }
    maps_folder_free(&f);
}

static void svg_has_labels_weights_and_a_title(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = maps_of(&(maps_shape){9, 9, 2, 4, odd, odd});
    maps_write(&f, "a.svg", &(hd_attention_pick){.layer = 1, .head = 2}, &a, 1);
    char *svg = maps_read(&f, "a.svg", NULL), expected[160];
    static const char *const labels[] = {
        ">&lt;/text&gt;</text>",
        ">a &amp; b</text>",
        ">&quot;q&quot;</text>",
        ">↵</text>",
        ">␣</text>",
        ">日本語</text>",
        ">שלום</text>",
        ">\\x01</text>",
        "<title>Donaudampfschifffahrtsgesellschaftskapitänsmütze</title>Donaudampf"};
    for (size_t i = 0; i < COUNT_OF(labels); i++)
        if (!strstr(svg, labels[i])) fail_msg("no %s", labels[i]);
    assert_null(strstr(svg, ">Donaudampfschifffahrtsgesellschaftskapitänsmütze</text>")); /* cut */
    assert_non_null(strstr(svg, ">Cross-attention, layer 1 of 2, head 2 of 4</text>"));
    assert_non_null(strstr(svg, ">attention weight</text>"));
    snprintf(expected, sizeof expected, "<title>日本語 → שלום: %.4g</title></rect>",
             (double)hd_attention_at(&a.part[HD_ATTENTION_CROSS], 0, 1)[5 * 9 + 6]);
    assert_non_null(strstr(svg, expected));
    free(svg);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

/* The number behind a name and a quote. */
static double size_of(const char *svg, const char *name)
{
    const char *at = strstr(svg, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

static void the_picture_grows_with_the_sentence(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    double before = 0;
    for (size_t n = 30; n <= 120; n += 30) {
        hd_attention_maps a = maps_of(&(maps_shape){n, n, 1, 1, NULL, NULL});
        maps_write(&f, "a.svg", NULL, &a, 1);
        char *svg = maps_read(&f, "a.svg", NULL);
        double width = size_of(svg, " width=\"");
        assert_true(width > before && width >= (double)n * 16); /* letters of 12 pixels do not overlap */
        before = width;
        free(svg);
        hd_attention_release(&a);
    }
    maps_folder_free(&f);
}

static void png_is_a_picture_of_the_same_size(void **state)
{
    (void)state;
    if (!has_cairo()) leave_out("a build without Cairo");
    maps_folder f = maps_folder_new();
    static const size_t lengths[] = {3, 120};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        hd_attention_maps a = maps_of(&(maps_shape){lengths[i], lengths[i], 1, 1, NULL, NULL});
        size_t size;
        maps_write(&f, "a.svg", NULL, &a, 1);
        maps_write(&f, "a.png", NULL, &a, 1);
        char *svg = maps_read(&f, "a.svg", NULL), *png = maps_read(&f, "a.png", &size);
        assert_true(size > 1000);
        assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
        const unsigned char *head = (const unsigned char *)png + 16;
        double width = head[0] * 16777216.0 + head[1] * 65536.0 + head[2] * 256.0 + head[3];
        double wanted = size_of(svg, " width=\"") * (lengths[i] == 3 ? 2 : 1);
        assert_true(fabs(width - wanted) <
                    0.1 * wanted); /* one measures its letters, one knows them by heart */
        free(svg);
        free(png);
        hd_attention_release(&a);
    }
    maps_folder_free(&f);
}

static void pdf_has_a_page_for_each_sentence(void **state)
{
    (void)state;
    if (!has_cairo()) leave_out("a build without Cairo");
    maps_folder f = maps_folder_new();
    hd_attention_maps a[3] = {maps_of(&(maps_shape){3, 4, 1, 1, NULL, NULL}),
                              maps_of(&(maps_shape){9, 9, 1, 1, odd, odd}),
                              maps_of(&(maps_shape){50, 40, 1, 2, NULL, NULL})};
    size_t size, again, pages = 0;
    maps_write(&f, "a.pdf", NULL, a, 3);
    maps_write(&f, "b.pdf", NULL, a, 3);
    char *pdf = maps_read(&f, "a.pdf", &size), *same = maps_read(&f, "b.pdf", &again);
    assert_memory_equal(pdf, "%PDF-1.4", 8);
    for (char *at = pdf; at && at < pdf + size;) {
        at = memmem(at, (size_t)(pdf + size - at), "/Type /Page", 11);
        if (at) pages += at[11] != 's', at += 11;
    }
    assert_int_equal(pages, 3);
    assert_non_null(memmem(pdf, size, "/Count 3", 8));
    assert_int_equal(size, again);
    assert_memory_equal(pdf, same, size);
    assert_non_null(memmem(pdf, size, "/CreationDate (20000101", 23)); /* also on another day */
    free(pdf);
    free(same);
    for (int i = 0; i < 3; i++) hd_attention_release(&a[i]);
    maps_folder_free(&f);
}

typedef struct letters {
    double word, apart, one, two;
} letters;

static void measure(hd_drawing *d, const hd_canvas *c)
{
    static const char *const parts[] = {"س", "ل", "ا", "م"};
    letters *l = d->context;
    d->width = d->height = 10, d->title = "";
    l->word = c->width(c->context, "سلام", 20, false);
    for (size_t i = 0; i < COUNT_OF(parts); i++) l->apart += c->width(c->context, parts[i], 20, false);
    l->one = c->width(c->context, parts[0], 20, false), l->two = c->width(c->context, parts[2], 20, false);
}

static hd_status draw_nothing(const hd_drawing *d, const hd_canvas *c, hd_err *err)
{
    (void)d, (void)c, (void)err;
    return HD_OK;
}

/* Joined letters take less room than the same ones apart; side by side they take just that. */
static void arabic_letters_join_where_there_is_pango(void **state)
{
    (void)state;
    if (!has_cairo()) leave_out("a build without Cairo");
    hd_err err = {0};
    hd_text_file out = {0};
    letters l = {0};
    hd_drawing d = {.lay_out = measure, .draw = draw_nothing, .context = &l};
    if (hd_drawing_png(&out, &d, &err)) fail_msg("%s", err.text);
    hd_text_release(&out.text);
    print_message("joined %.2f, apart %.2f\n", l.word, l.apart);
    if (l.one == l.two) leave_out("no font with Arabic letters");
    if (hd_drawing_shapes())
        assert_true(l.word < 0.9 * l.apart);
    else
        assert_true(fabs(l.word - l.apart) < 0.05 * l.apart); /* hinting rounds widths */
}

static void without_cairo_it_says_what_to_do(void **state)
{
    (void)state;
    if (has_cairo()) return;
    static const char *const names[] = {"a.png", "a.pdf"};
    maps_folder f = maps_folder_new();
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        hd_err err = {0};
        char path[128];
        hd_attention_file *file = NULL;
        assert_int_equal(hd_attention_file_open(&file, maps_path(&f, names[i], path), NULL, &err),
                         HD_EMISSING);
        assert_non_null(strstr(err.text, "built without Cairo"));
        assert_non_null(strstr(err.text, "libcairo2-dev"));
    }
    assert_int_equal(maps_files(&f, false), 0);
    maps_folder_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(svg_is_well_formed),
        cmocka_unit_test(svg_has_labels_weights_and_a_title),
        cmocka_unit_test(the_picture_grows_with_the_sentence),
        cmocka_unit_test(png_is_a_picture_of_the_same_size),
        cmocka_unit_test(pdf_has_a_page_for_each_sentence),
        cmocka_unit_test(arabic_letters_join_where_there_is_pango),
        cmocka_unit_test(without_cairo_it_says_what_to_do),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
