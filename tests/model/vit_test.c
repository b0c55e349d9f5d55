/* The Vision Transformer: squares of pixels are what a convolution of that stride sees, rows do not depend on
   the batch or the threads, other sizes of pictures work, and what makes no model is refused. */
#include <unistd.h>

#include "model/vit_toy.h"

#include "model/prepare.h"
#include "model/vision/image_model.h"

static const hd_image_encoder *encoder_of(const vit_toy *t)
{
    return &((const hd_image_model *)t->m->body.self)->encoder;
}

static hd_real *answer(vit_toy *t, size_t from, size_t to)
{
    hd_run_begin(&t->run, HD_INFERENCE);
    hd_class_batch b = vt_batch(t, from, to);
    return host_copy(&t->run, hd_classifier_logp(&t->run, t->m, &b));
}

static hd_rows rows_of(vit_toy *t, int layers)
{
    hd_run_begin(&t->run, HD_INFERENCE);
    hd_class_batch b = vt_batch(t, 0, VT_ITEMS);
    return t->m->body.type->rows(&t->run, t->m->body.self, layers, &b.in);
}

static void a_picture_has_as_many_rows_as_squares_and_tokens(void **state)
{
    (void)state;
    static const struct {
        int height, width, patch, stem, tokens;
        size_t rows;
    } cases[] = {{12, 12, 4, 0, 0, 9},  {12, 12, 4, 0, 1, 10}, {12, 12, 4, 0, 2, 11},  {8, 20, 2, 0, 1, 41},
                 {12, 12, 12, 0, 1, 2}, {28, 28, 0, 3, 0, 49}, {32, 32, 0, 1, 1, 257}, {9, 13, 0, 2, 0, 6}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_classifier_opt o = vt_opt(cases[i].tokens ? HD_POOL_first : HD_POOL_mean);
        hd_image_encoder_opt *e = &o.body.image;
        e->height = cases[i].height, e->width = cases[i].width;
        e->patch = cases[i].patch, e->stem = cases[i].stem, e->distilled = cases[i].tokens > 1;
        vit_toy t;
        vt_open(&t, &o, 1, false);
        hd_rows x = rows_of(&t, 2);
        assert_run_ok(&t.run);
        assert_int_equal(hd_rows_of(x.t), VT_ITEMS * cases[i].rows);
        assert_int_equal(x.seg->lead, cases[i].tokens);
        assert_int_equal(x.seg->host_grid[0] * x.seg->host_grid[1], cases[i].rows - (size_t)cases[i].tokens);
        assert_int_equal(t.m->opt.body.positions, cases[i].rows);
        vt_close(&t);
    }
}

/* Squares put back where they were cut out are the picture, number by number. */
static void squares_put_back_are_the_picture(void **state)
{
    (void)state;
    vit_toy t;
    hd_classifier_opt o = vt_opt(HD_POOL_mean);
    vt_open(&t, &o, 1, false);
    static const int sizes[][3] = {{12, 12, 4}, {8, 20, 2}, {6, 6, 6}, {5, 7, 1}, {9, 12, 3}};
    hd_real worth[3 * 256];
    hd_image_worth(worth, &t.m->opt.body.image.prepare);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        int height = sizes[i][0], width = sizes[i][1], side = sizes[i][2], across = width / side;
        vt_size(&t, height, width);
        hd_run_begin(&t.run, HD_INFERENCE);
        hd_class_batch b = vt_batch(&t, 0, VT_ITEMS);
        hd_rows x = hd_pixel_rows(&t.run, b.in.pixels, side);
        assert_int_equal(hd_rows_of(x.t), VT_ITEMS * (height / side) * across);
        hd_real *rows = host_copy(&t.run, x.t);
        for (int item = 0; item < VT_ITEMS; item++)
            for (int y = 0; y < height; y++)
                for (int z = 0; z < width; z++)
                    for (int k = 0; k < 3; k++) {
                        int row = (item * (height / side) + y / side) * across + z / side;
                        hd_real have = rows[((row * 3 + k) * side + y % side) * side + z % side];
                        assert_true(have == worth[k * 256 + t.image[item].pixel[(y * width + z) * 3 + k]]);
                    }
        free(rows);
    }
    vt_close(&t);
}

