/* Checkpoints: the same bits come back, and whatever happens the current one is whole. Easy to get wrong
   here: a failing write is made with a limit on the size of files, since root may write anywhere. */
#include "check.h"
#include "scratch.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "train/checkpoint.h"

enum { ROWS = 3, COLS = 37, VECTOR = 21 };

typedef struct bench {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_optimizer optimizer;
} bench;

static hd_status save(const char *folder, const hd_progress *p, hd_optimizer *o, hd_err *err)
{
    char step[HD_PATH];
    hd_status s = hd_checkpoint_write(folder, p, o, step, err);
    return s ? s : hd_checkpoint_commit(folder, step, err);
}

static const hd_optimizer_opt adam = {.kind = HD_OPT_ADAM, .average = 0.9f},
                              momentum = {.kind = HD_OPT_SGD, .momentum = 0.5f}, plain = {.kind = HD_OPT_SGD};

static void bench_make(bench *b, const hd_optimizer_opt *opt, size_t rows, uint64_t seed)
{
    hd_err err = {0};
    *b = (bench){.backend = backend_of("cpu", 1)};
    b->run = run_on(b->backend);
    hd_params_init(&b->params, b->backend);
    hd_param_add(&b->params, rows, COLS, (hd_init){HD_INIT_NORMAL, 1, 0}, "matrix");
    hd_param_add(&b->params, VECTOR, 0, (hd_init){HD_INIT_NORMAL, 1, 0}, "vector");
    hd_param_add(&b->params, 2, COLS, (hd_init){HD_INIT_NORMAL, 1, 0}, "frozen")->trainable = false;
    if (hd_params_ready(&b->params, true, &err) || hd_params_draw(&b->params, seed, &err) ||
        hd_optimizer_init(&b->optimizer, &b->params, opt, &err))
        fail_msg("%s", err.text);
}

static void bench_free(bench *b)
{
    hd_optimizer_release(&b->optimizer);
    hd_params_release(&b->params);
    hd_run_release(&b->run);
    hd_backend_free(b->backend);
}

/* Some updates with gradients of their own. */
static void bench_train(bench *b, int updates)
{
    for (int i = 0; i < updates; i++) {
        hd_run_begin(&b->run, HD_TRAIN);
        for (size_t k = 0; k < b->params.count; k++) {
            hd_param *p = b->params.list[k];
            if (p->trainable) fill_normal(p->grad.data, hd_count_of(&p->t), 1, (uint64_t)(100 * i) + k);
        }
        assert_int_equal(hd_optimizer_step(&b->run, &b->optimizer, 0.01, 1, NULL, NULL), HD_OK);
    }
}

static void assert_same_numbers(const hd_real *a, const hd_real *b, size_t count)
{
    assert_int_equal(!a, !b);
    if (a) assert_memory_equal(a, b, count * sizeof *a); /* the backend is the CPU: its memory is ours */
}

static void assert_same_state(const bench *a, const bench *b)
{
    const hd_optimizer *x = &a->optimizer, *y = &b->optimizer;
    assert_int_equal(a->params.total, b->params.total);
    assert_same_numbers(a->params.value, b->params.value, a->params.total);
    assert_same_numbers(x->first, y->first, a->params.trainable);
    assert_same_numbers(x->second, y->second, a->params.trainable);
    assert_same_numbers(x->mean, y->mean, a->params.trainable);
    assert_int_equal(hd_optimizer_updates(x), hd_optimizer_updates(y));
}

/* NaN is like NaN. */
static bool same_real(double a, double b)
{
    return isnan(a) ? isnan(b) : !memcmp(&a, &b, sizeof a);
}

static void assert_same_progress(const hd_progress *a, const hd_progress *b)
{
    assert_true(a->step == b->step && a->epoch == b->epoch && a->batch == b->batch && a->tokens == b->tokens);
    assert_true(a->skipped == b->skipped && a->broken == b->broken && a->decay_steps == b->decay_steps);
    assert_true(a->best_step == b->best_step && a->worse == b->worse && a->corpus == b->corpus);
    assert_true(same_real(a->flops, b->flops) && same_real(a->best, b->best));
    assert_true(same_real(a->best_loss, b->best_loss));
}

