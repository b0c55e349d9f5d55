/* Encoder-decoders that read sound: what search finds step by step has the probabilities of one forward pass
   over all of it, whoever else is in the batch; stages that reduce time leave as many rows as they say. */
#include "decode/search.h"
#include "model/sound_toy.h"

/* Log-probabilities of ids after a start, of one item. */
static hd_real *whole(hd_run *r, const hd_encdec *m, const hd_frames_host *in, const int32_t *ids,
                      size_t count)
{
    int32_t input[ST_LONGEST + 1] = {ST_START}, len = (int32_t)count;
    hd_frames frames;
    for (size_t i = 1; i < count; i++) input[i] = ids[i - 1];
    hd_run_begin(r, HD_INFERENCE);
    hd_frames_send(r, &frames, in);
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.frames = &frames});
    hd_rows x = hd_encdec_decode(r, m, hd_ints(r, input, count), hd_seg_of(r, &len, 1, NULL), memory, NULL);
    return host_copy(r, hd_log_softmax(r, hd_encdec_logits(r, m, x)));
}

static hd_found *search(hd_run *r, const hd_encdec *m, const hd_frames_host *in, hd_search_kind kind,
                        size_t seats)
{
    hd_err err = {0};
    hd_stepper s = {0};
    hd_found *f = NULL;
    hd_search_opt o = {
        .kind = kind, .beam = 3, .best = 1, .end = ST_END, .max_length = ST_LONGEST, .seats = seats};
    if (hd_encdec_sound_stepper(&s, m, in, ST_START, &err) || hd_search(&f, r, &s, &o, &err))
        fail_msg("%s", err.text);
    hd_stepper_release(&s);
    return f;
}

