/* BERTs that fill in blanks. */
#include "lab/pretrained/filler.h"

#include "lab/desk.h"

#define RATE 0.003

hd_status hd_filler_open(hd_filler *f, hd_run *run, const hd_bert_opt *o, uint64_t seed, hd_err *err)
{
    *f = (hd_filler){0};
    hd_status s = hd_bert_new(&f->model, run->backend, o, true, err);
    return s ? s : hd_course_open(&f->course, run, &f->model->params, seed, err);
}

void hd_filler_close(hd_filler *f)
{
    hd_course_close(&f->course);
    hd_bert_free(f->model);
    *f = (hd_filler){0};
}

hd_status hd_filler_learn(hd_filler *f, const hd_bert_batch *b, double asked, hd_err *err)
{
    hd_bert_loss(f->course.run, f->model, b, &(hd_loss_opt){.coef = 1});
    return hd_course_end(&f->course, RATE, asked, err);
}

hd_status hd_filler_fill(int32_t *to, hd_filler *f, const hd_bert_batch *b, hd_err *err)
{
    hd_run *r = f->course.run;
    hd_desk_best(to, r, hd_bert_logits(r, f->model, b));
    return hd_run_status(r, err);
}