static void must(hd_status s, const hd_err *err)
{
    if (s) fail_msg("%s", err->text);
}

/* A fresh model folder. Its path is good for one test. */
static const char *model(const char *name)
{
    static char path[4][128];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s", at("%s", name));
    assert_int_equal(mkdir(path[turn], 0777), 0);
    return path[turn];
}

static const hd_progress some = {.step = 7, .epoch = 1, .batch = 2, .best = 12.25, .best_loss = 3};

static void everything_comes_back_with_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const hd_optimizer_opt *opt;
        hd_progress at;
    } cases[] = {
        {"adam", &adam, {UINT64_MAX, 2, 3, 4, 5, 6, 7, 0.1, 1.0 / 3, 2.0 / 3, 8, 9, UINT64_MAX - 1}},
        {"momentum", &momentum, {.step = 0, .best = NAN, .best_loss = NAN, .corpus = 1ull << 63}},
        {"plain", &plain, {.step = 1, .best = -INFINITY, .best_loss = INFINITY, .flops = 1e300}},
        {"small", &adam, {.step = 2, .best = -5e-324, .best_loss = -0.0, .flops = 9007199254740993.0}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bench a, b;
        hd_err err = {0};
        hd_progress back, numbers;
        const char *folder = model(cases[i].name);
        bench_make(&a, cases[i].opt, ROWS, 1);
        bench_make(&b, cases[i].opt, ROWS, 2);
        bench_train(&a, 5);
        assert_false(hd_checkpoint_exists(folder));
        must(save(folder, &cases[i].at, &a.optimizer, &err), &err);
        assert_true(hd_checkpoint_exists(folder));
        memset(&back, 0xA5, sizeof back);
        must(hd_checkpoint_load(folder, &back, &b.optimizer, &err), &err);
        assert_same_progress(&cases[i].at, &back);
        assert_same_state(&a, &b);
        memset(&numbers, 0xA5, sizeof numbers);
        must(hd_checkpoint_load(folder, &numbers, NULL, &err), &err);
        assert_same_progress(&cases[i].at, &numbers);
        bench_train(&a, 3); /* and it goes on alike */
        bench_train(&b, 3);
        assert_same_state(&a, &b);
        bench_free(&a);
        bench_free(&b);
    }
}

/* What is on the disk follows from the state alone. */
static void saving_twice_gives_the_same_files(void **state)
{
    (void)state;
    static const char *const files[] = {"weights.safetensors", "average.safetensors", "moments.safetensors",
                                        "state.json"};
    bench a, b;
    hd_err err = {0};
    hd_progress back;
    bench_make(&a, &adam, ROWS, 1);
    bench_make(&b, &adam, ROWS, 2);
    bench_train(&a, 4);
    must(save(model("once"), &some, &a.optimizer, &err), &err);
    must(hd_checkpoint_load(at("once"), &back, &b.optimizer, &err), &err);
    must(save(model("twice"), &back, &b.optimizer, &err), &err);
    assert_int_equal(entries_in(at("once/train/step-7")), COUNT_OF(files));
    for (size_t i = 0; i < COUNT_OF(files); i++)
        assert_same_file(at("once/train/step-7/%s", files[i]), at("twice/train/step-7/%s", files[i]));
    bench_free(&a);
    bench_free(&b);
}

