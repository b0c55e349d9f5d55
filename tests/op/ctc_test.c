/* CTC as a loss: known values, all paths counted one by one, numbers of torch.nn.CTCLoss, items that are left
   out, and the same bits whatever the threads. */
#include "one_run.h"

static int each(void **state)
{
    (void)state;
    begin_step(HD_TRAIN);
    return 0;
}

/* One item's loss, with blank 0; *slope receives the gradient in new memory, if it is not NULL. */
static double loss_of(hd_run *r, const hd_real *x, size_t frames, size_t classes, const int32_t *label,
                      size_t labels, hd_real **slope)
{
    const int32_t t = (int32_t)frames, u = (int32_t)labels;
    hd_run_begin(r, HD_TRAIN);
    hd_tensor *logits = hd_from(r, frames, classes, x);
    logits->wants_grad = true;
    hd_tensor *loss =
        hd_ctc(r, (hd_rows){logits, hd_seg_of(r, &t, 1, NULL)}, hd_ints(r, label, labels ? labels : 1),
               hd_seg_of(r, &u, 1, NULL), 0, &(hd_loss_opt){.coef = 1});
    double value = hd_loss_total(r, loss);
    assert_run_ok(r);
    if (slope) {
        hd_backward(r);
        *slope = host_copy(r, hd_grad(r, logits, NULL));
    }
    return value;
}

static void uniform_frames_count_their_paths(void **state)
{
    (void)state;
    static const struct {
        int32_t label[3];
        size_t labels, paths; /* of the 81 of four frames and three columns */
    } cases[] = {{{1, 2}, 2, 15}, {{1, 1}, 2, 5}, {{2, 2}, 2, 5},
                 {{0}, 0, 1},     {{1}, 1, 10},   {{1, 2, 1}, 3, 7}};
    const hd_real x[12] = {0};
    assert_true(fabs(loss_of(&run, x, 4, 3, cases[0].label, 2, NULL) - 1.686399) < 1e-6);
    assert_true(fabs(loss_of(&run, x, 4, 3, cases[1].label, 2, NULL) - 2.785011) < 1e-6);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double is = loss_of(&run, x, 4, 3, cases[i].label, cases[i].labels, NULL);
        if (!(fabs(is + log((double)cases[i].paths / 81)) < 1e-6)) fail_msg("case %zu: %g", i, is);
    }
}

/* Sums over all classes^frames paths; collapses each. */
static double all_paths(const hd_real *x, size_t frames, size_t classes, const int32_t *label, size_t labels)
{
    size_t paths = 1;
    double sum = 0;
    for (size_t t = 0; t < frames; t++) paths *= classes;
    for (size_t path = 0; path < paths; path++) {
        size_t rest = path, said = 0;
        int32_t last = 0;
        double p = 1;
        bool right = true;
        for (size_t t = 0; t < frames; t++, rest /= classes) {
            int32_t c = (int32_t)(rest % classes);
            double all = 0;
            for (size_t k = 0; k < classes; k++) all += exp((double)x[t * classes + k]);
            p *= exp((double)x[t * classes + (size_t)c]) / all;
            if (c && c != last) right = right && said < labels && label[said++] == c;
            last = c;
        }
        if (right && said == labels) sum += p;
    }
    return -log(sum);
}

static void the_loss_is_that_of_all_paths_together(void **state)
{
    (void)state;
    enum { FRAMES = 6, CLASSES = 4 };
    static const int32_t labels[][4] = {{1, 2, 3}, {2, 2, 1}, {3}, {1, 1, 1}, {1, 2, 1, 2}, {3, 3, 2, 2}};
    static const size_t counts[] = {3, 3, 1, 3, 4, 4};
    hd_real x[FRAMES * CLASSES];
    fill_normal(x, COUNT_OF(x), 2, 5);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        double is = loss_of(&run, x, FRAMES, CLASSES, labels[i], counts[i], NULL),
               should = all_paths(x, FRAMES, CLASSES, labels[i], counts[i]);
        if (!(fabs(is - should) < 3e-6 * (1 + should))) fail_msg("case %zu: %g, expected %g", i, is, should);
    }
}

/* torch 2.15, CTCLoss(reduction="none") in double: loss, norm of the gradient, its product with cosines, and
   one number of it. Logits of float: 1e-7 each, and the sums of frames in double. */
