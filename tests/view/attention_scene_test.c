/* Attention over a picture: panels as SVG and PNG, numbers as JSON, the page. */
#include "base/json.h"
#include "outcome.h"
#include "view/attention/panels.h"
#include "view/attention/text.h"
#include "view/picture/lit.h"
#include "view/scene.h"

static const char *const words[] = {"▁a", "▁dog", "<x>"};
static const char *const names[] = {"dog 0.98", "ball 0.71"};
static const float boxes[][4] = {{0.1f, 0.1f, 0.4f, 0.5f}, {0.5f, 0.2f, 0.3f, 0.3f}};

static hd_image grey(int width, int height)
{
    hd_image im;
    hd_err err = {0};
    if (hd_image_make(&im, width, height, 3, "test", &err)) fail_msg("%s", err.text);
    memset(im.pixel, 120, hd_image_bytes(&im));
    return im;
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

static void a_caption_has_a_panel_for_each_word(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_image im = grey(40, 30);
    hd_attention_maps a = scene_of(&(scene_shape){&im, 0, 3, 4, 2, 2, words, 3, NULL});
    a.translation = "a dog <x>";
    maps_write(&f, "a.svg", NULL, &a, 1);
    char *svg = maps_read(&f, "a.svg", NULL);
    assert_int_equal(count_of(svg, "<image"), 4);
    assert_non_null(strstr(svg, ">a dog &lt;x&gt;</text>"));
    assert_non_null(strstr(svg, ">dog</text>"));
    assert_non_null(strstr(svg, "Cross-attention, layer 2 of 2, mean of 2 heads"));
    free(svg);
    hd_attention_release(&a);
    hd_image_release(&im);
    maps_folder_free(&f);
}

/* Layers and rollout; heads of a layer; one of them. */
static void a_class_token_has_a_panel_for_each_layer(void **state)
{
    (void)state;
    static const struct {
        hd_attention_pick pick;
        size_t panels;
        const char *first, *last;
    } cases[] = {{{0, 0, 0}, 4, "layer 1", "rollout"},
                 {{0, 2, 0}, 3, "layer 2, head 1", "layer 2, mean"},
                 {{0, 0, 2}, 3, "layer 1, head 2", "layer 3, head 2"},
                 {{0, 3, 1}, 1, "layer 3, head 1", "layer 3, head 1"}};
    hd_image im = grey(20, 20);
    hd_err err = {0};
    hd_attention_panels p;
    hd_attention_maps a = scene_of(&(scene_shape){&im, 1, 3, 3, 3, 2, NULL, 0, NULL});
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (hd_attention_panels_of(&p, &a, &cases[i].pick, &err)) fail_msg("%s", err.text);
        assert_int_equal(p.count, cases[i].panels);
        assert_string_equal(p.panel[0].name, cases[i].first);
        assert_string_equal(p.panel[p.count - 1].name, cases[i].last);
        hd_attention_panels_release(&p);
    }
    if (hd_attention_panels_of(&p, &a, &(hd_attention_pick){0, 3, 1}, &err)) fail_msg("%s", err.text);
    const float *row = hd_attention_at(&a.part[HD_ATTENTION_ENCODER], 2, 0); /* of the class token */
    for (size_t i = 0; i < 9; i++) assert_true(p.panel[0].weight[i] == row[1 + i]);
    hd_attention_panels_release(&p);
    assert_int_equal(hd_attention_panels_of(&p, &a, &(hd_attention_pick){0, 4, 0}, &err), HD_EARG);
    assert_non_null(strstr(err.text, "layer 4"));
    hd_attention_release(&a);
    hd_image_release(&im);
}

static void a_picture_is_bright_where_weights_are(void **state)
{
    (void)state;
    hd_image im = grey(40, 20), lit;
    hd_err err = {0};
    const float weight[] = {0, 0, 0, 0.5f};
    if (hd_picture_lit(&lit, &im, &(hd_lit_opt){weight, 2, 2, 0.5}, 40, &err)) fail_msg("%s", err.text);
    assert_int_equal(lit.width, 40);
    assert_int_equal(lit.height, 20);
    int last = -1;
    for (int x = 0; x < 40; x++) { /* never darker toward it */
        int v = lit.pixel[3 * (19 * 40 + x)];
        assert_true(v >= last);
        last = v;
    }
    assert_true(last > 120 && lit.pixel[0] < 60);
    hd_image_release(&lit);
    hd_image_release(&im);
}