static void steps_have_the_probabilities_of_a_whole_pass(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_backend *b = backend_of("cpu", 2);
        hd_run r = run_on(b);
        hd_encdec *m = st_model(b, k, 8, 3);
        for (int kind = 0; kind < 2; kind++) {
            const hd_frames_host all = st_sounds(0, ST_ITEMS);
            /* two seats: some items wait until others are done */
            hd_found *f = search(&r, m, &all, kind ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY, kind ? 6 : 2);
            for (size_t i = 0; i < ST_ITEMS; i++) {
                const hd_frames_host one = st_sounds(i, 1);
                const hd_guess *g = hd_found_at(f, i);
                hd_real *logp = whole(&r, m, &one, g->ids, g->length);
                for (size_t t = 0; t < g->length; t++)
                    if (g->logp[t] != logp[t * ST_V + (size_t)g->ids[t]])
                        fail_msg("%s: token %zu of item %zu is off by %g", st_kinds[k].name, t, i,
                                 (double)(g->logp[t] - logp[t * ST_V + (size_t)g->ids[t]]));
                free(logp);
            }
            hd_found_free(f);
        }
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

static void texts_depend_on_the_sound(void **state)
{
    (void)state;
    static const int32_t ids[] = {4, 5, 6};
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        hd_encdec *m = st_model(b, k, 8, 3);
        const hd_frames_host one = st_sounds(0, 1), other = st_sounds(2, 1);
        hd_real *x = whole(&r, m, &one, ids, 3), *y = whole(&r, m, &other, ids, 3);
        double apart = 0;
        for (size_t i = 0; i < 3 * ST_V; i++) apart = fmax(apart, fabs((double)(x[i] - y[i])));
        if (!(apart > 1e-3)) fail_msg("%s: sounds differ by %g", st_kinds[k].name, apart);
        free(x), free(y);
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

/* 13, 1, 8 and 19 frames by 4, and by 8. */
static void time_is_reduced_and_odd_rows_stay(void **state)
{
    (void)state;
    static const int32_t len[][ST_ITEMS] = {{4, 1, 2, 5}, {2, 1, 1, 3},  {7, 1, 4, 10},
                                            {4, 1, 2, 5}, {7, 1, 4, 10}, {7, 1, 4, 10}};
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        hd_encdec *m = st_model(b, k, 8, 1);
        const hd_frames_host all = st_sounds(0, ST_ITEMS);
        hd_frames frames;
        hd_run_begin(&r, HD_INFERENCE);
        hd_frames_send(&r, &frames, &all);
        hd_rows y = hd_encdec_encode(&r, m, &(hd_items){.frames = &frames}).rows;
        assert_run_ok(&r);
        for (size_t i = 0; i < ST_ITEMS; i++)
            if (y.seg->len[i] != len[k][i])
                fail_msg("%s: item %zu has %d rows, not %d", st_kinds[k].name, i, y.seg->len[i], len[k][i]);
        assert_int_equal(hd_rows_of(y.t), y.seg->rows);
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

static void a_model_is_told_by_its_keys(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(st_kinds); k++) {
        hd_backend *b = backend_of("null", 1);
        hd_encdec *m = st_model(b, k, 8, 1), *again = NULL;
        hd_text text = {0}, second = {0};
        hd_err err = {0};
        hd_encdec_opt o;
        hd_text_put(&text, "{\"format\": 1");
        hd_encdec_config_write(&text, &m->opt);
        hd_text_put(&text, "}");
        json_t *root = json_loadb(text.data, text.size, 0, NULL);
        assert_non_null(root);
        hd_model_config c = {.object = root, .path = "config.json", .err = &err};
        hd_encdec_config_read(&c, &o);
        if (c.status) fail_msg("%s: %s", st_kinds[k].name, err.text);
        if (hd_encdec_new(&again, b, &o, false, &err)) fail_msg("%s", err.text);
        hd_text_put(&second, "{\"format\": 1");
        hd_encdec_config_write(&second, &again->opt);
        hd_text_put(&second, "}");
        assert_int_equal(text.size, second.size);
        assert_memory_equal(text.data, second.data, text.size);
        json_decref(root);
        hd_text_release(&text), hd_text_release(&second);
        hd_encdec_free(m), hd_encdec_free(again);
        hd_backend_free(b);
    }
}

static void what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_stepper s = {0};
    hd_encdec *none = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_encdec *m = st_model(b, 0, 8, 1);
    const float silence[ST_BINS] = {0};
    const int32_t no = 0, many = ST_FRAMES + 1;
    hd_frames_host in = {.value = silence, .frames = &no, .items = 1, .bins = ST_BINS};
    assert_int_equal(hd_encdec_stepper(&s, m, (int32_t[]){1}, (int32_t[]){1}, 1, ST_START, &err), HD_EARG);
    assert_non_null(strstr(err.text, "reads sound"));
    assert_int_equal(hd_encdec_sound_stepper(&s, m, &in, ST_START, &err), HD_EARG);
    in.frames = &many, err = (hd_err){0};
    assert_int_equal(hd_encdec_sound_stepper(&s, m, &in, ST_START, &err), HD_EARG);
    assert_non_null(strstr(err.text, "65 frames"));
    hd_encdec_opt o = m->opt;
    o.sounds = false, o.source_vocab = 5; /* a row for each token */
    err = (hd_err){0};
    assert_int_equal(hd_encdec_new(&none, b, &o, false, &err), HD_EARG);
    assert_non_null(strstr(err.text, "pyramid"));
    o = m->opt, err = (hd_err){0}; /* 2^32 frames in a row are more than a number holds */
    assert_int_equal(hd_stages_read(&o.encoder, "pyramid:8+pyramid:8+pyramid:8+pyramid:8", &err), HD_OK);
    assert_int_equal(hd_encdec_new(&none, b, &o, false, &err), HD_EARG);
    assert_string_equal(err.text, "an encoder makes one row of 65536 rows at the most");
    hd_encdec_free(m);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_have_the_probabilities_of_a_whole_pass),
        cmocka_unit_test(texts_depend_on_the_sound), cmocka_unit_test(time_is_reduced_and_odd_rows_stay),
        cmocka_unit_test(a_model_is_told_by_its_keys), cmocka_unit_test(what_cannot_be_read_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
