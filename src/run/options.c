/* The options of `heed train`. */
#include "run/options.h"

#include "backend/backend.h"
#include "model/classifier.h"
#include "model/encdec/encdec.h"
#include "train/optimizer.h"
#include "train/schedule.h"

#define OWNER hd_train_options

const char *const hd_train_tasks[] = {
#define X(NAME, name) #name,
    HD_TRAIN_TASK_LIST(X)
#undef X
        NULL};
const char *const hd_choice_names[HD_CHOICES + 1] = {
#define X(NAME, name, text) #name,
    HD_CHOICE_LIST(X)
#undef X
};

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
static const char *const presets[] = {"tiny",
                                      "small",
                                      "base",
                                      "big",
                                      "sutskever",
                                      "rnnsearch",
                                      "luong",
                                      [HD_TRAIN_TUTORIAL] = "tutorial",
                                      [HD_TRAIN_BERT_TINY] = "bert-tiny",
                                      "bert-mini",
                                      "bert-base",
                                      [HD_TRAIN_GPT2] = "gpt2",
                                      "gpt2-medium",
                                      "gpt2-large",
                                      "gpt2-xl",
                                      [HD_TRAIN_PRESETS] = NULL};
static const char *const long_lines[] = {"skip", "cut", "error", NULL};
static const char *const bad_lines[] = {"error", "skip", NULL};
static const char *const empty_lines[] = {"skip", "error", NULL};
static const char *const subwords[] = {"bpe", "unigram", NULL};
static const char *const norms[] = {"pre", "post", NULL};
static const char *const position_kinds[] = {"sinusoidal", "learned", "none", NULL};
static const char *const optimizers[] = {"sgd", "adam", "adamw", NULL};
static const char *const tokenizers[] = {
#define X(name, summary) #name,
    HD_TOKENIZER_LIST(X)
#undef X
        NULL};
