/* Benchmarks on a backend that says it captures steps: a batch is then filled up to a bucket of rows, and
   kernels read an id for each of them. */
#include "check.h"

#include "task/bench/bench.h"

enum { LIVE = 100 * 20, BUCKET = 2048 }; /* rows of "tiny train", and the next multiple of 128 */

static void (*upload_of_cpu)(hd_backend *b, void *to, const void *from, size_t bytes);
static hd_status (*gemm_of_cpu)(hd_backend *b, const hd_gemm_args *g);
static int cut_short, filled, not_none;

static hd_status no_capture(hd_backend *b)
{
    (void)b;
    return HD_EDEVICE; /* the first step, which is not captured, is all that is looked at */
}

static void forget(hd_backend *b, void *graph)
{
    (void)b, (void)graph;
}

static void note_upload(hd_backend *b, void *to, const void *from, size_t bytes)
{
    const int32_t *id = from;
    cut_short += bytes == LIVE * sizeof *id;
    if (bytes == BUCKET * sizeof *id) {
        filled++;
        for (size_t i = LIVE; i < BUCKET; i++) not_none += id[i] != -1;
    }
    upload_of_cpu(b, to, from, bytes);
}

/* The largest product, which is measured first, is that of a CPU. */
static hd_status first_gemm(hd_backend *b, const hd_gemm_args *g)
{
    b->capture = no_capture, b->forget = forget;
    return gemm_of_cpu(b, g);
}

static hd_status tell(void *context, const hd_bench_row *row, hd_err *err)
{
    (void)context, (void)row, (void)err;
    return HD_OK;
}

static void a_batch_has_an_id_for_every_row_of_its_bucket(void **state)
{
    (void)state;
    hd_err err = {0};
    double ceiling;
    hd_backend *b = backend_of("cpu", 1);
    upload_of_cpu = b->upload, b->upload = note_upload;
    gemm_of_cpu = b->kernel.gemm, b->kernel.gemm = first_gemm;
    hd_bench(b, &(hd_bench_opt){.only = "tiny train", .rounds = 1, .tell = tell}, &ceiling, &err);
    b->capture = NULL;
    hd_backend_free(b);
    assert_int_equal(cut_short, 0);
    assert_true(filled >= 3 && filled % 3 == 0); /* source, input, output */
    assert_int_equal(not_none, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_has_an_id_for_every_row_of_its_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
