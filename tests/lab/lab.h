/* What tests of experiments share: a laboratory with one seed, and engines that are broken on purpose, whose
   experiments must say so. */
#ifndef LAB_H
#define LAB_H

#include "check.h"
#include "lab/experiment.h"

typedef struct laboratory {
    hd_backend *backend;
    hd_run run;
    hd_lab lab;
    hd_paper paper;
} laboratory;

static hd_kernels lab_whole; /* the kernels that are not broken */

CHECK_UNUSED static void lab_open(laboratory *l)
{
    *l = (laboratory){.backend = backend_of("cpu", 1)};
    l->run = run_on(l->backend);
    l->lab = (hd_lab){.run = &l->run, .seed = 1, .seeds = 1};
    hd_paper_init(&l->paper);
    lab_whole = l->backend->kernel;
}

CHECK_UNUSED static void lab_close(laboratory *l)
{
    hd_paper_release(&l->paper);
    hd_run_release(&l->run);
    hd_backend_free(l->backend);
}

/* Runs the experiment of that name and says its verdicts. */
CHECK_UNUSED static const hd_paper *lab_run(laboratory *l, const char *name)
{
    hd_err err = {0};
    const hd_experiment *x = NULL;
    for (size_t i = 0; i < hd_experiment_count; i++)
        if (!strcmp(hd_experiments[i]->name, name)) x = hd_experiments[i];
    assert_non_null(x);
    hd_paper_release(&l->paper);
    if (hd_experiment_run(&l->paper, x, &l->lab, &err)) fail_msg("%s: %s", name, err.text);
    for (size_t i = 0; i < l->paper.claims; i++) {
        const hd_claim *c = &l->paper.claim[i];
        print_message("%s: %s: %s %s\n", name, c->held ? "held" : "did not hold", c->text, c->found);
    }
    return &l->paper;
}

/* -- broken engines -- */

/* Attention with other settings than were asked for. */
static void (*lab_change)(hd_attention *at);

CHECK_UNUSED static hd_status lab_attend(hd_backend *b, const hd_attend_args *a)
{
    hd_attend_args other = *a;
    hd_attention at = *a->at;
    lab_change(&at);
    other.at = &at;
    return lab_whole.attend(b, &other);
}

CHECK_UNUSED static hd_status lab_attend_back(hd_backend *b, const hd_attend_back_args *a)
{
    hd_attend_back_args other = *a;
    hd_attention at = *a->at;
    lab_change(&at);
    other.at = &at;
    return lab_whole.attend_back(b, &other);
}

CHECK_UNUSED static void lab_break_attention(laboratory *l, void (*change)(hd_attention *at))
{
    lab_change = change;
    l->backend->kernel.attend = lab_attend, l->backend->kernel.attend_back = lab_attend_back;
}

CHECK_UNUSED static void lab_mend(laboratory *l)
{
    l->backend->kernel = lab_whole;
}

#endif
