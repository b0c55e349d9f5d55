/* The training loop with a model of eight numbers behind a batch norm, whose running statistics change with
   every step. Easy to get wrong here: what is compared is what a run leaves on the disk, so every run has a
   folder of its own. */
#include "check.h"
#include "scratch.h"

#include "train/published.h"
#include "train/trainer.h"

enum { DIM = 8, ROWS = 6, BATCHES = 5, LAST = 13 };

typedef struct toy {
    hd_backend *backend;
    hd_run run;
    hd_params params;
    hd_param *w, *mean, *variance;
    hd_optimizer optimizer;
    char folder[128];
    uint64_t made;                 /* batches given: the step, as nothing is left out */
    const double *quality;         /* [step]; NULL: better every time */
    const double *loss;            /* [step] of validations; NULL: 1 */
    uint64_t nan_from, nan_to;     /* steps whose loss is not finite */
    uint64_t blind_from, blind_to; /* steps whose validation is not finite */
    uint64_t ruin_at;              /* after the update of this step, the weights are `ruin` */
    hd_real ruin;
    uint64_t fail_at; /* the validation of this step fails, as if a kill came before it */
    uint64_t stop_at; /* step after which the run is told to stop; 0: never */
    size_t parts;
    bool cannot_keep;
    uint64_t publishes, keeps, validations;
    uint64_t told[HD_NEWS_SKIP + 1];
    uint64_t best_told; /* step of the last validation that was called the best */
} toy;

/* ---- what the loop asks for ---- */

static hd_status next(void *context, hd_load *out, hd_err *err)
{
    toy *t = context;
    (void)err;
    t->made++;
    *out = (hd_load){.epoch = t->made / BATCHES,
                     .batch = t->made % BATCHES,
                     .parts = t->parts ? t->parts : 1,
                     .tokens = ROWS,
                     .flops = 10};
    return HD_OK;
}

static hd_status seek(void *context, uint64_t epoch, uint64_t batch, hd_err *err)
{
    (void)err;
    ((toy *)context)->made = epoch * BATCHES + batch;
    return HD_OK;
}

static bool is_nan(const toy *t)
{
    return t->made >= t->nan_from && t->made < t->nan_to;
}

static hd_tensor *loss(hd_run *r, void *context, size_t part)
{
    toy *t = context;
    size_t parts = t->parts ? t->parts : 1, rows = ROWS / parts;
    hd_real x[ROWS * DIM], y[ROWS];
    const int32_t len[] = {(int32_t)rows};
    fill_normal(x, ROWS * DIM, 1, t->made % BATCHES); /* a batch comes again in every epoch */
    for (size_t i = 0; i < ROWS; i++) y[i] = x[i * DIM] - 2 * x[i * DIM + 1];
    if (is_nan(t)) y[0] = (hd_real)NAN;
    hd_tensor *in = hd_from(r, rows, DIM, x + part * rows * DIM);
    hd_batch_norm_opt norm = {
        .eps = 1e-5f, .momentum = 0.1f, .mean = &t->mean->t, .variance = &t->variance->t};
    if (parts == 1) in = hd_batch_norm(r, in, NULL, NULL, NULL, &norm);
    hd_tensor *hidden = hd_dropout(r, in, parts == 1 ? 0.25f : 0, hd_seg_of(r, len, 1, NULL));
    return hd_squared_error(r, hd_linear(r, hidden, &t->w->t, NULL, HD_IDENTITY),
                            hd_from(r, rows, 1, y + part * rows), &(hd_loss_opt){.coef = 1});
}

static hd_status validate(hd_run *r, void *context, hd_validation *out, hd_err *err)
{
    toy *t = context;
    (void)r;
    if (t->fail_at && t->made == t->fail_at) return hd_err_set(err, HD_ELIMIT, "killed");
    t->validations++;
    *out = (hd_validation){.loss = t->loss ? t->loss[t->made] : 1,
                           .quality = t->quality ? t->quality[t->made] : (double)t->made};
    if (t->made >= t->blind_from && t->made < t->blind_to) out->loss = NAN, out->quality = -INFINITY;
    return HD_OK;
}

static hd_status publish(void *context, hd_err *err)
{
    toy *t = context;
    char path[256];
    t->publishes++;
    snprintf(path, sizeof path, "%s/model.safetensors", t->folder);
    return hd_params_save(&t->params, path, &(hd_meta)HD_CHECKSUM_META, 1, err);
}