static void weights_alone_are_averaged_where_there_is_an_average(void **state)
{
    (void)state;
    static const hd_optimizer_opt *const opts[] = {&adam, &plain};
    for (size_t i = 0; i < COUNT_OF(opts); i++) {
        bench a, b;
        hd_err err = {0};
        const char *folder = model(i ? "bare" : "averaged");
        bench_make(&a, opts[i], ROWS, 1);
        bench_make(&b, &plain, ROWS, 2);
        bench_train(&a, 4);
        must(save(folder, &some, &a.optimizer, &err), &err);
        must(hd_checkpoint_weights(folder, &b.params, &err), &err);
        hd_optimizer_swap(&a.optimizer); /* nothing happens without an average */
        assert_same_numbers(a.params.value, b.params.value, a.params.total);
        bench_free(&a);
        bench_free(&b);
    }
}

static void older_ones_go_and_leftovers_are_swept(void **state)
{
    (void)state;
    bench a;
    hd_err err = {0};
    hd_progress p = some;
    const char *folder = model("swept");
    bench_make(&a, &adam, ROWS, 1);
    must(hd_checkpoint_sweep(folder, &err), &err); /* of a folder without train/ */
    for (p.step = 1; p.step <= 3; p.step++) {
        must(save(folder, &p, &a.optimizer, &err), &err);
        assert_int_equal(entries_in(at("swept/train")), 2);
    }
    char *line = get_file(at("swept/train/current"), NULL);
    assert_string_equal(line, "step-3\n");
    free(line);
    assert_int_equal(mkdir(at("swept/train/step-4"), 0777), 0); /* killed while it saved step 4 */
    put_file(at("swept/train/step-4/weights.safetensors.tmp.12.0"), "half");
    put_file(at("swept/train/step-5"), "not even a folder");
    put_file(at("swept/train/current.tmp.12.0"), "step-4\n");
    put_file(at("swept/model.safetensors.tmp.12.0"), "half");
    put_file(at("swept/train/log.jsonl"), "");
    put_file(at("swept/notes.txt"), "");
    must(hd_checkpoint_sweep(folder, &err), &err);
    assert_int_equal(entries_in(at("swept/train")), 3);
    assert_true(is_there(at("swept/train/step-3/state.json")) && is_there(at("swept/train/log.jsonl")));
    assert_int_equal(entries_in(folder), 2);
    must(hd_checkpoint_load(folder, &p, &a.optimizer, &err), &err);
    assert_int_equal(p.step, 3);
    assert_int_equal(unlink(at("swept/train/current")), 0); /* killed before the first one was current */
    must(hd_checkpoint_sweep(folder, &err), &err);
    assert_int_equal(entries_in(at("swept/train")), 1);
    bench_free(&a);
}

static void a_current_that_names_no_checkpoint_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "\n",
        "step-7",
        "step-\n",
        "step-7x\n",
        "../../etc\n",
        "step-7/../x\n",
        "STEP-7\n",
        "step-7\n\n",
        "step--7\n",
        " step-7\n",
        "step-7 \n",
        "step-00000000000000000000000000007\n",
    };
    bench a;
    hd_progress p;
    hd_err err = {0};
    const char *folder = model("named");
    bench_make(&a, &adam, ROWS, 1);
    must(save(folder, &some, &a.optimizer, &err), &err);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err why[3] = {0};
        put_file(at("named/train/current"), cases[i]);
        if (hd_checkpoint_load(folder, &p, &a.optimizer, &why[0]) != HD_EFORMAT) fail_msg("'%s'", cases[i]);
        assert_int_equal(hd_checkpoint_weights(folder, &a.params, &why[1]), HD_EFORMAT);
        assert_int_equal(hd_checkpoint_sweep(folder, &why[2]),
                         HD_EFORMAT); /* or it would sweep the good one */
        for (int k = 0; k < 3; k++) assert_non_null(strstr(why[k].text, "named/train/current: "));
    }
    put_file(at("named/train/current"), "step-8\n");
    assert_int_equal(hd_checkpoint_load(folder, &p, NULL, &err), HD_EFILE);
    assert_non_null(strstr(err.text, "train/step-8/state.json: cannot open: No such file"));
    assert_true(is_there(at("named/train/step-7")));
    bench_free(&a);
}

