/* The data of a training run. Easy to get wrong: pairs on shards must be those that a corpus in memory would
   have, held back and left out alike. */
#include "task/translate/training.h"

#include "data/epoch.h"
#include "run/data.h"

typedef struct maker {
    hd_translate_set *to;
    hd_tokenizer **tokenizer; /* [2] */
    hd_session *session;
    const hd_train_options *o;
    const hd_log *log;
    hd_team *team;
    hd_pairs pairs;
    hd_sentences text; /* all of it; none where it goes to shards */
    char shards[HD_PATH];
} maker;

/* -- tokenizers -- */

/* Of all pairs, or of those on their way to shards. */
static hd_status learn(maker *m, int side, bool both, hd_err *err)
{
    hd_tokenizer_kind kind = (hd_tokenizer_kind)m->o->tokenizer;
    hd_sentence_walk walk;
    hd_pairs_walk pieces = {0};
    hd_tokenizer_opt opt = {.vocab = (size_t)m->o->vocab_size,
                            .unigram = m->o->subwords == 1,
                            .coverage = m->o->character_coverage,
                            .log = m->log};
    hd_tokenizer **to = &m->tokenizer[side];
    if (!m->shards[0])
        return hd_data_learn(to, kind, hd_sentences_feed(&m->text, side, both, &walk), &opt, err);
    double share = hd_data_sampled(kind, hd_files_bytes(&m->pairs.files));
    hd_status s = hd_data_learn(to, kind, hd_pairs_feed(&m->pairs, side, both, share, &pieces), &opt, err);
    if (pieces.err.status) s = hd_err_set(err, pieces.err.status, "%s", pieces.err.text);
    if (!s && share < 1 && pieces.taken)
        hd_log_say(m->log, HD_INFO, "the vocabulary is learned from %llu sentences, drawn with a fixed seed",
                   (unsigned long long)pieces.taken);
    return s;
}

static hd_status take_folder(maker *m, const char *folder, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, folder, "translate", err);
    if (s) return s;
    m->to->model = hd_model_folder_encdec(&f)->opt;
    hd_model_folder_keep_tokenizers(&f);
    m->tokenizer[0] = f.tokenizer[0], m->tokenizer[1] = f.tokenizer[1];
    return HD_OK;
}

static hd_status make_tokenizers(maker *m, hd_err *err)
{
    const hd_texts *files = &m->o->tokenizer_model;
    const char *folder = hd_session_folder(m->session);
    hd_tokenizer **t = m->tokenizer;
    hd_status s = HD_OK;
    if (folder) return take_folder(m, folder, err);
    for (int side = 0; !s && side < 2; side++) {
        bool own = files->count ? files->count > 1 : m->o->separate_vocab;
        if (side && !own)
            t[1] = t[0];
        else if (side < files->count)
            s = hd_tokenizer_open(&t[side], (hd_tokenizer_kind)m->o->tokenizer, files->text[side], err);
        else
            s = learn(m, side, !own, err);
    }
    return s;
}

/* -- ids -- */

static hd_corpus_opt corpus_opt(const maker *m, bool valid)
{
    static const hd_policy when_long[] = {HD_POLICY_SKIP, HD_POLICY_CUT, HD_POLICY_ERROR};
    return (hd_corpus_opt){.longest = (size_t)m->o->max_length,
                           .too_long = valid ? HD_POLICY_CUT : when_long[m->o->on_long],
                           .team = m->team,
                           .log = m->log};
}

static hd_status pack(hd_corpus *out, const hd_sentences *from, const maker *m, bool valid, hd_err *err)
{
    const hd_tokenizer *const tokenizer[2] = {m->tokenizer[0], m->tokenizer[1]};
    hd_corpus_opt opt = corpus_opt(m, valid);
    return hd_corpus_make(out, from, tokenizer, &opt, NULL, err);
}

typedef struct sharding {
    maker *m;
    hd_shards_writer *to;
    uint64_t hash;
} sharding;

static hd_status put_ids(void *context, const int32_t *const ids[2], const size_t len[2], hd_err *err)
{
    sharding *x = context;
    for (int side = 0; side < 2; side++) x->hash = hd_corpus_hash(x->hash, ids[side], len[side]);
    return hd_shards_put(x->to, ids, len, err);
}

static hd_status hold(hd_shards_writer *to, const hd_sentences *held, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < held->count; i++) {
        const hd_line line[2] = {hd_sentence(held, 0, i), hd_sentence(held, 1, i)};
        s = hd_shards_hold(to, line, err);
    }
    return s;
}

static hd_status write_pairs(void *context, hd_shards_writer *to, hd_err *err)
{
    maker *m = context;
    const hd_tokenizer *const tokenizer[2] = {m->tokenizer[0], m->tokenizer[1]};
    hd_corpus_opt opt = corpus_opt(m, false);
    sharding x = {m, to, 0};
    hd_ids_encoder encoder = {0};
    hd_report report = {0};
    bool more = true;
    m->pairs.read.log = m->log;
    hd_status s = hd_pairs_rewind(&m->pairs, err);
    if (!s) s = hd_ids_encoder_init(&encoder, tokenizer, m->team, err);
    while (!s && !(s = hd_pairs_next(&m->pairs, &more, err)) && more) {
        s = hold(to, &m->pairs.held, err);
        if (!s)
            s = hd_corpus_encode((hd_ids_sink){put_ids, &x}, &m->pairs.text, &encoder, &opt, &report, err);
    }
    hd_ids_encoder_release(&encoder);
    if (!s) hd_report_say(&report, m->log);
    if (!s && !report.kept)
        s = hd_err_set(err, HD_EFORMAT, "%s: none of its lines can be used", m->pairs.files.at[0]);
    hd_shards_describe(to, x.hash, report.lines, 0);
    return s;
}