static hd_status keep(void *context, hd_err *err)
{
    ((toy *)context)->keeps++;
    if (((toy *)context)->cannot_keep) return hd_err_set(err, HD_EFILE, "no room");
    return hd_published_keep(((toy *)context)->folder, err);
}

static hd_status restore(void *context, hd_err *err)
{
    return hd_published_restore(((toy *)context)->folder, err);
}

static bool stop(void *context)
{
    const toy *t = context;
    return t->stop_at && t->made >= t->stop_at;
}

static void tell(void *context, const hd_news *n)
{
    toy *t = context;
    t->told[n->kind]++;
    assert_int_equal(n->at->step, t->made);
    if (n->kind == HD_NEWS_STEP && t->made == t->ruin_at) ((hd_real *)t->w->t.data)[0] = t->ruin;
    if (n->kind == HD_NEWS_VALID && n->best) t->best_told = t->made;
    if (n->kind == HD_NEWS_REPORT) assert_true(n->at->broken || n->loss > 0);
}

/* ---- runs ---- */

static void toy_make(toy *t, const char *name, float average)
{
    hd_err err = {0};
    *t = (toy){.backend = backend_of("cpu", 1)};
    snprintf(t->folder, sizeof t->folder, "%s", at("%s", name));
    mkdir(t->folder, 0777);
    t->run = run_on(t->backend);
    hd_params_init(&t->params, t->backend);
    t->w = hd_param_add(&t->params, 1, DIM, (hd_init){HD_INIT_NORMAL, 1, 0}, "w");
    t->mean = hd_param_moving(&t->params, DIM, (hd_init){HD_INIT_ZERO, 0, 0}, "running_mean");
    t->variance = hd_param_moving(&t->params, DIM, (hd_init){HD_INIT_ONE, 0, 0}, "running_var");
    hd_optimizer_opt o = {.kind = HD_OPT_ADAM, .average = average};
    if (hd_params_ready(&t->params, true, &err) || hd_params_draw(&t->params, 5, &err) ||
        hd_optimizer_init(&t->optimizer, &t->params, &o, &err))
        fail_msg("%s", err.text);
}

static void toy_free(toy *t)
{
    hd_optimizer_release(&t->optimizer);
    hd_params_release(&t->params);
    hd_run_release(&t->run);
    hd_backend_free(t->backend);
}

static hd_trainer_opt usual(toy *t, uint64_t steps)
{
    return (hd_trainer_opt){
        .folder = t->folder,
        .resume = hd_checkpoint_exists(t->folder),
        .seed = 3,
        .schedule = {.kind = HD_SCHEDULE_linear, .peak = 0.1, .warmup = 2, .steps = 2 * LAST},
        .batches = BATCHES,
        .steps = steps,
        .valid_every = 4,
        .save_every = 3,
        .report_every = 2,
        .stop = stop,
        .tell = tell,
        .context = t};
}

static hd_trainee trainee_of(toy *t)
{
    return (hd_trainee){.corpus = 77,
                        .next = next,
                        .seek = seek,
                        .loss = loss,
                        .validate = validate,
                        .publish = publish,
                        .keep = keep,
                        .restore = restore,
                        .context = t};
}

static hd_status toy_run(toy *t, const hd_trainer_opt *opt, hd_progress *p, hd_ending *ending, hd_err *err)
{
    hd_trainee trainee = trainee_of(t);
    return hd_trainer_run(&t->run, &t->optimizer, &trainee, opt, p, ending, err);
}

/* One sitting in the folder, from its checkpoint where it has one. */
static hd_ending sit(const char *name, const double *quality, uint64_t steps, uint64_t stop_at)
{
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, name, 0.5f);
    t.quality = quality, t.stop_at = stop_at;
    hd_trainer_opt o = usual(&t, steps);
    if (toy_run(&t, &o, &p, &ending, &err)) fail_msg("%s", err.text);
    assert_int_equal(t.told[HD_NEWS_STEP] > 0, t.told[HD_NEWS_SAVE] > 0);
    toy_free(&t);
    return ending;
}

