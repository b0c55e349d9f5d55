/* Learning from rewards: the loss of drawn tokens, advantages, rules and prompts; a bandit as its smallest
 * form.
 */
#include "check.h"
#include "scratch.h"

#include "task/reward/reward.h"

enum { ARMS = 5, DRAWS = 16, STEPS = 200 };

/* The loss of one row of two classes whose logits give probability p to the drawn one. */
static double loss_of(double p, double advantage, double before, double reference, hd_policy_opt o)
{
    double slope;
    return hd_policy_loss(o, log(p), advantage, before, reference, &slope);
}

static void losses_are_those_of_the_papers(void **state)
{
    const hd_policy_opt plain = {0.2f, 0.28f, 0}, kl = {0.2f, 0.2f, 0.5f};
    double slope;
    (void)state;
    /* ratio 1.5: clipped at 1.28 where it is good, not where it is bad */
    assert_true(fabs(loss_of(0.6, 1, log(0.4), 0, plain) + 1.28) < 1e-6);
    assert_true(fabs(loss_of(0.6, -1, log(0.4), 0, plain) - 1.5) < 1e-6);
    /* ratio 0.5: clipped at 0.8 where it is bad */
    assert_true(fabs(loss_of(0.2, 1, log(0.4), 0, plain) + 0.5) < 1e-6);
    assert_true(fabs(loss_of(0.2, -1, log(0.4), 0, plain) - 0.8) < 1e-6);
    hd_policy_loss(plain, log(0.6), 1, log(0.4), 0, &slope);
    assert_true(slope == 0);
    /* as it was drawn: the ratio is 1, and the slope that of A ln p */
    assert_true(loss_of(0.3, 2, NAN, 0, plain) == -2);
    hd_policy_loss(plain, log(0.3), 2, NAN, 0, &slope);
    assert_true(slope == -2);
    /* q = 2: 2 - ln 2 - 1, half of it */
    assert_true(fabs(loss_of(0.25, 0, NAN, log(0.5), kl) - 0.5 * (1 - log(2))) < 1e-7);
    hd_policy_loss(kl, log(0.25), 0, NAN, log(0.5), &slope);
    assert_true(fabs(slope + 0.5) < 1e-7); /* its derivative is 1 - q */
    assert_true(fabs(loss_of(0.25, 0, NAN, log(0.25), kl)) < 1e-12);
}

static int32_t draw(const double *logit, hd_rng *rng)
{
    double sum = 0, at = hd_rng_unit(rng);
    for (int i = 0; i < ARMS; i++) sum += exp(logit[i]);
    for (int i = 0; i < ARMS; i++)
        if ((at -= exp(logit[i]) / sum) < 0) return i;
    return ARMS - 1;
}

static double chance(const double *logit, int arm)
{
    double sum = 0;
    for (int i = 0; i < ARMS; i++) sum += exp(logit[i]);
    return exp(logit[arm]) / sum;
}

/* One arm pays, each of the others now and then. */
static void a_bandit_improves(void **state)
{
    hd_backend *b = backend_of("cpu", 1);
    hd_run run = run_on(b), *r = &run;
    double logit[ARMS] = {0};
    (void)state;
    for (int step = 0; step < STEPS; step++) {
        hd_rng rng = hd_rng_make(7, (uint64_t)step);
        hd_real x[DRAWS * ARMS], policy[DRAWS * HD_POLICY_COLUMNS] = {0};
        int32_t arm[DRAWS];
        double reward[DRAWS], advantage[DRAWS];
        for (int i = 0; i < DRAWS; i++) {
            arm[i] = draw(logit, &rng);
            reward[i] = hd_rng_unit(&rng) < (arm[i] == 3 ? 0.9 : 0.2);
            for (int k = 0; k < ARMS; k++) x[i * ARMS + k] = (hd_real)logit[k];
        }
        if (!hd_advantages(advantage, reward, DRAWS, true)) continue;
        for (int i = 0; i < DRAWS; i++) {
            policy[i * HD_POLICY_COLUMNS + HD_POLICY_ADVANTAGE] = (hd_real)advantage[i];
            policy[i * HD_POLICY_COLUMNS + HD_POLICY_BEFORE] = NAN;
        }
        hd_run_begin(r, HD_INFERENCE);
        hd_tensor *logits = hd_from(r, DRAWS, ARMS, x);
        HD_CALL(r, cross_entropy, .dx = logits, .x = logits, .target = hd_ints(r, arm, DRAWS),
                .policy_rows = hd_from(r, DRAWS, HD_POLICY_COLUMNS, policy), .policy = {0.2f, 0.2f, 0},
                .coef = 1.0f / DRAWS);
        assert_true(hd_read(r, logits, x));
        for (int i = 0; i < DRAWS; i++)
            for (int k = 0; k < ARMS; k++) logit[k] -= 0.3 * (double)x[i * ARMS + k];
    }
    assert_true(chance(logit, 3) > 0.9); /* from 0.2 */
    hd_run_release(r);
    hd_backend_free(b);
}

