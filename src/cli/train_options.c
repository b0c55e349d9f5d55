/* The options of `heed train`. */
#include "cli/train_options.h"

#include <string.h>

#define OWNER hd_train_options

enum { TUTORIAL = 7, PRESETS = 8 }; /* of --preset */

const char *const hd_train_tasks[] = {[HD_TRAIN_TRANSLATE] = "translate",
                                      [HD_TRAIN_LM] = "lm",
                                      [HD_TRAIN_CLASSIFY] = "classify",
                                      [HD_TRAIN_TAG] = "tag",
                                      NULL};
static const char *const models[] = {
#define X(name, text) #name,
    HD_LM_LIST(X)
#undef X
        "transformer",
    NULL};
static const char *const pools[] = {"auto",
#define X(name, text) #name,
                                    HD_POOL_LIST(X)
#undef X
                                        NULL};
static const char *const units[] = {"word", "char", "subword", NULL};
static const char *const presets[] = {"tiny",          "small",     "base",  "big",
                                      "sutskever",     "rnnsearch", "luong", [TUTORIAL] = "tutorial",
                                      [PRESETS] = NULL};
static const char *const long_lines[] = {"skip", "cut", "error", NULL};
static const char *const bad_lines[] = {"error", "skip", NULL};
static const char *const empty_lines[] = {"skip", "error", NULL};
static const char *const subwords[] = {"bpe", "unigram", NULL};
static const char *const norms[] = {"pre", "post", NULL};
static const char *const position_kinds[] = {"sinusoidal", "learned", NULL};
static const char *const optimisers[] = {"sgd", "adam", "adamw", NULL};
static const char *const tokenisers[] = {
#define X(name, summary) #name,
    HD_TOKENISER_LIST(X)
#undef X
        NULL};
