/* Reading corpora: what is kept, what is left out and counted, what is refused and how it is named. */
#include "data/fixture.h"

#include <zlib.h>

#include "data/reader.h"

static void assert_sentence(const hd_sentences *s, int side, size_t i, const char *text)
{
    hd_line line = hd_sentence(s, side, i);
    assert_int_equal(line.size, strlen(text));
    assert_memory_equal(line.text, text, line.size);
}

static void several_files_are_read_one_behind_the_other(void **state)
{
    (void)state;
    hd_sentences s = {0}, held = {0};
    hd_report r;
    hd_err err = {0};
    size_t line;
    hd_files more = {0};
    put_text("1.en", "one\n\ntwo\n"), put_text("1.de", "eins\n\nzwei\n");
    put_text("2.en", "\xef\xbb\xbfthree\nfour\n"), put_text("2.de", "drei\n\n");
    ASSERT_OK(hd_files_add(&more, in_folder("2.en"), &err), err);
    ASSERT_OK(hd_files_add(&more, in_folder("2.de"), &err), err);
    hd_read_opt opt = {.source = in_folder("1.en"), .target = in_folder("1.de"), .more = &more};
    ASSERT_OK(hd_sentences_read(&s, &opt, &r, &err), err);
    assert_int_equal(s.count, 3);
    assert_sentence(&s, 0, 2, "three"); /* without the mark before it */
    assert_sentence(&s, 1, 2, "drei");
    assert_string_equal(hd_sentences_file(&s, 1, s.line[2], &line), in_folder("2.de"));
    assert_int_equal(line, 1);
    assert_string_equal(hd_sentences_file(&s, 0, s.line[1], &line), in_folder("1.en"));
    assert_int_equal(line, 3);
    assert_int_equal(r.fault[HD_FAULT_empty].count, 2);
    ASSERT_OK(hd_sentences_split(&s, 1, &held, &err), err);
    assert_string_equal(hd_sentences_file(&held, 0, held.line[2], &line), in_folder("2.en"));
    hd_sentences_release(&s);
    hd_sentences_release(&held);
    opt = (hd_read_opt){in_folder("1.en"), in_folder("1.de"), &more, .empty = HD_POLICY_ERROR};
    assert_int_equal(hd_sentences_read(&s, &opt, NULL, &err), HD_EFORMAT);
    assert_error(&err, HD_EFORMAT, "1.en:2: the line is empty");
    more.count--;
    err = (hd_err){0};
    hd_sentences_read(&s, &opt, NULL, &err);
    assert_error(&err, HD_EARG, "2.en has no partner");
    more.count++;
    hd_files_release(&more);
}

static void pieces_of_a_corpus_make_up_all_of_it(void **state)
{
    (void)state;
    hd_sentences all = {0}, some = {0};
    hd_reader *reader = NULL;
    hd_err err = {0};
    size_t n = 0;
    put_text("p.en", "a\nbb\nccc\ndddd\n\ne\n"), put_text("p.de", "A\nBB\nCCC\nDDDD\n\nE\n");
    hd_read_opt opt = {.source = in_folder("p.en"), .target = in_folder("p.de")};
    ASSERT_OK(hd_sentences_read(&all, &opt, NULL, &err), err);
    ASSERT_OK(hd_reader_open(&reader, &opt, &err), err);
    for (;;) {
        ASSERT_OK(hd_reader_next(reader, &some, 3, &err), err);
        if (!some.count) break;
        for (size_t i = 0; i < some.count; i++, n++) {
            char text[16];
            hd_line line = hd_sentence(&all, 1, n);
            snprintf(text, sizeof text, "%.*s", (int)line.size, line.text);
            assert_sentence(&some, 1, i, text);
            assert_int_equal(some.line[i], all.line[n]);
        }
    }
    assert_int_equal(n, all.count);
    hd_reader_close(reader);
    hd_sentences_release(&all);
    hd_sentences_release(&some);
}