/* -- advantages -- */

static void advantages_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        enum { N = 16 };
        hd_rng rng = hd_rng_make(seed, 1);
        double reward[N], a[N], mean = 0, squares = 0;
        for (int i = 0; i < N; i++) reward[i] = seed % 2 ? hd_rng_below(&rng, 2) : hd_rng_normal(&rng);
        assert_true(hd_advantages(a, reward, N, true));
        for (int i = 0; i < N; i++) mean += a[i] / N;
        for (int i = 0; i < N; i++) squares += (a[i] - mean) * (a[i] - mean);
        assert_true(fabs(mean) < 1e-12);
        assert_true(fabs(sqrt(squares / (N - 1)) - 1) <
                    1e-3); /* 1e-4 is added to a deviation of 0.2 or more */
        assert_true(hd_advantages(a, reward, N, false));
        assert_true(fabs(a[0] - a[1] - (reward[0] - reward[1])) < 1e-12); /* as they are */
    }
}

static void a_group_of_equals_teaches_nothing(void **state)
{
    double a[3] = {1, 1, 1};
    (void)state;
    assert_false(hd_advantages(a, (double[]){0.1, 0.1, 0.1}, 3, true));
    assert_true(a[0] == 0 && a[1] == 0 && a[2] == 0);
    assert_false(hd_advantages(a, (double[]){1}, 1, true));
}

static void long_texts_lose(void **state)
{
    (void)state;
    assert_true(hd_length_penalty(8, 10, 2) == 0 && hd_length_penalty(9, 10, 2) == -0.5);
    assert_true(hd_length_penalty(10, 10, 2) == -1 && hd_length_penalty(10, 10, 0) == 0);
}

/* -- rules -- */

static hd_sampled sampled(const char *text, const char *answer)
{
    return (hd_sampled){{"p", 1}, {text, strlen(text)}, {answer, strlen(answer)}};
}

static void assert_rewards(const char *first, const char *second, const char *answer, const double *expected,
                           const bool *rights)
{
    const hd_sampled x[] = {sampled("12", "12"), sampled("a 12", "12"), sampled("x=12 ", "12"),
                            sampled("", "12")};
    hd_texts asked = {{first, second}, second ? 2 : 1};
    hd_rewards *r = NULL;
    double reward[4];
    bool right[4];
    hd_err err = {0};
    if (hd_rewards_new(&r, &asked, answer, &err) || hd_rewards_give(r, x, 4, reward, right, &err))
        fail_msg("%s: %s", first, err.text);
    for (int i = 0; i < 4; i++)
        if (!(fabs(reward[i] - expected[i]) < 1e-12) || right[i] != rights[i])
            fail_msg("%s, text %d: %g, %d", first, i, reward[i], right[i]);
    hd_rewards_free(r);
}

static void rules_give_what_they_say(void **state)
{
    (void)state;
    assert_rewards("exact", NULL, NULL, (double[]){1, 0, 1, 0}, (bool[]){1, 0, 1, 0});
    assert_rewards("exact", NULL, "[0-9]+", (double[]){1, 1, 1, 0}, (bool[]){1, 1, 1, 0});
    assert_rewards("regex:[0-9]+", NULL, NULL, (double[]){1, 1, 1, 0}, (bool[]){1, 1, 1, 0});
    assert_rewards("exact", "0.1*format:^[0-9]+$", NULL, (double[]){1.1, 0, 1, 0}, (bool[]){1, 0, 1, 0});
    assert_rewards("-2*format:[a-z]", NULL, NULL, (double[]){0, -2, -2, 0}, (bool[]){0, 1, 1, 0});
    assert_rewards("command:awk '{ print length($0) - 39 }'", NULL, NULL, (double[]){1, 3, 4, -1},
                   (bool[]){1, 1, 1, 0});
    assert_rewards("command:grep -c . | sed 's/4/1\\n2\\n3\\n-1e-1/'", NULL, NULL, (double[]){1, 2, 3, -0.1},
                   (bool[]){1, 1, 1, 0});
}