static const char *const activations[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", NULL};
static const char *const schedules[] = {
#define X(name, help) #name,
    HD_SCHEDULE_LIST(X)
#undef X
        NULL};

#define DATA       .group = "Data"
#define VOCABULARY .group = "Vocabulary"
#define MODEL      .group = "Model"
#define RECURRENT  .group = "Recurrent encoder-decoders"
#define LM         .group = "Language models (--task lm)"
#define LABELS     .group = "Classification and tagging (--task classify, tag)"
#define LEARNING   .group = "Learning"
#define LIMITS     .group = "When to end"
#define REPORTS    .group = "Validation, saves and reports"
#define MACHINE    .group = "Machine"

/* The choices of an option and what they are, behind what it is about. */
#define X(name, text)       "; " #name ": " text
#define STAGES              HD_STAGE_LIST(X)
#define CONTEXTS            HD_CONTEXT_LIST(X)
#define SCORINGS            HD_SCORING_LIST(X)
#define ASKINGS             HD_ASKING_LIST(X)
#define BEGINNINGS          HD_BEGINNING_LIST(X)
#define READINGS            HD_READING_LIST(X)
#define Y(NAME, name, text) "; " name ": " text
#define LOCALITIES          HD_LOCALITY_LIST(Y)

const hd_option hd_train_table[] = {
    {"task", 0, "TASK", "translate",
     "what to learn: translate; lm, a language model; classify, a label for each text; tag, one for each "
     "token",
     HD_CHOICE_INTO(OWNER, task, hd_train_tasks)},
    {"preset", 'p', "NAME", "tiny",
     "sizes and recipe: tiny, small, base or big, which are Transformers; sutskever, rnnsearch, luong or "
     "tutorial (what recurrent --encoder and --decoder have without it); other options change parts of it",
     HD_CHOICE_INTO(OWNER, preset, presets)},
    {"out", 'o', "FOLDER", NULL, "the model's folder; made if it is not there", HD_FILE_INTO(OWNER, out)},
    {"resume", 0, NULL, NULL,
     "go on with the run in --out, from its last checkpoint, bit for bit; limits, threads, "
     "device and reports may change",
     HD_FLAG_INTO(OWNER, resume)},
    {"overwrite", 0, NULL, NULL, "remove the run in --out and begin anew", HD_FLAG_INTO(OWNER, overwrite)},
    {"dry-run", 'n', NULL, NULL, "print parameters, memory and batches, and train nothing",
     HD_FLAG_INTO(OWNER, dry_run)},
    {HD_CONFIG_NAME, 'c', "FILE", NULL, HD_CONFIG_HELP, HD_FILE_INTO(OWNER, config)},

    {"train", 't', "FILE", NULL,
     "sentences and their translations: two files, or one with a tab between; for lm a text; for classify a "
     "table with the columns label and text, for tag a token, a tab and its label a line; plain or gzip, - "
     "for stdin",
     DATA, HD_FILES_AT_ONCE_INTO(OWNER, train, 2)},
    {"valid", 0, "FILE", NULL, "the same, to validate with", DATA, HD_FILES_AT_ONCE_INTO(OWNER, valid, 2)},
    {"valid-fraction", 0, "X", "0",
     "without --valid: hold back this share of the pairs; for lm of the characters, at the end; for classify "
     "and tag a tenth if it is not given",
     DATA, HD_FLOAT_INTO(OWNER, valid_fraction, 0, 0.5)},
    {"max-length", 0, "N", "200", "tokens of a sentence", DATA, HD_INT_INTO(OWNER, max_length, 1, 1000000)},
    {"long", 0, "WHAT", "skip", "longer ones: skip, cut or error", DATA,
     HD_CHOICE_INTO(OWNER, too_long, long_lines)},
    {"broken", 0, "WHAT", "error", "lines that are not UTF-8: error or skip", DATA,
     HD_CHOICE_INTO(OWNER, broken, bad_lines)},
    {"empty", 0, "WHAT", "skip", "lines without words: skip or error", DATA,
     HD_CHOICE_INTO(OWNER, empty, empty_lines)},

    {"tokeniser", 0, "KIND", "sentencepiece",
     "sentencepiece (subwords), words or characters; with --tokeniser-model also bpe, wordpiece, marian or "
     "t5",
     VOCABULARY, HD_CHOICE_INTO(OWNER, tokeniser, tokenisers)},
    {"vocab", 'v', "N", "8000",
     "most pieces in a vocabulary; fewer where the text supports fewer; words or characters of the other "
     "tasks: all",
     VOCABULARY, HD_INT_INTO(OWNER, vocab, 5, 1000000)},
    {"subwords", 0, "KIND", "bpe", "how subwords are learned: bpe or unigram", VOCABULARY,
     HD_CHOICE_INTO(OWNER, subwords, subwords)},
    {"coverage", 0, "X", "0.9995",
     "share of the characters that get a piece of their own; bytes stand for the others", VOCABULARY,
     HD_FLOAT_INTO(OWNER, coverage, 0.9, 1)},
    {"separate-vocab", 0, NULL, NULL, "a vocabulary for each side (with --untied)", VOCABULARY,
     HD_FLAG_INTO(OWNER, separate_vocab)},
    {"tokeniser-model", 0, "FILE", NULL, "use existing tokeniser files: one for both sides, or two",
     VOCABULARY, HD_FILES_AT_ONCE_INTO(OWNER, tokeniser_file, 2)},

    {"encoder-layers", 0, "N", "4", "layers of the encoder", MODEL,
     HD_INT_INTO(OWNER, encoder_layers, 1, 1000)},
    {"decoder-layers", 0, "N", "4", "layers of the decoder", MODEL,
     HD_INT_INTO(OWNER, decoder_layers, 1, 1000)},
    {"width", 0, "N", "128", "d_model", MODEL, HD_INT_INTO(OWNER, width, 1, 65536)},
    {"inner", 0, "N", "256", "width inside the feed-forward layers", MODEL,
     HD_INT_INTO(OWNER, inner, 1, 1048576)},
    {"heads", 0, "N", "4", "attention heads", MODEL, HD_INT_INTO(OWNER, heads, 1, 1024)},
    {"norm", 0, "PLACE", "pre", "layer norm: pre, which trains steadily, or post, as in the paper", MODEL,
     HD_CHOICE_INTO(OWNER, norm, norms)},
    {"activation", 0, "NAME", "relu",
     "of the feed-forward layers: relu, gelu, gelu_tanh or silu; of rnn: tanh or sigmoid", MODEL,
     HD_CHOICE_INTO(OWNER, activation, activations)},
    {"position-kind", 0, "KIND", "sinusoidal", "positions: sinusoidal or learned", MODEL,
     HD_CHOICE_INTO(OWNER, position_kind, position_kinds)},
    {"positions", 0, "N", "512", "longest sentence the model can ever take, in tokens", MODEL,
     HD_INT_INTO(OWNER, positions, 2, 1000000)},
    {"untied", 0, NULL, NULL, "tables of their own for source, target and output", MODEL,
     HD_FLAG_INTO(OWNER, untied)},

    {"encoder", 0, "STAGES", NULL,
     "what it is stacked from (transformer without it), as in bi-gru:2+transformer: kinds of layers" STAGES
     "; bi- before it reads both ways, :N behind it has N layers (else --encoder-layers)",
     RECURRENT, HD_TEXT_INTO(OWNER, encoder)},
    {"decoder", 0, "STAGES", NULL,
     "the same: a transformer, or a rnn, gru or lstm and transformers behind it if you like", RECURRENT,
     HD_TEXT_INTO(OWNER, decoder)},
    {"context", 0, "WHAT", NULL,
     "what a recurrent decoder is told of the source (attention without it)" CONTEXTS
     ". For lm: tokens of a window, 64 without it; gpt never sees more of them",
     RECURRENT, HD_TEXT_INTO(OWNER, context)},
    {"score", 0, "NAME", "additive", "of query q and key k" SCORINGS, RECURRENT,
     HD_CHOICE_INTO(OWNER, score, hd_scoring_names)},
    {"attention", 0, "WHERE", "global", "which keys are seen" LOCALITIES, RECURRENT,
     HD_CHOICE_INTO(OWNER, attention, hd_locality_names)},
    {"window", 0, "N", "10", "local attention: keys on either side of its place", RECURRENT,
     HD_INT_INTO(OWNER, window, 1, 1000000)},
    {"attention-heads", 0, "N", "1", "of a recurrent decoder's attention; several mean --project", RECURRENT,
     HD_INT_INTO(OWNER, attention_heads, 1, 1024)},
    {"project", 0, NULL, NULL, "keys and values are maps of the encoder's states, not the states themselves",
     RECURRENT, HD_FLAG_INTO(OWNER, project)},
    {"query", 0, "WHICH", "previous", "which state of the decoder asks" ASKINGS, RECURRENT,
     HD_CHOICE_INTO(OWNER, query, hd_asking_names)},
    {"begin", 0, "HOW", "final",
     "the state before the first word (map without it where the encoder has no last state)" BEGINNINGS,
     RECURRENT, HD_CHOICE_INTO(OWNER, begin, hd_beginning_names)},
    {"read", 0, "WHAT", "state", "what the output layer reads" READINGS, RECURRENT,
     HD_CHOICE_INTO(OWNER, read, hd_reading_names)},
    {"feed-context", 0, NULL, NULL, "what the output layer read is fed back with the next token", RECURRENT,
     HD_FLAG_INTO(OWNER, feed_context)},
    {"skips", 0, NULL, NULL, "every layer of the decoder reads the token, too", RECURRENT,
     HD_FLAG_INTO(OWNER, skips)},
    {"no-feedback", 0, NULL, NULL, "the decoder does not read the token before", RECURRENT,
     HD_FLAG_INTO(OWNER, no_feedback)},
    {"relu", 0, NULL, NULL, "relu on the token vectors that a recurrent decoder reads", RECURRENT,
     HD_FLAG_INTO(OWNER, relu)},
    {"reverse-source", 0, NULL, NULL, "a recurrent encoder of one direction reads the source backwards",
     RECURRENT, HD_FLAG_INTO(OWNER, reverse_source)},

    {"model", 0, "NAME", "gpt",
     "ngram, maxent, ffnn, rnn, gru, lstm or gpt; for classify and tag rnn, gru, lstm or transformer", LM,
     HD_CHOICE_INTO(OWNER, model, models)},
    {"unit", 0, "UNIT", "char", "tokens: word, char or subword; of tag word without it", LM,
     HD_CHOICE_INTO(OWNER, unit, units)},
    {"order", 0, "N", "6",
     "ngram, maxent, ffnn: tokens in a row they know of, the next one included; without it 6 characters "
     "or 3 words (ffnn: 9 or 5)",
     LM, HD_INT_INTO(OWNER, order, 1, 64)},
    {"smoothing", 0, "NAME", "kneser-ney", "ngram: add-k, kneser-ney or kneser-ney-3", LM,
     HD_CHOICE_INTO(OWNER, smoothing, hd_smoothing_names)},
    {"add-k", 0, "X", "0.1", "ngram with add-k: the k", LM, HD_FLOAT_INTO(OWNER, add_k, 0, 1e9)},
    {"features", 0, "N", "0",
     "maxent: rows for the weights of hashed contexts; 0: as many as make 32 million weights", LM,
     HD_INT_INTO(OWNER, features, 0, 268435456)},
    {"layers", 0, "N", "4", "rnn, gru, lstm, gpt; without it 1 (gpt: 4, transformer: 2)", LM,
     HD_INT_INTO(OWNER, layers, 1, 1000)},
    {"batch", 0, "N", "12", "windows of an update; without it 12 (ffnn: 24); for classify and tag items, 32", LM,
     HD_INT_INTO(OWNER, batch, 1, 1000000)},

    {"train-dir", 0, "FOLDER", NULL,
     "classify: learn from a folder with a file for each class, an item a line", LABELS,
     HD_FILES_AT_ONCE_INTO(OWNER, train_dir, 1)},
    {"pool", 0, "HOW", "auto",
     "classify: what is asked for the class: last, mean, max or first of an item's rows; auto: last of a "
     "recurrent encoder, else mean",
     LABELS, HD_CHOICE_INTO(OWNER, pool, pools)},

    {"batch-tokens", 0, "N", "2500", "tokens of an update: the longer side of each pair counts", LEARNING,
     HD_INT_INTO(OWNER, batch_tokens, 1, 100000000)},
    {"accumulate", 0, "N", "1", "compute an update in N parts, to save memory", LEARNING,
     HD_INT_INTO(OWNER, accumulate, 1, 100000)},
    {"lr", 0, "X", "0.005", "largest learning rate", LEARNING, HD_FLOAT_INTO(OWNER, lr, 0, 1000)},
    {"warmup", 0, "N", "1000", "updates until it is reached", LEARNING, HD_LONG_INTO(OWNER, warmup, 0, 1e15)},
    {"schedule", 0, "NAME", "linear", "of the rate then: constant, inverse_sqrt, cosine or linear", LEARNING,
     HD_CHOICE_INTO(OWNER, schedule, schedules)},
    {"decay-steps", 0, "N", "0", "cosine, linear: updates until the rate has fallen; 0: as the limits say",
     LEARNING, HD_LONG_INTO(OWNER, decay_steps, 0, 1e15)},
    {"floor", 0, "X", "0", "cosine, linear: share of the rate at the end", LEARNING,
     HD_FLOAT_INTO(OWNER, floor, 0, 1)},
    {"optimiser", 0, "NAME", "adamw", "sgd, adam or adamw", LEARNING,
     HD_CHOICE_INTO(OWNER, optimiser, optimisers)},
    {"beta1", 0, "X", "0.9", "of adam", LEARNING, HD_FLOAT_INTO(OWNER, beta1, 0, 1)},
    {"beta2", 0, "X", "0.98", "of adam", LEARNING, HD_FLOAT_INTO(OWNER, beta2, 0, 1)},
    {"adam-eps", 0, "X", "1e-9", "of adam", LEARNING, HD_FLOAT_INTO(OWNER, adam_eps, 0, 1)},
    {"momentum", 0, "X", "0", "of sgd", LEARNING, HD_FLOAT_INTO(OWNER, momentum, 0, 1)},
    {"weight-decay", 0, "X", "0.2", "pull of weights towards 0", LEARNING,
     HD_FLOAT_INTO(OWNER, weight_decay, 0, 10)},
    {"clip", 0, "X", "1", "largest norm of a gradient; 0: any", LEARNING, HD_FLOAT_INTO(OWNER, clip, 0, 1e9)},
    {"ema", 0, "X", "0", "use a moving average of the weights with this decay; 0: none", LEARNING,
     HD_FLOAT_INTO(OWNER, ema, 0, 0.9999999)},
    {"dropout", 0, "X", "0.2", "of embeddings and branches", LEARNING,
     HD_FLOAT_INTO(OWNER, dropout, 0, 0.99)},
    {"attention-dropout", 0, "X", "0", "of attention weights", LEARNING,
     HD_FLOAT_INTO(OWNER, attention_dropout, 0, 0.99)},
    {"inner-dropout", 0, "X", "0", "inside the feed-forward layers", LEARNING,
     HD_FLOAT_INTO(OWNER, inner_dropout, 0, 0.99)},
    {"label-smoothing", 0, "X", "0.1", "share of the target spread over all pieces", LEARNING,
     HD_FLOAT_INTO(OWNER, label_smoothing, 0, 0.99)},
    {"freeze", 0, "PATTERN", NULL,
     "leave parameters of such names as they are drawn, as in 'model.encoder.*'", LEARNING,
     .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, OWNER, freeze)},
    {"recompute", 0, NULL, NULL, "compute activations a second time instead of keeping them", LEARNING,
     HD_FLAG_INTO(OWNER, recompute)},
    {"seed", 0, "N", "1", "of everything drawn at random", LEARNING, HD_INT_INTO(OWNER, seed, 0, 2147483647)},

    {"epochs", 'e', "N", "0",
     "passes over the data; 0: no such limit (without --steps 40 for tiny and small, 20 for recurrent "
     "presets, classify and tag)",
     LIMITS, HD_LONG_INTO(OWNER, epochs, 0, 1e9)},
    {"steps", 's', "N", "0",
     "updates; 0: no such limit (base: 100000, big: 300000, lm: 2000, maxent 1000, ffnn 4000; without "
     "--epochs)",
     LIMITS, HD_LONG_INTO(OWNER, steps, 0, 4e9)},
    {"minutes", 'm', "X", "0", "minutes of this sitting; 0: no such limit", LIMITS,
     HD_FLOAT_INTO(OWNER, minutes, 0, 1e7)},
    {"patience", 0, "N", "0", "validations without a new best; 0: no such limit", LIMITS,
     HD_LONG_INTO(OWNER, patience, 0, 1e9)},

    {"valid-every", 0, "N", "0", "updates; 0: an epoch, but at most 1000", REPORTS,
     HD_LONG_INTO(OWNER, valid_every, 0, 1e15)},
    {"valid-sentences", 0, "N", "500", "validation sentences to translate for BLEU; 0: none", REPORTS,
     HD_INT_INTO(OWNER, valid_sentences, 0, 100000000)},
    {"best", 0, "BY", "bleu", "what the best model is chosen by: bleu or loss", REPORTS,
     HD_CHOICE_INTO(OWNER, best, hd_choice_names)},
    {"save-every", 0, "N", "0", "updates; 0: with every validation", REPORTS,
     HD_LONG_INTO(OWNER, save_every, 0, 1e15)},
    {"report-every", 0, "N", "100", "updates", REPORTS, HD_LONG_INTO(OWNER, report_every, 1, 1e15)},

    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda", MACHINE,
     HD_TEXT_INTO(OWNER, device)},
    {"precision", 0, "KIND", "auto", "auto, f32 or bf16", MACHINE,
     HD_CHOICE_INTO(OWNER, precision, hd_precision_names)},
    {0},
};