static void two_files_are_pairs(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_report r;
    hd_err err = {0};
    put_text("a.en", "\xef\xbb\xbfone\ntwo\r\nthree");
    put_text("a.de", "eins\nzwei\ndrei\n");
    ASSERT_OK(hd_sentences_read(&s, &(hd_read_opt){.source = in_folder("a.en"), .target = in_folder("a.de")},
                                &r, &err),
              err);
    assert_int_equal(s.sides, 2);
    assert_int_equal(s.count, 3);
    assert_int_equal(r.lines, 3);
    assert_int_equal(r.kept, 3);
    assert_sentence(&s, 0, 0, "one"); /* without the mark before it */
    assert_sentence(&s, 0, 1, "two");
    assert_sentence(&s, 1, 2, "drei");
    assert_int_equal(s.line[2], 3);
    hd_sentences_release(&s);
}

static void one_file_may_have_both_sides_or_one(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_err err = {0};
    put_text("a.tsv", "one\teins\n\ntwo\tzwei\tCC-BY 2.0\n");
    ASSERT_OK(hd_sentences_read(&s, &(hd_read_opt){.source = in_folder("a.tsv"), .tabs = true}, NULL, &err),
              err);
    assert_int_equal(s.sides, 2);
    assert_int_equal(s.count, 2);
    assert_sentence(&s, 0, 1, "two");
    assert_sentence(&s, 1, 1, "zwei");
    hd_sentences_release(&s);
    ASSERT_OK(hd_sentences_read(&s, &(hd_read_opt){.source = in_folder("a.tsv")}, NULL, &err), err);
    assert_int_equal(s.sides, 1);
    assert_sentence(&s, 0, 0, "one\teins");
    hd_sentences_release(&s);
}

static void gzip_and_standard_input_are_read(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_err err = {0};
    gzFile z = gzopen(in_folder("a.gz"), "wb");
    gzputs(z, "one\ntwo\n");
    assert_int_equal(gzclose(z), Z_OK);
    put_text("a.de", "eins\nzwei\n");
    int keep = dup(STDIN_FILENO);
    assert_non_null(freopen(in_folder("a.de"), "r", stdin));
    hd_status status =
        hd_sentences_read(&s, &(hd_read_opt){.source = in_folder("a.gz"), .target = "-"}, NULL, &err);
    dup2(keep, STDIN_FILENO);
    close(keep);
    ASSERT_OK(status, err);
    assert_sentence(&s, 0, 1, "two");
    assert_sentence(&s, 1, 1, "zwei");
    assert_string_equal(s.origin[0].name[1], "standard input");
    hd_sentences_release(&s);
}

static void faulty_lines_take_their_partner_along(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_report r;
    hd_err err = {0};
    heard h = {{0}, 0};
    hd_log log = {hear, &h, HD_WARN};
    static const char source[] = "one\ntw\xf6\nthree\n \nf\0ve\nsix\nse\xffven\n";
    put_file("a.en", source, sizeof source - 1);
    put_text("a.de", "eins\nzwei\n\nvier\nfünf\nsechs\nsieben\n");
    hd_read_opt opt = {
        .source = in_folder("a.en"), .target = in_folder("a.de"), .broken = HD_POLICY_SKIP, .log = &log};
    ASSERT_OK(hd_sentences_read(&s, &opt, &r, &err), err);
    assert_int_equal(s.count, 2);
    assert_sentence(&s, 0, 1, "six");
    assert_sentence(&s, 1, 1, "sechs");
    assert_int_equal(s.line[1], 6);
    assert_int_equal(r.lines, 7);
    assert_int_equal(r.kept, 2);
    assert_int_equal(r.fault[HD_FAULT_broken].count, 2);
    assert_int_equal(r.fault[HD_FAULT_broken].first, 2);
    assert_int_equal(r.fault[HD_FAULT_zero].count, 1);
    assert_int_equal(r.fault[HD_FAULT_zero].first, 5);
    assert_int_equal(r.fault[HD_FAULT_empty].count, 2);
    assert_int_equal(r.fault[HD_FAULT_empty].first, 3);
    assert_string_equal(r.fault[HD_FAULT_empty].file, in_folder("a.de"));
    assert_int_equal(h.count, 3);
    assert_non_null(strstr(h.last, "a.de: 2 of 7 lines are empty and were left out; the first is line 3"));
    hd_sentences_release(&s);
}

