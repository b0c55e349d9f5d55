/* Folders of ViT and DeiT become classifiers of pictures, or encoders alone, that read a picture as
   transformers does, to the last bit, give its rows and labels, and become the same folders again.
   published/make_vision.py says what transformers saves and gives. */
#include "check.h"
#include "scratch.h"

#include "hub/imported_pictures.h"
#include "model/encoder/classifier.h"
#include "model/vision/image_model.h"
#include "nn/pixels.h"

/* What a picture is to the model, channel by channel: every 7th number, and those exactly. */
static void check_pixels(const hd_image *im, const hd_image_prepare *p)
{
    hd_real worth[3 * 256];
    size_t channels = (size_t)im->channels, cells = hd_image_bytes(im) / channels;
    FILE *f = e.file;
    size_t count, at = 0;
    hd_image_worth(worth, p);
    assert_int_equal(fscanf(f, "%zu", &count), 1);
    assert_int_equal(count, (channels * cells + 6) / 7);
    for (size_t i = 0; i < count; i++, at += 7) {
        double want;
        assert_int_equal(fscanf(f, "%lf", &want), 1);
        hd_real have = worth[at / cells * 256 + im->pixel[at % cells * channels + at / cells]];
        if ((double)have != want) fail_msg("pixel %zu: %.9g, not %.9g", at, (double)have, want);
    }
}

/* What the model gives for the picture in the file. */
static void check_kind(const char *folder)
{
    hd_err err = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    int32_t size[32];
    assert_int_equal(next_ids(&e, size), 2);
    if (hd_model_folder_open(&m, at("%s", folder), "classify", b, HD_WEIGHTS_BEST, &err))
        fail_msg("%s", err.text);
    const hd_classifier *c = hd_model_folder_classifier(&m);
    const hd_image_prepare *p = c->body.type->sizes(c->body.self).image;
    hd_image im = picture_of(size[0], size[1], p->channels), ready;
    if (hd_image_prepared(&ready, &im, p, &err)) fail_msg("%s", err.text);
    check_pixels(&ready, p);
    hd_pixels pixels;
    hd_run_begin(&r, HD_INFERENCE);
    hd_pixels_send_images(&r, &pixels, &(const hd_image *){&ready}, 1, p);
    const hd_class_batch batch = {.in.pixels = &pixels};
    if (c->opt.classes) {
        hd_real *logp = host_copy(&r, hd_classifier_logp(&r, c, &batch));
        assert_string_equal(hd_vocab_piece(&m.labels, 1), "so so");
        check_logits(&e, logp, 1, 3, 1);
        free(logp);
    } else {
        hd_rows x = hd_model_rows(&r, &c->body, &batch.in);
        hd_real *rows = host_copy(&r, x.t),
                *pooled = host_copy(&r, c->body.type->pooled(&r, c->body.self, x));
        check_logits(&e, rows, hd_rows_of(x.t), 16, 1);
        check_logits(&e, pooled, 1, 16, 1);
        free(rows), free(pooled);
    }
    hd_image_release(&im), hd_image_release(&ready);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static const struct {
    const char *name;
    int kinds;
} families[] = {{"vit", 5}, {"deit", 4}};

static void all_kinds_give_what_transformers_gives(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(families); i++)
        check_kinds(families[i].name, families[i].kinds, check_kind);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    for (size_t i = 0; i < COUNT_OF(families); i++) check_rounds(families[i].name, families[i].kinds, none);
}

static void refuse(const char *from, const char *to, const char *why)
{
    refuse_in("vit", from, to, why);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    refuse("\"num_channels\": 3", "\"num_channels\": 2", "\"num_channels\" is 2");
    refuse("\"num_channels\": 3", "\"num_channels\": 4", "\"num_channels\" is 4");
    refuse("\"num_channels\": 3", "\"num_channels\": 1", "\"image_mean\" has 3 numbers");
    refuse("\"patch_size\": 4", "\"patch_size\": 5", "12 x 12 pixels are not divided by patches of 5 x 5");
    refuse("\"patch_size\": 4", "\"patch_size\": 0", "\"patch_size\" is 0");
    refuse("\"patch_size\": 4", "\"patch_size\": [4, 2]", "patches are squares");
    refuse("\"patch_size\": 4", "\"patch_size\": [4, 4, 4]", "neither a number nor a list");
}