#undef X
#undef Y

typedef struct setting {
    const char *name, *value[PRESETS]; /* by preset; NULL: as without one */
} setting;

/* tiny is measured (docs/recipes.md); the other Transformers follow the literature for their size. The
   recurrent ones have the shape of their papers, in the size of Multi30k. */
static const setting settings[] = {
    /* tiny small base big; sutskever rnnsearch luong tutorial */
    {"encoder", {NULL, NULL, NULL, NULL, "lstm", "bi-gru", "lstm", "gru"}},
    {"decoder", {NULL, NULL, NULL, NULL, "lstm", "gru", "lstm", "gru"}},
    {"context", {NULL, NULL, NULL, NULL, "fixed", "attention", "attention", "attention"}},
    {"score", {NULL, NULL, NULL, NULL, NULL, "additive", "bilinear", "additive"}},
    {"query", {NULL, NULL, NULL, NULL, NULL, "previous", "current", "previous"}},
    {"begin", {NULL, NULL, NULL, NULL, "final", "map", "final", "final"}},
    {"read", {NULL, NULL, NULL, NULL, "state", "deep", "tanh", "state"}},
    {"feed-context", {NULL, NULL, NULL, NULL, NULL, NULL, "true", NULL}},
    {"reverse-source", {NULL, NULL, NULL, NULL, "true", NULL, NULL, NULL}},
    {"untied", {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "true"}},
    {"encoder-layers", {"4", "6", "6", "6", "4", "1", "2", "1"}},
    {"decoder-layers", {"4", "6", "6", "6", "4", "1", "2", "1"}},
    {"width", {"128", "256", "512", "1024", "512", "512", "512", "128"}},
    {"inner", {"256", "1024", "2048", "4096"}},
    {"heads", {"4", "4", "8", "16"}},
    {"vocab", {"8000", "8000", "16000", "32000", "8000", "8000", "8000", "8000"}},
    {"batch-tokens", {"2500", "4096", "16384", "32768", "2500", "2500", "2500", "1000"}},
    {"dropout", {"0.2", "0.2", "0.1", "0.3", "0.2", "0.3", "0.3", "0.1"}},
    {"attention-dropout", {"0", "0", "0.1", "0.1", "0", "0", "0", "0"}},
    {"inner-dropout", {"0", "0", "0.1", "0.1"}},
    {"label-smoothing", {NULL, NULL, NULL, NULL, NULL, NULL, NULL, "0"}},
    {"optimiser", {NULL, NULL, NULL, NULL, "adam", "adam", "adam", "adam"}},
    {"beta2", {NULL, NULL, NULL, NULL, "0.999", "0.999", "0.999", "0.999"}},
    {"adam-eps", {NULL, NULL, NULL, NULL, "1e-8", "1e-8", "1e-8", "1e-8"}},
    {"lr", {"0.005", "0.002", "0.0007", "0.0005", "0.001", "0.002", "0.001", "0.005"}},
    {"warmup", {"1000", "2000", "4000", "4000", "0", "0", "0", "0"}},
    {"schedule",
     {"linear", "linear", "inverse_sqrt", "inverse_sqrt", "linear", "linear", "linear", "linear"}},
    {"weight-decay", {"0.2", "0.2", "0.01", "0.01", "0", "0", "0", "0"}},
    {"clip", {NULL, NULL, NULL, NULL, "5", "1", "5", "1"}},
    {"ema", {"0", "0", "0.9995", "0.9999", "0", "0", "0", "0"}},
    {"epochs", {"40", "40", NULL, NULL, "20", "20", "20", "20"}},
    {"steps", {NULL, NULL, "100000", "300000"}},
    {NULL, {NULL}},
};