/* By the formula of a convolution whose stride is its kernel, and positions, from the weights. */
static void squares_are_projected_as_a_convolution_does(void **state)
{
    (void)state;
    enum { C = 8, CELLS = VT_SIDE / VT_PATCH };
    vit_toy t;
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vt_open(&t, &o, 1, false);
    const hd_image_encoder *e = encoder_of(&t);
    const hd_real *w = e->patch.w->t.data, *bias = e->patch.b->t.data, *at = e->position->t.data,
                  *token = e->lead->t.data;
    hd_real worth[3 * 256];
    hd_image_worth(worth, &e->opt.prepare);
    for (size_t i = 0; i < C; i++) ((hd_real *)e->patch.b->t.data)[i] = (hd_real)(0.1 * (double)i);
    /* without blocks: the rows of layer 0 are what the first one reads */
    hd_run_begin(&t.run, HD_INFERENCE);
    hd_class_batch b = vt_batch(&t, 0, VT_ITEMS);
    hd_image_encoder bare = *e;
    hd_real *x = host_copy(&t.run, bare.type->rows(&t.run, &bare, 0, b.in.pixels).t);
    for (int item = 0; item < VT_ITEMS; item++)
        for (int row = 0; row <= CELLS * CELLS; row++)
            for (int c = 0; c < C; c++) {
                double want = (double)at[row * C + c] + (row ? (double)bias[c] : (double)token[c]);
                int cy = (row - 1) / CELLS, cx = (row - 1) % CELLS;
                for (int k = 0; row && k < 3; k++)
                    for (int y = 0; y < VT_PATCH; y++)
                        for (int z = 0; z < VT_PATCH; z++) {
                            int pixel = (cy * VT_PATCH + y) * VT_SIDE + cx * VT_PATCH + z;
                            uint8_t byte = t.image[item].pixel[pixel * 3 + k];
                            want += (double)worth[k * 256 + byte] *
                                    (double)w[((c * 3 + k) * VT_PATCH + y) * VT_PATCH + z];
                        }
                double have = (double)x[(item * (CELLS * CELLS + 1) + row) * C + c];
                if (!(fabs(have - want) < 1e-5))
                    fail_msg("row %d, column %d: %g, not %g", row, c, have, want);
            }
    free(x);
    vt_close(&t);
}

static void answers_do_not_depend_on_the_batch_or_the_threads(void **state)
{
    (void)state;
    static const int stems[] = {0, 2};
    for (int k = 0; k < 2; k++) {
        hd_classifier_opt o = vt_opt(HD_POOL_first);
        o.body.image.stem = stems[k];
        hd_real *first = NULL;
        for (int threads = 1; threads <= 4; threads++) {
            vit_toy t;
            vt_open(&t, &o, threads, false);
            hd_real *all = answer(&t, 0, VT_ITEMS);
            for (size_t i = 0; i < VT_ITEMS; i++) {
                hd_real *one = answer(&t, i, i + 1);
                assert_memory_equal(one, all + i * VT_CLASSES, VT_CLASSES * sizeof *one);
                free(one);
            }
            if (first)
                assert_memory_equal(first, all, VT_ITEMS * VT_CLASSES * sizeof *all), free(all);
            else
                first = all;
            vt_close(&t);
        }
        free(first);
    }
}

/* Where the class token alone is asked for, the last block does nothing else; numbers stay the same. */
static void the_class_token_alone_is_that_among_all_rows(void **state)
{
    (void)state;
    for (int distilled = 0; distilled < 2; distilled++) {
        hd_classifier_opt o = vt_opt(HD_POOL_first);
        o.body.image.distilled = distilled;
        vit_toy t;
        vt_open(&t, &o, 1, false);
        hd_real *alone = answer(&t, 0, VT_ITEMS);
        hd_rows x = rows_of(&t, 2);
        hd_tensor *y = hd_dense_of(&t.run, &t.m->out, hd_reduce(&t.run, x.t, x.seg, HD_FIRST), HD_IDENTITY);
        hd_real *among = host_copy(&t.run, hd_log_softmax(&t.run, y));
        assert_memory_equal(alone, among, VT_ITEMS * VT_CLASSES * sizeof *alone);
        hd_class_batch b = vt_batch(&t, 0, VT_ITEMS);
        assert_int_equal(hd_rows_of(t.m->body.type->first(&t.run, t.m->body.self, &b.in).t), VT_ITEMS);
        free(alone), free(among);
        vt_close(&t);
    }
}

