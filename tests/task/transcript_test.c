/* Transcripts as subtitles, and what times of words are made of: the path through weights, medians. */
#include "check.h"
#include "task/transcribe/transcript.h"
#include "task/transcribe/whisper/align.h"

static hd_transcript transcript_of(const char *const *text, size_t count)
{
    hd_err err = {0};
    hd_transcript t;
    hd_transcript_init(&t);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            hd_transcript_add(
                &t, (hd_spoken){.text = text[i], .begin = i ? 3599.5 : 0.02, .end = i ? 3661.0456 : 2.5},
                &err),
            HD_OK);
    return t;
}

static void assert_written(void (*put)(hd_text *, const hd_transcript *), const hd_transcript *t,
                           const char *text)
{
    hd_text out = {0};
    put(&out, t);
    assert_string_equal(out.data, text);
    hd_text_release(&out);
}

static void put_named(hd_text *to, const hd_transcript *t)
{
    hd_transcript_put_timed(to, t, "a.wav");
}

static void subtitles_are_as_players_read_them(void **state)
{
    (void)state;
    static const char *const text[] = {" A first\n\nline --> here.", " ", " 1 < 2 & 3 "};
    hd_transcript t = transcript_of(text, 3);
    assert_written(hd_transcript_put_srt, &t,
                   "1\n00:00:00,020 --> 00:00:02,500\nA first line -> here.\n\n"
                   "2\n00:59:59,500 --> 01:01:01,046\n1 < 2 & 3\n\n");
    assert_written(hd_transcript_put_vtt, &t,
                   "WEBVTT\n\n00:00.020 --> 00:02.500\nA first line -> here.\n\n"
                   "59:59.500 --> 01:01:01.046\n1 &lt; 2 &amp; 3\n\n");
    assert_written(put_named, &t,
                   "a.wav\t[00:00.020 --> 00:02.500] A first line --> here.\n"
                   "a.wav\t[59:59.500 --> 01:01:01.046] 1 < 2 & 3\n");
    assert_written(hd_transcript_put_text, &t, "A first line --> here. 1 < 2 & 3");
    hd_transcript_release(&t);
}

/* Of all paths that go right, down or both, by counting. */
static double least(const double *cost, size_t rows, size_t cols, size_t i, size_t j)
{
    double here = cost[i * cols + j], best = INFINITY;
    if (i + 1 == rows && j + 1 == cols) return here;
    if (i + 1 < rows) best = fmin(best, least(cost, rows, cols, i + 1, j));
    if (j + 1 < cols) best = fmin(best, least(cost, rows, cols, i, j + 1));
    if (i + 1 < rows && j + 1 < cols) best = fmin(best, least(cost, rows, cols, i + 1, j + 1));
    return here + best;
}

/* The cost of the path that enters rows at these columns: down or across where the next row begins. */
static double cost_of(const double *cost, size_t rows, size_t cols, const int32_t *at)
{
    double best = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t end = i + 1 < rows ? (size_t)at[i + 1] : cols - 1;
        for (size_t j = (size_t)at[i]; j + 1 <= end; j++) best += cost[i * cols + j];
        /* the last column of the row is shared with the next one where the path goes down */
        if (i + 1 == rows) best += cost[i * cols + end];
    }
    return best;
}

static void the_path_costs_least(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_rng rng = hd_rng_make(4, 4);
    for (int n = 0; n < 200; n++) {
        size_t rows = 1 + hd_rng_below(&rng, 5), cols = 1 + hd_rng_below(&rng, 6);
        double cost[30];
        int32_t at[5];
        for (size_t i = 0; i < rows * cols; i++) cost[i] = (double)hd_rng_below(&rng, 1000) / 64;
        assert_int_equal(hd_time_warp(at, cost, rows, cols, &err), HD_OK);
        assert_int_equal(at[0], 0);
        for (size_t i = 1; i < rows; i++) assert_true(at[i] >= at[i - 1] && (size_t)at[i] < cols);
        /* no path costs less than the best, and this one, with or without its corners, not more */
        double best = least(cost, rows, cols, 0, 0);
        assert_true(cost_of(cost, rows, cols, at) <= best + 1e-4);
    }
}

static void medians_are_mirrored_at_the_ends(void **state)
{
    (void)state;
    hd_err err = {0};
    double x[] = {5, 1, 4, 2, 8, 0}, want[] = {1, 4, 2, 4, 2, 8}, few[] = {3, 1};
    assert_int_equal(hd_median_filter(x, 6, 3, &err), HD_OK);
    for (int i = 0; i < 6; i++) assert_true(x[i] == want[i]);
    assert_int_equal(hd_median_filter(few, 2, 7, &err), HD_OK);
    assert_true(few[0] == 3 && few[1] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subtitles_are_as_players_read_them),
        cmocka_unit_test(the_path_costs_least),
        cmocka_unit_test(medians_are_mirrored_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
