/* Seats over language models of every kind: texts that join a running batch at any step, part and leave get
   the scores that they get alone, bit for bit. */
#include "decode/seats.h"

#include "model/lm_toy.h"
#include "recorder.h"

enum { TEXTS = 6, BRANCHES = 2, LIFE = 40, PART = 3, LEAVE = 9, LONGEST = 20 };

typedef struct seat {
    int text, branch, at; /* at: tokens it has got */
} seat;

typedef struct script {
    hd_seats seats;
    const int *which; /* texts in the order of the items */
    unsigned every;   /* one joins every so many turns; 0: all at once */
    unsigned turn;
    seat live[TEXTS * BRANCHES];
    hd_real (*got)[BRANCHES][LIFE][LM_VOCAB]; /* [TEXTS] */
} script;

static int32_t prompt_of(int text, int32_t *ids)
{
    int32_t len = 1 + text * 7 % LONGEST;
    lm_text(ids, (size_t)len, (uint64_t)text);
    ids[0] = LM_START;
    return len;
}

static int32_t token_of(seat s)
{
    return LM_END + (s.text * 5 + s.branch * 3 + s.at * s.at) % (LM_VOCAB - LM_END);
}

static size_t admit(void *context, size_t left)
{
    script *s = context;
    if (!s->every) return left;
    return s->turn++ % s->every ? 0 : 1;
}

static hd_status take(void *context, hd_tensor *scores, size_t first, size_t count, bool arrived, hd_err *err)
{
    script *s = context;
    hd_status st = HD_OK;
    seat now[TEXTS * BRANCHES];
    for (size_t i = 0; i < count; i++)
        now[i] = arrived ? (seat){.text = s->which[s->seats.joined - count + i]} : s->live[i];
    hd_real *row = host_copy(s->seats.r, scores);
    for (size_t i = 0; i < count && !st; i++) {
        seat x = now[i];
        memcpy(s->got[x.text][x.branch][x.at++], row + i * LM_VOCAB, LM_VOCAB * sizeof *row);
        int end = x.branch ? LEAVE : LIFE - 3 * x.text;
        if (x.at == end) continue;
        s->live[s->seats.count] = x;
        st = hd_seats_go(&s->seats, first + i, token_of(x), err);
        if (st || x.at != PART) continue;
        x.branch = 1;
        s->live[s->seats.count] = x;
        st = hd_seats_go(&s->seats, first + i, token_of(x), err);
    }
    free(row);
    return st;
}

static void run_texts(lm_toy *t, const int *which, size_t n, unsigned every,
                      hd_real (*got)[BRANCHES][LIFE][LM_VOCAB])
{
    hd_err err = {0};
    hd_stepper st = {0};
    int32_t ids[TEXTS * LONGEST], len[TEXTS];
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) len[i] = prompt_of(which[i], ids + rows), rows += (size_t)len[i];
    if (t->m->type->stepper(&st, t->m, ids, len, n, 0, &err)) fail_msg("%s", err.text);
    script s = {.seats = {.r = &t->run, .stepper = &st}, .which = which, .every = every, .got = got};
    if (hd_seats_run(&s.seats, &(hd_seats_user){.admit = admit, .take = take, .context = &s}, &err))
        fail_msg("%s", err.text);
    hd_stepper_release(&st);
}

static void texts_that_join_a_running_batch_are_scored_as_alone(void **state)
{
    (void)state;
    static const int order[] = {3, 0, 5, 1, 4, 2};
    static hd_real alone[TEXTS][BRANCHES][LIFE][LM_VOCAB], got[TEXTS][BRANCHES][LIFE][LM_VOCAB];
    static const size_t contexts[] = {16, 3, 1};
    for (hd_lm_kind kind = 0; kind < HD_LM_KINDS; kind++)
        for (int how = 0; how < (kind == HD_LM_gpt ? 6 : 2); how++) {
            bool captured = how % 2;
            hd_backend *b = backend_of("cpu", 2);
            lm_toy t;
            hd_lm_opt o = lm_opt(kind);
            o.context = contexts[how / 2]; /* a gpt has to read again what it saw */
            if (captured) recorder_attach(b);
            lm_open_on(&t, &o, b, false);
            memset(alone, 0, sizeof alone);
            for (int i = 0; i < TEXTS; i++) run_texts(&t, &i, 1, 0, alone);
            for (unsigned every = 0; every < 9; every++) {
                memset(got, 0, sizeof got);
                run_texts(&t, order, TEXTS, every, got);
                for (int i = 0; i < TEXTS; i++)
                    if (memcmp(got[i], alone[i], sizeof got[i]))
                        fail_msg("%s: text %d has other scores when one joins every %u turns",
                                 hd_lm_names[kind], i, every);
            }
            lm_close(&t);
        }
}

static size_t too_late(void *context, size_t left)
{
    (void)context;
    return left + 5;
}

static hd_status refuse(void *context, hd_tensor *scores, size_t first, size_t count, bool arrived,
                        hd_err *err)
{
    (void)context, (void)scores, (void)first, (void)count, (void)arrived;
    return hd_err_set(err, HD_EFORMAT, "enough");
}

/* What a user says ends the loop; more items than there are do not join. */
static void a_users_failure_ends_the_loop(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_stepper st = {0};
    lm_toy t;
    hd_lm_opt o = lm_opt(HD_LM_gru);
    lm_open(&t, &o, 1, false);
    assert_int_equal(t.m->type->stepper(&st, t.m, (int32_t[]){LM_START}, (int32_t[]){1}, 1, 0, &err), HD_OK);
    hd_seats s = {.r = &t.run, .stepper = &st};
    assert_int_equal(hd_seats_run(&s, &(hd_seats_user){.admit = too_late, .take = refuse}, &err), HD_EFORMAT);
    assert_string_equal(err.text, "enough");
    assert_int_equal(s.joined, 1);
    hd_run_begin(&t.run, HD_INFERENCE);
    assert_null(st.join(&t.run, st.context, 1));
    assert_string_equal(t.run.err.text, "join: 1 items, 0 are left");
    hd_stepper_release(&st);
    lm_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_that_join_a_running_batch_are_scored_as_alone),
        cmocka_unit_test(a_users_failure_ends_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