static void assert_refused(const char *rule, const char *says)
{
    const hd_sampled x[] = {sampled("1", "1"), sampled("2", "1")};
    hd_texts asked = {{rule}, 1};
    hd_rewards *r = NULL;
    double reward[2];
    bool right[2];
    hd_err err = {0};
    hd_status s = hd_rewards_new(&r, &asked, NULL, &err);
    if (!s) s = hd_rewards_give(r, x, 2, reward, right, &err);
    if (!s || !strstr(err.text, says)) fail_msg("%s: %s", rule, err.text);
    hd_rewards_free(r);
}

static void broken_rules_and_commands_are_named(void **state)
{
    (void)state;
    assert_refused("right", "'right' is not exact, regex:REGEX, format:REGEX or command:COMMAND");
    assert_refused("exact:1", "'exact:1' is not exact");
    assert_refused("regex", "'regex' is not exact");
    assert_refused("regex:", "'regex:' is not exact");
    assert_refused("format:(", "'(' is no regular expression");
    assert_refused("1e999*exact", "no finite weight");
    assert_refused("command:exit 3", "'exit 3' ended with status 3");
    assert_refused("command:kill -9 $$", "was ended by signal 9");
    assert_refused("command:true", "prints 0 numbers for 2 texts");
    assert_refused("command:echo 1", "prints 1 numbers for 2 texts");
    assert_refused("command:echo 1; echo 2; echo 3", "prints 3 numbers for 2 texts");
    assert_refused("command:echo 1; echo nan",
                   "line 2 of what 'echo 1; echo nan' prints is no number: 'nan'");
    assert_refused("command:echo; echo 1", "is no number: ''");
    assert_refused("command:yes 1 | head -c 70000000", "prints more than 64 MiB");
}

/* -- prompts -- */

static void prompts_are_read(void **state)
{
    hd_prompts p, tail;
    hd_err err = {0};
    (void)state;
    put_file(at("p"), "1+1=\t2 \na\\nb\\\\\tc\td\n\t\nlast\t1\n");
    if (hd_prompts_read(&p, at("p"), true, &err)) fail_msg("%s", err.text);
    assert_int_equal(p.count, 4);
    assert_string_equal(hd_prompts_text(&p, 0).text, "1+1=");
    assert_string_equal(hd_prompts_answer(&p, 0).text, "2");
    assert_string_equal(hd_prompts_text(&p, 1).text, "a\nb\\");
    assert_string_equal(hd_prompts_answer(&p, 1).text, "c\td");
    assert_string_equal(hd_prompts_text(&p, 2).text, "");
    uint64_t before = p.hash;
    if (hd_prompts_split(&p, 0.7, &tail, &err)) fail_msg("%s", err.text);
    assert_int_equal(p.count, 1);
    assert_int_equal(tail.count, 3);
    assert_string_equal(hd_prompts_text(&tail, 0).text, "a\nb\\"); /* not unescaped once more */
    assert_true(p.hash != before);
    assert_int_equal(hd_prompts_split(&p, 0.5, &tail, &err), HD_EARG);
    hd_prompts_release(&p);
    hd_prompts_release(&tail);
}

static void broken_files_of_prompts_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
        bool answered;
    } cases[] = {{"", "has no prompts", false},
                 {"a\tb\nc\n", "p:2: not PROMPT<tab>ANSWER", true},
                 {"a\xff\tb\n", "UTF-8", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_prompts p = {0};
        hd_err err = {0};
        put_file(at("p"), cases[i].text);
        if (!hd_prompts_read(&p, at("p"), cases[i].answered, &err) || !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
        assert_null(p.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_the_papers),
        cmocka_unit_test(a_bandit_improves),
        cmocka_unit_test(advantages_have_mean_0_and_deviation_1),
        cmocka_unit_test(a_group_of_equals_teaches_nothing),
        cmocka_unit_test(long_texts_lose),
        cmocka_unit_test(rules_give_what_they_say),
        cmocka_unit_test(broken_rules_and_commands_are_named),
        cmocka_unit_test(prompts_are_read),
        cmocka_unit_test(broken_files_of_prompts_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
