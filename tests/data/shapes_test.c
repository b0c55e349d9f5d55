/* Scenes of shapes: the same for the same number, boxes around what is painted, captions that are true. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "data/shapes/scene.h"

enum { SCENES = 400, SIDE = 64 };

static hd_image picture_of(const hd_scene *s, int side)
{
    hd_image im;
    assert_int_equal(hd_scene_picture(&im, s, side, NULL), HD_OK);
    return im;
}

static void seed_and_number_decide(void **state)
{
    (void)state;
    hd_scene a, b, c;
    hd_scene_draw(&a, 1, 7, HD_SCENE_MOST);
    hd_scene_draw(&b, 1, 7, HD_SCENE_MOST);
    hd_image x = picture_of(&a, SIDE), y = picture_of(&b, SIDE);
    assert_memory_equal(x.pixel, y.pixel, hd_image_bytes(&x));
    hd_image_release(&y);
    for (int k = 0; k < 2; k++) {
        hd_scene_draw(&c, k ? 2 : 1, k ? 7 : 8, HD_SCENE_MOST);
        y = picture_of(&c, SIDE);
        assert_memory_not_equal(x.pixel, y.pixel, hd_image_bytes(&x));
        hd_image_release(&y);
    }
    hd_image_release(&x);
}

static void all_kinds_colors_and_counts_occur(void **state)
{
    (void)state;
    int kind[HD_SHAPES] = {0}, color[HD_SHAPE_COLORS] = {0}, count[HD_SCENE_MOST + 1] = {0};
    for (uint64_t n = 0; n < SCENES; n++) {
        hd_scene s;
        hd_scene_draw(&s, 3, n, HD_SCENE_MOST);
        kind[s.shape[0].kind]++, color[s.shape[0].color]++, count[s.count]++;
    }
    for (int i = 0; i < HD_SHAPES; i++) assert_true(kind[i] > SCENES / 5); /* of a third */
    for (int i = 0; i < HD_SHAPE_COLORS; i++) assert_true(color[i] > SCENES / 12);
    for (int i = 1; i <= HD_SCENE_MOST; i++) assert_true(count[i] > SCENES / 5);
}

/* Pixels that differ from the ground by more than noise and slope. */
static void assert_painted_in_boxes(const hd_scene *s, int side)
{
    hd_image im = picture_of(s, side);
    int low[HD_SCENE_MOST][2], high[HD_SCENE_MOST][2] = {{0}};
    for (int i = 0; i < HD_SCENE_MOST; i++) low[i][0] = low[i][1] = side;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            double off = 0;
            for (int c = 0; c < 3; c++) {
                double ground = s->ground[c][0] + (s->ground[c][1] * x + s->ground[c][2] * y) / side;
                off = fmax(off, fabs(im.pixel[(y * side + x) * 3 + c] - fmin(255, fmax(0, ground))));
            }
            if (off < 30) continue;
            int owner = -1;
            for (int i = 0; i < s->count; i++) {
                hd_box b = hd_scene_box(s, i, side);
                if (x + 1 > (double)b.x && x < (double)(b.x + b.width) && y + 1 > (double)b.y &&
                    y < (double)(b.y + b.height) &&
                    (owner < 0 || hypot(x - s->shape[i].x * side, y - s->shape[i].y * side) <
                                      hypot(x - s->shape[owner].x * side, y - s->shape[owner].y * side)))
                    owner = i;
            }
            assert_true(owner >= 0);
            const int at[2] = {x, y};
            for (int d = 0; d < 2; d++) {
                if (at[d] < low[owner][d]) low[owner][d] = at[d];
                if (at[d] + 1 > high[owner][d]) high[owner][d] = at[d] + 1;
            }
        }
    for (int i = 0; i < s->count; i++) { /* slanted corners are thin: up to three pixels may be faint */
        hd_box b = hd_scene_box(s, i, side);
        if (fabs(low[i][0] - (double)b.x) > 3 || fabs(low[i][1] - (double)b.y) > 3 ||
            fabs(high[i][0] - (double)(b.x + b.width)) > 3 || fabs(high[i][1] - (double)(b.y + b.height)) > 3)
            fail_msg("object %d: the box is %g %g %g %g, painted is %d %d to %d %d", i, (double)b.x,
                     (double)b.y, (double)b.width, (double)b.height, low[i][0], low[i][1], high[i][0],
                     high[i][1]);
    }
    hd_image_release(&im);
}

static void there_are_no_more_than_asked_for(void **state)
{
    (void)state;
    for (int most = 1; most <= HD_SCENE_MOST; most++) {
        int largest = 0;
        for (uint64_t n = 0; n < 50; n++) {
            hd_scene s;
            hd_scene_draw(&s, 2, n, most);
            if (s.count > largest) largest = s.count;
        }
        assert_int_equal(largest, most);
    }
}

