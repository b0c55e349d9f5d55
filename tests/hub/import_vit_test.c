/* Folders of ViT and DeiT become classifiers of pictures, or encoders alone, that read a picture as
   transformers does, to the last bit, give its rows and labels, and become the same folders again.
   published/make_vision.py says what transformers saves and gives. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "model/encoder/classifier.h"
#include "model/vision/image_model.h"
#include "nn/pixels.h"

enum { PATH_SIZE = 256, LINE = 4096 };

static expected e;        /* the file, behind the models before */
static char config[LINE]; /* of what was put last */

static void begin(const char *name)
{
    char path[PATH_SIZE];
    if (e.file) fclose(e.file);
    snprintf(path, sizeof path, PUBLISHED "%s.txt", name);
    e = (expected){.file = fopen(path, "r")};
    assert_non_null(e.file);
}

static void line_to(const char *path, char line[LINE])
{
    do assert_non_null(fgets(line, LINE, e.file));
    while (*line == '\n');
    put_file(path, line);
}

/* A tensor of any shape, drawn as its rows are. */
static void add_shaped(store *s)
{
    char name[128];
    size_t shape[HD_RANK] = {0}, rows = 1;
    int rank;
    assert_int_equal(fscanf(e.file, "%127s %d", name, &rank), 2);
    assert_in_range(rank, 1, HD_RANK);
    for (int i = 0; i < rank; i++) {
        assert_int_equal(fscanf(e.file, "%zu", &shape[i]), 1);
        if (i + 1 < rank) rows *= shape[i];
    }
    if (rank == 1)
        add(s, shape[0], 0, "%s", name);
    else
        add(s, rows, shape[rank - 1], "%s", name);
    hd_tensor *t = &s->tensor[s->count - 1];
    *t = hd_shaped(t->data, s->dtype, rank, shape);
}

/* The next model in the file, but for what it gives. */
static void put_kind(const char *folder)
{
    store s = {.dtype = HD_F32};
    char line[LINE];
    int count;
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    line_to(at("%s/config.json", folder), config);
    line_to(at("%s/preprocessor_config.json", folder), line);
    assert_int_equal(fscanf(e.file, "%d", &count), 1);
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) add_shaped(&s);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

static hd_image picture_of(int height, int width, int channels)
{
    hd_err err = {0};
    hd_image im;
    assert_int_equal(hd_image_make(&im, width, height, channels, "test", &err), HD_OK);
    for (size_t i = 0; i < hd_image_bytes(&im); i++)
        im.pixel[i] = (uint8_t)((i * 37 + i * i % 101 + 11) % 256);
    return im;
}

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
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        begin(families[i].name);
        for (int kind = 0; kind < families[i].kinds; kind++) {
            char from[32], to[32];
            snprintf(from, sizeof from, "%s.%d", families[i].name, kind);
            snprintf(to, sizeof to, "%s.%d.heed", families[i].name, kind);
            put_kind(from);
            pass_well(hd_import, from, to);
            check_kind(to);
        }
    }
}

/* Skips what it gives. */
static void skip_answers(void)
{
    int32_t size[32];
    next_ids(&e, size);
    size_t count;
    double x;
    assert_int_equal(fscanf(e.file, "%zu", &count), 1);
    while (count--) assert_int_equal(fscanf(e.file, "%lf", &x), 1);
    for (int c; (c = fgetc(e.file)) != EOF;)
        if (c == '{') {
            ungetc(c, e.file);
            return;
        }
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        begin(families[i].name);
        for (int kind = 0; kind < families[i].kinds; kind++) check_round(put_kind, none), skip_answers();
    }
}

static void refuse(const char *from, const char *to, const char *why)
{
    begin("vit");
    put_kind("example");
    char *kept = strdup(config);
    assert_int_equal(hd_folder_remove(at("example"), NULL), HD_OK);
    begin("vit");
    check_refused((publisher){put_kind, kept}, from, to, why);
    free(kept);
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

static int close_file(void **state)
{
    if (e.file) fclose(e.file);
    return scratch_remove(state);
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
