/* Learning from rewards: sums that were learned from answers with mistakes get better by being told right
   from wrong; and what a vote over several answers gives. */
#include <math.h>

#include "lab/pretrained/school.h"
#include "lab/sweep.h"

enum { PARTS = 5, TURNS = 8, PASS = 0, VOTE, KINDS };

static hd_status one(hd_sweep *w, const hd_lab *lab, int number, double worst[2], hd_err *err)
{
    const int turns = (int)hd_lab_times(lab) * TURNS;
    hd_school c;
    hd_status s = hd_school_open(&c, lab, lab->seed + (uint64_t)number, err);
    if (!s) s = hd_school_judge(&w->value[PASS][number][0], &w->value[VOTE][number][0], &c, err);
    for (int i = 1; !s && i <= PARTS; i++) {
        for (int k = 0; !s && k < turns; k++) s = hd_school_turn(&c, (uint64_t)(i * turns + k), err);
        if (!s) s = hd_school_judge(&w->value[PASS][number][i], &w->value[VOTE][number][i], &c, err);
    }
    worst[0] = fmax(worst[0], c.mean), worst[1] = fmax(worst[1], c.deviation);
    hd_school_close(&c);
    return s;
}

static void say(hd_paper *to, const hd_sweep *w, const hd_lab *lab, const double worst[2])
{
    double gain = 1, lead = 1; /* the least of all seeds */
    for (int i = 0; i < lab->seeds; i++) {
        gain = fmin(gain, w->value[PASS][i][PARTS] - w->value[PASS][i][0]);
        lead = fmin(lead, w->value[VOTE][i][0] - w->value[PASS][i][0]);
    }
    const hd_spread *before = &w->spread[PASS][0], *after = &w->spread[PASS][PARTS],
                    *vote = &w->spread[VOTE][0];
    hd_answer tie[] = {
        {{"8", 1}, 1, -2}, {{"7", 1}, 1, -1}, {{"8", 1}, 1, -2}, {{"7", 1}, 1, -1}, {{"9", 1}, 1, 0}};
    size_t different = hd_vote(tie, 5);
    hd_paper_claim(
        to, "Advantages are relative to the group: their mean is 0, their deviation 1.",
        worst[0] < 1e-9 && worst[1] < 1e-3,
        "Of all groups with right and wrong answers the mean is at most %.1g from 0, the deviation %.1g "
        "from 1.",
        worst[0], worst[1]);
    hd_paper_claim(
        to, "Rewards alone make a model better: pass@1 rises.", gain > 0.2,
        "From %.0f %% (%.0f to %.0f) to %.0f %% (%.0f to %.0f), with no answer shown to it. The lecture "
        "cites 15.6 to 71.0 %% of DeepSeek-R1-Zero on problems of AIME 2024.",
        before->mean, before->low, before->high, after->mean, after->low, after->high);
    hd_paper_claim(
        to, "A vote over several answers is better than one.", lead > 0.2,
        "Before any reward the most frequent of %d answers is right for %.0f %% of the sums (%.0f to %.0f): "
        "mistakes differ, right answers agree. The lecture cites 86.7 %% after 71.0.",
        HD_SCHOOL_JUDGED, vote->mean, vote->low, vote->high);
    hd_paper_claim(to, "By hand: a tie goes to the likelier answer, and pass@k is that of all subsets.",
                   different == 3 && tie[0].text.text[0] == '7' && fabs(hd_pass_at(4, 2, 1) - 0.5) < 1e-12 &&
                       fabs(hd_pass_at(4, 2, 2) - 5.0 / 6) < 1e-12,
                   "Of 8, 7, 8, 7, 9 the vote is %.1s. With 2 of 4 right pass@1 is %.2f and pass@2 %.3f.",
                   tie[0].text.text, hd_pass_at(4, 2, 1), hd_pass_at(4, 2, 2));
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    static const char *const names[KINDS] = {"pass@1: one answer", "majority of 16 answers"};
    const int turns = (int)hd_lab_times(lab) * TURNS;
    int32_t at[PARTS + 1];
    double worst[2] = {0};
    hd_sweep *w = NULL;
    for (int i = 0; i <= PARTS; i++) at[i] = i * turns;
    hd_status s = hd_sweep_new(&w, names, sizeof *names, KINDS, at, PARTS + 1, err);
    if (s) return s;
    w->title = "Learning from rewards", w->across = "updates by rewards", w->scale = 100;
    w->upward = "sums answered rightly, percent (mean and spread of all seeds)";
    w->caption = "Sums answered rightly, percent, by the updates", w->corner = "judged by",
    w->format = "%.0f";
    for (int i = 0; !s && i < lab->seeds; i++) {
        s = one(w, lab, i, worst, err);
        if (!s) s = hd_lab_tell(lab, (i + 1.0) / lab->seeds, err);
    }
    if (!s) {
        hd_paper_say(
            to,
            "A language model has read %d lines such as \"7+8=15\", of which %.0f %% have a wrong digit. "
            "Then it "
            "answers %d times for each sum, and is told which answers were right (GRPO): those become "
            "likelier than the others of their group.",
            HD_SCHOOL_LINES, 100 * HD_SCHOOL_NOISE, HD_SCHOOL_EACH);
        hd_sweep_put(to, w, lab);
        say(to, w, lab, worst);
    }
    hd_sweep_free(w);
    return s;
}

const hd_experiment hd_experiment_rewards = {
    .name = "rewards",
    .title = "Learning from rewards",
    .lecture = 1,
    .rows = "186-188",
    .claim =
        "A model that is told only which of its answers are right answers better, and a vote over several "
        "answers is better than one.",
    .run = run,
};