/* What else decides which pairs there are. */
static uint64_t reading_of(const hd_train_options *o)
{
    uint64_t h = (uint64_t)o->max_length * 4 + (uint64_t)o->on_long;
    h = h * 16 + (uint64_t)o->on_invalid * 4 + (uint64_t)o->on_empty;
    return h * 1000003 + (uint64_t)(o->valid_fraction * 0x1p40);
}

static hd_status open_shards(maker *m, hd_err *err)
{
    hd_translate_set *to = m->to;
    const hd_tokenizer *const tokenizer[2] = {m->tokenizer[0], m->tokenizer[1]};
    hd_shards_opt opt;
    hd_status s = hd_data_identity(&opt, 2, &m->pairs.files, reading_of(m->o), tokenizer, err);
    if (!s) s = hd_data_shards(&to->shards, m->session, m->shards, &opt, write_pairs, m, err);
    if (s || !to->shards->head.held) return s;
    char path[2][HD_PATH];
    for (int side = 0; !s && side < 2; side++) s = hd_path(path[side], m->shards, hd_shards_held(side), err);
    return s ? s
             : hd_sentences_read(&to->valid_text, &(hd_read_opt){.source = path[0], .target = path[1]}, NULL,
                                 err);
}

/* -- all of it -- */

static void measure(hd_translate_set *to)
{
    const hd_corpus *c = &to->train;
    const hd_shards *x = to->shards;
    if (x) {
        to->pairs = (size_t)x->first[x->blocks], to->longest = x->longest, to->cost = (size_t)x->cost;
        to->source = (size_t)x->tokens[0] + to->pairs, to->target = (size_t)x->tokens[1] + to->pairs;
        to->hash = x->head.hash ^ HD_SHARDS_ORDER; /* the same pairs come in another order */
        return;
    }
    to->pairs = c->count, to->hash = c->hash;
    for (size_t i = 0; i < c->count; i++) {
        size_t cost = hd_epoch_cost(c, i);
        to->source += hd_corpus_len(c, 0, i) + 1, to->target += hd_corpus_len(c, 1, i) + 1;
        to->cost += cost;
        if (cost > to->longest) to->longest = cost;
    }
}

static hd_status read_all(hd_sentences *out, const hd_texts *given, const maker *m, hd_err *err)
{
    hd_pairs pairs;
    hd_status s = hd_pairs_open(&pairs, given, m->o, m->log, err);
    if (!s) s = hd_sentences_read(out, &pairs.read, NULL, err);
    hd_pairs_release(&pairs);
    return s;
}

static hd_status make(maker *m, hd_err *err)
{
    hd_translate_set *to = m->to;
    const hd_train_options *o = m->o;
    to->has_valid = o->valid.count || o->valid_fraction > 0;
    hd_status s = hd_pairs_open(&m->pairs, &o->train, o, m->log, err);
    if (!s) s = hd_data_place(m->shards, m->session, &m->pairs.files, err);
    if (!s && !o->valid.count) m->pairs.fraction = o->valid_fraction;
    if (!s && !m->shards[0]) s = hd_sentences_read(&m->text, &m->pairs.read, NULL, err);
    if (!s && o->valid.count) s = read_all(&to->valid_text, &o->valid, m, err);
    if (!s && !m->shards[0] && m->pairs.fraction > 0)
        s = hd_sentences_split(&m->text, o->valid_fraction, &to->valid_text, err);
    bool none = to->has_valid && !m->shards[0] && (!to->valid_text.count || !m->text.count);
    if (!s && !none) s = make_tokenizers(m, err);
    if (!s && !none) s = m->shards[0] ? open_shards(m, err) : pack(&to->train, &m->text, m, false, err);
    if (!s && to->has_valid && (none || !to->valid_text.count))
        s = hd_err_set(err, HD_EARG, "%s: too few pairs to hold back a share of %g for validation",
                       o->train.text[0], o->valid_fraction);
    if (!s && to->has_valid) s = pack(&to->valid, &to->valid_text, m, true, err);
    if (!s) measure(to);
    return s;
}

hd_status hd_translate_set_make(hd_translate_set *out, hd_tokenizer *tokenizer[2], hd_session *session,
                                hd_team *team, hd_err *err)
{
    hd_translate_set set = {0};
    maker m = {.to = &set,
               .tokenizer = tokenizer,
               .session = session,
               .o = session->options,
               .log = &session->hooks->log,
               .team = team};
    hd_status s = make(&m, err);
    hd_pairs_release(&m.pairs);
    hd_sentences_release(&m.text);
    if (s)
        hd_translate_set_release(&set);
    else
        *out = set;
    return s;
}

void hd_translate_set_release(hd_translate_set *s)
{
    hd_corpus_release(&s->train);
    hd_corpus_release(&s->valid);
    hd_shards_free(s->shards);
    hd_sentences_release(&s->valid_text);
    *s = (hd_translate_set){0};
}
