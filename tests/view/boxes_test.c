/* Boxes drawn on a picture. */
#include "check.h"
#include "base/text.h"
#include "outcome.h"
#include "scratch.h"
#include "view/draw/drawing.h"
#include "view/picture/boxes.h"

enum { WIDTH = 64, HEIGHT = 32, SCALE = 10 }; /* drawn 640 pixels wide */

static hd_image grey(void)
{
    hd_image im;
    hd_err err = {0};
    assert_int_equal(hd_image_make(&im, WIDTH, HEIGHT, 3, "test", &err), HD_OK);
    memset(im.pixel, 200, hd_image_bytes(&im));
    return im;
}

static const hd_drawn_box boxes[] = {{8, 10, 16, 8, "cell <1>", 0.954, 0}, {40, 2, 10, 28, NULL, NAN, 1}};

static void boxes_have_labels_and_scores(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_image im = grey();
    if (hd_boxes_draw(at("boxes.svg"), &im, boxes, COUNT_OF(boxes), &err)) fail_msg("%s", err.text);
    char *text = get_file(at("boxes.svg"), NULL);
    assert_non_null(strstr(text, "href=\"data:image/png;base64,iVBORw0KGgo"));
    assert_non_null(strstr(text, ">cell &lt;1&gt; 0.95</text>"));
    assert_non_null(strstr(text, "width=\"640\""));
    size_t lines = 0;
    for (const char *line = text; (line = strstr(line, "<line")); line++) lines++;
    assert_int_equal(lines, 16); /* four sides of two boxes, each with a dark edge */
    free(text);
    hd_image_release(&im);
}

static void a_png_has_the_picture_and_the_colors(void **state)
{
    (void)state;
    hd_err err = {0};
    if (hd_drawing_missing) leave_out("this build has no Cairo");
    hd_image im = grey(), drawn = {0};
    if (hd_boxes_draw(at("boxes.png"), &im, boxes, COUNT_OF(boxes), &err)) fail_msg("%s", err.text);
    if (hd_image_read(&drawn, at("boxes.png"), &err)) fail_msg("%s", err.text);
    int by = drawn.width / WIDTH;
    assert_int_equal(drawn.width, WIDTH * by);
    assert_int_equal(drawn.height, HEIGHT * by);
    const struct {
        int x, y;
        uint8_t color[3];
    } points[] = {{2, 2, {200, 200, 200}},   /* the picture */
                  {16, 14, {200, 200, 200}}, /* inside a box */
                  {16, 18, {0x42, 0x92, 0xc6}},
                  {24, 14, {0x42, 0x92, 0xc6}},
                  {45, 30, {0xd9, 0x5f, 0x02}}};
    for (size_t i = 0; i < COUNT_OF(points); i++) {
        const uint8_t *p =
            drawn.pixel + 3 * ((size_t)(points[i].y * by) * (size_t)drawn.width + (size_t)(points[i].x * by));
        for (int c = 0; c < 3; c++)
            if (abs(p[c] - points[i].color[c]) > 2)
                fail_msg("pixel %d, %d is %d %d %d", points[i].x, points[i].y, p[0], p[1], p[2]);
    }
    hd_image_release(&drawn);
    hd_image_release(&im);
}

static void another_ending_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_image im = grey();
    assert_int_equal(hd_boxes_draw("boxes.jpg", &im, boxes, 1, &err), HD_EARG);
    assert_non_null(strstr(err.text, "boxes.jpg"));
    hd_image_release(&im);
}

static void base64_pads(void **state)
{
    (void)state;
    static const char *const expected[] = {"", "aA==", "aGU=", "aGVl", "aGVlZA=="};
    for (size_t n = 0; n < COUNT_OF(expected); n++) {
        hd_text t = {0};
        hd_text_put(&t, "");
        hd_text_base64(&t, "heed", n);
        assert_string_equal(t.data ? t.data : "", expected[n]);
        hd_text_release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_have_labels_and_scores),
        cmocka_unit_test(a_png_has_the_picture_and_the_colors),
        cmocka_unit_test(another_ending_is_refused),
        cmocka_unit_test(base64_pads),
    };
    return outcome(cmocka_run_group_tests(tests, scratch_make, scratch_remove));
}