/* Loads must fail with one text that names the file. */
static void assert_refused(const char *folder, const char *file)
{
    bench b;
    hd_progress p;
    hd_err err = {0};
    bench_make(&b, &adam, ROWS, 2);
    size_t blocks = hd_mem_now().blocks;
    hd_status s = hd_checkpoint_load(folder, &p, &b.optimizer, &err);
    assert_int_equal(hd_mem_now().blocks, blocks);
    if (!s || s != err.status || !strstr(err.text, file)) fail_msg("%s: %d '%s'", file, (int)s, err.text);
    bench_free(&b);
}

static void a_damaged_file_gives_one_clear_error(void **state)
{
    (void)state;
    static const char *const files[] = {"weights.safetensors", "average.safetensors", "moments.safetensors",
                                        "state.json"};
    static const char *const numbers[] = {
        "{}", "[1]", "{\"format\": 2}", "{\"format\": 1}", "\"x\"", "nan", "",
    };
    bench a;
    hd_err err = {0};
    const char *folder = model("damaged");
    bench_make(&a, &adam, ROWS, 1);
    must(save(folder, &some, &a.optimizer, &err), &err);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *path = at("damaged/train/step-7/%s", files[i]);
        size_t size;
        char *good = get_file(path, &size);
        const size_t cuts[] = {0, 7, 40, size / 2, size - 3};
        for (size_t k = 0; k < COUNT_OF(cuts); k++) {
            put_bytes(path, good, cuts[k]);
            assert_refused(folder, files[i]);
        }
        unlink(path);
        assert_refused(folder, files[i]);
        put_bytes(path, good, size);
        free(good);
    }
    const char *path = at("damaged/train/step-7/state.json");
    char *good = get_file(path, NULL), *changed = malloc(strlen(good) + 64);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        put_file(path, numbers[i]);
        assert_refused(folder, "state.json");
    }
    static const char *const swaps[][2] = {{"\"7\"", "\"-7\""},
                                           {"\"7\"", "\"18446744073709551616\""},
                                           {"\"7\"", "\" 7\""},
                                           {"\"7\"", "\"7 \""},
                                           {"\"7\"", "7"},
                                           {"\"7\"", "\"\""},
                                           {"\"updates\": \"0\"", "\"updates\": \"4294967296\""},
                                           {"\"best\": 12.25", "\"best\": \"much\""},
                                           {"\"flops\": 0.0", "\"flops\": null"}};
    for (size_t i = 0; i < COUNT_OF(swaps); i++) {
        const char *place = strstr(good, swaps[i][0]);
        assert_non_null(place);
        sprintf(changed, "%.*s%s%s", (int)(place - good), good, swaps[i][1], place + strlen(swaps[i][0]));
        put_file(path, changed);
        assert_refused(folder, "state.json");
    }
    free(good);
    free(changed);
    bench_free(&a);
}

static void another_model_or_optimizer_is_refused(void **state)
{
    (void)state;
    bench a, other, sgd;
    hd_progress p;
    hd_err err = {0}, shape = {0}, moments = {0};
    const char *folder = model("other");
    bench_make(&a, &plain, ROWS, 1);
    bench_make(&other, &plain, ROWS + 1, 1);
    bench_make(&sgd, &momentum, ROWS, 1);
    must(save(folder, &some, &a.optimizer, &err), &err);
    assert_true(hd_checkpoint_load(folder, &p, &other.optimizer, &shape));
    assert_non_null(strstr(shape.text, "matrix"));
    assert_true(hd_checkpoint_load(folder, &p, &sgd.optimizer, &moments));
    assert_non_null(strstr(moments.text, "moments.safetensors"));
    bench_free(&a);
    bench_free(&other);
    bench_free(&sgd);
}

