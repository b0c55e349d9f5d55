/* Worked examples of lectures 000 and 004: all numbers are the lectures', and no longer when the engine is
   broken. */
#include "lab/lab.h"
#include "lab/worked/worked.h"

static const hd_paper *worked(laboratory *l, int lecture, const char *only)
{
    hd_err err = {0};
    hd_paper_release(&l->paper);
    hd_paper_init(&l->paper);
    if (hd_worked_run(&l->paper, &l->run, &(hd_worked_opt){.lecture = lecture, .only = only, .digits = 2},
                      &err))
        fail_msg("lecture %03d: %s", lecture, err.text);
    return &l->paper;
}

/* The claim that begins so. */
static const hd_claim *claim_of(const hd_paper *p, const char *begin)
{
    for (size_t i = 0; i < p->claims; i++)
        if (!strncmp(p->claim[i].text, begin, strlen(begin))) return &p->claim[i];
    fail_msg("no claim '%s'", begin);
    return NULL;
}

/* How many numbers golden.json has for them; polls count statements. */
static void every_number_is_the_lectures(void **state)
{
    (void)state;
    static const struct {
        int lecture;
        const char *example, *found;
    } all[] = {{0, "A simple recurrent cell", "7 numbers"},
               {0, "The attention score", "44 numbers"},
               {0, "The GRU encoder-decoder", "96 numbers"},
               {0, "Bahdanau's attention module", "14 numbers"},
               {4, "The first context", "3 numbers"},
               {4, "Greedy search", "20 numbers"},
               {4, "Gumbel noise", "4 numbers"},
               {4, "Positional encodings", "90 numbers"},
               {4, "Poll 1", "3 of 3"},
               {4, "Poll 2", "6 of 6"},
               {4, "Poll 3", "4 of 4"},
               {4, "Poll 4", "4 of 4"}};
    laboratory l;
    lab_open(&l);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const hd_paper *p = worked(&l, all[i].lecture, NULL);
        const hd_claim *c = claim_of(p, all[i].example);
        assert_true(hd_paper_held(p) && c->held);
        assert_memory_equal(c->found, all[i].found, strlen(all[i].found));
    }
    lab_close(&l);
}

static void slips_of_the_slides_are_shown(void **state)
{
    (void)state;
    static const struct {
        int lecture;
        const char *slip;
    } all[] = {{0, "A slide: softmax"},
               {4, "A slide: c_t = 1/N"},
               {4, "A slide: masked attention"},
               {4, "|P_t . P_(t+T1)| >"}};
    laboratory l;
    lab_open(&l);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const hd_claim *c = claim_of(worked(&l, all[i].lecture, NULL), all[i].slip);
        assert_true(!c->held && c->note);
    }
    lab_close(&l);
}

/* -- broken -- */

static void a_tenth_more(hd_attention *at)
{
    at->scale *= 1.1f;
}

static void without_a_mask(hd_attention *at)
{
    at->mask = HD_FULL;
}

/* The state before a row is not read. */
static hd_status forgetful(hd_backend *b, const hd_recur_args *a)
{
    hd_recur_args other = *a;
    other.re.start = NULL;
    return lab_whole.recur(b, &other);
}

/* The second likeliest word in place of the first. */
static hd_status top_turned(hd_backend *b, const hd_top_args *a)
{
    hd_status s = lab_whole.top(b, a);
    for (size_t i = 0; !s && a->values && i + 1 < hd_count_of(a->values); i += 2) {
        int32_t *id = a->ids->data, kept = id[i];
        id[i] = id[i + 1], id[i + 1] = kept;
    }
    return s;
}

static void a_broken_engine_is_told(void **state)
{
    (void)state;
    laboratory l;
    lab_open(&l);
    lab_break_attention(&l, a_tenth_more);
    assert_false(claim_of(worked(&l, 0, NULL), "The attention score")->held);
    lab_mend(&l);
    lab_break_attention(&l, without_a_mask);
    assert_false(claim_of(worked(&l, 4, NULL), "Poll 4")->held);
    lab_mend(&l);
    l.backend->kernel.recur = forgetful;
    const hd_paper *p = worked(&l, 0, NULL);
    assert_false(claim_of(p, "A simple recurrent cell")->held);
    assert_false(claim_of(p, "The GRU encoder-decoder")->held);
    lab_mend(&l);
    l.backend->kernel.top = top_turned;
    assert_false(claim_of(worked(&l, 4, NULL), "Greedy search")->held);
    lab_mend(&l);
    lab_close(&l);
}

static void a_pattern_picks_names(void **state)
{
    (void)state;
    laboratory l;
    hd_err err = {0};
    lab_open(&l);
    size_t all = worked(&l, 0, NULL)->parts, some = worked(&l, 0, "gru.enc.*")->parts;
    assert_int_equal(some, 7); /* five that are given, and what the encoder computes */
    assert_true(all > 30);
    hd_paper_release(&l.paper);
    hd_paper_init(&l.paper);
    assert_int_equal(
        hd_worked_run(&l.paper, &l.run, &(hd_worked_opt){.lecture = 4, .only = "gru.*", .digits = 2}, &err),
        HD_EARG);
    lab_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_the_lectures),
        cmocka_unit_test(slips_of_the_slides_are_shown),
        cmocka_unit_test(a_broken_engine_is_told),
        cmocka_unit_test(a_pattern_picks_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