static void assert_same_checkpoint(const char *a, const char *b, int step)
{
    static const char *const files[] = {"weights.safetensors", "average.safetensors", "moments.safetensors",
                                        "state.json"};
    for (size_t i = 0; i < COUNT_OF(files); i++)
        assert_same_file(at("%s/train/step-%d/%s", a, step, files[i]),
                         at("%s/train/step-%d/%s", b, step, files[i]));
}

static void assert_same_run(const char *a, const char *b, int step)
{
    assert_same_checkpoint(a, b, step);
    assert_same_file(at("%s/model.safetensors", a), at("%s/model.safetensors", b));
}

/* Validations are due after 4, 8 and 12. Each other one is a temptation: it judges far better, but only a run
   that ends there makes it. In the second the best is an early one, and in the third the last but due. */
static const double tempting[][LAST + 1] = {
    {0, 90, 91, 92, 1, 93, 94, 95, 2, 96, 97, 98, 3, 0.5},
    {0, 90, 91, 92, 9, 93, 94, 95, 2, 96, 97, 98, 3, 0.5},
    {0, 9, 9, 9, 1, 9, 9, 9, 0, 9, 9, 9, 0, 99},
};

static void a_run_in_sittings_ends_with_the_bytes_of_one(void **state)
{
    (void)state;
    for (int q = 0; q < (int)COUNT_OF(tempting); q++) {
        char whole[32];
        snprintf(whole, sizeof whole, "whole-%d", q);
        assert_int_equal(sit(whole, tempting[q], LAST, 0), HD_ENDED_STEPS);
        for (uint64_t first = 1; first < LAST; first++) {
            char name[2][32];
            snprintf(name[0], sizeof *name, "stopped-%d-%d", q, (int)first);
            snprintf(name[1], sizeof *name, "limited-%d-%d", q, (int)first);
            assert_int_equal(sit(name[0], tempting[q], LAST, first), HD_ENDED_STOPPED);
            assert_int_equal(sit(name[1], tempting[q], first, 0), HD_ENDED_STEPS);
            for (int k = 0; k < 2; k++) {
                if (first % 3 == 0) sit(name[k], tempting[q], first + 1, 0); /* a sitting more */
                assert_int_equal(sit(name[k], tempting[q], LAST, 0), HD_ENDED_STEPS);
                assert_same_run(whole, name[k], LAST);
                assert_int_equal(sit(name[k], tempting[q], LAST, 0), HD_ENDED_STEPS); /* nothing to do */
                assert_same_run(whole, name[k], LAST);
            }
        }
    }
}

/* The checkpoint of the last step may be there before its validation, or the validation before the
 * checkpoint. */
static void a_kill_at_the_end_changes_nothing(void **state)
{
    (void)state;
    for (int q = 0; q < (int)COUNT_OF(tempting); q++)
        for (uint64_t save_every = 1; save_every < 4; save_every++)
            for (int again = 0; again < 2; again++) {
                char name[64], whole[32];
                toy t;
                hd_err err = {0};
                hd_progress p;
                hd_ending ending;
                snprintf(whole, sizeof whole, "whole-%d", q);
                snprintf(name, sizeof name, "killed-%d-%d-%d", q, (int)save_every, again);
                toy_make(&t, name, 0.5f);
                t.quality = tempting[q], t.fail_at = LAST;
                hd_trainer_opt o = usual(&t, LAST);
                o.save_every = save_every;
                assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_ELIMIT);
                toy_free(&t);
                sit(name, tempting[q], LAST, 0);
                if (again) sit(name, tempting[q], LAST, 0);
                assert_same_run(whole, name, LAST);
            }
}

/* The model that was published by a validation at an end is what there is until the run goes on. */
static void a_better_model_at_the_end_is_published(void **state)
{
    (void)state;
    sit("better", tempting[0], 6, 0);
    sit("due", tempting[0], 4, 0);
    size_t n, m;
    char *now = get_file(at("better/model.safetensors"), &n),
         *then = get_file(at("due/model.safetensors"), &m);
    assert_int_equal(n, m);
    assert_memory_not_equal(now, then, n);
    assert_same_file(at("better/train/best.safetensors"), at("due/model.safetensors"));
    sit("better", tempting[0], LAST, 7); /* it goes on, and is stopped before a validation is due */
    assert_same_file(at("better/model.safetensors"), at("due/model.safetensors"));
    assert_false(is_there(at("better/train/best.safetensors")));
    free(now);
    free(then);
}

