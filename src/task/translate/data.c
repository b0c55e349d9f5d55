/* The data of a training run. */
#include "task/translate/data.h"

#include "data/reader.h"

static hd_status read_pairs(hd_sentences *out, const hd_texts *file, const hd_train_options *d,
                            const hd_log *log, hd_err *err)
{
    static const hd_policy when_broken[] = {HD_POLICY_ERROR, HD_POLICY_SKIP},
                           when_empty[] = {HD_POLICY_SKIP, HD_POLICY_ERROR};
    hd_read_opt o = {.source = file->text[0],
                     .target = file->text[1],
                     .tabs = file->count < 2,
                     .broken = when_broken[d->broken],
                     .empty = when_empty[d->empty],
                     .log = log};
    return hd_sentences_read(out, &o, NULL, err);
}

static hd_status learn(hd_tokenizer **out, const hd_translate_set *s, const hd_train_options *d, int side,
                       bool both, const hd_log *log, hd_err *err)
{
    hd_sentence_walk walk;
    hd_tokenizer_opt o = {
        .vocab = (size_t)d->vocab, .unigram = d->subwords == 1, .coverage = d->coverage, .log = log};
    return hd_tokenizer_train(out, (hd_tokenizer_kind)d->tokenizer,
                              hd_sentences_feed(&s->train_text, side, both, &walk), &o, err);
}

static hd_status make_tokenizers(hd_translate_set *s, const hd_train_options *d, const char *folder,
                                 const hd_log *log, hd_err *err)
{
    const hd_texts *files = &d->tokenizer_file;
    size_t longest;
    if (folder) return hd_translator_describe(folder, &s->model, s->tokenizer, &longest, err);
    hd_status st = HD_OK;
    for (int side = 0; !st && side < 2; side++) {
        bool own = files->count ? files->count > 1 : d->separate_vocab;
        if (side && !own)
            s->tokenizer[1] = s->tokenizer[0];
        else if (side < files->count)
            st = hd_tokenizer_open(&s->tokenizer[side], (hd_tokenizer_kind)d->tokenizer, files->text[side],
                                   err);
        else
            st = learn(&s->tokenizer[side], s, d, side, !own, log, err);
    }
    return st;
}

static hd_status pack(hd_corpus *out, const hd_sentences *from, const hd_translate_set *s,
                      const hd_train_options *d, bool valid, hd_team *team, const hd_log *log, hd_err *err)
{
    const hd_tokenizer *const tokenizer[2] = {s->tokenizer[0], s->tokenizer[1]};
    static const hd_policy when_long[] = {HD_POLICY_SKIP, HD_POLICY_CUT, HD_POLICY_ERROR};
    hd_corpus_opt o = {.longest = (size_t)d->max_length,
                       .too_long = valid ? HD_POLICY_CUT : when_long[d->too_long],
                       .team = team,
                       .log = log};
    return hd_corpus_make(out, from, tokenizer, &o, NULL, err);
}

hd_status hd_translate_set_make(hd_translate_set *out, const hd_train_options *d, const char *folder,
                                hd_team *team, const hd_log *log, hd_err *err)
{
    hd_translate_set s = {0};
    s.has_valid = d->valid.count || d->valid_fraction > 0;
    hd_status st = read_pairs(&s.train_text, &d->train, d, log, err);
    if (!st && d->valid.count) st = read_pairs(&s.valid_text, &d->valid, d, log, err);
    if (!st && !d->valid.count && s.has_valid)
        st = hd_sentences_split(&s.train_text, d->valid_fraction, &s.valid_text, err);
    if (!st && s.has_valid && (!s.valid_text.count || !s.train_text.count))
        st = hd_err_set(err, HD_EARG, "%s: too few pairs to hold back a share of %g for validation",
                        d->train.text[0], d->valid_fraction);
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
