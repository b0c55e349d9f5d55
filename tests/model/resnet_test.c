/* ResNet: the maps of tiny networks, whose weights heed's generator draws, are those that transformers'
   ResNetModel makes with them; sizes, names, configurations; training, and what it leaves in the running
   statistics. test_model_resnet KIND FILE   writes the weights of a kind for
   tests/hub/published/resnet_check.py */
#include <unistd.h>

#include "check.h"
#include "model/vision/image_model.h"
#include "nn/pixels.h"

enum { ITEMS = 2, HEIGHT = 37, WIDTH = 50 };

typedef struct world {
    hd_backend *b;
    hd_run r;
    hd_params p;
    hd_image_encoder e;
    hd_image image[ITEMS];
} world;

static const hd_image_encoder_opt kinds[] = {
    {.kind = HD_IMAGE_resnet,
     .height = HEIGHT,
     .width = WIDTH,
     .channels = 3,
     .resnet = {.stages = 3, .embedding = 6, .hidden = {6, 10, 12}, .depths = {2, 1, 2}}},
    {.kind = HD_IMAGE_resnet,
     .height = HEIGHT,
     .width = WIDTH,
     .channels = 3,
     .resnet = {.stages = 2, .embedding = 6, .hidden = {16, 24}, .depths = {2, 2}, .bottleneck = true}},
};

/* Running statistics that are not those of nothing. */
static void stir(hd_params *p)
{
    for (size_t i = 0; i < p->count; i++) {
        hd_param *one = p->list[i];
        hd_real *x = one->t.data;
        if (one->t.rank == 2) continue;
        bool positive = strstr(one->name, "running_var") || strstr(one->name, "weight");
        for (size_t k = 0; k < hd_count_of(&one->t); k++)
            x[k] = (hd_real)(positive ? 0.5 + (double)((i * 7 + k * 5) % 11) / 8
                                      : ((double)((i * 3 + k * 7) % 13) - 6) / 8);
    }
}

static void open_world(world *w, const hd_image_encoder_opt *o, int threads, bool training)
{
    hd_err err = {0};
    *w = (world){.b = backend_of("cpu", threads)};
    w->r = run_on(w->b);
    hd_params_init(&w->p, w->b);
    if (hd_image_encoder_make(&w->e, &w->p, o, &err) || hd_params_ready(&w->p, training, &err) ||
        hd_params_draw(&w->p, 7, &err))
        fail_msg("%s", err.text);
    stir(&w->p);
    for (size_t i = 0; i < ITEMS; i++) {
        assert_int_equal(hd_image_make(&w->image[i], o->width, o->height, o->channels, "toy", &err), HD_OK);
        for (size_t k = 0; k < hd_image_bytes(&w->image[i]); k++)
            w->image[i].pixel[k] = (uint8_t)((k * 37 + k * k % 101 + i * 59 + 11) % 256);
    }
}

static void close_world(world *w)
{
    for (size_t i = 0; i < ITEMS; i++) hd_image_release(&w->image[i]);
    hd_image_encoder_release(&w->e);
    hd_params_release(&w->p);
    hd_run_release(&w->r);
    hd_backend_free(w->b);
}

static hd_rows passed(world *w, hd_mode mode, int layers)
{
    const hd_image *all[ITEMS];
    hd_run_begin(&w->r, mode);
    for (size_t i = 0; i < ITEMS; i++) all[i] = &w->image[i];
    hd_pixels *p = hd_host_take(&w->r, sizeof *p);
    hd_pixels_send_images(&w->r, p, all, ITEMS, &w->e.opt.prepare);
    hd_rows y = hd_image_encoder_rows(&w->r, &w->e, layers, &(hd_items){.pixels = p});
    assert_run_ok(&w->r);
    return y;
}

/* Of resnet_check.py: cells of the last map, then its columns 0 .. 3 in the first and the last cell of the
   second picture, and the sum of all numbers. */
static const struct {
    int cells[2];
    double first[4], last[4], sum;
} expected[] = {
    {{3, 4}, {0.000000, 2.432486, 0.000000, 1.822953}, {0.000000, 0.000000, 0.000000, 0.000000}, 198.904606},
    {{5, 7},
     {0.000000, 18.947899, 15.414473, 8.577539},
     {0.000000, 0.000000, 11.883430, 0.000000},
     23371.526457},
};