/* The last validation, which is not due, finds a better model, but what it would replace cannot be kept. */
static void a_best_model_that_cannot_be_published_is_a_failure(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "unkept", 0);
    t.cannot_keep = true;
    hd_trainer_opt o = usual(&t, 7);
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_EFILE);
    assert_string_equal(err.text,
                        "no room; everything is saved, but the model of step 7, which is better, is "
                        "not published");
    assert_true(t.best_told == 4 && t.keeps == 1);
    hd_progress saved;
    assert_int_equal(hd_checkpoint_load(t.folder, &saved, NULL, &(hd_err){0}), HD_OK);
    assert_int_equal(saved.step, 7);
    toy_free(&t);
}

static void without_validations_the_newest_is_published_at_every_save(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "newest", 0);
    hd_trainer_opt o = usual(&t, 10);
    hd_trainee trainee = trainee_of(&t);
    trainee.validate = NULL, trainee.keep = NULL, trainee.restore = NULL;
    assert_int_equal(hd_trainer_run(&t.run, &t.optimizer, &trainee, &o, &p, &ending, &err), HD_OK);
    assert_int_equal(t.publishes, 4); /* 3, 6, 9 and the end */
    assert_same_file(at("newest/model.safetensors"), at("newest/train/step-10/weights.safetensors"));
    toy_free(&t);
    toy_make(&t, "before", 0); /* nor before the first validation */
    o = usual(&t, 10);
    o.valid_every = 7;
    t.stop_at = 6;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_int_equal(t.publishes, 2);
    assert_same_file(at("before/model.safetensors"), at("before/train/step-6/weights.safetensors"));
    toy_free(&t);
}

static void of_equal_scores_the_smaller_loss_is_the_better(void **state)
{
    (void)state;
    static const double zeros[21] = {0};
    static const double losses[21] = {[4] = 5, [8] = 4, [12] = 4.5, [16] = 3, [20] = 3};
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "equal", 0);
    t.quality = zeros, t.loss = losses;
    hd_trainer_opt o = usual(&t, 20);
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_true(t.best_told == 16 && p.best_step == 16 && p.worse == 1 && p.best_loss == 3);
    toy_free(&t);
}

static void patience_counts_over_sittings(void **state)
{
    (void)state;
    static const double falling[41] = {[4] = 9, [8] = 8, [12] = 7, [16] = 6, [20] = 5};
    uint64_t validations = 0;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending = HD_ENDED_STOPPED;
    for (uint64_t stop_at = 10; ending == HD_ENDED_STOPPED; stop_at++) { /* one update a sitting */
        assert_in_range(stop_at, 10, 40);
        toy_make(&t, "patience", 0);
        t.quality = falling, t.stop_at = stop_at;
        hd_trainer_opt o = usual(&t, 100);
        o.patience = 3;
        if (toy_run(&t, &o, &p, &ending, &err)) fail_msg("%s", err.text);
        validations += t.validations;
        toy_free(&t);
    }
    assert_int_equal(ending, HD_ENDED_PATIENCE);
    assert_true(p.step == 16 && p.worse == 3 && p.best_step == 4 && p.best == 9);
    assert_int_equal(validations, 4);
}

static void each_limit_ends_a_run_and_says_so(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "limits", 0);
    hd_trainer_opt o = usual(&t, 0);
    o.epochs = 2;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_true(ending == HD_ENDED_EPOCHS && p.epoch == 2 && p.batch == 0 && p.step == 2 * BATCHES);
    o = usual(&t, 0);
    o.minutes = 1e-12; /* shorter than an update: over before the first */
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_true(ending == HD_ENDED_MINUTES && p.step == 2 * BATCHES);
    o.minutes = 0.002;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_true(ending == HD_ENDED_MINUTES && p.step > 2 * BATCHES);
    toy_free(&t);
}