/* A run that is told when to end needs no limit of the preset's. */
static bool is_limit(const char *name)
{
    return !strcmp(name, "epochs") || !strcmp(name, "steps");
}

static bool is_given(const hd_option_set sets[2], const char *name)
{
    return *hd_option_find(sets, name, strlen(name)).given;
}

/* A recurrent encoder or decoder that is asked for without a preset. */
static bool asks_for_cells(const hd_option_set sets[2])
{
    const hd_train_options *o = sets[0].into;
    const char *const name[] = {"encoder", "decoder"}, *const text[] = {o->encoder, o->decoder};
    for (int i = 0; i < 2; i++) {
        hd_stages s;
        if (is_given(sets, name[i]) && !hd_stages_read(&s, text[i], &(hd_err){0}) && hd_stages_recur(&s))
            return true;
    }
    return false;
}

hd_status hd_train_preset(const hd_option_set sets[2], hd_err *err)
{
    hd_train_options *o = sets[0].into;
    if (!is_given(sets, "preset") && asks_for_cells(sets)) o->preset = TUTORIAL;
    int preset = o->preset;
    bool limited = is_given(sets, "epochs") || is_given(sets, "steps");
    for (const setting *s = settings; s->name; s++) {
        hd_option_place at = hd_option_find(sets, s->name, strlen(s->name));
        if (*at.given || !s->value[preset] || (limited && is_limit(s->name))) continue;
        hd_status st = hd_option_read(at.option, at.field, s->value[preset], err);
        if (st) return st;
    }
    hd_stages encoder = {0};
    bool known = !o->encoder || !hd_stages_read(&encoder, o->encoder, &(hd_err){0});
    if (known && !hd_stages_recur(&encoder) && !is_given(sets, "begin")) o->begin = HD_BEGINNING_map;
    return hd_train_encdec_belong(sets, err);
}

