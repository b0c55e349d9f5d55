/* The data of a training run. */
#include "task/translate/data.h"

#include "data/reader.h"

static hd_status read_pairs(hd_sentences *out, const char *const file[2], const hd_translate_data *d,
                            const hd_log *log, hd_err *err)
{
    hd_read_opt o = {.source = file[0],
                     .target = file[1],
                     .tabs = !file[1],
                     .broken = d->broken,
                     .empty = d->empty,
                     .log = log};
    return hd_sentences_read(out, &o, NULL, err);
}

static hd_status learn(hd_tokenizer **out, const hd_translate_set *s, const hd_translate_data *d, int side,
                       bool both, const hd_log *log, hd_err *err)
{
    hd_sentence_walk walk;
    hd_tokenizer_opt o = d->vocabulary;
    o.log = log;
    return hd_tokenizer_train(out, d->kind, hd_sentences_feed(&s->train_text, side, both, &walk), &o, err);
}

static hd_status make_tokenizers(hd_translate_set *s, const hd_translate_data *d, const char *folder,
                                 const hd_log *log, hd_err *err)
{
    size_t longest;
    if (folder) return hd_translator_describe(folder, &s->model, s->tokenizer, &longest, err);
    hd_status st = HD_OK;
    for (int side = 0; !st && side < 2; side++) {
        bool own = d->tokenizer[0] ? d->tokenizer[1] != NULL : d->separate;
        if (side && !own)
            s->tokenizer[1] = s->tokenizer[0];
        else if (d->tokenizer[side])
            st = hd_tokenizer_open(&s->tokenizer[side], d->kind, d->tokenizer[side], err);
        else
            st = learn(&s->tokenizer[side], s, d, side, !own, log, err);
    }
    return st;
}

static hd_status pack(hd_corpus *out, const hd_sentences *from, const hd_translate_set *s,
                      const hd_translate_data *d, bool valid, hd_team *team, const hd_log *log, hd_err *err)
{
    const hd_tokenizer *const tokenizer[2] = {s->tokenizer[0], s->tokenizer[1]};
    hd_corpus_opt o = {
        .longest = d->longest, .too_long = valid ? HD_POLICY_CUT : d->too_long, .team = team, .log = log};
    return hd_corpus_make(out, from, tokenizer, &o, NULL, err);
}

hd_status hd_translate_set_make(hd_translate_set *out, const hd_translate_data *d, const char *folder,
                                hd_team *team, const hd_log *log, hd_err *err)
{
    hd_translate_set s = {0};
    s.has_valid = d->valid[0] || d->valid_fraction > 0;
    hd_status st = read_pairs(&s.train_text, d->train, d, log, err);
    if (!st && d->valid[0]) st = read_pairs(&s.valid_text, d->valid, d, log, err);
    if (!st && !d->valid[0] && s.has_valid)
        st = hd_sentences_split(&s.train_text, d->valid_fraction, &s.valid_text, err);
    if (!st && s.has_valid && (!s.valid_text.count || !s.train_text.count))
        st = hd_err_set(err, HD_EARG, "%s: too few pairs to hold back a share of %g for validation",
                        d->train[0], d->valid_fraction);
    if (!st) st = make_tokenizers(&s, d, folder, log, err);
    if (!st) st = pack(&s.train, &s.train_text, &s, d, false, team, log, err);
    if (!st && s.has_valid) st = pack(&s.valid, &s.valid_text, &s, d, true, team, log, err);
    hd_sentences_release(&s.train_text);
    for (size_t i = 0; !st && i < s.train.count; i++)
        for (int side = 0; side < 2; side++)
            if (hd_corpus_len(&s.train, side, i) + 1 > s.longest)
                s.longest = hd_corpus_len(&s.train, side, i) + 1;
    if (st)
        hd_translate_set_release(&s);
    else
        *out = s;
    return st;
}

void hd_translate_set_release(hd_translate_set *s)
{
    hd_corpus_release(&s->train);
    hd_corpus_release(&s->valid);
    hd_sentences_release(&s->train_text);
    hd_sentences_release(&s->valid_text);
    hd_tokenizer_free_pair(s->tokenizer);
    *s = (hd_translate_set){0};
}