static void parts_of_an_update_add_up(void **state)
{
    (void)state;
    hd_real w[4][DIM];
    for (size_t i = 0; i < 4; i++) {
        static const size_t parts[] = {2, 3, 6, 2};
        toy t;
        hd_err err = {0};
        hd_progress p;
        hd_ending ending;
        toy_make(&t, i == 0 ? "parts-2" : i == 1 ? "parts-3" : i == 2 ? "parts-6" : "parts-2b", 0);
        t.parts = parts[i];
        hd_trainer_opt o = usual(&t, 5);
        assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
        assert_int_equal(p.tokens, 5 * ROWS);
        assert_true(p.flops == 5 * 3 * 10.0);
        hd_params_get(&t.params, t.w, &t.w->t, w[i]);
        for (int k = 0; k < DIM; k++) assert_float_equal(w[i][k], w[0][k], 1e-6); /* sums in another order */
        toy_free(&t);
    }
    assert_memory_equal(w[0], w[3], sizeof *w);
}

/* ---- numbers that are none ---- */

static void an_update_that_is_not_finite_is_left_out_and_counted(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "skip", 0);
    t.nan_from = 5, t.nan_to = 9; /* four in a row */
    hd_trainer_opt o = usual(&t, LAST);
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_true(p.step == LAST && p.skipped == 4 && p.broken == 0 && t.told[HD_NEWS_SKIP] == 4);
    assert_int_equal(hd_optimizer_updates(&t.optimizer), LAST - 4);
    for (int i = 0; i < DIM; i++) assert_true(isfinite(((hd_real *)t.w->t.data)[i]));
    toy_free(&t);
}

/* The checkpoint of step 3 is good; none of the broken updates may replace it, and a resumed run meets them
   again. */
static void a_broken_run_ends_and_its_last_good_checkpoint_stays(void **state)
{
    (void)state;
    for (int sitting = 0; sitting < 3; sitting++) {
        toy t;
        hd_err err = {0};
        hd_progress p;
        hd_ending ending;
        toy_make(&t, "broken", 0);
        t.nan_from = 5, t.nan_to = 1000;
        hd_trainer_opt o = usual(&t, LAST);
        if (sitting == 1) t.stop_at = 7; /* a stop among them is no failure */
        hd_status s = toy_run(&t, &o, &p, &ending, &err);
        assert_int_equal(s, sitting == 1 ? HD_OK : HD_ENUMBER);
        assert_int_equal(t.publishes, 1 + !sitting); /* the newest at step 3, then validation 4 */
        if (s)
            assert_string_equal(
                err.text,
                "step 9: the last 5 updates were not finite, the run is stopped; the last good "
                "checkpoint is that of step 3. Begin anew with a lower --lr, a longer --warmup or a "
                "smaller --clip");
        toy_free(&t);
        hd_progress saved;
        hd_err none = {0};
        assert_int_equal(hd_checkpoint_load(at("broken"), &saved, NULL, &none), HD_OK);
        assert_true(saved.step == 3 && saved.broken == 0);
        assert_int_equal(entries_in(at("broken/train")), 2);
    }
}

static void a_validation_without_numbers_ends_the_run(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "judged", 0);
    t.blind_from = 8, t.blind_to = 9;
    hd_trainer_opt o = usual(&t, 10);
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_ENUMBER);
    assert_string_equal(err.text,
                        "step 8: what the model gives in the validation is not finite, the run is stopped; "
                        "the last good checkpoint is that of step 6. Begin anew with a lower --lr, a longer "
                        "--warmup or a smaller --clip");
    assert_int_equal(t.best_told, 4);
    toy_free(&t);
}

/* Weights that an update has ruined are not saved and not published, though the update itself was finite:
   neither those that are no numbers nor those so large that nothing finite comes of them, in the middle of a
   run, at its end and at a stop. */