static void numbers_come_with_the_grid_and_boxes(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_image im = grey(40, 30);
    hd_attention_maps a = scene_of(&(scene_shape){&im, 0, 3, 4, 1, 1, names, 2, boxes});
    maps_write(&f, "a.json", NULL, &a, 1);
    size_t size;
    char *text = maps_read(&f, "a.json", &size);
    json_t *root = json_loadb(text, size, 0, NULL);
    assert_non_null(root);
    json_t *picture = json_object_get(json_array_get(json_object_get(root, "sentences"), 0), "picture");
    assert_string_equal(json_string_value(json_object_get(picture, "file")), "dog.png");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(picture, "grid"), 0)), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(picture, "grid"), 1)), 4);
    assert_int_equal(json_array_size(json_object_get(picture, "boxes")), 2);
    assert_true((float)json_number_value(
                    json_array_get(json_array_get(json_object_get(picture, "boxes"), 1), 0)) == boxes[1][0]);
    assert_null(json_object_get(picture, "png"));
    json_decref(root);
    free(text);
    maps_write(&f, "a.html", NULL, &a, 1);
    text = maps_read(&f, "a.html", NULL);
    assert_non_null(strstr(text, "\"png\":\"data:image/png;base64,iVBOR"));
    assert_non_null(strstr(text, "img-src data:"));
    free(text);
    hd_attention_release(&a);
    hd_image_release(&im);
    maps_folder_free(&f);
}

/* Each word with the cells it looks at. */
static void a_terminal_shows_cells(void **state)
{
    (void)state;
    hd_image im = grey(40, 30);
    hd_err err = {0};
    hd_text text = {0};
    hd_attention_maps a = scene_of(&(scene_shape){&im, 0, 3, 4, 1, 1, words, 3, NULL});
    for (size_t i = 0; i < 36; i++) a.part[HD_ATTENTION_CROSS].weight[i] = i % 12 == i / 12 ? 1 : 0;
    if (hd_attention_text(&text, &a, &(hd_attention_look){.width = 60, .utf8 = true}, &err))
        fail_msg("%s", err.text);
    assert_non_null(strstr(text.data, "\na            dog          <x>\n"
                                      "██· · ·      · ██· ·      · · ██· \n"));
    hd_text_release(&text);
    hd_attention_release(&a);
    hd_image_release(&im);
}

static void objects_have_their_boxes_in_a_png(void **state)
{
    (void)state;
    maps_folder f = maps_folder_new();
    hd_image im = grey(40, 30), drawn;
    hd_err err = {0};
    char path[128];
    if (hd_drawing_missing) leave_out("this build has no Cairo");
    hd_attention_maps a = scene_of(&(scene_shape){&im, 0, 3, 4, 1, 1, names, 2, boxes});
    maps_write(&f, "a.png", NULL, &a, 1);
    if (hd_image_read(&drawn, maps_path(&f, "a.png", path), &err)) fail_msg("%s", err.text);
    size_t blue = 0, orange = 0;
    for (size_t i = 0; i < hd_image_bytes(&drawn); i += 3) {
        const uint8_t *p = drawn.pixel + i;
        blue += p[0] == 0x42 && p[1] == 0x92 && p[2] == 0xc6;
        orange += p[0] == 0xd9 && p[1] == 0x5f && p[2] == 0x02;
    }
    assert_true(blue > 500 && orange > 500); /* each on the picture and on its panel */
    hd_image_release(&drawn);
    hd_attention_release(&a);
    hd_image_release(&im);
    maps_folder_free(&f);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    static const char *const endings[] = {"a.svg", "a.png", "a.html", "a.json", "a.pdf"};
    maps_folder f = maps_folder_new();
    hd_image im = grey(40, 30);
    hd_attention_maps a = scene_of(&(scene_shape){&im, 1, 3, 4, 2, 2, NULL, 0, NULL});
    size_t blocks = hd_mem_now().blocks;
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        if (hd_drawing_missing && (i == 1 || i == 4)) continue;
        for (size_t n = 1;; n++) {
            char path[128];
            hd_err err = {0};
            hd_attention_file *file = NULL;
            size_t before = hd_mem_now().calls;
            hd_mem_fail_at(n);
            hd_status s = hd_attention_file_open(&file, maps_path(&f, endings[i], path), NULL, &err);
            if (!s) s = hd_attention_file_add(file, &a, &err);
            if (!s)
                s = hd_attention_file_close(file, &err);
            else
                hd_attention_file_abandon(file);
            bool reached = hd_mem_now().calls - before >= n;
            hd_mem_fail_at(0);
            if (s && s != HD_ENOMEM) fail_msg("%s, allocation %zu: %s", endings[i], n, err.text);
            assert_int_equal(hd_mem_now().blocks, blocks);
            if (!reached) {
                assert_int_equal(s, HD_OK);
                break;
            }
        }
    }
    hd_attention_release(&a);
    hd_image_release(&im);
    maps_folder_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caption_has_a_panel_for_each_word),
        cmocka_unit_test(a_class_token_has_a_panel_for_each_layer),
        cmocka_unit_test(a_picture_is_bright_where_weights_are),
        cmocka_unit_test(numbers_come_with_the_grid_and_boxes),
        cmocka_unit_test(a_terminal_shows_cells),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(objects_have_their_boxes_in_a_png),
    };
    return outcome(cmocka_run_group_tests(tests, NULL, NULL));
}
