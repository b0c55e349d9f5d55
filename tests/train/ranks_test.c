/* The training loop in three processes: the same numbers in all of them, and a failure of one, wherever it
   comes, ends all with one text. The program starts itself through mpirun, with the name of a case: each
   process then prints one line of how it ended. */
#include "check.h"
#include "processes.h"
#include "scratch.h"

#include "backend/ranks.h"
#include "train/trainer.h"

enum { DIM = 8, ROWS = 7, RANKS = 3, LAST = 9 };

/* ---- in each process ---- */

typedef struct toy {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_param *w, *mean, *variance; /* the last two: running statistics, by which nothing is computed */
    hd_optimizer optimizer;
    const char *folder, *ill; /* what goes wrong, and where: the name of the case */
    uint64_t made;
    double loss; /* of the last report */
} toy;

static bool is_ill(const toy *t, const char *what, int rank, uint64_t step)
{
    return !strcmp(t->ill, what) && hd_rank() == rank && t->made == step;
}

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    toy *t = context;
    t->made++;
    if (is_ill(t, "next", 1, 3)) return hd_err_set(err, HD_EFILE, "no batch");
    *out = (hd_load){.epoch = 0, .batch = t->made, .parts = 1, .tokens = ROWS, .flops = 10};
    return HD_OK;
}

static hd_status seek(void *context, uint64_t epoch, uint64_t batch, hd_err *err)
{
    (void)epoch, (void)err;
    ((toy *)context)->made = batch;
    return HD_OK;
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    toy *t = context;
    hd_real x[ROWS * DIM], y[ROWS], mine[ROWS * DIM], goal[ROWS];
    size_t rows = 0;
    (void)part;
    if (is_ill(t, "loss", 2, 4)) return hd_fail(r, HD_ENOMEM, "no memory");
    fill_normal(x, ROWS * DIM, 1, t->made);
    for (size_t i = 0; i < ROWS; i++) y[i] = x[i * DIM] - 2 * x[i * DIM + 1];
    for (size_t i = (size_t)hd_rank(); i < ROWS; i += (size_t)hd_ranks(), rows++) {
        memcpy(mine + rows * DIM, x + i * DIM, DIM * sizeof *x);
        goal[rows] = y[i];
    }
    if (is_ill(t, "nan", 1, 5)) goal[0] = (hd_real)NAN;
    hd_tensor *in = hd_from(r, rows, DIM, mine), *z = hd_linear(r, in, &t->w->t, NULL, HD_IDENTITY);
    hd_batch_norm(
        r, in, NULL, NULL, NULL,
        &(hd_batch_norm_opt){.eps = 1, .momentum = 0.1f, .mean = &t->mean->t, .variance = &t->variance->t});
    return hd_squared_error(r, z, hd_from(r, rows, 1, goal), &(hd_loss_opt){.coef = 1});
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    toy *t = context;
    (void)r;
    if (is_ill(t, "valid", 0, 6)) return hd_err_set(err, HD_ELIMIT, "no score");
    if (is_ill(t, "part", 2, 6)) return hd_err_set(err, HD_ELIMIT, "no part");
    double part[20]; /* more than one exchange has */
    for (int i = 0; i < 20; i++) part[i] = i + hd_rank();
    hd_status s = hd_ranks_agree(HD_OK, part, 20, err);
    if (s) return s;
    for (int i = 0, n = hd_ranks(); i < 20; i++)
        if (fabs(part[i] - (i * n + n * (n - 1) / 2)) > 0) return hd_err_set(err, HD_EARG, "number %d", i);
    bool flat = !strcmp(t->ill, "patience");
    *out = (hd_validation){.loss = 1, .quality = flat ? 1 : (double)t->made};
    return HD_OK;
}

static hd_status publish(void *context, hd_err *err)
{
    toy *t = context;
    if (hd_rank()) return hd_err_set(err, HD_EARG, "published by another than the first");
    return is_ill(t, "publish", 0, 4) ? hd_err_set(err, HD_EFILE, "no room") : HD_OK;
}

static hd_status nothing(void *context, hd_err *err)
{
    (void)context;
    return hd_rank() ? hd_err_set(err, HD_EARG, "kept by another than the first") : HD_OK;
}

static bool stop(void *context)
{
    return is_ill(context, "stop", 1, 6);
}

static void tell(void *context, const hd_news *n)
{
    if (n->kind == HD_NEWS_REPORT) ((toy *)context)->loss = n->loss;
}

static hd_status make(toy *t, hd_err *err)
{
    hd_optimizer_opt o = {.kind = HD_OPT_ADAM, .average = 0.5f};
    t->backend = backend_of("cpu", 1);
    t->run = run_on(t->backend);
    hd_params_init(&t->params, t->backend);
    t->w = hd_param_add(&t->params, 1, DIM, (hd_init){HD_INIT_NORMAL, 1, 0}, "w");
    t->mean = hd_param_moving(&t->params, DIM, (hd_init){HD_INIT_ZERO, 0, 0}, "running_mean");
    t->variance = hd_param_moving(&t->params, DIM, (hd_init){HD_INIT_ONE, 0, 0}, "running_var");
    hd_status s = hd_params_ready(&t->params, true, err);
    if (!s) s = hd_params_draw(&t->params, 5, err);
    if (!s) s = hd_optimizer_init(&t->optimizer, &t->params, &o, err);
    return s;
}