static void ruined_weights_replace_no_good_ones(void **state)
{
    (void)state;
    static const struct {
        hd_real ruin;
        uint64_t at, steps, stop, saved, published;
        const char *says;
    } cases[] = {
        {(hd_real)INFINITY, 6, LAST, 0, 3, 4, "step 11: the last 5 updates were not finite"},
        {(hd_real)NAN, 6, LAST, 0, 3, 4, "step 11: the last 5 updates were not finite"},
        {(hd_real)NAN, 8, LAST, 0, 6, 4, "step 13: the last 5 updates were not finite"},
        {(hd_real)NAN, 7, 7, 0, 6, 4, "step 7: what the weights of this update give is not finite"},
        {(hd_real)1e30, 7, 7, 0, 6, 4, "step 7: what the weights of this update give is not finite"},
        {(hd_real)NAN, 7, LAST, 7, 6, 4, "step 7: what the weights of this update give is not finite"},
        {(hd_real)NAN, 1, 1, 0, 0, 0, "no checkpoint was saved"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        toy t, sound;
        hd_err err = {0}, none = {0};
        hd_progress p;
        hd_ending ending;
        char name[2][32];
        snprintf(name[0], sizeof name[0], "ruined-%zu", i);
        snprintf(name[1], sizeof name[1], "sound-%zu", i);
        toy_make(&t, name[0], 0.5f);
        t.ruin = cases[i].ruin, t.ruin_at = cases[i].at, t.stop_at = cases[i].stop;
        hd_trainer_opt o = usual(&t, cases[i].steps);
        assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_ENUMBER);
        if (!strstr(err.text, cases[i].says)) fail_msg("%zu: %s", i, err.text);
        assert_int_equal(t.best_told, cases[i].published);
        toy_free(&t);
        if (!cases[i].saved) {
            assert_false(hd_checkpoint_exists(at("%s", name[0])) ||
                         is_there(at("%s/model.safetensors", name[0])));
            continue;
        }
        const uint64_t stops[] = {cases[i].saved, cases[i].saved < 4 ? 4 : cases[i].saved};
        for (int k = 0; k < 2; k++) { /* one run in two sittings */
            toy_make(&sound, name[1], 0.5f);
            sound.stop_at = stops[k];
            o = usual(&sound, LAST);
            assert_int_equal(toy_run(&sound, &o, &p, &ending, &none), HD_OK);
            toy_free(&sound);
            if (!k) assert_same_checkpoint(name[0], name[1], (int)cases[i].saved);
        }
        assert_same_file(at("%s/model.safetensors", name[0]), at("%s/model.safetensors", name[1]));
        assert_int_equal(entries_in(at("%s/train", name[0])), 2); /* current and the one */
    }
}

static void a_run_that_ends_broken_fails(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "last", 0);
    t.nan_from = 2, t.nan_to = 1000;
    hd_trainer_opt o = usual(&t, 3);
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_ENUMBER);
    assert_non_null(strstr(err.text, "step 3: the last 2 updates were not finite"));
    assert_non_null(strstr(err.text, "no checkpoint was saved"));
    assert_false(hd_checkpoint_exists(t.folder));
    assert_int_equal(t.validations, 0);
    toy_free(&t);
}

/* ---- what is refused ---- */

static void other_data_is_refused_and_nothing_is_changed(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    sit("data", NULL, 5, 0);
    toy_make(&t, "data", 0.5f);
    hd_trainee trainee = trainee_of(&t);
    trainee.corpus = 78;
    hd_trainer_opt o = usual(&t, LAST);
    assert_int_equal(hd_trainer_run(&t.run, &t.optimizer, &trainee, &o, &p, &ending, &err), HD_EARG);
    assert_non_null(strstr(err.text, "data has changed since the run began"));
    assert_true(is_there(at("data/train/step-5")));
    assert_int_equal(t.publishes, 0);
    toy_free(&t);
}

static void a_rate_that_falls_needs_an_end(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "endless", 0);
    hd_trainer_opt o = usual(&t, 0);
    o.schedule.steps = 0, o.minutes = 1;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_EARG);
    assert_non_null(strstr(err.text, "give --epochs, --steps or --decay-steps"));
    toy_free(&t);
}

/* The rate of a resumed run falls as it did when the run began, whatever the limits are now. */
static void the_schedule_is_as_long_as_it_was(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    toy_make(&t, "long", 0);
    hd_trainer_opt o = usual(&t, 6);
    o.schedule.steps = 0, o.epochs = 7;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_int_equal(p.decay_steps, 6);
    o = usual(&t, 8);
    o.schedule.steps = 0;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    assert_int_equal(p.decay_steps, 6);
    toy_free(&t);
}

static double told_rate[32]; /* of step 1, 2, ... */

static void note_rate(void *context, const hd_news *n)
{
    (void)context;
    if (n->kind == HD_NEWS_STEP && n->at->step < COUNT_OF(told_rate)) told_rate[n->at->step] = n->rate;
}