static void losses_and_gradients_are_torchs(void **state)
{
    (void)state;
    static const struct {
        size_t frames, classes, labels;
        double loss, norm, product, one;
    } cases[] = {
        {4, 3, 2, 2.478382898, 1.208572078, -0.790461748, -0.022542847},
        {12, 5, 4, 11.309498810, 2.375672555, 2.387748673, -0.265526419},
        {50, 12, 20, 88.030129630, 4.545746989, 3.920661261, 0.133249519},
        {400, 31, 60, 1186.395668217, 15.587761256, -6.130748997, -0.002028556},
        {2000, 40, 300, 5645.405077156, 37.430067623, -7.099293143, 0.008911027},
        {6, 5, 0, 6.497210786, 1.958240804, -2.656909176, 0.272418586},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t frames = cases[i].frames, classes = cases[i].classes, labels = cases[i].labels;
        hd_real *x = malloc(frames * classes * sizeof *x), *dx;
        int32_t *label = calloc(labels + 1, sizeof *label);
        for (size_t u = 0; u < labels; u++)
            label[u] = (int32_t)(1 + (u / 2 * (3 + i) + (u % 5 == 4)) % (classes - 1));
        for (size_t k = 0; k < frames * classes; k++) {
            double t = (double)(k / classes), c = (double)(k % classes);
            x[k] = (hd_real)(2 * sin(1.7 * t * c + 0.3 * t + 0.9 * c + 0.1 * (double)i));
        }
        double loss = loss_of(&run, x, frames, classes, label, labels, &dx), norm = 0, product = 0;
        for (size_t k = 0; k < frames * classes; k++) {
            double d = (double)dx[k];
            norm += d * d, product += d * cos(0.37 * (double)(k / classes) + 1.1 * (double)(k % classes));
        }
        if (!(fabs(loss - cases[i].loss) < 2e-6 * (1 + cases[i].loss)))
            fail_msg("case %zu: loss %.9g, expected %.9g", i, loss, cases[i].loss);
        if (!(fabs(sqrt(norm) - cases[i].norm) < 2e-6 * (1 + cases[i].norm)))
            fail_msg("case %zu: norm %.9g, expected %.9g", i, sqrt(norm), cases[i].norm);
        if (!(fabs(product - cases[i].product) < 2e-5 * (1 + cases[i].norm)))
            fail_msg("case %zu: product %.9g, expected %.9g", i, product, cases[i].product);
        if (!(fabs((double)dx[frames / 2 * classes + 1] - cases[i].one) < 5e-6))
            fail_msg("case %zu: one %.9g, expected %.9g", i, (double)dx[frames / 2 * classes + 1],
                     cases[i].one);
        free(x), free(dx), free(label);
    }
}

enum { ITEMS = 6, CLASSES = 5 };

/* Six items: fine, one frame too few for its repeat, empty, a label that is the blank, no column, fine. */
static const int32_t frames[ITEMS] = {5, 3, 0, 4, 4, 30}, counts[ITEMS] = {2, 3, 0, 1, 1, 8},
                     labels[] = {1, 2, 3, 3, 1, 0, CLASSES, 1, 1, 2, 3, 4, 4, 2, 1};

static void items_that_are_too_short_are_left_out_and_told(void **state)
{
    (void)state;
    hd_real x[46 * CLASSES], logp[ITEMS], loss[ITEMS];
    fill_normal(x, COUNT_OF(x), 1, 7);
    hd_tensor *lp = NULL, *logits = hd_from(&run, 46, CLASSES, x);
    logits->wants_grad = true;
    const hd_seg *seg = hd_seg_of(&run, frames, ITEMS, NULL);
    hd_tensor *l = hd_ctc(&run, (hd_rows){logits, seg}, hd_ints(&run, labels, COUNT_OF(labels)),
                          hd_seg_of(&run, counts, ITEMS, NULL), 0, &(hd_loss_opt){.coef = 1, .logp = &lp});
    assert_true(hd_read(&run, l, loss) && hd_read(&run, lp, logp));
    const bool out[ITEMS] = {false, true, false, true, true, false};
    size_t row = 0;
    hd_backward(&run);
    hd_real *dx = host_copy(&run, hd_grad(&run, logits, NULL));
    for (size_t i = 0; i < ITEMS; row += (size_t)frames[i], i++) {
        double slope = 0;
        for (size_t k = 0; k < (size_t)frames[i] * CLASSES; k++) slope += fabs((double)dx[row * CLASSES + k]);
        assert_int_equal(out[i], logp[i] == -INFINITY);
        assert_true(out[i] ? loss[i] == 0 && slope == 0 : loss[i] == -logp[i]);
        if (!out[i] && frames[i]) assert_true(loss[i] > 0 && slope > 0);
    }
    assert_true(logp[2] == 0); /* nothing said in no frame is certain */
    free(dx);
    assert_false(hd_ctc_fits(labels + 2, 3, 3, CLASSES, 0));
    assert_true(hd_ctc_fits(labels + 2, 3, 4, CLASSES, 0));
}

