/* Attention over time: drawn as SVG and PNG, as JSON, in the page, in a terminal. */
#include "base/json.h"
#include "show/sound/spectrogram.h"
#include "view/attention/text.h"
#include "view/maps.h"

enum { TIMES = 10, FRAMES = 40, BINS = 8, LETTERS = 4 };

static const char *const letters[LETTERS] = {"s", "i", "<x>", "</s>"};

/* Each letter listens to one time, the third goes back. */
static hd_attention_maps track_of(void)
{
    static const size_t at[LETTERS] = {1, 4, 3, 8};
    const size_t layers[] = {0, 0, 2}, heads[] = {1, 1, 1};
    hd_attention_maps a;
    hd_err err = {0};
    float frame[FRAMES * BINS];
    if (hd_attention_init(&a, TIMES, LETTERS, layers, heads, &err)) fail_msg("%s", err.text);
    for (size_t j = 0; j < TIMES; j++) {
        char name[32];
        snprintf(name, sizeof name, "%.2f s", ((double)j + 0.5) / 10);
        a.source[j].piece = hd_shown_text(&a.memory, (hd_line){name, strlen(name)}, &err);
    }
    a.input[0].piece = "<s>";
    for (size_t i = 0; i < LETTERS; i++) {
        a.output[i].piece = letters[i];
        for (size_t l = 0; l < 2; l++)
            for (size_t j = 0; j < TIMES; j++)
                a.part[HD_ATTENTION_CROSS].weight[(l * LETTERS + i) * TIMES + j] = j == at[i]       ? 0.75f
                                                                                   : j == at[i] + 1 ? 0.25f
                                                                                                    : 0;
    }
    for (size_t k = 0; k < FRAMES * BINS; k++) frame[k] = (float)(k % 7) - (float)(k / 90);
    if (hd_spectrogram(&a.scene.image, frame, FRAMES, BINS, &err)) fail_msg("%s", err.text);
    a.scene.name = "one.wav", a.scene.height = 1, a.scene.width = TIMES, a.scene.seconds = 1;
    a.sentence = "one.wav", a.translation = "si<x>", a.score = -0.5;
    return a;
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

static void a_drawing_has_the_spectrogram_the_map_and_the_path(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = track_of();
    maps_write(&f, "a.svg", NULL, &a, 1);
    char *svg = maps_read(&f, "a.svg", NULL);
    assert_int_equal(count_of(svg, "<image"), 2);
    assert_non_null(strstr(svg, ">si&lt;x&gt;</text>"));
    assert_non_null(strstr(svg, ">Cross-attention, layer 2 of 2, head 1 of 1</text>"));
    assert_non_null(strstr(svg, ">in order: 75.0 % of 4 tokens, over 80 % of the time</text>"));
    assert_non_null(strstr(svg, ">0.4 s</text>"));
    free(svg);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static void json_has_times_and_the_path(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_attention_maps a = track_of();
    maps_write(&f, "a.json", NULL, &a, 1);
    char *json = maps_read(&f, "a.json", NULL);
    assert_non_null(strstr(json, ",\"sound\":{\"file\":\"one.wav\",\"seconds\":1,\"times\":10,\"in_order\":3,"
                                 "\"most\":[1,4,3,8],\"path\":[1,4,4,8]},\"attention\":{\"cross\":"));
    assert_null(strstr(json, "\"picture\""));
    free(json);
    maps_write(&f, "a.html", NULL, &a, 1);
    char *page = maps_read(&f, "a.html", NULL);
    assert_non_null(
        strstr(page, ",\"sound\":{\"file\":\"one.wav\",\"seconds\":1,\"times\":10,\"png\":\"data:"));
    free(page);
    hd_attention_release(&a);
    maps_folder_free(&f);
}

static void a_terminal_shows_it_in_lines(void **state)
{
    (void)state;
    hd_attention_maps a = track_of();
    hd_text text = {0};
    hd_err err = {0};
    if (hd_attention_text(&text, &a, &(hd_attention_look){.width = 26}, &err)) fail_msg("%s", err.text);
    static const char *const lines[] = {"Cross-attention, layer 2", "in order: 75.0 %",
                                        "0             1.00 s",     "\ns      oo..\n",
                                        "\n<x>        ##oo\n",      "\n</s>                 oo..\n"};
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(text.data, lines[i])) fail_msg("no '%s' in\n%s", lines[i], text.data);
    hd_text_release(&text);
    for (int look = 0; look < 4; look++) {
        if (hd_attention_text(&text, &a,
                              &(hd_attention_look){.width = 80, .color = look & 1, .utf8 = look & 2}, &err))
            fail_msg("%s", err.text);
        assert_true(text.size > 100);
        hd_text_release(&text);
    }
    hd_attention_release(&a);
}

static void a_layer_that_is_not_there_is_told(void **state)
{
    (void)state;
    hd_attention_maps a = track_of();
    hd_text text = {0};
    hd_err err = {0};
    assert_int_equal(
        hd_attention_text(&text, &a, &(hd_attention_look){.width = 80, .pick = {.layer = 3}}, &err), HD_EARG);
    assert_string_equal(err.text, "there is no layer 3 in cross-attention: they are 1 to 2");
    hd_attention_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawing_has_the_spectrogram_the_map_and_the_path),
        cmocka_unit_test(json_has_times_and_the_path),
        cmocka_unit_test(a_terminal_shows_it_in_lines),
        cmocka_unit_test(a_layer_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
