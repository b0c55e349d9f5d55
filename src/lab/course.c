/* Courses of updates. */
#include "lab/course.h"

#include "op/op.h"

static const hd_optimizer_opt adam = {.kind = HD_OPT_ADAM, .clip = 1};

hd_status hd_course_open(hd_course *c, hd_run *run, hd_params *p, uint64_t seed, hd_err *err)
{
    *c = (hd_course){.run = run, .seed = seed};
    hd_status s = hd_params_draw(p, seed, err);
    return s ? s : hd_optimizer_init(&c->optimizer, p, &adam, err);
}

void hd_course_close(hd_course *c)
{
    hd_optimizer_release(&c->optimizer);
    *c = (hd_course){0};
}

hd_status hd_course_renew(hd_course *c, hd_err *err)
{
    hd_params *p = c->optimizer.params;
    hd_optimizer_release(&c->optimizer);
    return hd_optimizer_init(&c->optimizer, p, &adam, err);
}

hd_run *hd_course_begin(hd_course *c)
{
    hd_run *r = c->run;
    r->now.seed = c->seed, r->now.number = (uint32_t)++c->updates;
    hd_run_begin(r, HD_TRAIN);
    return r;
}

double hd_course_falling(const hd_course *c, double rate, uint32_t of)
{
    return rate * (1 - (double)(c->updates - 1) / of);
}

hd_status hd_course_end(hd_course *c, double rate, double weight, hd_err *err)
{
    hd_backward(c->run);
    hd_optimizer_step(c->run, &c->optimizer, rate, weight, NULL, NULL);
    return hd_run_status(c->run, err);
}
