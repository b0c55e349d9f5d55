/* Attention of a small ViT over a picture: its grid, its names, what flows through all layers. */
#include "model/detr_toy.h"
#include "model/vit_toy.h"
#include "show/attention.h"
#include "show/picture/picture.h"

static hd_image toy_picture(int width, int height)
{
    hd_image im;
    hd_err err = {0};
    if (hd_image_make(&im, width, height, 3, "toy", &err)) fail_msg("%s", err.text);
    for (size_t k = 0; k < hd_image_bytes(&im); k++) im.pixel[k] = vt_byte(1, k);
    return im;
}

static hd_model body_of(const vit_toy *t)
{
    hd_model m = {&hd_model_classifier, t->m->params, t->m};
    return hd_model_body(&m);
}

static void a_class_token_and_cells_attend_to_each_other(void **state)
{
    (void)state;
    vit_toy t;
    hd_err err = {0};
    hd_attention_maps a;
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vt_open(&t, &o, 2, false);
    hd_image im = toy_picture(30, 20);
    hd_model body = body_of(&t);
    hd_attention_ask ask = {.picture = &im, .name = "toy.png", .score = NAN};
    if (hd_attention_collect(&a, &t.run, &body, &ask, &err)) fail_msg("%s", err.text);
    assert_int_equal(a.scene.lead, 1);
    assert_int_equal(a.scene.height, 3);
    assert_int_equal(a.scene.width, 3);
    assert_int_equal(a.sources, 10);
    assert_int_equal(a.targets, 0);
    assert_string_equal(a.source[0].piece, "[class]");
    assert_string_equal(a.source[6].piece, "row 2, column 3");
    assert_string_equal(a.sentence, "toy.png");
    assert_int_equal(a.scene.image.width, 30); /* as it is, though the model read 12 x 12 pixels */
    assert_int_equal(a.scene.image.height, 20);
    const hd_attention_part *p = &a.part[HD_ATTENTION_ENCODER];
    assert_int_equal(p->layers, 2);
    assert_int_equal(p->heads, 2);
    for (size_t i = 0; i < p->layers * p->heads * p->rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < p->cols; j++) sum += (double)p->weight[i * p->cols + j];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    float *flow = NULL;
    assert_int_equal(hd_attention_rollout(&flow, p, &err), HD_OK);
    double by_hand = 0; /* of the class token to cell 1, 1: ((A2 + I) (A1 + I) / 4) */
    for (size_t k = 0; k < 10; k++) {
        double second = 0, first = 0;
        for (size_t h = 0; h < 2; h++) {
            second += (double)hd_attention_at(p, 1, h)[k] / 2;
            first += (double)hd_attention_at(p, 0, h)[k * 10 + 1] / 2;
        }
        by_hand += (second + (k == 0)) * (first + (k == 1)) / 4;
    }
    assert_true(fabs((double)flow[1] - by_hand) < 1e-6);
    for (size_t i = 0; i < 10; i++) {
        double sum = 0;
        for (size_t j = 0; j < 10; j++) sum += (double)flow[i * 10 + j];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    hd_mem_free(flow);
    hd_attention_release(&a);
    hd_image_release(&im);
    vt_close(&t);
}

static void a_text_is_not_read_by_a_model_of_pictures(void **state)
{
    (void)state;
    vit_toy t;
    hd_err err = {0};
    hd_attention_maps a;
    hd_classifier_opt o = vt_opt(HD_POOL_mean);
    const int32_t ids[] = {1, 2};
    vt_open(&t, &o, 1, false);
    hd_model body = body_of(&t);
    assert_int_equal(
        hd_attention_collect(&a, &t.run, &body, &(hd_attention_ask){.source = ids, .sources = 2}, &err),
        HD_EARG);
    assert_non_null(strstr(err.text, "pictures"));
    vt_close(&t);
}

/* Of four queries two found something; they are shown in the order of what they found. */
static void queries_are_shown_with_what_they_found(void **state)
{
    (void)state;
    (void)dt_loss;
    detr_toy t;
    hd_err err = {0};
    hd_detr_opt o = dt_opt(true, 2);
    o.image.channels = 3;
    dt_open(&t, &o, 1);
    hd_model m = {&hd_model_detr, &t.m->params, t.m};
    hd_image im = toy_picture(30, 20);
    hd_attention_maps all, a;
    const hd_attention_box box[] = {{3, 0.1f, 0.2f, 0.3f, 0.4f, "cat 0.98"},
                                    {1, 0.5f, 0.5f, 0.5f, 0.5f, "dog 0.6"}};
    hd_attention_ask ask = {.picture = &im, .score = NAN};
    if (hd_attention_collect(&all, &t.run, &m, &ask, &err)) fail_msg("%s", err.text);
    assert_int_equal(all.targets, DT_QUERIES);
    assert_int_equal(all.sources, 16);
    assert_int_equal(all.scene.lead, 0);
    assert_string_equal(all.output[2].piece, "query 3");
    assert_false(all.part[HD_ATTENTION_DECODER].masked);
    ask.box = box, ask.boxes = 2;
    if (hd_attention_collect(&a, &t.run, &m, &ask, &err)) fail_msg("%s", err.text);
    assert_int_equal(a.targets, 2);
    assert_string_equal(a.input[0].piece, "query 4");
    assert_string_equal(a.output[0].piece, "cat 0.98");
    assert_true(a.scene.box[4] == 0.5f && a.scene.box[1] == 0.2f);
    const hd_attention_part *cross = &a.part[HD_ATTENTION_CROSS], *before = &all.part[HD_ATTENTION_CROSS],
                            *self = &a.part[HD_ATTENTION_DECODER], *among = &all.part[HD_ATTENTION_DECODER];
    assert_int_equal(cross->layers, 2);
    assert_memory_equal(hd_attention_at(cross, 1, 1), hd_attention_at(before, 1, 1) + 3 * 16,
                        16 * sizeof(float));
    assert_memory_equal(hd_attention_at(cross, 1, 1) + 16, hd_attention_at(before, 1, 1) + 16,
                        16 * sizeof(float));
    assert_true(hd_attention_at(self, 0, 1)[1] == hd_attention_at(among, 0, 1)[3 * DT_QUERIES + 1]);
    hd_attention_release(&a);
    ask.box = (const hd_attention_box[]){{4, 0, 0, 1, 1, "x"}}, ask.boxes = 1;
    assert_int_equal(hd_attention_collect(&a, &t.run, &m, &ask, &err), HD_EARG);
    hd_attention_release(&all);
    hd_image_release(&im);
    dt_close(&t);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    vit_toy t;
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vt_open(&t, &o, 1, false);
    hd_image im = toy_picture(30, 20);
    hd_model body = body_of(&t);
    hd_attention_ask ask = {.picture = &im, .name = "toy.png", .score = NAN};
    for (size_t n = 0;; n++) { /* first without: the backend's own memory stays */
        hd_attention_maps a;
        hd_err err = {0};
        hd_arena_release(&t.run.host), hd_arena_release(&t.run.step);
        size_t blocks = hd_mem_now().blocks, before = hd_mem_now().calls;
        hd_mem_fail_at(n);
        hd_status s = hd_attention_collect(&a, &t.run, &body, &ask, &err);
        bool reached = hd_mem_now().calls - before >= n;
        hd_mem_fail_at(0);
        if (s && s != HD_ENOMEM) fail_msg("%s", err.text);
        hd_attention_release(&a);
        hd_arena_release(&t.run.host), hd_arena_release(&t.run.step);
        if (n) assert_int_equal(hd_mem_now().blocks, blocks);
        if (n && !reached) break;
    }
    hd_image_release(&im);
    vt_close(&t);
}

/* The middle that the model saw, and nothing else; as many pixels as there are. */
static void a_cut_picture_is_shown_cut(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_image im = toy_picture(300, 200), seen, large = toy_picture(1500, 100);
    hd_image_prepare p = {.channels = 3, .resize = true, .shortest = 20, .crop_height = 10, .crop_width = 10};
    if (hd_picture_seen(&seen, &im, &p, &err)) fail_msg("%s", err.text);
    assert_int_equal(seen.width, 100); /* half of 200 pixels, which became 20 */
    assert_int_equal(seen.height, 100);
    assert_memory_equal(seen.pixel, im.pixel + 3 * (50 * 300 + 100), 30);
    hd_image_release(&seen);
    if (hd_picture_seen(&seen, &large, &(hd_image_prepare){.channels = 1}, &err)) fail_msg("%s", err.text);
    assert_int_equal(seen.width, HD_PICTURE_SIDE);
    assert_int_equal(seen.height, 34);
    assert_int_equal(seen.channels, 3);
    hd_image_release(&seen);
    hd_image_release(&im);
    hd_image_release(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_token_and_cells_attend_to_each_other),
        cmocka_unit_test(a_text_is_not_read_by_a_model_of_pictures),
        cmocka_unit_test(queries_are_shown_with_what_they_found),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_cut_picture_is_shown_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