static void pictures_of_other_sizes_are_read(void **state)
{
    (void)state;
    static const int sizes[][2] = {{12, 12}, {4, 4}, {24, 20}, {15, 14}, {8, 44}};
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vit_toy t;
    vt_open(&t, &o, 1, false);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        vt_size(&t, sizes[i][0], sizes[i][1]);
        hd_real *y = answer(&t, 0, VT_ITEMS);
        for (size_t k = 0; k < VT_ITEMS; k++) {
            double sum = 0;
            for (size_t c = 0; c < VT_CLASSES; c++) sum += exp((double)y[k * VT_CLASSES + c]);
            assert_true(fabs(sum - 1) < 1e-5);
        }
        free(y);
    }
    vt_close(&t);
}

static void pictures_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vit_toy t;
    vt_open(&t, &o, 1, false);
    vt_size(&t, 3, 12);
    assert_null(rows_of(&t, 2).t);
    assert_non_null(strstr(t.run.err.text, "pictures of 12 x 3 pixels are too small"));
    vt_size(&t, 12, 12);
    hd_err err = {0};
    hd_image_release(&t.image[1]);
    assert_int_equal(hd_image_make(&t.image[1], 16, 12, 3, "toy", &err), HD_OK);
    memset(t.image[1].pixel, 0, hd_image_bytes(&t.image[1]));
    assert_null(rows_of(&t, 2).t);
    assert_non_null(strstr(t.run.err.text, "12 x 12 and 16 x 12 pixels in one batch"));
    vt_close(&t);
}

/* Weights of bf16 in products are near the plain ones. */
static void prepared_weights_give_nearly_the_same(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_classifier_opt o = vt_opt(HD_POOL_first);
    vit_toy t;
    vt_open(&t, &o, 1, false);
    hd_real *plain = answer(&t, 0, VT_ITEMS);
    hd_model m = hd_classifier_model(t.m);
    assert_int_equal(hd_model_prepare(&m, HD_PREDICTING, &err), HD_OK);
    hd_real *packed = answer(&t, 0, VT_ITEMS);
    for (size_t i = 0; i < VT_ITEMS * VT_CLASSES; i++)
        assert_true(fabs((double)(plain[i] - packed[i])) < 1e-5);
    free(plain), free(packed);
    vt_close(&t);
}

static void options_that_make_no_model_are_refused(void **state)
{
    (void)state;
    static const struct {
        int height, width, channels, patch, stem, layers, heads;
        bool token, distilled, pooler;
        const char *why;
    } bad[] = {
        {12, 12, 2, 4, 0, 2, 2, true, false, false, "1 channel (grey) or 3 (color): not 2"},
        {12, 12, 0, 4, 0, 2, 2, true, false, false, "not 0"},
        {0, 12, 3, 4, 0, 2, 2, true, false, false, "pictures of 12 x 0 pixels"},
        {12, 1 << 20, 3, 4, 0, 2, 2, true, false, false, "a side has 1 to"},
        {12, 13, 3, 4, 0, 2, 2, true, false, false, "13 x 12 pixels are not divided by patches of 4 x 4"},
        {12, 12, 3, 0, 0, 2, 2, true, false, false, "patches of 0 x 0 pixels"},
        {12, 12, 3, -4, 0, 2, 2, true, false, false, "patches of -4 x -4 pixels"},
        {12, 12, 3, 4, 9, 2, 2, true, false, false, "a stem has at most 8 layers"},
        {12, 12, 3, 4, 0, 0, 2, true, false, false, "a ViT of 0 layers"},
        {12, 12, 3, 4, 0, 2, 3, true, false, false, "cannot be split over 3 heads"},
        {12, 12, 3, 4, 0, 2, 2, false, true, false, "needs a class token"},
        {16384, 16384, 3, 1, 0, 2, 2, true, false, false, "at most 1048576"},
    };
    hd_backend *b = backend_of("cpu", 1);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        hd_classifier *m = NULL;
        hd_classifier_opt o = vt_opt(HD_POOL_first);
        hd_image_encoder_opt *e = &o.body.image;
        e->height = bad[i].height, e->width = bad[i].width, e->channels = bad[i].channels;
        e->patch = bad[i].patch, e->stem = bad[i].stem;
        e->stack.layers = bad[i].layers, e->stack.heads = bad[i].heads;
        e->class_token = bad[i].token, e->distilled = bad[i].distilled, e->pooler = bad[i].pooler;
        assert_int_equal(hd_classifier_new(&m, b, &o, false, &err), HD_EARG);
        if (!strstr(err.text, bad[i].why)) fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
    }
    hd_backend_free(b);
}

