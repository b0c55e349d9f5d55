/* Pairs to judge a translator by. */
#include "task/translate/trial.h"

#include "data/epoch.h"
#include "task/translate/training.h"

enum { ROWS = 4096 }; /* of a step, about */

static hd_status open_batches(hd_trial *t, const hd_model_folder *f, hd_team *team, const hd_log *log,
                              hd_err *err)
{
    const hd_tokenizer *const by[2] = {f->tokenizer[0], f->tokenizer[1]};
    const hd_special source = hd_tokenizer_special(by[0]), target = hd_tokenizer_special(by[1]);
    const hd_corpus_opt cut = {
        .longest = f->longest - 1, .too_long = HD_POLICY_CUT, .team = team, .log = log};
    hd_batch_opt b = {.tokens = ROWS,
                      .in_order = true,
                      .once = true,
                      .source_end = source.end,
                      .target_start = target.start,
                      .target_end = target.end};
    hd_status s = hd_corpus_make(&t->corpus, &t->text, by, &cut, NULL, err);
    for (size_t i = 0; !s && i < t->corpus.count; i++) {
        size_t cost = hd_epoch_cost(&t->corpus, i);
        b.tokens = cost > b.tokens ? cost : b.tokens;
    }
    return s ? s : hd_batches_new(&t->batches, &t->corpus, &b, err);
}

hd_status hd_trial_open(hd_trial *t, const hd_model_folder *f, const hd_texts *files, hd_team *team,
                        const hd_log *log, hd_err *err)
{
    static const hd_train_options usual = {0};
    hd_pairs pairs;
    hd_status s = hd_pairs_open(&pairs, files, &usual, log, err);
    if (!s) s = hd_sentences_read(&t->text, &pairs.read, NULL, err);
    hd_pairs_release(&pairs);
    return s ? s : open_batches(t, f, team, log, err);
}

void hd_trial_release(hd_trial *t)
{
    hd_batches_free(t->batches);
    hd_corpus_release(&t->corpus);
    hd_sentences_release(&t->text);
    *t = (hd_trial){0};
}