static void step(hd_run *r, const hd_real *x, const int32_t *len, const int32_t *count, size_t items,
                 size_t rows, const int32_t *label, size_t all, hd_real *loss, hd_real *dx)
{
    hd_run_begin(r, HD_TRAIN);
    hd_tensor *logits = hd_from(r, rows, CLASSES, x);
    logits->wants_grad = true;
    hd_tensor *l = hd_ctc(r, (hd_rows){logits, hd_seg_of(r, len, items, NULL)}, hd_ints(r, label, all),
                          hd_seg_of(r, count, items, NULL), 0, &(hd_loss_opt){.coef = 0.5f});
    assert_true(hd_read(r, l, loss));
    hd_backward(r);
    assert_true(hd_read(r, hd_grad(r, logits, NULL), dx));
}

static void bits_depend_neither_on_threads_nor_on_the_batch(void **state)
{
    (void)state;
    enum { N = 12, T = 60, U = 20 };
    static hd_real x[N * T * CLASSES], dx[2][N * T * CLASSES], loss[2][N];
    int32_t len[N], count[N], label[N * U];
    size_t rows = 0, all = 0;
    for (size_t i = 0; i < N; i++) {
        len[i] = (int32_t)(T - 3 * i), count[i] = (int32_t)(U - i), rows += (size_t)len[i];
        for (int32_t u = 0; u < count[i]; u++) label[all++] = 1 + (int32_t)((i + (size_t)u * 3 / 2) % 4);
    }
    fill_normal(x, COUNT_OF(x), 2, 9);
    for (int threads = 1; threads <= 4; threads++) {
        hd_backend *b = backend_of("cpu", threads);
        hd_run r = run_on(b);
        step(&r, x, len, count, N, rows, label, all, loss[threads > 1], dx[threads > 1]);
        if (threads > 1) assert_memory_equal(dx[0], dx[1], rows * CLASSES * sizeof **dx);
        if (threads > 1) assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
        for (size_t i = 0, row = 0, at = 0; i < N;
             row += (size_t)len[i] * CLASSES, at += (size_t)count[i], i++) {
            step(&r, x + row, len + i, count + i, 1, (size_t)len[i], label + at, (size_t)count[i],
                 loss[1] + i, dx[1] + row);
            assert_memory_equal(dx[0] + row, dx[1] + row, (size_t)len[i] * CLASSES * sizeof **dx);
        }
        assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

static void impossible_arguments_are_told(void **state)
{
    (void)state;
    const int32_t one[] = {4}, two[] = {2, 2};
    hd_rows x = {hd_ones(&run, 4, 3), hd_seg_of(&run, one, 1, NULL)};
    const int32_t *label = hd_ints(&run, two, 2);
    hd_loss_opt o = {.coef = 1};
    assert_null(hd_ctc(&run, x, label, hd_seg_of(&run, two, 2, NULL), 0, &o));
    assert_string_equal(run.err.text, "ctc: labels of 2 items, frames of 1");
    run.err.status = HD_OK;
    assert_null(hd_ctc(&run, x, label, hd_seg_of(&run, one, 1, NULL), 3, &o));
    assert_string_equal(run.err.text, "ctc: blank 3 of 3 columns");
    run.err.status = HD_OK;
    o.weight = hd_ones(&run, 4, 1);
    assert_null(hd_ctc(&run, x, label, hd_seg_of(&run, one, 1, NULL), 0, &o));
    assert_string_equal(run.err.text, "ctc: 4 weights for 1 items");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(uniform_frames_count_their_paths, each),
        cmocka_unit_test_setup(the_loss_is_that_of_all_paths_together, each),
        cmocka_unit_test_setup(losses_and_gradients_are_torchs, each),
        cmocka_unit_test_setup(items_that_are_too_short_are_left_out_and_told, each),
        cmocka_unit_test(bits_depend_neither_on_threads_nor_on_the_batch),
        cmocka_unit_test_setup(impossible_arguments_are_told, each),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