static void bad_input_is_named(void **state)
{
    (void)state;
    static char long_line[HD_LINE_LONGEST + 1];
    memset(long_line, 'x', sizeof long_line);
    put_text("good.en", "one\ntwo\nthree\n");
    put_text("good.de", "eins\nzwei\ndrei\n");
    put_text("short.de", "eins\nzwei\n");
    put_text("empty", "");
    put_text("blank", "\n \n");
    put_text("latin1", "eins\nzwei\nf\xfcnf\n");
    put_file("zero", "one\nt\0o\nthree\n", 14);
    put_file("long", long_line, sizeof long_line);
    put_text("gap", "one\n\nthree\n");
    put_file("cut.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x2b", 11);
    static const struct {
        const char *source, *target;
        bool tabs;
        hd_policy empty;
        hd_status status;
        const char *message;
    } cases[] = {
        {"good.en", "short.de", 0, 0, HD_EFORMAT, "good.en has 3 lines, "},
        {"good.en", "short.de", 0, 0, HD_EFORMAT,
         "short.de has 2: line n of one must be the translation of line n of the other"},
        {"short.de", "good.en", 0, 0, HD_EFORMAT, "short.de has 2 lines, "},
        {"good.en", "empty", 0, 0, HD_EFORMAT, "empty has 0"},
        {"good.en", "latin1", 0, 0, HD_EFORMAT,
         "latin1:3: not UTF-8: byte 0xfc at offset 1 (convert the file with iconv, or skip"},
        {"zero", "good.de", 0, 0, HD_EFORMAT, "zero:2: a zero byte: is this a text file?"},
        {"long", NULL, 0, 0, HD_ELIMIT, "long:1: the line is longer than 16777216 bytes"},
        {"empty", NULL, 0, 0, HD_EFORMAT, "empty: the file is empty"},
        {"empty", "empty", 0, 0, HD_EFORMAT, "empty: the file is empty"},
        {"blank", NULL, 0, 0, HD_EFORMAT, "blank: none of its 2 lines can be used"},
        {"gap", NULL, 0, HD_POLICY_ERROR, HD_EFORMAT,
         "gap:2: the line is empty (remove it, or skip empty lines)"},
        {"none", "good.de", 0, 0, HD_EFILE, "none: cannot open: No such file or directory"},
        {"good.en", "none", 0, 0, HD_EFILE, "none: cannot open: No such file or directory"},
        {".", NULL, 0, 0, HD_EFILE, "is a folder, not a file"},
        {"good.en", NULL, 1, 0, HD_EFORMAT,
         "good.en:1: no tab: each line must be a source, a tab and a target"},
        {"good.en", "good.de", 1, 0, HD_EARG, "is one too many"},
        {"cut.gz", NULL, 0, 0, HD_EFORMAT, "cut.gz: the gzip data is cut short"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_sentences s = {0};
        hd_err err = {0};
        char source[256], target[256];
        snprintf(source, sizeof source, "%s", in_folder(cases[i].source));
        if (cases[i].target) snprintf(target, sizeof target, "%s", in_folder(cases[i].target));
        hd_read_opt opt = {.source = source,
                           .target = cases[i].target ? target : NULL,
                           .tabs = cases[i].tabs,
                           .empty = cases[i].empty};
        assert_int_equal(hd_sentences_read(&s, &opt, NULL, &err), cases[i].status);
        assert_error(&err, cases[i].status, cases[i].message);
        assert_int_equal(s.count, 0);
    }
    hd_sentences s = {0};
    hd_err err = {0};
    hd_sentences_read(&s, &(hd_read_opt){.source = "-", .target = "-"}, NULL, &err);
    assert_error(&err, HD_EARG, "only one side can be read from standard input");
}

/* Pairs "n" and "-n" of `count` numbers, beginning at `first`, in steps of `step` modulo count. */
static void read_numbers(hd_sentences *s, int count, int first, int step)
{
    hd_text text[2] = {{0}};
    hd_err err = {0};
    for (int i = 0, n = first; i < count; i++, n = (n + step) % count) {
        hd_text_print(&text[0], "%d\n", n);
        hd_text_print(&text[1], "-%d\n", n);
    }
    put_file("n.en", text[0].data, text[0].size);
    put_file("n.de", text[1].data, text[1].size);
    ASSERT_OK(hd_sentences_read(s, &(hd_read_opt){.source = in_folder("n.en"), .target = in_folder("n.de")},
                                NULL, &err),
              err);
    hd_text_release(&text[0]);
    hd_text_release(&text[1]);
}

static int number_of(const hd_sentences *s, size_t i)
{
    hd_line source = hd_sentence(s, 0, i), target = hd_sentence(s, 1, i);
    assert_int_equal(source.size + 1, target.size);
    assert_memory_equal(source.text, target.text + 1, source.size); /* still a pair */
    char digits[16] = {0};
    memcpy(digits, source.text, source.size);
    return atoi(digits);
}

static void a_split_does_not_depend_on_order(void **state)
{
    (void)state;
    enum { COUNT = 4001 };
    static int chosen[2][COUNT];
    memset(chosen, 0, sizeof chosen);
    for (int round = 0; round < 2; round++) {
        hd_sentences s = {0}, valid = {0};
        hd_err err = {0};
        read_numbers(&s, COUNT, round ? 17 : 0, round ? 1000 : 1);
        ASSERT_OK(hd_sentences_split(&s, 0.1, &valid, &err), err);
        assert_int_equal(s.count + valid.count, COUNT);
        assert_true(valid.count > 340 && valid.count < 460); /* 400 expected, standard deviation 19 */
        for (size_t i = 0; i < valid.count; i++) chosen[round][number_of(&valid, i)]++;
        for (size_t i = 0; i < s.count; i++) chosen[round][number_of(&s, i)] += 2;
        hd_sentences_release(&s);
        hd_sentences_release(&valid);
    }
    assert_memory_equal(chosen[0], chosen[1], sizeof chosen[0]);
    for (int i = 0; i < COUNT; i++) assert_true(chosen[0][i] == 1 || chosen[0][i] == 2);
}

static void none_and_all_can_be_split_off(void **state)
{
    (void)state;
    hd_sentences s = {0}, none = {0}, all = {0};
    hd_err err = {0};
    read_numbers(&s, 100, 0, 1);
    ASSERT_OK(hd_sentences_split(&s, 0, &none, &err), err);
    assert_int_equal(none.count, 0);
    ASSERT_OK(hd_sentences_split(&s, 1, &all, &err), err);
    assert_int_equal(all.count, 100);
    assert_int_equal(s.count, 0);
    hd_sentences_release(&s);
    hd_sentences_release(&none);
    hd_sentences_release(&all);
}

static void a_feed_gives_one_side_or_both(void **state)
{
    (void)state;
    hd_sentences s = {0};
    hd_sentence_walk walk;
    hd_line line;
    read_numbers(&s, 10, 0, 1);
    for (int side = 0; side < 3; side++) {
        hd_feed feed = hd_sentences_feed(&s, side, side == 2, &walk);
        int count = 0, targets = 0;
        while (feed.next(feed.context, &line)) count++, targets += *line.text == '-';
        assert_int_equal(count, side == 2 ? 20 : 10);
        assert_int_equal(targets, side ? 10 : 0);
        assert_false(feed.next(feed.context, &line));
    }
    hd_sentences_release(&s);
}

static hd_status read_and_split(hd_err *err)
{
    hd_sentences s = {0}, valid = {0};
    hd_status status = hd_sentences_read(
        &s, &(hd_read_opt){.source = in_folder("n.en"), .target = in_folder("n.de")}, NULL, err);
    if (!status) status = hd_sentences_split(&s, 0.5, &valid, err);
    hd_sentences_release(&s);
    hd_sentences_release(&valid);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    hd_sentences s = {0};
    read_numbers(&s, 3000, 0, 1);
    hd_sentences_release(&s);
    walk_through_failures(read_and_split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_files_are_read_one_behind_the_other),
        cmocka_unit_test(pieces_of_a_corpus_make_up_all_of_it),
        cmocka_unit_test(two_files_are_pairs),
        cmocka_unit_test(one_file_may_have_both_sides_or_one),
        cmocka_unit_test(gzip_and_standard_input_are_read),
        cmocka_unit_test(faulty_lines_take_their_partner_along),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(a_split_does_not_depend_on_order),
        cmocka_unit_test(none_and_all_can_be_split_off),
        cmocka_unit_test(a_feed_gives_one_side_or_both),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
