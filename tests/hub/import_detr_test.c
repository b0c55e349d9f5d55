/* Folders of DETR, with the ResNet of transformers and with that of timm, become detectors that give the
   labels and boxes that transformers gives, and become the same folders again. published/make_detr.py says
   what those are. */
#include "check.h"
#include "scratch.h"

#include "hub/imported_pictures.h"
#include "nn/pixels.h"
#include "task/detect/detect.h"

enum { KINDS = 3, ROW = 8, QUERIES = 5 };

/* Convolutions are scaled, and variances 1 more. */
static void scale_maps(hd_tensor *t, const char *name)
{
    float *x = t->data, more = strstr(name, "running_var") ? 1 : 0,
          scale = t->rank == 4 ? sqrtf(6.0f / (float)(t->shape[1] * t->shape[2] * t->shape[3])) : 1;
    for (size_t i = 0; i < hd_count_of(t); i++) x[i] = x[i] * scale + more;
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
    hd_image im = picture_of(size[0], size[1], 3);
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
    check_kinds("detr", KINDS, check_kind);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    check_rounds("detr", KINDS, none);
}

/* A norm whose mean is gone does nothing but add its bias. */
static void check_means(const char *folder)
{
    hd_err err = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    int found = 0;
    if (hd_model_folder_open(&m, at("%s", folder), "detect", b, HD_WEIGHTS_BEST, &err))
        fail_msg("%s", err.text);
    const hd_params *p = m.model.params;
    for (size_t i = 0; i < p->count; i++) {
        const hd_param *one = p->list[i];
        if (!one->name || !strstr(one->name, "running_mean")) continue;
        for (size_t k = 0; k < hd_count_of(&one->t); k++) assert_true(((const hd_real *)one->t.data)[k] == 0);
        found++;
    }
    assert_true(found > 0);
    hd_model_folder_release(&m);
    hd_backend_free(b);
}

static void check_folded(const char *folder)
{
    char out[PATH_SIZE + 8], back[PATH_SIZE + 8];
    snprintf(out, sizeof out, "%s.folded", folder);
    snprintf(back, sizeof back, "%s.again", folder);
    pass_well(hd_export_folded, folder, out);
    pass_well(hd_import, out, back);
    check_means(back);
    check_kind(back);
}

static void folded_norms_find_the_same(void **state)
{
    (void)state;
    begin("detr");
    for (int kind = 0; kind < KINDS; kind++) {
        char from[PATH_SIZE], to[PATH_SIZE];
        snprintf(from, sizeof from, "fold.%d", kind);
        snprintf(to, sizeof to, "fold.%d.heed", kind);
        put_kind(from);
        pass_well(hd_import, from, to);
        check_folded(to);
    }
}

static void refuse(const char *from, const char *to, const char *why)
{
    refuse_in("detr", from, to, why);
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
    begin("detr");
    check_memory(put_kind, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_of_names_give_what_transformers_gives),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(folded_norms_find_the_same),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    draw_more = scale_maps;
    return cmocka_run_group_tests(tests, scratch_make, close_file);
}
