/* Folders of DETR, with the ResNet of transformers and with that of timm, become detectors that give the
   labels and boxes that transformers gives, and become the same folders again. published/make_detr.py says
   what those are. */
#include "check.h"
#include "scratch.h"

#include "hub/imported.h"
#include "nn/pixels.h"
#include "task/detect/detect.h"

enum { PATH_SIZE = 256, LINE = 4096, KINDS = 3, ROW = 8, QUERIES = 5 };

static expected e;        /* the file, behind the models before */
static char config[LINE]; /* of what was put last */

static void begin(void)
{
    if (e.file) fclose(e.file);
    e = (expected){.file = fopen(PUBLISHED "detr.txt", "r")};
    assert_non_null(e.file);
}

static void line_to(const char *path, char line[LINE])
{
    do assert_non_null(fgets(line, LINE, e.file));
    while (*line == '\n');
    put_file(path, line);
}

/* A tensor of any shape, drawn as its rows are; convolutions are scaled, and variances 1 more. */
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
    add(s, rank == 1 ? shape[0] : rows, rank == 1 ? 0 : shape[rank - 1], "%s", name);
    hd_tensor *t = &s->tensor[s->count - 1];
    *t = hd_shaped(t->data, s->dtype, rank, shape);
    float *x = t->data, scale = rank == 4 ? sqrtf(6.0f / (float)(shape[1] * shape[2] * shape[3])) : 1,
          more = strstr(name, "running_var") ? 1 : 0;
    for (size_t i = 0; i < hd_count_of(t); i++) x[i] = x[i] * scale + more;
}

/* The next model in the file, but for what it gives. */
static void put_kind(const char *folder)
{
    static store s;
    char line[LINE];
    int count;
    s = (store){.dtype = HD_F32};
    assert_int_equal(mkdir(at("%s", folder), 0777), 0);
    line_to(at("%s/config.json", folder), config);
    line_to(at("%s/preprocessor_config.json", folder), line);
    assert_int_equal(fscanf(e.file, "%d", &count), 1);
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) add_shaped(&s);
    save(&s, 0, s.count, at("%s/model.safetensors", folder));
    store_release(&s);
}

static hd_image picture_of(int height, int width)
{
    hd_err err = {0};
    hd_image im;
    assert_int_equal(hd_image_make(&im, width, height, 3, "test", &err), HD_OK);
    for (size_t i = 0; i < hd_image_bytes(&im); i++)
        im.pixel[i] = (uint8_t)((i * 37 + i * i % 101 + 11) % 256);
    return im;
}

/* Logits and boxes of all queries, side by side as the file has them. */
static void ask(hd_real rows[QUERIES][ROW], hd_run *r, const hd_model_folder *m, const hd_image *im)
{
    const hd_detr *d = hd_model_folder_detr(m);
    const hd_image_prepare *p = hd_detector_prepare(m);
    hd_err err = {0};
    hd_image ready;
    hd_pixels pixels;
    hd_tensor *place = NULL;
    if (hd_image_prepared(&ready, im, p, &err)) fail_msg("%s", err.text);
    hd_run_begin(r, HD_INFERENCE);
    hd_pixels_send_images(r, &pixels, &(const hd_image *){&ready}, 1, p);
    hd_rows memory = hd_detr_encode(r, d, &(hd_items){.pixels = &pixels}, &place);
    hd_detr_queries q = hd_detr_ask(r, d, memory.seg, 1, NULL, NULL);
    hd_detr_found f = hd_detr_decode(r, d, memory, place, &q, false);
    assert_run_ok(r);
    hd_real *logits = host_copy(r, f.logits), *box = host_copy(r, f.box);
    for (size_t i = 0; i < QUERIES; i++)
        for (size_t k = 0; k < 4; k++) rows[i][k] = logits[i * 4 + k], rows[i][4 + k] = box[i * 4 + k];
    free(logits), free(box);
    hd_image_release(&ready);
}

static void check_kind(const char *folder)
{
    hd_err err = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_real rows[QUERIES][ROW];
    int32_t size[32];
    assert_int_equal(next_ids(&e, size), 2);
    if (hd_model_folder_open(&m, at("%s", folder), "detect", b, HD_WEIGHTS_BEST, &err))
        fail_msg("%s", err.text);
    hd_image im = picture_of(size[0], size[1]);
    ask(rows, &r, &m, &im);
    check_logits(&e, &rows[0][0], QUERIES, ROW, 1);
    assert_string_equal(hd_vocab_piece(&m.labels, 1), "plate");
    hd_found_objects found;
    if (hd_detect(&found, &r, &m, &im, 0, &err)) fail_msg("%s", err.text);
    assert_int_equal(found.count, QUERIES);
    hd_found_objects_release(&found);
    hd_image_release(&im);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void both_kinds_of_names_give_what_transformers_gives(void **state)
{
    (void)state;
    begin();
    for (int kind = 0; kind < KINDS; kind++) {
        char from[32], to[32];
        snprintf(from, sizeof from, "detr.%d", kind);
        snprintf(to, sizeof to, "detr.%d.heed", kind);
        put_kind(from);
        pass_well(hd_import, from, to);
        check_kind(to);
    }
}

/* Skips what it gives. */
static void skip_answers(void)
{
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
    begin();
    for (int kind = 0; kind < KINDS; kind++) check_round(put_kind, none), skip_answers();
}

static void refuse(const char *from, const char *to, const char *why)
{
    begin();
    put_kind("example");
    char *kept = strdup(config);
    assert_int_equal(hd_folder_remove(at("example"), NULL), HD_OK);
    begin();
    check_refused((publisher){put_kind, kept}, from, to, why);
    free(kept);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    refuse("\"d_model\": 16", "\"d_model\": 18", "split over 4 heads");
    refuse("\"d_model\": 16", "\"d_model\": 32", "");
    refuse("\"num_queries\": 5", "\"num_queries\": 6", "query_position_embeddings");
    refuse("\"auxiliary_loss\": false", "\"auxiliary_loss\": true", "auxiliary_loss");
    refuse("\"decoder_ffn_dim\": 40", "\"decoder_ffn_dim\": 41", "decoder_ffn_dim");
    refuse("\"depths\": [2, 1]", "\"depths\": [2, 0]", "depths");
    refuse("\"depths\": [2, 1]", "\"depths\": [2]", "different numbers of stages");
    refuse("\"hidden_sizes\": [8, 16]", "\"hidden_sizes\": [8, 100000000]", "hidden_sizes");
    refuse("\"model_type\": \"resnet\"", "\"model_type\": \"swin\"", "neither");
    refuse("DetrForObjectDetection", "DetrForSegmentation", "heed imports DetrForObjectDetection");
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    begin();
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
        cmocka_unit_test(both_kinds_of_names_give_what_transformers_gives),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, scratch_make, close_file);
}