static void sizes_that_do_not_fit_the_file_are_refused(void **state)
{
    (void)state;
    refuse("\"image_size\": 12", "\"image_size\": 16", "embeddings.position_embeddings");
    refuse("\"image_size\": 12", "\"image_size\": 1000000000", "\"image_size\" is 1000000000");
    refuse("\"image_size\": 12", "\"image_size\": 4096", "numbers, but the file has");
    refuse("\"hidden_size\": 16", "\"hidden_size\": 32", "pooler_output_size");
    refuse("\"num_attention_heads\": 4", "\"num_attention_heads\": 3", "split over 3 heads");
    refuse("ViTModel", "ViTForMaskedImageModeling", "heed imports ViTModel, ViTForImageClassification");
    refuse("\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": 0", "\"layer_norm_eps\" is 0");
}

/* A folder of the first model with another preprocessor_config.json. */
static hd_status import_with(const char *preprocessor, hd_err *err)
{
    static int number;
    char from[32], to[32];
    snprintf(from, sizeof from, "reads%d", number);
    snprintf(to, sizeof to, "reads%d.heed", number++);
    begin("vit");
    put_kind(from);
    put_file(at("%s/preprocessor_config.json", from), preprocessor);
    return pass(hd_import, from, to, err);
}

static void ways_to_read_a_picture_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{\"size\": {\"height\": 12}}", "\"width\" is missing"},
        {"{\"size\": 0}", "\"size\" is 0"},
        {"{\"size\": {\"height\": 12, \"width\": 99999}}", "\"width\" is 99999"},
        {"{\"size\": {\"shortest_edge\": 20, \"longest_edge\": 10}}", "less than \"shortest_edge\""},
        {"{\"resample\": 6}", "\"resample\" is 6"},
        {"{\"image_std\": [0.5, 0, 0.5]}", "not above 0"},
        {"{\"image_std\": [0.5, 1e99, 0.5]}", "not a number for each channel"},
        {"{\"image_mean\": [1, 2]}", "has 2 numbers"},
        {"{\"image_mean\": [\"a\", 2, 3]}", "not a number for each channel"},
        {"{\"do_resize\": 3}", "\"do_resize\" is not true or false"},
        {"{\"crop_size\": \"x\", \"do_center_crop\": true}", "\"height\" is missing"},
        {"[1]", "preprocessor_config.json"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        hd_err err = {0};
        assert_int_not_equal(import_with(bad[i].text, &err), HD_OK);
        if (!strstr(err.text, bad[i].why)) fail_msg("'%s' does not say '%s'", err.text, bad[i].why);
    }
    hd_err err = {0};
    if (import_with(
            "{\"size\": 224, \"do_rescale\": false, \"feature_extractor_type\": \"ViTFeatureExtractor\"}",
            &err))
        fail_msg("%s", err.text);
}

/* The crane is a bird and a machine. */
static void labels_that_repeat_get_their_number(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder m;
    char text[LINE];
    begin("vit");
    put_kind("skipped");
    skip_answers();
    put_kind("cranes");
    const char *place = strstr(config, "\"so so\"");
    snprintf(text, sizeof text, "%.*s\"bad\"%s", (int)(place - config), config, place + 7);
    put_file(at("cranes/config.json"), text);
    pass_well(hd_import, "cranes", "cranes.heed");
    if (hd_model_folder_describe(&m, at("cranes.heed"), NULL, &err)) fail_msg("%s", err.text);
    assert_string_equal(hd_vocab_piece(&m.labels, 0), "bad");
    assert_string_equal(hd_vocab_piece(&m.labels, 1), "bad (1)");
    hd_model_folder_release(&m);
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    begin("deit");
    check_memory(put_kind, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_give_what_transformers_gives),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(sizes_that_do_not_fit_the_file_are_refused),
        cmocka_unit_test(ways_to_read_a_picture_that_make_no_sense_are_refused),
        cmocka_unit_test(labels_that_repeat_get_their_number),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, close_file);
}