static void every_failing_allocation_leaves_the_old_checkpoint(void **state)
{
    (void)state;
    bench a, b;
    hd_err err = {0};
    hd_progress p = some;
    const char *folder = model("starved");
    bench_make(&a, &adam, ROWS, 1);
    bench_make(&b, &adam, ROWS, 2);
    bench_train(&a, 2);
    must(save(folder, &p, &a.optimizer, &err), &err);
    size_t blocks = hd_mem_now().blocks, n = 1;
    p.step = 8;
    for (hd_status s = HD_ENOMEM; s; n++) { /* the save */
        hd_err why = {0};
        hd_mem_fail_at(n);
        s = save(folder, &p, &a.optimizer, &why);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, blocks);
        assert_int_equal(s, why.status);
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
        assert_false(is_there(at("starved/train/step-8")));
        hd_progress now;
        must(hd_checkpoint_load(folder, &now, &b.optimizer, &err), &err);
        assert_int_equal(now.step, 7);
        assert_same_state(&a, &b); /* the average was swapped back, too */
    }
    assert_in_range(n, 5, 1000);
    for (n = 1;; n++) { /* the load */
        hd_err why = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_checkpoint_load(folder, &p, &b.optimizer, &why);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, blocks);
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
        assert_int_equal(why.status, HD_ENOMEM);
    }
    assert_in_range(n, 5, 1000);
    assert_same_state(&a, &b);
    bench_free(&a);
    bench_free(&b);
}

/* A disk that takes no more than some bytes of a file. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_leaves_the_old_checkpoint(void **state)
{
    (void)state;
    bench a, b;
    hd_err err = {0};
    hd_progress p = some;
    const char *folder = model("full");
    bench_make(&a, &adam, ROWS, 1);
    bench_make(&b, &adam, ROWS, 2);
    must(save(folder, &p, &a.optimizer, &err), &err);
    signal(SIGXFSZ, SIG_IGN);
    p.step = 8;
    for (rlim_t bytes = 0; bytes < 1300; bytes += 600) {
        hd_err why = {0};
        limit_files(bytes);
        hd_status s = save(folder, &p, &a.optimizer, &why);
        limit_files(RLIM_INFINITY);
        assert_int_equal(s, HD_EFILE);
        assert_non_null(strstr(why.text, "cannot write: File too large"));
        assert_int_equal(entries_in(at("full/train")), 2);
        must(hd_checkpoint_load(folder, &p, &b.optimizer, &err), &err);
        assert_int_equal(p.step, 7);
        p.step = 8;
    }
    assert_same_state(&a, &b);
    must(save(folder, &p, &a.optimizer, &err), &err); /* there is room again */
    bench_free(&a);
    bench_free(&b);
}

static void a_folder_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    bench a;
    hd_err err[3] = {0};
    bench_make(&a, &adam, ROWS, 1);
    put_file(at("file"), "");
    assert_int_equal(save(at("file"), &some, &a.optimizer, &err[0]), HD_EFILE);
    assert_non_null(strstr(err[0].text, "file/train: "));
    assert_int_equal(save(at("absent"), &some, &a.optimizer, &err[1]), HD_EFILE);
    assert_non_null(strstr(err[1].text, "absent/train: cannot make the folder"));
    model("blocked");
    put_file(at("blocked/train"), "");
    assert_int_equal(save(at("blocked"), &some, &a.optimizer, &err[2]), HD_EFILE);
    assert_non_null(strstr(err[2].text, "blocked/train: is a file, not a folder"));
    bench_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back_with_the_same_bits),
        cmocka_unit_test(saving_twice_gives_the_same_files),
        cmocka_unit_test(weights_alone_are_averaged_where_there_is_an_average),
        cmocka_unit_test(older_ones_go_and_leftovers_are_swept),
        cmocka_unit_test(a_current_that_names_no_checkpoint_is_refused),
        cmocka_unit_test(a_damaged_file_gives_one_clear_error),
        cmocka_unit_test(another_model_or_optimizer_is_refused),
        cmocka_unit_test(every_failing_allocation_leaves_the_old_checkpoint),
        cmocka_unit_test(a_full_disk_leaves_the_old_checkpoint),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
