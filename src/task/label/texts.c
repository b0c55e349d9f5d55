/* Labeled texts or sentences in training. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "task/label/training.h"

/* -- batches -- */

static void form_epoch(hd_labeling *l, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(l->seed, 0x6c61620000000000u + epoch);
    size_t n = l->train.count;
    uint32_t *order = l->texts.order;
    if (l->texts.formed == epoch + 1) return;
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = hd_rng_below(&rng, (uint32_t)i);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[j], order[j] = kept;
    }
    l->texts.formed = epoch + 1;
}

static hd_status load(hd_session *s, hd_load *out, hd_err *err)
{
    hd_labeling *l = s->state;
    size_t batch = (size_t)(s->numbered.at % l->batches), labels = 0, rows = 0;
    (void)err;
    form_epoch(l, s->numbered.at / l->batches);
    l->texts.from = l->train.count * batch / l->batches; /* all of them about as large */
    l->texts.to = l->train.count * (batch + 1) / l->batches;
    size_t count = l->texts.to - l->texts.from;
    for (size_t i = l->texts.from; i < l->texts.to; i++) {
        size_t e = l->texts.order[i];
        labels += l->train.first[e + 1] - l->train.first[e];
        rows += l->train.begin[e + 1] - l->train.begin[e];
    }
    *out =
        (hd_load){.items = count,
                  .tokens = l->kind->each ? labels : count,
                  .flops = hd_classifier_flops(l->classifier, (double)count, (double)rows / (double)count)};
    return HD_OK;
}

static uint64_t send(hd_run *r, hd_session *s, size_t from, size_t to)
{
    hd_labeling *l = s->state;
    return hd_labeler_send(r, &l->sent, &l->folder, &l->train, l->texts.order + l->texts.from + from,
                           to - from, s->options);
}

static hd_status judge(hd_judged *out, hd_run *r, const hd_model_folder *f, const hd_session *s, hd_err *err)
{
    return hd_labeler_judge(out, r, f, &((const hd_labeling *)s->state)->valid, err);
}

/* -- setting up -- */

static hd_status make_tokenizer(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    hd_labeled_walk walk = {&l->texts.set.train, 0};
    if (s->options->resume || s->options->from) return hd_labeling_take_body(s, err);
    return hd_session_tokenizer(s, &l->folder.tokenizer[0], hd_labeled_feed(&walk), err);
}

static hd_status read(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    const hd_label_set *set = &l->texts.set;
    hd_status st = hd_label_set_read(&l->texts.set, &l->folder.labels, s->options, err);
    if (!st) st = make_tokenizer(s, err);
    hd_examples_opt e = hd_labeler_examples(&l->model);
    l->folder.pairs = !l->kind->each && hd_labeled_pairs(&set->train);
    if (!st) st = hd_examples_make(&l->train, &set->train, l->folder.tokenizer[0], &e, err);
    if (!st && set->valid.count)
        st = hd_examples_make(&l->valid, &set->valid, l->folder.tokenizer[0], &e, err);
    if (!st && l->model.body.encoder.count) l->model.body.vocab = hd_tokenizer_size(l->folder.tokenizer[0]);
    return st;
}

static hd_status ready(hd_session *s, hd_err *err)
{
    hd_labeling *l = s->state;
    l->texts.order = hd_mem_array(l->train.count, sizeof *l->texts.order);
    return l->texts.order ? HD_OK : hd_err_nomem(err, l->train.count * sizeof *l->texts.order);
}

static void release(hd_session *s)
{
    hd_labeling *l = s->state;
    hd_label_set_release(&l->texts.set);
    hd_mem_free(l->texts.order);
}

static hd_status keep(const hd_session *s, const char *folder, hd_err *err)
{
    const hd_labeling *l = s->state;
    return hd_label_set_keep(&l->texts.set, &l->folder.labels, l->kind, folder, err);
}

static void plan(const hd_session *s, hd_plan *p)
{
    const hd_labeling *l = s->state;
    const hd_classifier_opt *m = &l->classifier->opt;
    const hd_label_set *set = &l->texts.set;
    bool tags = l->kind->each;
    double items = (double)l->train.count;
    char a[32];
    if (l->train.cut + l->valid.cut && !s->backend->rank)
        hd_log_say(&s->hooks->log, HD_WARN,
                   "%zu items are longer than %zu tokens: a text is cut there, a sentence parted",
                   l->train.cut + l->valid.cut, l->model.body.positions);
    p->flops = hd_classifier_flops(l->classifier, items, (double)l->train.rows / items) / (double)l->batches;
    hd_plan_add(p, "vocabulary", "%s", hd_grouped(hd_body_vocab(&m->body), a));
    if (m->head->logp) hd_plan_add(p, "labels", "%s", hd_grouped(m->classes, a));
    hd_plan_add_data(p, tags ? "sentences" : "items", set->train.count, set->valid.count);
    if (set->repeated) hd_plan_add(p, "left out", "%s that repeat others", hd_grouped(set->repeated, a));
}

const hd_label_material hd_label_texts = {read, ready, release, load, send, judge, keep, plan};
