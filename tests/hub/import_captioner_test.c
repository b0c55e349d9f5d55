/* Folders of VisionEncoderDecoder, a ViT and a GPT-2, become captioners that give its log-probabilities and
   write what it writes, and become the same folders again. published/make_captions.py says what transformers
   saves and gives. */
#include "check.h"
#include "scratch.h"

#include "hub/imported_pictures.h"
#include "model/encdec/encdec.h"
#include "task/caption/caption.h"
#include "nn/pixels.h"

enum { KINDS = 3, STRIDE = 11 };

static void put_tokenizer(const char *folder)
{
    copy(TOKENIZER "vocab.json", at("%s/vocab.json", folder));
    copy(TOKENIZER "merges.txt", at("%s/merges.txt", folder));
}

/* After each token of the target in the file. */
static void check_rows(hd_run *r, const hd_encdec *m, const hd_image_batch *picture)
{
    int32_t target[32], to = next_ids(&e, target);
    hd_pixels pixels;
    hd_run_begin(r, HD_INFERENCE);
    hd_pixels_send(r, &pixels, picture, &m->opt.image.prepare);
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.pixels = &pixels});
    hd_rows x =
        hd_encdec_decode(r, m, hd_ints(r, target, (size_t)to), hd_seg_of(r, &to, 1, NULL), memory, NULL);
    hd_real *logp = host_copy(r, hd_log_softmax(r, hd_encdec_logits(r, m, x)));
    check_logits(&e, logp, (size_t)to, m->opt.target_vocab, STRIDE);
    free(logp);
}

/* By greedy search and by 4 beams. */
static void check_written(hd_run *r, const hd_model_folder *f, const hd_image_batch *picture)
{
    for (int i = 0; i < 2; i++) {
        hd_err err = {0};
        hd_written_all found;
        int32_t ids[32], count = next_ids(&e, ids);
        hd_caption_opt o = {.search = {.kind = i ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY,
                                       .beam = 4,
                                       .max_length = 12,
                                       .length.kind = HD_LENGTH_AVERAGE}};
        if (hd_caption_of(&found, r, f, picture, &o, &err)) fail_msg("%s", err.text);
        assert_int_equal(found.of[0][0].length, count);
        assert_memory_equal(found.of[0][0].ids, ids, (size_t)count * sizeof *ids);
        hd_written_release(&found);
    }
}

static void check_kind(const char *folder)
{
    hd_err err = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    hd_caption_pictures pictures = {0};
    int32_t size[32];
    assert_int_equal(next_ids(&e, size), 2);
    hd_image im = picture_of(size[0], size[1], 3);
    if (hd_model_folder_open(&m, at("%s", folder), "caption", b, HD_WEIGHTS_BEST, &err) ||
        hd_caption_pictures_add(&pictures, &im, hd_caption_prepare(&m), &err))
        fail_msg("%s", err.text);
    check_rows(&r, hd_model_folder_encdec(&m), &pictures.batch);
    check_written(&r, &m, &pictures.batch);
    hd_caption_pictures_release(&pictures);
    hd_image_release(&im);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void all_kinds_give_what_transformers_gives(void **state)
{
    (void)state;
    check_kinds("captioner", KINDS, check_kind);
}

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"vocab.json", "merges.txt", NULL};
    check_rounds("captioner", KINDS, files);
}

static void refuse(const char *from, const char *to, const char *why)
{
    refuse_in("captioner", from, to, why);
}

static void what_is_wrong_is_refused(void **state)
{
    (void)state;
    refuse("\"model_type\": \"gpt2\"", "\"model_type\": \"bert\"", "a ViT and a GPT-2");
    refuse("\"model_type\": \"vit\"", "\"model_type\": \"swin\"", "a ViT and a GPT-2");
    refuse("\"add_cross_attention\": true", "\"add_cross_attention\": false", "add_cross_attention");
    refuse("\"decoder_start_token_id\": 0, \"dtype\"", "\"decoder_start_token_id\": 5, \"dtype\"",
           "decoder_start_token_id");
    refuse("\"n_head\": 4", "\"n_head\": 3", "split over 3 heads");
    refuse("\"patch_size\": 4", "\"patch_size\": 5", "patches of 5 x 5");
    refuse("\"n_layer\": 2", "\"n_layer\": 3", "decoder.transformer.h.2");
    refuse("VisionEncoderDecoderModel", "SpeechEncoderDecoderModel", "VisionEncoderDecoderModel");
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    begin("captioner");
    check_memory(put_kind, "memory", "memory.heed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_give_what_transformers_gives),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
    };
    put_beside = put_tokenizer;
    return cmocka_run_group_tests(tests, scratch_make, close_file);
}
