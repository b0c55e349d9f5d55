/* BERTs that fill in blanks. */
#include "lab/pretrained/filler.h"

#define RATE 0.003

hd_status hd_filler_open(hd_filler *f, hd_run *run, const hd_bert_opt *o, uint64_t seed, hd_err *err)
{
    static const hd_optimizer_opt adam = {.kind = HD_OPT_ADAM, .clip = 1};
    *f = (hd_filler){.run = run};
    hd_status s = hd_bert_new(&f->model, run->backend, o, true, err);
    if (!s) s = hd_params_draw(&f->model->params, seed, err);
    if (!s) s = hd_optimizer_init(&f->optimizer, &f->model->params, &adam, err);
    return s;
}

void hd_filler_close(hd_filler *f)
{
    hd_optimizer_release(&f->optimizer);
    hd_bert_free(f->model);
    *f = (hd_filler){0};
}

hd_status hd_filler_learn(hd_filler *f, const hd_bert_batch *b, double asked, hd_err *err)
{
    hd_run *r = f->run;
    hd_bert_loss(r, f->model, b, &(hd_loss_opt){.coef = 1});
    hd_backward(r);
    hd_optimizer_step(r, &f->optimizer, RATE, asked, NULL, NULL);
    return hd_run_status(r, err);
}

hd_status hd_filler_fill(int32_t *to, hd_filler *f, const hd_bert_batch *b, hd_err *err)
{
    hd_run *r = f->run;
    hd_tensor *best = hd_argmax(r, hd_bert_logits(r, f->model, b));
    if (best) r->backend->download(r->backend, to, best->data, b->count * sizeof *to);
    return hd_run_status(r, err);
}