static void maps_are_those_of_transformers(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        world w;
        open_world(&w, &kinds[k], 2, false);
        int layers = kinds[k].resnet.stages;
        hd_rows y = passed(&w, HD_INFERENCE, layers);
        size_t cols = kinds[k].resnet.hidden[layers - 1], rows = hd_rows_of(y.t);
        assert_int_equal(y.seg->host_grid[2], expected[k].cells[0]);
        assert_int_equal(y.seg->host_grid[3], expected[k].cells[1]);
        assert_int_equal(rows, ITEMS * expected[k].cells[0] * expected[k].cells[1]);
        assert_int_equal(hd_image_encoder_length(&w.e.opt), rows / ITEMS);
        assert_int_equal(hd_image_encoder_width(&w.e.opt), cols);
        hd_real *v = host_copy(&w.r, y.t);
        double sum = 0;
        for (size_t i = 0; i < rows * cols; i++) sum += (double)v[i];
        for (size_t c = 0; c < 4; c++) {
            assert_true(fabs((double)v[rows / 2 * cols + c] - expected[k].first[c]) < 1e-4);
            assert_true(fabs((double)v[(rows - 1) * cols + c] - expected[k].last[c]) < 1e-4);
        }
        assert_true(fabs(sum - expected[k].sum) < 1e-4 * fabs(expected[k].sum));
        free(v);
        close_world(&w);
    }
}

/* By other names the same network: timm's. */
static void names_are_those_of_published_models(void **state)
{
    (void)state;
    static const char *const names[2][5] = {
        {"resnet.embedder.embedder.convolution.weight", "resnet.embedder.embedder.normalization.running_var",
         "resnet.encoder.stages.0.layers.0.shortcut.convolution.weight",
         "resnet.encoder.stages.1.layers.1.layer.2.normalization.bias",
         "resnet.encoder.stages.1.layers.0.shortcut.normalization.running_mean"},
        {"m.conv1.weight", "m.bn1.running_var", "m.layer1.0.downsample.0.weight", "m.layer2.1.bn3.bias",
         "m.layer2.0.downsample.1.running_mean"}};
    for (int timm = 0; timm < 2; timm++) {
        hd_image_encoder_opt o = kinds[1];
        world w;
        o.resnet.timm = timm, o.name = timm ? "m" : NULL;
        open_world(&w, &o, 1, false);
        for (int i = 0; i < 5; i++)
            if (!hd_params_find(&w.p, names[timm][i])) fail_msg("no %s", names[timm][i]);
        const hd_param *stem = hd_params_find(&w.p, names[timm][0]);
        assert_true(stem->rank == 4 && stem->shape[0] == 6 && stem->shape[1] == 3 && stem->shape[2] == 7);
        close_world(&w);
    }
}

/* Sizes of maps, for each picture by itself, and other norms and the small stem. */
static void every_option_makes_maps(void **state)
{
    (void)state;
    for (int how = 0; how < 12; how++) {
        hd_image_encoder_opt o = kinds[how & 1];
        world w;
        o.resnet.stem_small = how & 2, o.resnet.norm = (hd_map_norm_kind)(how / 4);
        open_world(&w, &o, 1, true);
        for (int s = 1; s <= o.resnet.stages; s++) {
            int cells[2], stride = (how & 2 ? 1 : 4) << (s - 1);
            hd_rows y = passed(&w, HD_INFERENCE, s);
            hd_resnet_grid(&o.resnet, s, HEIGHT, WIDTH, cells);
            assert_int_equal(cells[0], (HEIGHT + stride - 1) / stride);
            assert_int_equal(cells[1], (WIDTH + stride - 1) / stride);
            assert_int_equal(y.seg->host_grid[0], cells[0]);
            assert_int_equal(hd_cols_of(y.t), o.resnet.hidden[s - 1]);
        }
        hd_rows y = passed(&w, HD_TRAIN, o.resnet.stages);
        hd_sum_loss(&w.r, hd_mul(&w.r, y.t, y.t), 1);
        hd_backward(&w.r);
        assert_run_ok(&w.r);
        double square = 0;
        for (size_t i = 0; i < w.p.trainable; i++) square += (double)w.p.grad[i] * (double)w.p.grad[i];
        assert_true(isfinite(square) && square > 0);
        close_world(&w);
    }
}

/* What is folded gives the same maps. */
static void folded_norms_give_the_same_maps(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        world w;
        hd_err err = {0};
        open_world(&w, &kinds[k], 1, false);
        hd_rows y = passed(&w, HD_INFERENCE, kinds[k].resnet.stages);
        size_t count = hd_count_of(y.t);
        hd_real *before = host_copy(&w.r, y.t);
        assert_int_equal(hd_resnet_fold(&w.e.resnet, &w.p, &err), HD_OK);
        hd_real *after = host_copy(&w.r, passed(&w, HD_INFERENCE, kinds[k].resnet.stages).t);
        for (size_t i = 0; i < count; i++)
            assert_true(fabs((double)(before[i] - after[i])) < 1e-4 * (1 + fabs((double)before[i])));
        free(before), free(after);
        close_world(&w);
    }
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    hd_real *v[2], *stat[2];
    size_t count = 0, moving = 0;
    for (int t = 0; t < 2; t++) {
        world w;
        open_world(&w, &kinds[0], t ? 4 : 1, true);
        hd_rows y = passed(&w, HD_TRAIN, 3);
        count = hd_count_of(y.t), moving = w.p.moving;
        v[t] = host_copy(&w.r, y.t);
        stat[t] = malloc(moving * sizeof **stat);
        memcpy(stat[t], w.p.value + w.p.trainable, moving * sizeof **stat);
        close_world(&w);
    }
    assert_true(moving > 0);
    assert_memory_equal(v[0], v[1], count * sizeof **v);
    assert_memory_equal(stat[0], stat[1], moving * sizeof **stat);
    for (int t = 0; t < 2; t++) free(v[t]), free(stat[t]);
}