/* A run of 8 updates with a warm-up of 10, which its recipe asked for or its user did; in two sittings. */
static void a_warmup_that_nobody_asked_for_fits_the_run(void **state)
{
    (void)state;
    static const struct {
        hd_schedule_kind kind;
        bool fit;
        double third, last; /* shares of the peak */
    } cases[] = {{HD_SCHEDULE_linear, true, 6 / 7., 1 / 7.},
                 {HD_SCHEDULE_linear, false, 0.3, 0.8},
                 {HD_SCHEDULE_inverse_sqrt, true, 0.3, 0.8}}; /* it knows no end: a sitting of a long run */
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        toy t;
        hd_err err = {0};
        hd_progress p;
        hd_ending ending;
        char name[16];
        snprintf(name, sizeof name, "warm-%zu", i);
        toy_make(&t, name, 0);
        for (int sitting = 0; sitting < 2; sitting++) {
            hd_trainer_opt o = usual(&t, sitting ? 9 : 8); /* the length is that of the first sitting */
            o.schedule = (hd_schedule){cases[i].kind, 0.1, 10, 0, 0};
            o.fit_warmup = cases[i].fit;
            o.tell = note_rate;
            t.stop_at = sitting ? 0 : 2;
            assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
        }
        assert_int_equal(p.step, 9);
        assert_true(fabs(told_rate[3] - 0.1 * cases[i].third) < 1e-15); /* a unit or two of 1e-17 */
        assert_true(fabs(told_rate[8] - 0.1 * cases[i].last) < 1e-15);
        toy_free(&t);
    }
}

/* The first updates of a warm-up, as they are told and as they are made: Adam's first moves every weight by
 * the rate. */
static void the_first_rates_are_those_of_the_schedule(void **state)
{
    (void)state;
    toy t;
    hd_err err = {0};
    hd_progress p;
    hd_ending ending;
    hd_real before[DIM], after[DIM];
    toy_make(&t, "first", 0);
    hd_params_get(&t.params, t.w, &t.w->t, before);
    hd_trainer_opt o = usual(&t, 1);
    o.schedule = (hd_schedule){HD_SCHEDULE_linear, 0.1, 4, 2 * LAST, 0};
    o.tell = note_rate;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    hd_params_get(&t.params, t.w, &t.w->t, after);
    for (size_t i = 0; i < DIM; i++) /* eps beside a gradient of about 1 */
        assert_true(fabs(fabs((double)after[i] - (double)before[i]) - 0.025) < 1e-6);
    o = usual(&t, 6);
    o.schedule = (hd_schedule){HD_SCHEDULE_linear, 0.1, 4, 2 * LAST, 0};
    o.tell = note_rate;
    assert_int_equal(toy_run(&t, &o, &p, &ending, &err), HD_OK);
    for (uint64_t i = 1; i <= 4; i++) assert_true(fabs(told_rate[i] - 0.025 * (double)i) < 1e-15);
    for (uint64_t i = 5; i <= 6; i++) assert_true(told_rate[i] == hd_schedule_rate(&o.schedule, i));
    toy_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_in_sittings_ends_with_the_bytes_of_one),
        cmocka_unit_test(a_kill_at_the_end_changes_nothing),
        cmocka_unit_test(a_better_model_at_the_end_is_published),
        cmocka_unit_test(a_best_model_that_cannot_be_published_is_a_failure),
        cmocka_unit_test(without_validations_the_newest_is_published_at_every_save),
        cmocka_unit_test(of_equal_scores_the_smaller_loss_is_the_better),
        cmocka_unit_test(patience_counts_over_sittings),
        cmocka_unit_test(each_limit_ends_a_run_and_says_so),
        cmocka_unit_test(parts_of_an_update_add_up),
        cmocka_unit_test(an_update_that_is_not_finite_is_left_out_and_counted),
        cmocka_unit_test(a_broken_run_ends_and_its_last_good_checkpoint_stays),
        cmocka_unit_test(a_validation_without_numbers_ends_the_run),
        cmocka_unit_test(ruined_weights_replace_no_good_ones),
        cmocka_unit_test(a_run_that_ends_broken_fails),
        cmocka_unit_test(other_data_is_refused_and_nothing_is_changed),
        cmocka_unit_test(a_rate_that_falls_needs_an_end),
        cmocka_unit_test(the_schedule_is_as_long_as_it_was),
        cmocka_unit_test(a_warmup_that_nobody_asked_for_fits_the_run),
        cmocka_unit_test(the_first_rates_are_those_of_the_schedule),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