/* A model for pictures of another size that begins with resized positions gives what the first one gives for
   them. */
static void positions_are_resized_when_they_are_loaded(void **state)
{
    (void)state;
    hd_err err = {0};
    char path[] = "/tmp/heed-vit-test-XXXXXX";
    hd_classifier_opt o = vt_opt(HD_POOL_first), other = o;
    other.body.image.height = 16, other.body.image.width = 8;
    vit_toy a, b;
    vt_open(&a, &o, 1, false), vt_open(&b, &other, 1, false);
    vt_size(&a, 16, 8);
    assert_true(mkstemp(path) >= 0);
    if (hd_params_save(a.m->params, path, NULL, 0, &err)) fail_msg("%s", err.text);
    hd_safetensors *file = NULL;
    assert_int_equal(hd_safetensors_open(&file, path, &err), HD_OK);
    const hd_image_encoder *e = encoder_of(&b);
    hd_param *position = hd_image_encoder_resized(e, &a.m->opt.body.image);
    assert_ptr_equal(position, e->position);
    assert_null(hd_image_encoder_resized(encoder_of(&a), &a.m->opt.body.image));
    position->fresh = true;
    if (hd_params_load(b.m->params, file, &err)) fail_msg("%s", err.text);
    position->fresh = false;
    if (hd_image_encoder_load_positions(e, b.m->params, &a.m->opt.body.image, file, &err))
        fail_msg("%s", err.text);
    hd_real *x = answer(&a, 0, VT_ITEMS), *y = answer(&b, 0, VT_ITEMS);
    for (size_t i = 0; i < VT_ITEMS * VT_CLASSES; i++) assert_true(fabs((double)(x[i] - y[i])) < 1e-5);
    free(x), free(y);
    hd_safetensors_free(file);
    unlink(path);
    vt_close(&a), vt_close(&b);
}

/* Of the size that pictures are read with, cut to whole patches. */
static void the_size_of_positions_follows_that_of_pictures(void **state)
{
    (void)state;
    hd_image_encoder_opt o = {.height = 12, .width = 12, .patch = 4, .channels = 3};
    o.prepare = (hd_image_prepare){.channels = 3, .resize = true, .height = 16, .width = 23};
    hd_image_encoder_fit(&o);
    assert_int_equal(o.height, 16);
    assert_int_equal(o.width, 20);
    o.prepare.crop_height = o.prepare.crop_width = 8;
    hd_image_encoder_fit(&o);
    assert_int_equal(o.height * o.width, 64);
    o.prepare = (hd_image_prepare){.channels = 3, .resize = true, .shortest = 32};
    hd_image_encoder_fit(&o);
    assert_int_equal(o.height * o.width, 64);
}

/* ViT-B/16 of the paper. */
static void parameters_and_products_are_those_of_the_paper(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("null", 1);
    hd_classifier *m = NULL;
    hd_classifier_opt o = {.body = {.type = &hd_model_vit,
                                    .image = {.height = 224,
                                              .width = 224,
                                              .channels = 3,
                                              .patch = 16,
                                              .class_token = true,
                                              .stack = {.layers = 12, .heads = 12, .width = 768}}},
                           .pool = HD_POOL_first,
                           .classes = 1000};
    if (hd_classifier_new(&m, b, &o, false, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_params_size(m->params), 86567656);
    /* 17.6 G multiply-adds, as papers count */
    assert_true(fabs(hd_classifier_flops(m, 1, 0) / 2 - 17.57e9) < 0.03e9);
    hd_classifier_free(m);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_has_as_many_rows_as_squares_and_tokens),
        cmocka_unit_test(squares_put_back_are_the_picture),
        cmocka_unit_test(squares_are_projected_as_a_convolution_does),
        cmocka_unit_test(answers_do_not_depend_on_the_batch_or_the_threads),
        cmocka_unit_test(the_class_token_alone_is_that_among_all_rows),
        cmocka_unit_test(pictures_of_other_sizes_are_read),
        cmocka_unit_test(pictures_that_cannot_be_read_are_refused),
        cmocka_unit_test(prepared_weights_give_nearly_the_same),
        cmocka_unit_test(options_that_make_no_model_are_refused),
        cmocka_unit_test(positions_are_resized_when_they_are_loaded),
        cmocka_unit_test(the_size_of_positions_follows_that_of_pictures),
        cmocka_unit_test(parameters_and_products_are_those_of_the_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