static void boxes_are_around_what_is_painted(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 40; n++) {
        hd_scene s;
        hd_scene_draw(&s, 5, n, HD_SCENE_MOST);
        if (s.count == 1 || n < 20) assert_painted_in_boxes(&s, n % 2 ? SIDE : 100);
    }
}

static void boxes_lie_inside_the_largest_first(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < SCENES; n++) {
        hd_scene s;
        hd_scene_draw(&s, 9, n, HD_SCENE_MOST);
        for (int i = 0; i < s.count; i++) {
            hd_box b = hd_scene_box(&s, i, SIDE);
            assert_true(b.x >= 0 && b.y >= 0 && b.x + b.width <= SIDE && b.y + b.height <= SIDE);
            assert_int_equal(b.label, s.shape[i].kind);
            for (int k = 0; k < i; k++) {
                hd_box larger = hd_scene_box(&s, k, SIDE);
                assert_true(larger.width * larger.height > 1.2f * b.width * b.height);
                assert_true(s.shape[i].color != s.shape[k].color);
            }
        }
    }
}

/* The words are read back and held against the boxes. */
static void assert_true_of(const char *caption, const hd_scene *s)
{
    char text[256], *save = NULL;
    int seen = 0;
    const char *relation = NULL;
    strcpy(text, caption);
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        const hd_shape *now = &s->shape[seen], *first = &s->shape[0];
        if (!strcmp(w, "above") || !strcmp(w, "below") || !strcmp(w, "left") || !strcmp(w, "right")) {
            relation = w;
        } else if (!strcmp(w, "a") || !strcmp(w, "an")) {
            assert_true(seen < s->count);
            w = strtok_r(NULL, " ", &save);
            assert_string_equal(w, hd_shape_color_name(now->color));
            w = strtok_r(NULL, " ", &save);
            assert_string_equal(w, hd_shape_name(now->kind));
            if (seen) {
                const double across = first->x - now->x, down = first->y - now->y;
                const char *is = fabs(across) > fabs(down) ? across < 0 ? "left" : "right"
                                 : down < 0                ? "above"
                                                           : "below";
                assert_non_null(relation);
                assert_string_equal(relation, is);
            }
            seen++;
        } else {
            assert_true(!strcmp(w, "of") || !strcmp(w, "and"));
        }
    }
    assert_int_equal(seen, s->count);
}

static void captions_are_true(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < SCENES; n++) {
        hd_scene s;
        hd_text t[HD_SCENE_CAPTIONS] = {{0}};
        hd_scene_draw(&s, 11, n, HD_SCENE_MOST);
        for (int k = 0; k < HD_SCENE_CAPTIONS; k++) {
            hd_scene_caption(&t[k], &s, k);
            for (int i = 0; i < k; i++) assert_string_not_equal(t[i].data, t[k].data);
        }
        assert_true_of(t[0].data, &s);
        for (int k = 0; k < HD_SCENE_CAPTIONS; k++) hd_text_release(&t[k]);
    }
}

static void captions_read_like_this(void **state)
{
    (void)state;
    const hd_scene s = {
        .count = 3,
        .shape = {{.kind = HD_SHAPE_circle, .color = HD_SHAPE_COLOR_red, .x = 0.4, .y = 0.3},
                  {.kind = HD_SHAPE_square, .color = HD_SHAPE_COLOR_orange, .x = 0.4, .y = 0.8},
                  {.kind = HD_SHAPE_triangle, .color = HD_SHAPE_COLOR_blue, .x = 0.9, .y = 0.3}}};
    static const char *const expected[4][HD_SCENE_CAPTIONS] = {
        {0},
        {"a red circle", "there is a red circle", "a red circle alone"},
        {"a red circle above an orange square", "there is a red circle above an orange square",
         "an orange square below a red circle"},
        {"a red circle above an orange square and left of a blue triangle",
         "there is a red circle above an orange square and left of a blue triangle",
         "an orange square below and a blue triangle right of a red circle"}};
    for (int count = 1; count <= 3; count++)
        for (int k = 0; k < HD_SCENE_CAPTIONS; k++) {
            hd_text t = {0};
            hd_scene some = s;
            some.count = count;
            hd_scene_caption(&t, &some, k);
            assert_string_equal(t.data, expected[count][k]);
            hd_text_release(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_and_number_decide),
        cmocka_unit_test(all_kinds_colors_and_counts_occur),
        cmocka_unit_test(there_are_no_more_than_asked_for),
        cmocka_unit_test(boxes_are_around_what_is_painted),
        cmocka_unit_test(boxes_lie_inside_the_largest_first),
        cmocka_unit_test(captions_are_true),
        cmocka_unit_test(captions_read_like_this),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