hd_unary hd_train_activation(int choice)
{
    return (hd_unary)hd_unary_find(activations[choice]);
}

static hd_encdec_opt model_of(const hd_train_options *o)
{
    return (hd_encdec_opt){.encoder_layers = o->encoder_layers,
                           .decoder_layers = o->decoder_layers,
                           .heads = o->heads,
                           .width = (size_t)o->width,
                           .inner = (size_t)o->inner,
                           .tied = !o->untied,
                           .pre_norm = o->norm == 0,
                           .eps = 1e-5f,
                           .act = hd_train_activation(o->activation),
                           .dropout = (float)o->dropout,
                           .attention_dropout = (float)o->attention_dropout,
                           .inner_dropout = (float)o->inner_dropout,
                           .learned_positions = o->position_kind == 1,
                           .positions = (size_t)o->positions,
                           .sinusoid = {.halves = true},
                           .recompute = o->recompute,
                           .frozen = {o->freeze.text, (size_t)o->freeze.count}};
}

static hd_translate_data data_of(const hd_train_options *o)
{
    static const hd_policy when_long[] = {HD_POLICY_SKIP, HD_POLICY_CUT, HD_POLICY_ERROR},
                           when_broken[] = {HD_POLICY_ERROR, HD_POLICY_SKIP},
                           when_empty[] = {HD_POLICY_SKIP, HD_POLICY_ERROR};
    return (hd_translate_data){
        .train = {o->train.text[0], o->train.text[1]},
        .valid = {o->valid.text[0], o->valid.text[1]},
        .valid_fraction = o->valid_fraction,
        .broken = when_broken[o->broken],
        .empty = when_empty[o->empty],
        .too_long = when_long[o->too_long],
        .longest = (size_t)o->max_length,
        .kind = (hd_tokeniser_kind)o->tokeniser,
        .vocabulary = {.vocab = (size_t)o->vocab, .unigram = o->subwords == 1, .coverage = o->coverage},
        .separate = o->separate_vocab,
        .tokeniser = {o->tokeniser_file.text[0], o->tokeniser_file.text[1]}};
}