static const char *const activations[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", NULL};
static const char *const schedules[] = {
#define X(name, help) #name,
    HD_SCHEDULE_LIST(X)
#undef X
        NULL};

/* The largest decay of an average: of 1 nothing new would count, and a float has no number between. */
#define BELOW_1 0.9999999

#define DATA       .group = "Data"
#define VOCABULARY .group = "Vocabulary"
#define MODEL      .group = "Model"
#define RECURRENT  .group = "Recurrent encoder-decoders"
#define LM         .group = "Language models (--task lm)"
#define MLM        .group = "Masked language models (--task mlm)"
#define LABELS     .group = "Classification and tagging (--task classify, regress, tag)"
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
#define FEEDINGS            HD_FEEDING_LIST(X)
#define Y(NAME, name, text) "; " name ": " text
#define LOCALITIES          HD_LOCALITY_LIST(Y)

const hd_option hd_train_table[] = {
    {"task", 0, "TASK", "translate",
     "what to learn: translate; lm, a language model; mlm, a masked one that fills in blanks; classify, a "
     "label for each text; regress, a number for each text; tag, a label for each token",
     HD_CHOICE_INTO(OWNER, task, hd_train_tasks)},
    {"preset", 'p', "NAME", "tiny",
     "sizes and recipe: tiny, small, base or big, which are Transformers; sutskever, rnnsearch, luong or "
     "tutorial (what recurrent --encoder and --decoder have without it); of --task mlm bert-tiny (without "
     "it), bert-mini or bert-base; of --task lm gpt2, gpt2-medium, gpt2-large or gpt2-xl; other options "
     "change parts of it",
     HD_CHOICE_INTO(OWNER, preset, presets)},
    {"out", 'o', "FOLDER", NULL, "the model's folder; made if it is not there", HD_FILE_INTO(OWNER, out)},
    {"from", 0, "FOLDER", NULL,
     "begin with the model in this folder, trained here or imported: its tokenizer, sizes and weights. "
     "translate, lm, mlm: without --preset for 3 epochs, with a small --lr (5e-5 at a width of 768, more "
     "where "
     "it is narrower). classify, regress: fine-tune a model of task mlm, lm, classify or regress; its last "
     "layer is new",
     HD_FILE_INTO(OWNER, from)},
    {"resume", 0, NULL, NULL,
     "go on with the run in --out, from its last checkpoint, bit for bit; limits, threads, "
     "device and reports may change",
     HD_FLAG_INTO(OWNER, resume)},
    {"overwrite", 0, NULL, NULL, "remove the run in --out and begin anew", HD_FLAG_INTO(OWNER, overwrite)},
    {"dry-run", 'n', NULL, NULL,
     "print parameters, batches and the memory it needs beside that of the device, and train nothing",
     HD_FLAG_INTO(OWNER, dry_run)},
    {HD_CONFIG_NAME, 'c', "FILE", NULL, HD_CONFIG_HELP, HD_FILE_INTO(OWNER, config)},

    {"train", 't', "FILE", NULL,
     "sentences and their translations: two files, or one with a tab between; for lm and mlm a text; for "
     "classify a "
     "table with the columns label, text and, of pairs of texts, text2, for regress the same with numbers "
     "as labels, for tag a token, a tab and its label a line; plain or compressed (gzip, xz, zstd), - for "
     "stdin",
     DATA, HD_FILES_AT_ONCE_INTO(OWNER, train, 2)},
    {"valid", 0, "FILE", NULL, "the same, to validate with", DATA, HD_FILES_AT_ONCE_INTO(OWNER, valid, 2)},
    {"valid-fraction", 0, "X", "0",
     "without --valid: hold back this share of the pairs; for lm and mlm of the characters, at the end; for "
     "classify "
     "and tag a tenth if it is not given",
     DATA, HD_FLOAT_INTO(OWNER, valid_fraction, 0, 0.5)},
    {"max-length", 0, "N", "200", "tokens of a sentence", DATA, HD_INT_INTO(OWNER, max_length, 1, 1000000)},
    {"long", 0, "WHAT", "skip", "longer ones: skip, cut or error", DATA,
     HD_CHOICE_INTO(OWNER, too_long, long_lines)},
    {"broken", 0, "WHAT", "error", "lines that are not UTF-8: error or skip", DATA,
     HD_CHOICE_INTO(OWNER, broken, bad_lines)},
    {"empty", 0, "WHAT", "skip", "lines without words: skip or error", DATA,
     HD_CHOICE_INTO(OWNER, empty, empty_lines)},

    {"tokenizer", 0, "KIND", "sentencepiece",
     "sentencepiece (subwords), words or characters; with --tokenizer-model also bpe, wordpiece, marian or "
     "t5",
     VOCABULARY, HD_CHOICE_INTO(OWNER, tokenizer, tokenizers)},
    {"vocab", 0, "N", "8000",
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
    {"tokenizer-model", 0, "FILE", NULL,
     "use existing tokenizer files: one for both sides, or two; for lm and mlm also vocab.json and "
     "merges.txt, tokenizer.json, or a folder with them",
     VOCABULARY, HD_FILES_AT_ONCE_INTO(OWNER, tokenizer_file, 2)},

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
     "of the feed-forward layers of a transformer: relu, gelu, gelu_tanh or silu; of the cells of an rnn: "
     "tanh "
     "(without it) or sigmoid",
     MODEL, HD_CHOICE_INTO(OWNER, activation, activations)},
    {"position-kind", 0, "KIND", "sinusoidal",
     "positions: sinusoidal, learned, or none: a model that cannot tell the order of words", MODEL,
     HD_CHOICE_INTO(OWNER, position_kind, position_kinds)},
    {"no-scale", 0, NULL, NULL, "attention scores are not divided by sqrt(columns of a head)", MODEL,
     HD_FLAG_INTO(OWNER, no_scale)},
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
     ". For lm: tokens of a window, 64 without it; gpt never sees more of them. For mlm: most tokens it "
     "reads "
     "at once, 128 without it (bert-base: 512)",
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
    {"feeding", 0, "KIND", "teacher", "what the decoder reads in training as the word before" FEEDINGS,
     RECURRENT, HD_CHOICE_INTO(OWNER, feeding, hd_feeding_names)},
    {"sampling-rate", 0, "X", "0.5",
     "scheduled, gumbel: probability of a word of its own (gumbel: 1 without it)", RECURRENT,
     HD_FLOAT_INTO(OWNER, sampling_rate, 0, 1)},
    {"sampling-decay", 0, "N", "0",
     "scheduled, gumbel: updates in which the truth gives way: the rate rises from 0 in 32 even steps; 0: it "
     "is the same from the first update on",
     RECURRENT, HD_LONG_INTO(OWNER, sampling_decay, 0, 1e15)},
    {"temperature", 0, "X", "1", "free, scheduled, gumbel: of samples; below 1 more like the likeliest word",
     RECURRENT, HD_FLOAT_INTO(OWNER, temperature, 0, 100)},

    {"model", 0, "NAME", "gpt",
     "ngram, maxent, ffnn, rnn, gru, lstm or gpt; for classify and tag rnn, gru, lstm or transformer", LM,
     HD_CHOICE_INTO(OWNER, model, models)},
    {"unit", 0, "UNIT", "char", "tokens: word, char or subword; without it of tag word, of mlm subword", LM,
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
    {"layers", 0, "N", "4",
     "rnn, gru, lstm, gpt, bert; without it 1 (gpt: 4, transformer: 2); of a translator those of both sides",
     LM, HD_INT_INTO(OWNER, layers, 1, 1000)},
    {"batch", 0, "N", "12",
     "windows of an update; without it 12 (ffnn: 24, mlm: 32; presets gpt2: as many as have 491520 tokens); "
     "for classify and tag items, 32",
     LM, HD_INT_INTO(OWNER, batch, 1, 1000000)},
    {"whole-words", 0, NULL, NULL, "mask all pieces of a word or none", MLM,
     HD_FLAG_INTO(OWNER, whole_words)},

    {"train-dir", 0, "FOLDER", NULL,
     "classify: learn from a folder with a file for each class, an item a line", LABELS,
     HD_FILES_AT_ONCE_INTO(OWNER, train_dir, 1)},
    {"pool", 0, "HOW", "auto",
     "classify: what is asked for the class: last, mean, max or first of an item's rows; auto: last of a "
     "recurrent encoder or a language model, first of a BERT, else mean",
     LABELS, HD_CHOICE_INTO(OWNER, pool, pools)},
    {"one-hot", 0, NULL, NULL,
     "tokens enter an rnn, gru or lstm as vectors with a single 1 instead of learned ones: for characters",
     LABELS, HD_FLAG_INTO(OWNER, one_hot)},
    {"scratch", 0, NULL, NULL,
     "with --from: take the sizes and the tokenizer of that model, but draw the weights: what it would be "
     "without what that has learned",
     LABELS, HD_FLAG_INTO(OWNER, scratch)},
    {"lm-loss", 0, "X", "0",
     "with --from a language model: it goes on foretelling the words of the texts, and the loss of that "
     "counts X times; 0: not at all",
     LABELS, HD_FLOAT_INTO(OWNER, lm_loss, 0, 1000)},

    {"batch-tokens", 0, "N", "2500", "tokens of an update: the longer side of each pair counts", LEARNING,
     HD_INT_INTO(OWNER, batch_tokens, 1, 100000000)},
    {"accumulate", 0, "N", "1", "compute an update in N parts, to save memory", LEARNING,
     HD_INT_INTO(OWNER, accumulate, 1, 100000)},
    {"lr", 0, "X", "0.005", "largest learning rate", LEARNING, HD_FLOAT_INTO(OWNER, lr, 0, 1000)},
    {"warmup", 0, "N", "1000", "updates until it is reached", LEARNING, HD_LONG_INTO(OWNER, warmup, 0, 1e15)},
    {"fit-warmup", 0, NULL, NULL,
     "cosine, linear: shorten the warm-up to a quarter of the run where it is longer; so it is done where "
     "neither "
     "this nor --warmup is given",
     LEARNING, HD_FLAG_INTO(OWNER, fit_warmup)},
    {"schedule", 0, "NAME", "linear", "of the rate then: constant, inverse_sqrt, cosine or linear", LEARNING,
     HD_CHOICE_INTO(OWNER, schedule, schedules)},
    {"decay-steps", 0, "N", "0", "cosine, linear: updates until the rate has fallen; 0: as the limits say",
     LEARNING, HD_LONG_INTO(OWNER, decay_steps, 0, 1e15)},
    {"floor", 0, "X", "0", "cosine, linear: share of the rate that is left after the last update", LEARNING,
     HD_FLOAT_INTO(OWNER, floor, 0, 1)},
    {"optimizer", 0, "NAME", "adamw", "sgd, adam or adamw", LEARNING,
     HD_CHOICE_INTO(OWNER, optimizer, optimizers)},
    {"beta1", 0, "X", "0.9", "of adam, below 1", LEARNING, HD_FLOAT_INTO(OWNER, beta1, 0, BELOW_1)},
    {"beta2", 0, "X", "0.98", "of adam, below 1", LEARNING, HD_FLOAT_INTO(OWNER, beta2, 0, BELOW_1)},
    {"adam-eps", 0, "X", "1e-9", "of adam, above 0", LEARNING, HD_FLOAT_INTO(OWNER, adam_eps, 1e-30, 1)},
    {"momentum", 0, "X", "0", "of sgd, below 1", LEARNING, HD_FLOAT_INTO(OWNER, momentum, 0, BELOW_1)},
    {"weight-decay", 0, "X", "0.2", "pull of weights towards 0", LEARNING,
     HD_FLOAT_INTO(OWNER, weight_decay, 0, 10)},
    {"clip", 0, "X", "1", "largest norm of a gradient; 0: any", LEARNING, HD_FLOAT_INTO(OWNER, clip, 0, 1e9)},
    {"ema", 0, "X", "0", "use a moving average of the weights with this decay; 0: none", LEARNING,
     HD_FLOAT_INTO(OWNER, ema, 0, BELOW_1)},
    {"dropout", 0, "X", "0.2", "of embeddings and branches", LEARNING,
     HD_FLOAT_INTO(OWNER, dropout, 0, 0.99)},
    {"attention-dropout", 0, "X", "0", "of attention weights", LEARNING,
     HD_FLOAT_INTO(OWNER, attention_dropout, 0, 0.99)},
    {"inner-dropout", 0, "X", "0", "inside the feed-forward layers", LEARNING,
     HD_FLOAT_INTO(OWNER, inner_dropout, 0, 0.99)},
    {"source-dropout", 0, "X", "0", "of whole tokens of the source", LEARNING,
     HD_FLOAT_INTO(OWNER, source_dropout, 0, 0.99)},
    {"label-smoothing", 0, "X", "0.1", "share of the target spread over all pieces", LEARNING,
     HD_FLOAT_INTO(OWNER, label_smoothing, 0, 0.99)},
    {"freeze", 0, "PATTERN", NULL,
     "leave parameters of such names as they are drawn or taken from --from, as in 'model.encoder.*' or "
     "'bert.embeddings.*'",
     LEARNING, .type = HD_OPTION_TEXT, .many = true, HD_OPTION_INTO(hd_texts, OWNER, freeze)},
    {"sum-loss", 0, NULL, NULL,
     "follow and clip the gradient of the sum of an update's losses, not of their mean: --lr is then "
     "smaller, --clip "
     "larger",
     LEARNING, HD_FLAG_INTO(OWNER, sum_loss)},
    {"recompute", 0, NULL, NULL, "compute activations a second time instead of keeping them", LEARNING,
     HD_FLAG_INTO(OWNER, recompute)},
    {"seed", 0, "N", "1",
     "of everything drawn at random: the same seed gives the same bits on the same device and instruction "
     "set (heed info "
     "--devices), with any number of threads",
     LEARNING, HD_INT_INTO(OWNER, seed, 0, 2147483647)},

    {"epochs", 'e', "N", "0",
     "passes over the data; 0: no such limit (without --steps 40 for tiny and small, 20 for recurrent "
     "presets, classify, regress and tag, 10 with --from)",
     LIMITS, HD_LONG_INTO(OWNER, epochs, 0, 1e9)},
    {"steps", 's', "N", "0",
     "updates; 0: no such limit (base: 100000, big: 300000, lm: 2000, maxent 1000, ffnn 4000, bert-tiny and "
     "bert-mini 10000, bert-base 1000000, gpt2 600000; without --epochs)",
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
    {"precision", 0, "KIND", "auto", "auto, f32 or bf16 (not on the CPU)", MACHINE,
     HD_CHOICE_INTO(OWNER, precision, hd_precision_names)},
    {0},
};

#undef X
#undef Y

hd_unary hd_train_activation(int choice)
{
    return (hd_unary)hd_unary_find(activations[choice]);
}

bool hd_train_names_cell(int choice)
{
    hd_unary act = hd_train_activation(choice);
    return act == HD_tanh || act == HD_sigmoid;
}

hd_unary hd_train_block_activation(int choice, hd_unary usual)
{
    return hd_train_names_cell(choice) ? usual : hd_train_activation(choice);
}

hd_unary hd_train_cell(int choice)
{
    return hd_train_names_cell(choice) ? hd_train_activation(choice) : HD_tanh;
}

hd_tokenizer_kind hd_train_unit(int unit)
{
    static const hd_tokenizer_kind kinds[] = {[HD_TRAIN_WORD] = HD_TOKENIZER_words,
                                              [HD_TRAIN_CHAR] = HD_TOKENIZER_characters,
                                              [HD_TRAIN_SUBWORD] = HD_TOKENIZER_sentencepiece};
    return kinds[unit];
}