static void what_makes_no_network_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        hd_image_encoder_opt o = kinds[1];
        hd_err err = {0};
        hd_params p;
        hd_image_encoder e;
        hd_backend *b = backend_of("null", 1);
        hd_params_init(&p, b);
        if (i == 0) o.resnet.stages = 9;
        if (i == 1) o.resnet.hidden[1] = 6;
        if (i == 2) o.resnet.depths[0] = 0;
        if (i == 3) o.class_token = true;
        if (i == 4) o.resnet.embedding = 0;
        assert_int_equal(hd_image_encoder_make(&e, &p, &o, &err), HD_EARG);
        assert_true(strlen(err.text) > 0);
        hd_image_encoder_release(&e);
        hd_params_release(&p);
        hd_backend_free(b);
    }
}

/* ResNet-18 and -50 at 224 pixels: 1.8 and 4.1 billion multiply-adds, as papers count them. */
static void the_work_is_that_of_the_paper(void **state)
{
    (void)state;
    hd_resnet_opt o = {
        .stages = 4, .embedding = 64, .hidden = {64, 128, 256, 512}, .depths = {2, 2, 2, 2}, .channels = 3};
    assert_true(fabs(hd_resnet_flops(&o, 224, 224) / 2e9 - 1.81) < 0.02);
    o = (hd_resnet_opt){.stages = 4,
                        .embedding = 64,
                        .hidden = {256, 512, 1024, 2048},
                        .depths = {3, 4, 6, 3},
                        .bottleneck = true,
                        .channels = 3};
    assert_true(fabs(hd_resnet_flops(&o, 224, 224) / 2e9 - 4.09) < 0.03);
}

static hd_status read_config(const char *text, hd_image_encoder_opt *o, hd_err *err)
{
    hd_model_config c = {.err = err};
    snprintf(c.path, sizeof c.path, "config.json");
    hd_arena_init(&c.arena, hd_allocator_host, 0);
    json_error_t e;
    c.object = hd_json_load_config(&c.arena, text, strlen(text), &e);
    if (!c.object) fail_msg("%s", e.text);
    hd_image_encoder_read(&c, HD_IMAGE_resnet, o);
    hd_status s = c.status;
    hd_model_config_release(&c);
    return s;
}

static void a_configuration_comes_back(void **state)
{
    (void)state;
    static const char *const broken[][2] = {{"\"stages\": [{", "\"stages\": 3, \"was\": [{"},
                                            {"\"blocks\": 2", "\"blocks\": 0"},
                                            {"\"width\": 16", "\"width\": \"x\""},
                                            {"\"norm\": \"group\"", "\"norm\": \"none\""}};
    world w;
    hd_text t = {0};
    hd_err err = {0};
    hd_image_encoder_opt o = kinds[1], back;
    o.resnet.norm = HD_MAP_NORM_group, o.resnet.stem_small = o.resnet.timm = true;
    open_world(&w, &o, 1, false);
    hd_text_put(&t, "{\"format\": 1");
    hd_image_encoder_write(&t, &w.e.opt);
    hd_text_put(&t, "}");
    if (read_config(t.data, &back, &err)) fail_msg("%s", err.text);
    back.resnet.channels = 3;
    assert_memory_equal(&back.resnet, &w.e.opt.resnet, sizeof back.resnet);
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        char *at = strstr(t.data, broken[i][0]), *text = malloc(t.size + 64);
        assert_non_null(at);
        sprintf(text, "%.*s%s%s", (int)(at - t.data), t.data, broken[i][1], at + strlen(broken[i][0]));
        err = (hd_err){0};
        assert_int_equal(read_config(text, &back, &err), HD_EFORMAT);
        assert_non_null(strstr(err.text, "config.json"));
        free(text);
    }
    hd_text_release(&t);
    close_world(&w);
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        world w;
        hd_err err = {0};
        open_world(&w, &kinds[atoi(argv[1])], 1, false);
        int status = hd_params_save(&w.p, argv[2], &(hd_meta){"format", "pt"}, 1, &err) != HD_OK;
        close_world(&w);
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_those_of_transformers),
        cmocka_unit_test(names_are_those_of_published_models),
        cmocka_unit_test(every_option_makes_maps),
        cmocka_unit_test(folded_norms_give_the_same_maps),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(what_makes_no_network_is_refused),
        cmocka_unit_test(the_work_is_that_of_the_paper),
        cmocka_unit_test(a_configuration_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