hd_tokeniser_kind hd_train_unit(int unit)
{
    static const hd_tokeniser_kind kinds[] = {[HD_TRAIN_WORD] = HD_TOKENISER_words,
                                              [HD_TRAIN_CHAR] = HD_TOKENISER_characters,
                                              [HD_TRAIN_SUBWORD] = HD_TOKENISER_sentencepiece};
    return kinds[unit];
}

hd_optimiser_opt hd_train_optimiser(const hd_train_options *o)
{
    return (hd_optimiser_opt){.kind = (hd_optimiser_kind)o->optimiser,
                              .momentum = (float)o->momentum,
                              .beta1 = (float)o->beta1,
                              .beta2 = (float)o->beta2,
                              .eps = (float)o->adam_eps,
                              .decay = (float)o->weight_decay,
                              .clip = (float)o->clip,
                              .average = (float)o->ema};
}

hd_trainer_opt hd_train_loop(const hd_train_options *o)
{
    return (hd_trainer_opt){.folder = o->out,
                            .resume = o->resume,
                            .seed = (uint64_t)o->seed,
                            .schedule = {(hd_schedule_kind)o->schedule, o->lr, (uint64_t)o->warmup,
                                         (uint64_t)o->decay_steps, o->floor},
                            .steps = (uint64_t)o->steps,
                            .epochs = (uint64_t)o->epochs,
                            .minutes = o->minutes,
                            .valid_every = (uint64_t)o->valid_every,
                            .save_every = (uint64_t)o->save_every,
                            .report_every = (uint64_t)o->report_every,
                            .patience = (uint64_t)o->patience};
}