static hd_status run(toy *t, hd_progress *p, hd_ending *ending, hd_err *err)
{
    hd_trainee trainee = {.corpus = 77,
                          .next = next,
                          .seek = seek,
                          .loss = loss,
                          .validate = validate,
                          .publish = publish,
                          .keep = nothing,
                          .restore = nothing,
                          .context = t};
    hd_trainer_opt o = {.folder = t->folder,
                        .resume = hd_checkpoint_exists(t->folder),
                        .seed = 3,
                        .schedule = {.kind = HD_SCHEDULE_constant, .peak = 0.1},
                        .steps = LAST,
                        .valid_every = 2,
                        .save_every = 3,
                        .report_every = LAST,
                        .patience = !strcmp(t->ill, "patience") ? 2 : 0,
                        .stop = stop,
                        .tell = tell,
                        .context = t};
    if (is_ill(t, "before", 2, 0)) return hd_err_set(err, HD_EMISSING, "no device");
    return hd_trainer_run(&t->run, &t->optimizer, &trainee, &o, p, ending, err);
}

static int be_process(const char *ill, const char *folder)
{
    toy t = {.folder = folder, .ill = ill};
    hd_err err = {0};
    hd_progress p = {0};
    hd_ending ending = HD_ENDED_STEPS;
    double check = 0, statistics = 0;
    hd_status s = hd_ranks_begin(&err);
    if (!s) s = make(&t, &err);
    if (!s) s = run(&t, &p, &ending, &err);
    s = hd_ranks_agree(s, NULL, 0, &err);
    for (size_t i = 0; i < DIM; i++) check += (double)(i + 1) * (double)((hd_real *)t.w->t.data)[i];
    for (size_t i = 0; i < DIM; i++)
        statistics += (double)(i + 1) * (double)((hd_real *)t.mean->t.data)[i] *
                      (double)((hd_real *)t.variance->t.data)[i];
    if (s)
        printf("%d failed: %s\n", hd_rank(), err.text);
    else
        printf("ended %d at %d, skipped %d, statistics %.17g, weights %.17g\n", ending, (int)p.step,
               (int)p.skipped, statistics, check);
    if (!s && !hd_rank() && t.loss > 0) printf("loss %.9g\n", t.loss);
    hd_optimizer_release(&t.optimizer);
    hd_params_release(&t.params);
    hd_run_release(&t.run);
    hd_backend_free(t.backend);
    hd_ranks_end();
    return 0;
}

/* ---- in the one that looks on ---- */

static char program[512];

/* What the processes print. */
static const char *printed(int ranks, const char *ill, const char *folder)
{
    static char out[8192];
    char command[1024];
    mkdir(at("%s", folder), 0777);
    snprintf(command, sizeof command, "timeout 60 mpirun -n %d %s %s %s 2>&1", ranks, program, ill,
             at("%s", folder));
    FILE *from = popen(command, "r");
    assert_non_null(from);
    size_t size = fread(out, 1, sizeof out - 1, from);
    out[size] = 0;
    if (pclose(from)) fail_msg("%s: %s", command, out);
    return out;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text++) n++;
    return n;
}

static double number_behind(const char *text, const char *word)
{
    const char *found = strstr(text, word);
    if (!found) fail_msg("no '%s' in %s", word, text);
    return strtod(found + strlen(word), NULL);
}

static void processes_make_the_model_of_one(void **state)
{
    (void)state;
    char alone[8192];
    snprintf(alone, sizeof alone, "%s", printed(1, "well", "alone"));
    const char *all = printed(RANKS, "well", "all");
    char line[128];
    snprintf(line, sizeof line, "weights %.17g\n", number_behind(all, "weights "));
    assert_int_equal(count(all, line), RANKS); /* to the bit */
    snprintf(line, sizeof line, "statistics %.17g,", number_behind(all, "statistics "));
    assert_int_equal(count(all, line), RANKS); /* each saw other rows, all keep the mean */
    assert_int_equal(count(all, "ended 0 at 9"), RANKS);
    assert_int_equal(count(all, "loss"), 1);
    /* sums in another order, nine updates long */
    assert_true(fabs(number_behind(all, "weights ") - number_behind(alone, "weights ")) < 1e-4);
    assert_true(fabs(number_behind(all, "loss ") / number_behind(alone, "loss ") - 1) < 1e-5);
}

static void what_one_decides_all_do(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"stop", "ended 4 at 6, skipped 0"},
                                           {"patience", "ended 3 at 6, skipped 0"},
                                           {"nan", "ended 0 at 9, skipped 1"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *out = printed(RANKS, cases[i][0], cases[i][0]);
        if (count(out, cases[i][1]) != RANKS) fail_msg("%s: %s", cases[i][0], out);
    }
    printed(RANKS, "well", "stop");
    assert_same_file(at("stop/train/step-9/weights.safetensors"), at("all/train/step-9/weights.safetensors"));
    assert_same_file(at("stop/train/step-9/moments.safetensors"), at("all/train/step-9/moments.safetensors"));
}

static void a_failure_of_one_ends_all(void **state)
{
    (void)state;
    static const struct {
        const char *ill, *text;
        int rank;
    } cases[] = {{"before", "no device", 2}, {"next", "no batch", 1}, {"loss", "step 4: no memory", 2},
                 {"valid", "no score", 0},   {"part", "no part", 2},  {"publish", "no room", 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *out = printed(RANKS, cases[i].ill, cases[i].ill);
        for (int rank = 0; rank < RANKS; rank++) {
            char line[128], from[32] = "";
            if (cases[i].rank && rank != cases[i].rank)
                snprintf(from, sizeof from, "process %d: ", cases[i].rank);
            snprintf(line, sizeof line, "%d failed: %s%s\n", rank, from, cases[i].text);
            if (!strstr(out, line)) fail_msg("%s: not '%s' but %s", cases[i].ill, line, out);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc == 3) return be_process(argv[1], argv[2]);
    if (!processes_prepare()) return 77;
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size <= 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_make_the_model_of_one),
        cmocka_unit_test(what_one_decides_all_do),
        cmocka_unit_test(a_failure_of_one_ends_all),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
