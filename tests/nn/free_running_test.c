/* The lecture's GRU decoder on its own: it begins with <SOS> and reads what it said itself. The
   teacher-forced half of the same example is in recurrent_test.c. */
#include "check.h"
#include "nn/recurrent.h"
#include "nn/recurrent_numbers.h"

enum { ITEMS = 2, STEPS = 3, WORDS = 5, WIDTH = 3, SOS = 0 };

/* golden.json: free_running_log_probs and free_running_ids of gru_encoder_decoder, step after step. */
static const double log_probs[STEPS][ITEMS * WORDS] = {
    {-2.13493083, -1.83054723, -1.9249863, -1.28553255, -1.20717668, -2.29344846, -1.71816982, -2.07250163,
     -1.29548083, -1.13927406},
    {-2.00152522, -1.99851587, -1.85869117, -1.12742309, -1.38793003, -2.10294696, -1.91613644, -1.96673043,
     -1.10973185, -1.34258941},
    {-2.07252094, -1.97752103, -1.89124563, -1.08607344, -1.3971653, -2.1338439, -1.93056485, -1.95785372,
     -1.07234849, -1.37362529}};
static const int32_t says[STEPS][ITEMS] = {{4, 4}, {3, 3}, {3, 3}};

static hd_tensor *table(hd_run *r, size_t rows, size_t cols, const double *x)
{
    hd_real host[32];
    assert_true(rows * cols <= COUNT_OF(host));
    for (size_t i = 0; i < rows * cols; i++) host[i] = (hd_real)x[i];
    return hd_from(r, rows, cols, host);
}

/* One GRU step of all items from their states, as hd_recurrent_of does it. */
static hd_rows gru(hd_run *r, hd_rows x, const double *const *w, hd_tensor *start, hd_tensor **last)
{
    hd_tensor *z =
        hd_linear(r, x.t, table(r, 3 * WIDTH, WIDTH, w[0]), table(r, 1, 3 * WIDTH, w[2]), HD_IDENTITY);
    return hd_recur(r, hd_rows_with(x, z), table(r, 3 * WIDTH, WIDTH, w[1]), table(r, 1, 3 * WIDTH, w[3]),
                    start, &(hd_recur_opt){.cell = HD_GRU}, last);
}

static hd_tensor *encode(hd_run *r)
{
    static const int32_t source[] = {2, 3, 1, 4, 5, 1}, len[ITEMS] = {3, 3};
    static const double *const w[] = {golden_encoder_gru_ih_l0, golden_encoder_gru_hh_l0,
                                      golden_encoder_gru_bias_ih_l0, golden_encoder_gru_bias_hh_l0};
    hd_tensor *last = NULL,
              *x = hd_embed(r, table(r, 6, WIDTH, golden_encoder_embedding), hd_ints(r, source, 6), 6, 1);
    hd_rows y = gru(r, (hd_rows){x, hd_seg_of(r, len, ITEMS, NULL)}, w, NULL, &last);
    hd_real *rows = host_copy(r, y.t);
    for (size_t i = 0; i < COUNT_OF(golden_encoder_output); i++)
        assert_true(fabs((double)rows[i] - golden_encoder_output[i]) < 1e-6);
    free(rows);
    return last;
}

static void a_decoder_reads_what_it_said(void **state)
{
    (void)state;
    static const double *const w[] = {golden_decoder_gru_ih_l0, golden_decoder_gru_hh_l0,
                                      golden_decoder_gru_bias_ih_l0, golden_decoder_gru_bias_hh_l0};
    static const int32_t len[ITEMS] = {1, 1};
    int32_t said[ITEMS] = {SOS, SOS};
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b), *r = &run;
    hd_run_begin(r, HD_INFERENCE);
    hd_tensor *last = encode(r);
    for (int t = 0; t < STEPS; t++) {
        hd_tensor *x =
            hd_embed(r, table(r, WORDS, WIDTH, golden_decoder_embedding), hd_ints(r, said, ITEMS), ITEMS, 1);
        hd_rows y =
            gru(r, (hd_rows){hd_apply(r, x, HD_relu), hd_seg_of(r, len, ITEMS, NULL)}, w, last, &last);
        hd_tensor *p = hd_log_softmax(r, hd_linear(r, y.t, table(r, WORDS, WIDTH, golden_decoder_out),
                                                   table(r, 1, WORDS, golden_decoder_out_bias), HD_IDENTITY));
        hd_real *got = host_copy(r, p);
        for (size_t i = 0; i < ITEMS * WORDS; i++) assert_true(fabs((double)got[i] - log_probs[t][i]) < 1e-6);
        free(got);
        b->download(b, said, hd_argmax(r, p)->data, sizeof said);
        assert_memory_equal(said, says[t], sizeof said);
    }
    hd_run_release(r);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_decoder_reads_what_it_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