hd_status hd_train_check_end(const hd_train_options *o, hd_err *err)
{
    if (o->patience && !o->valid.count && o->valid_fraction <= 0)
        return hd_err_set(err, HD_EARG,
                          "--patience needs something to validate with: --valid or --valid-fraction");
    if (!o->epochs && !o->steps && o->minutes <= 0 && !o->patience)
        return hd_err_set(err, HD_EARG, "when shall it end? Give --epochs, --steps, --minutes or --patience");
    return HD_OK;
}

static hd_status check(const hd_train_options *o, hd_err *err)
{
    if (!o->train.count) return hd_err_set(err, HD_EARG, "--train is missing: what shall be learned from?");
    if (o->activation > 3)
        return hd_err_set(err, HD_EARG, "--activation %s is for --task lm --model rnn",
                          activations[o->activation]);
    if (o->max_length + 1 > o->positions)
        return hd_err_set(err, HD_EARG, "--positions %d is too few for --max-length %d and the end",
                          o->positions, o->max_length);
    if (o->batch_tokens < o->max_length + 1)
        return hd_err_set(err, HD_EARG,
                          "--batch-tokens %d is less than a sentence of --max-length %d and its end",
                          o->batch_tokens, o->max_length);
    if (o->separate_vocab && !o->untied)
        return hd_err_set(err, HD_EARG, "--separate-vocab needs --untied: tables of their own");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    return hd_train_check_end(o, err);
}

hd_status hd_train_meaning(hd_translate_train_opt *to, const hd_train_options *o, int threads, hd_err *err)
{
    hd_status s = check(o, err);
    if (s) return s;
    *to = (hd_translate_train_opt){.data = data_of(o),
                                   .model = model_of(o),
                                   .optimiser = hd_train_optimiser(o),
                                   .smoothing = (float)o->label_smoothing,
                                   .batch_tokens = (size_t)o->batch_tokens,
                                   .parts = (size_t)o->accumulate,
                                   .choice = (hd_choice)o->best,
                                   .judged = (size_t)o->valid_sentences,
                                   .device = o->device,
                                   .precision = (hd_precision)o->precision,
                                   .threads = threads,
                                   .trainer = hd_train_loop(o)};
    to->trainer.work = o->recompute ? 4 : 3;
    return hd_train_encdec(&to->model, o, err);
}
