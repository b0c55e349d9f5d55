/* The options of `heed train`. */
#include "run/options.h"

#include "backend/backend.h"
#include "model/classifier.h"
#include "model/encdec/encdec.h"
#include "train/optimizer.h"
#include "train/schedule.h"

#define OWNER hd_train_options

const char *const hd_train_tasks[] = {
#define X(NAME, name, ...) #name,
    HD_TASK_LIST(X)
#undef X
        NULL};
const char *const hd_choice_names[HD_CHOICES + 1] = {
#define X(NAME, name, text) #name,
    HD_CHOICE_LIST(X)
#undef X
};

const char *const hd_train_model_names[] = {
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
const char *const hd_train_activations[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", NULL};
static const char *const schedules[] = {
#define X(name, help) #name,
    HD_SCHEDULE_LIST(X)
#undef X
        NULL};

/* The largest decay of an average: of 1 nothing new would count, and a float has no number between. */
#define BELOW_1 0.9999999

/* Headings. */
#define DATA       .group = "Data"
#define VOCABULARY .group = "Vocabulary"
#define MODEL      .group = "Model"
#define RECURRENT  .group = "Recurrent encoder-decoders", .tasks = TRANSLATE
#define LEARNING   .group = "Optimization"
#define LIMITS     .group = "Stopping"
#define REPORTS    .group = "Validation, checkpoints and reports"
#define MACHINE    .group = "Device"

enum { TEXT_text, TEXT_masks = 0, TEXT_item, TEXT_words = 0 };
enum { LABEL_text, LABEL_masks = 0, LABEL_item, LABEL_words = 1 };

/* Columns: the tasks, what the option needs, and what --from and --resume do with it. */
enum {
    TRANSLATE = 1u << HD_TRAIN_TRANSLATE,
    LM = 1u << HD_TRAIN_LM,
    MLM = 1u << HD_TRAIN_MLM,
    CLASSIFY = 1u << HD_TRAIN_CLASSIFY,
/* Tasks with labels, of texts or of any items: what a line is to their models says so. */
#define X(NAME, name, about, what, verb, line, ...) | TEXT_##line << HD_TRAIN_##NAME
    TEXTS = 0 HD_TASK_LIST(X),
#undef X
#define X(NAME, name, about, what, verb, line, ...) | LABEL_##line << HD_TRAIN_##NAME
    LABELS = 0 HD_TASK_LIST(X),
#undef X
};
#define FOR(which)   .tasks = which
#define NEEDS(parts) .needs = parts
#define UPDATES      .needs = HD_HAS_UPDATES
#define TOKENIZER    .from = HD_FROM_TOKENIZER
#define SHAPE        .from = HD_FROM_MODEL
#define SIZE         .from = HD_FROM_SIZE
#define CELLS        RECURRENT, SHAPE, NEEDS(HD_HAS_DECODER_CELLS)
#define ATTENDING    RECURRENT, SHAPE, NEEDS(HD_HAS_ATTENTION)
#define CALL         .keep = HD_KEEP_NOT
#define LIMIT        .keep = HD_KEEP_LIMIT
#define REPORT       .keep = HD_KEEP_REPORT

/* The choices of an option and what they are, behind what it is about. */
#define X(name, text)       "; " #name ": " text
#define STAGES              HD_STAGE_LIST(X)
#define CONTEXTS            HD_CONTEXT_LIST(X)
#define SCORINGS            HD_SCORING_LIST(X)
#define QUERIES             HD_QUERY_LIST(X)
#define BEGINNINGS          HD_BEGINNING_LIST(X)
#define READINGS            HD_READING_LIST(X)
#define FEEDINGS            HD_FEEDING_LIST(X)
#define Y(NAME, name, text) "; " name ": " text
#define LOCALITIES          HD_LOCALITY_LIST(Y)

#define Z(NAME, name, about, ...) "; " #name ": " about
#define TASKS                     HD_TASK_LIST(Z)

const hd_option hd_train_table[] = {
    {"task", 0, "TASK", "translate", "what to learn" TASKS, HD_CHOICE_INTO(OWNER, task, hd_train_tasks)},
    {"preset", 'p', "NAME", "tiny",
     "sizes and training recipe; other options override parts of it. translate: tiny, small, base or big "
     "(Transformers), sutskever, rnnsearch, luong or tutorial (recurrent); lm: gpt2, gpt2-medium, gpt2-large "
     "or gpt2-xl; mlm: bert-tiny, bert-mini or bert-base",
     FOR(TRANSLATE | LM | MLM), NEEDS(HD_HAS_PRESET), HD_CHOICE_INTO(OWNER, preset, hd_preset_names)},
    {"out", 'o', "FOLDER", NULL, "model folder to write; created if missing", CALL, HD_FILE_INTO(OWNER, out)},
    {"from", 0, "FOLDER", NULL,
     "start from the model in this folder, trained here or imported: its tokenizer, sizes and weights. "
     "tasks with labels fine-tune a model of mlm, of lm or of one of them with a new output layer",
     FOR(TRANSLATE | LM | MLM | LABELS), HD_FILE_INTO(OWNER, from)},
    {"resume", 0, NULL, NULL,
     "continue the run in --out from its last checkpoint, bit for bit; stopping conditions, threads, device "
     "and reports may change",
     CALL, HD_FLAG_INTO(OWNER, resume)},
    {"overwrite", 0, NULL, NULL, "delete the run in --out and start a new one", CALL,
     HD_FLAG_INTO(OWNER, overwrite)},
    {"dry-run", 'n', NULL, NULL,
     "print the effective options, parameters, batches, memory against that of the device and an estimate "
     "of the time, and train nothing",
     CALL, HD_FLAG_INTO(OWNER, dry_run)},
    {HD_CONFIG_NAME, 'c', "FILE", NULL, HD_CONFIG_HELP, CALL, HD_FILE_INTO(OWNER, config)},

    {"train", 't', "FILE", NULL,
     "training data, plain or compressed (gzip, xz, zstd), - for stdin; a folder stands for its files. "
     "translate: files of parallel sentences, source and target in turn, or files with a tab between them "
     "(.tsv if there are several); lm, mlm: texts; labels of texts: a table with the columns label (of "
     "multilabel: labels with commas between, or nothing), text and, for pairs of texts, text2; tag: lines "
     "of a token, a tab and its label",
     DATA, HD_FILES_AT_ONCE_INTO(OWNER, train, HD_OPTION_MOST)},
    {"train-dir", 0, "FOLDER", NULL, "training data as a folder with one file per class, one text per line",
     DATA, FOR(CLASSIFY), HD_FILES_AT_ONCE_INTO(OWNER, train_dir, 1)},
    {"valid", 0, "FILE", NULL, "validation data, in the form of --train", DATA,
     HD_FILES_AT_ONCE_INTO(OWNER, valid, HD_OPTION_MOST)},
    {"shards", 0, "FOLDER", NULL,
     "tokenize the training data once into this folder and read it from there in pieces; runs with the same "
     "data and tokenizer reuse it. Data larger than a quarter of the free memory goes to train/shards in "
     "--out "
     "without being asked to",
     DATA, FOR(TRANSLATE | LM | MLM), HD_FILE_INTO(OWNER, shards)},
    {"valid-fraction", 0, "X", "0",
     "without --valid: fraction of the training data to hold out for validation; of a text its end", DATA,
     HD_FLOAT_INTO(OWNER, valid_fraction, 0, 0.5)},
    {"max-length", 0, "N", "200", "longest sentence or text, in tokens", DATA, FOR(TRANSLATE | LABELS),
     HD_INT_INTO(OWNER, max_length, 1, 1000000)},
    {"on-long", 0, "WHAT", "skip", "what to do with longer ones: skip, cut or error", DATA, FOR(TRANSLATE),
     HD_CHOICE_INTO(OWNER, too_long, long_lines)},
    {"on-invalid", 0, "WHAT", "error", "what to do with lines that are not UTF-8: error or skip", DATA,
     FOR(TRANSLATE), HD_CHOICE_INTO(OWNER, broken, bad_lines)},
    {"on-empty", 0, "WHAT", "skip", "what to do with lines without words: skip or error", DATA,
     FOR(TRANSLATE), HD_CHOICE_INTO(OWNER, empty, empty_lines)},

    {"tokenizer", 0, "KIND", "sentencepiece",
     "sentencepiece (subwords), words or characters; with --tokenizer-model also bpe, wordpiece, marian or "
     "t5",
     VOCABULARY, FOR(TRANSLATE), TOKENIZER, HD_CHOICE_INTO(OWNER, tokenizer, tokenizers)},
    {"unit", 0, "UNIT", "char", "tokens: word, char or subword", VOCABULARY, FOR(LM | MLM | LABELS),
     TOKENIZER, HD_CHOICE_INTO(OWNER, unit, units)},
    {"vocab-size", 0, "N", "8000", "largest vocabulary; smaller where the text supports fewer tokens",
     VOCABULARY, TOKENIZER, HD_INT_INTO(OWNER, vocab, 5, 1000000)},
    {"subwords", 0, "KIND", "bpe", "how subwords are learned: bpe or unigram", VOCABULARY, TOKENIZER,
     NEEDS(HD_HAS_SUBWORDS), HD_CHOICE_INTO(OWNER, subwords, subwords)},
    {"character-coverage", 0, "X", "0.9995",
     "fraction of the characters in the text that get a piece of their own; the others are spelled in bytes",
     VOCABULARY, TOKENIZER, NEEDS(HD_HAS_SUBWORDS), HD_FLOAT_INTO(OWNER, coverage, 0.9, 1)},
    {"separate-vocab", 0, NULL, NULL, "one vocabulary per language", VOCABULARY, FOR(TRANSLATE), TOKENIZER,
     NEEDS(HD_HAS_UNTIED), HD_FLAG_INTO(OWNER, separate_vocab)},
    {"tokenizer-model", 0, "FILE", NULL,
     "use existing tokenizer files: one for both languages, or two; for one text also vocab.json and "
     "merges.txt, tokenizer.json, or a folder with them",
     VOCABULARY, TOKENIZER, HD_FILES_AT_ONCE_INTO(OWNER, tokenizer_file, 2)},

    {"model", 0, "NAME", "gpt",
     "lm: ngram, maxent, ffnn, rnn, gru, lstm or gpt; tasks with labels: rnn, gru, lstm or transformer",
     MODEL, FOR(LM | LABELS), SHAPE, HD_CHOICE_INTO(OWNER, model, hd_train_model_names)},
    {"encoder", 0, "STAGES", NULL,
     "layers of the encoder (transformer if not given), as in bi-gru:2+transformer: kinds of layers" STAGES
     "; bi- before a kind reads in both directions, :N after it makes N layers",
     MODEL, FOR(TRANSLATE | LABELS), SHAPE, HD_TEXT_INTO(OWNER, encoder)},
    {"decoder", 0, "STAGES", NULL,
     "the same of the decoder: transformer, or an rnn, gru or lstm, followed by transformer if you like",
     MODEL, FOR(TRANSLATE), SHAPE, HD_TEXT_INTO(OWNER, decoder)},
    {"encoder-layers", 0, "N", "4", "layers of the encoder, where --encoder does not say", MODEL,
     FOR(TRANSLATE), SHAPE, HD_INT_INTO(OWNER, encoder_layers, 1, 1000)},
    {"decoder-layers", 0, "N", "4", "layers of the decoder, where --decoder does not say", MODEL,
     FOR(TRANSLATE), SHAPE, HD_INT_INTO(OWNER, decoder_layers, 1, 1000)},
    {"layers", 0, "N", "4", "layers; of a translator those of encoder and decoder each", MODEL, SIZE,
     NEEDS(HD_HAS_LAYERS), HD_INT_INTO(OWNER, layers, 1, 1000)},
    {"width", 0, "N", "128", "hidden size (d_model)", MODEL, SIZE, NEEDS(HD_HAS_NETWORK),
     HD_INT_INTO(OWNER, width, 1, 65536)},
    {"ffn-size", 0, "N", "256", "hidden size of the feed-forward layers", MODEL, SHAPE,
     NEEDS(HD_HAS_BLOCKS | HD_HAS_FFNN), HD_INT_INTO(OWNER, inner, 1, 1048576)},
    {"heads", 0, "N", "4", "attention heads", MODEL, SIZE, NEEDS(HD_HAS_BLOCKS),
     HD_INT_INTO(OWNER, heads, 1, 1024)},
    {"norm", 0, "PLACE", "pre", "layer norm before (pre) or after (post, as in the paper) each sublayer",
     MODEL, FOR(TRANSLATE | LM | LABELS), SHAPE, NEEDS(HD_HAS_BLOCKS), HD_CHOICE_INTO(OWNER, norm, norms)},
    {"activation", 0, "NAME", "relu",
     "of feed-forward layers: relu, gelu, gelu_tanh or silu; of rnn cells: tanh or sigmoid", MODEL, SHAPE,
     NEEDS(HD_HAS_ACTIVATION), HD_CHOICE_INTO(OWNER, activation, hd_train_activations)},
    {"position-kind", 0, "KIND", "sinusoidal",
     "position embeddings: sinusoidal, learned, or none: the model cannot tell the order of words", MODEL,
     FOR(TRANSLATE), SHAPE, NEEDS(HD_HAS_POSITIONS), HD_CHOICE_INTO(OWNER, position_kind, position_kinds)},
    {"max-positions", 0, "N", "512", "longest sentence the model can ever take, in tokens", MODEL,
     FOR(TRANSLATE), SHAPE, HD_INT_INTO(OWNER, positions, 2, 1000000)},
    {"unscaled-attention", 0, NULL, NULL,
     "do not divide attention scores by the square root of the head size", MODEL, FOR(TRANSLATE), SHAPE,
     NEEDS(HD_HAS_BLOCKS), HD_FLAG_INTO(OWNER, no_scale)},
    {"untied", 0, NULL, NULL, "separate embedding tables for source, target and output", MODEL,
     FOR(TRANSLATE | LM), SHAPE, NEEDS(HD_HAS_NETWORK), HD_FLAG_INTO(OWNER, untied)},
    {"context", 0, "N", NULL, "tokens of a window; the model never sees more of them", MODEL, FOR(LM | MLM),
     .from = HD_FROM_DEFAULT, NEEDS(HD_HAS_WINDOWS), HD_INT_INTO(OWNER, context, 1, 1000000)},
    {"order", 0, "N", "6", "n-gram order: tokens the model looks at, the predicted one included", MODEL,
     FOR(LM), SHAPE, NEEDS(HD_HAS_NGRAM | HD_HAS_MAXENT | HD_HAS_FFNN), HD_INT_INTO(OWNER, order, 1, 64)},
    {"smoothing", 0, "NAME", "kneser-ney", "add-k, kneser-ney or kneser-ney-3", MODEL, FOR(LM),
     NEEDS(HD_HAS_NGRAM), HD_CHOICE_INTO(OWNER, smoothing, hd_smoothing_names)},
    {"add-k", 0, "X", "0.1", "the k of --smoothing add-k", MODEL, FOR(LM), NEEDS(HD_HAS_ADD_K),
     HD_FLOAT_INTO(OWNER, add_k, 0, 1e9)},
    {"hash-buckets", 0, "N", "0", "hash buckets for contexts; 0: enough for 32 million weights", MODEL,
     FOR(LM), SHAPE, NEEDS(HD_HAS_MAXENT), HD_INT_INTO(OWNER, features, 0, 268435456)},
    {"whole-word-masking", 0, NULL, NULL, "mask all pieces of a word or none", MODEL, FOR(MLM),
     HD_FLAG_INTO(OWNER, whole_words)},
    {"pool", 0, "HOW", "auto",
     "which hidden states of a text the output layer reads: last, mean, max or first; auto: last of a "
     "recurrent encoder or a language model, first of a BERT, otherwise mean",
     MODEL, FOR(TEXTS), HD_CHOICE_INTO(OWNER, pool, pools)},
    {"one-hot", 0, NULL, NULL, "one-hot vectors instead of learned embeddings: for characters", MODEL,
     FOR(LABELS), SHAPE, NEEDS(HD_HAS_CELLS_FIRST), HD_FLAG_INTO(OWNER, one_hot)},
    {"scratch", 0, NULL, NULL,
     "take the sizes and the tokenizer of --from, but initialize the weights at random: a baseline", MODEL,
     FOR(LABELS), NEEDS(HD_HAS_FROM), HD_FLAG_INTO(OWNER, scratch)},
    {"lm-loss", 0, "X", "0",
     "with --from a language model: weight of its own loss on the texts, added to that of the labels; 0: "
     "none",
     MODEL, FOR(TEXTS), NEEDS(HD_HAS_FROM), HD_FLOAT_INTO(OWNER, lm_loss, 0, 1000)},

    {"decoder-context", 0, "WHAT", "attention", "what the decoder knows of the source" CONTEXTS, CELLS,
     HD_CHOICE_INTO(OWNER, decoder_context, hd_context_names)},
    {"attention-score", 0, "NAME", "additive", "attention score of query q and key k" SCORINGS, ATTENDING,
     HD_CHOICE_INTO(OWNER, score, hd_scoring_names)},
    {"attention-span", 0, "WHERE", "global", "which keys are seen" LOCALITIES, ATTENDING,
     HD_CHOICE_INTO(OWNER, attention, hd_locality_names)},
    {"attention-window", 0, "N", "10", "keys on either side of the center of local attention", RECURRENT,
     SHAPE, NEEDS(HD_HAS_LOCAL_ATTENTION), HD_INT_INTO(OWNER, window, 1, 1000000)},
    {"attention-heads", 0, "N", "1",
     "heads of a recurrent decoder's attention; more than 1 imply --attention-projections", ATTENDING,
     HD_INT_INTO(OWNER, attention_heads, 1, 1024)},
    {"attention-projections", 0, NULL, NULL, "keys and values are projections of the encoder's states",
     ATTENDING, HD_FLAG_INTO(OWNER, project)},
    {"attention-query", 0, "WHICH", "previous", "decoder state that is the query" QUERIES, ATTENDING,
     HD_CHOICE_INTO(OWNER, query, hd_query_names)},
    {"decoder-init", 0, "HOW", "final", "initial state of the decoder" BEGINNINGS, CELLS,
     HD_CHOICE_INTO(OWNER, begin, hd_beginning_names)},
    {"readout", 0, "WHAT", "state", "what the output layer reads" READINGS, CELLS,
     HD_CHOICE_INTO(OWNER, read, hd_reading_names)},
    {"input-feeding", 0, NULL, NULL,
     "input feeding: what the output layer read is an input of the next step, with its token", ATTENDING,
     HD_FLAG_INTO(OWNER, feed_context)},
    {"input-skips", 0, NULL, NULL, "every layer of the decoder reads the token, not only the first", CELLS,
     HD_FLAG_INTO(OWNER, skips)},
    {"no-feedback", 0, NULL, NULL, "the decoder does not read the previous token", CELLS,
     HD_FLAG_INTO(OWNER, no_feedback)},
    {"embedding-relu", 0, NULL, NULL, "apply relu to the embeddings that the decoder reads", CELLS,
     HD_FLAG_INTO(OWNER, relu)},
    {"reverse-source", 0, NULL, NULL, "the encoder reads the source backwards", RECURRENT, SHAPE,
     NEEDS(HD_HAS_ONE_WAY), HD_FLAG_INTO(OWNER, reverse_source)},
    {"decoder-input", 0, "KIND", "teacher", "previous token that the decoder reads in training" FEEDINGS,
     RECURRENT, NEEDS(HD_HAS_PREVIOUS), HD_CHOICE_INTO(OWNER, feeding, hd_feeding_names)},
    {"sampling-rate", 0, "X", "0.5", "probability that it is the model's own token", RECURRENT,
     NEEDS(HD_HAS_SCHEDULED), HD_FLOAT_INTO(OWNER, sampling_rate, 0, 1)},
    {"sampling-decay", 0, "N", "0",
     "updates over which --sampling-rate rises from 0, in 32 equal steps; 0: constant", RECURRENT,
     NEEDS(HD_HAS_SCHEDULED), HD_LONG_INTO(OWNER, sampling_decay, 0, 1e15)},
    {"temperature", 0, "X", "1", "of the tokens it samples; below 1: closer to the most likely one",
     RECURRENT, NEEDS(HD_HAS_SAMPLES), HD_FLOAT_INTO(OWNER, temperature, 0, 100)},

    {"batch-tokens", 0, "N", "2500", "tokens per update, counting the longer side of each pair", LEARNING,
     FOR(TRANSLATE), HD_INT_INTO(OWNER, batch_tokens, 1, 100000000)},
    {"batch-size", 0, "N", "12", "windows (lm, mlm) or items per update", LEARNING, FOR(LM | MLM | LABELS),
     UPDATES, HD_INT_INTO(OWNER, batch, 1, 1000000)},
    {"micro-batches", 0, "N", "1",
     "split each batch into N parts and accumulate their gradients, to save memory", LEARNING, UPDATES,
     HD_INT_INTO(OWNER, accumulate, 1, 100000)},
    {"lr", 0, "X", "0.005", "peak learning rate", LEARNING, UPDATES, HD_FLOAT_INTO(OWNER, lr, 0, 1000)},
    {"warmup", 0, "N", "1000", "updates until the peak learning rate is reached", LEARNING, UPDATES,
     HD_LONG_INTO(OWNER, warmup, 0, 1e15)},
    {"fit-warmup", 0, NULL, NULL,
     "shorten the warm-up to a quarter of the run if it is longer; on unless --warmup is given", LEARNING,
     NEEDS(HD_HAS_DECAY), HD_FLAG_INTO(OWNER, fit_warmup)},
    {"schedule", 0, "NAME", "linear", "learning rate after it: constant, inverse_sqrt, cosine or linear",
     LEARNING, UPDATES, HD_CHOICE_INTO(OWNER, schedule, schedules)},
    {"decay-steps", 0, "N", "0",
     "updates until the learning rate is at its minimum; 0: the length of the run", LEARNING,
     NEEDS(HD_HAS_DECAY), HD_LONG_INTO(OWNER, decay_steps, 0, 1e15)},
    {"min-lr-ratio", 0, "X", "0", "minimum learning rate, as a fraction of the peak", LEARNING,
     NEEDS(HD_HAS_DECAY), HD_FLOAT_INTO(OWNER, floor, 0, 1)},
    {"optimizer", 0, "NAME", "adamw", "sgd, adam or adamw", LEARNING, UPDATES,
     HD_CHOICE_INTO(OWNER, optimizer, optimizers)},
    {"beta1", 0, "X", "0.9", "of Adam, below 1", LEARNING, NEEDS(HD_HAS_ADAM),
     HD_FLOAT_INTO(OWNER, beta1, 0, BELOW_1)},
    {"beta2", 0, "X", "0.98", "of Adam, below 1", LEARNING, NEEDS(HD_HAS_ADAM),
     HD_FLOAT_INTO(OWNER, beta2, 0, BELOW_1)},
    {"adam-eps", 0, "X", "1e-9", "of Adam, above 0", LEARNING, NEEDS(HD_HAS_ADAM),
     HD_FLOAT_INTO(OWNER, adam_eps, 1e-30, 1)},
    {"momentum", 0, "X", "0", "of SGD, below 1", LEARNING, NEEDS(HD_HAS_SGD),
     HD_FLOAT_INTO(OWNER, momentum, 0, BELOW_1)},
    {"weight-decay", 0, "X", "0.2", "decay of the weights", LEARNING, UPDATES,
     HD_FLOAT_INTO(OWNER, weight_decay, 0, 10)},
    {"clip", 0, "X", "1", "largest norm of the gradient; 0: no clipping", LEARNING, UPDATES,
     HD_FLOAT_INTO(OWNER, clip, 0, 1e9)},
    {"ema", 0, "X", "0", "publish an exponential moving average of the weights with this decay; 0: none",
     LEARNING, UPDATES, HD_FLOAT_INTO(OWNER, ema, 0, BELOW_1)},
    {"dropout", 0, "X", "0.2", "dropout of embeddings and sublayers", LEARNING, .from = HD_FROM_DEFAULT,
     NEEDS(HD_HAS_NETWORK), HD_FLOAT_INTO(OWNER, dropout, 0, 0.99)},
    {"attention-dropout", 0, "X", "0", "dropout of attention weights", LEARNING, FOR(TRANSLATE),
     HD_FLOAT_INTO(OWNER, attention_dropout, 0, 0.99)},
    {"ffn-dropout", 0, "X", "0", "dropout inside the feed-forward layers", LEARNING, FOR(TRANSLATE),
     NEEDS(HD_HAS_BLOCKS), HD_FLOAT_INTO(OWNER, inner_dropout, 0, 0.99)},
    {"source-dropout", 0, "X", "0", "dropout of whole source tokens", LEARNING, FOR(TRANSLATE),
     HD_FLOAT_INTO(OWNER, source_dropout, 0, 0.99)},
    {"label-smoothing", 0, "X", "0.1", "probability mass of the target spread over the whole vocabulary",
     LEARNING, UPDATES, HD_FLOAT_INTO(OWNER, label_smoothing, 0, 0.99)},
    {"freeze", 0, "PATTERN", NULL,
     "do not train parameters of such names, as in 'model.encoder.*' or 'bert.embeddings.*'; may be repeated",
     LEARNING, FOR(TRANSLATE | LABELS), .type = HD_OPTION_TEXT, .many = true,
     HD_OPTION_INTO(hd_texts, OWNER, freeze)},
    {"sum-loss", 0, NULL, NULL,
     "use the gradient of the sum of the losses in a batch, not of their mean: --lr is then smaller, --clip "
     "larger",
     LEARNING, UPDATES, HD_FLAG_INTO(OWNER, sum_loss)},
    {"recompute", 0, NULL, NULL, "recompute activations in the backward pass instead of storing them",
     LEARNING, FOR(TRANSLATE), NEEDS(HD_HAS_BLOCKS), HD_FLAG_INTO(OWNER, recompute)},
    {"seed", 0, "N", "1",
     "random seed: the same seed gives the same bits on the same device and instruction set (heed info "
     "--devices), with any number of threads",
     LEARNING, UPDATES, HD_INT_INTO(OWNER, seed, 0, 2147483647)},

    {"epochs", 'e', "N", "0", "stop after so many passes over the data; 0: no limit", LIMITS, LIMIT, UPDATES,
     HD_LONG_INTO(OWNER, epochs, 0, 1e9)},
    {"steps", 's', "N", "0", "stop after so many updates; 0: no limit", LIMITS, LIMIT, UPDATES,
     HD_LONG_INTO(OWNER, steps, 0, 4e9)},
    {"minutes", 'm', "X", "0", "stop this call after so many minutes; 0: no limit", LIMITS, CALL,
     HD_FLOAT_INTO(OWNER, minutes, 0, 1e7)},
    {"patience", 0, "N", "0", "stop after so many validations without a new best model; 0: no limit", LIMITS,
     LIMIT, NEEDS(HD_HAS_VALIDATION), HD_LONG_INTO(OWNER, patience, 0, 1e9)},

    {"valid-every", 0, "N", "0", "validate every N updates; 0: every epoch, and at least every 1000 updates",
     REPORTS, UPDATES, HD_LONG_INTO(OWNER, valid_every, 0, 1e15)},
    {"bleu-sentences", 0, "N", "500", "validation sentences to translate for BLEU; 0: none", REPORTS,
     FOR(TRANSLATE), HD_INT_INTO(OWNER, valid_sentences, 0, 100000000)},
    {"select-by", 0, "BY", "bleu", "what decides which model is the best: bleu or loss", REPORTS,
     FOR(TRANSLATE), HD_CHOICE_INTO(OWNER, best, hd_choice_names)},
    {"save-every", 0, "N", "0", "save a checkpoint every N updates; 0: at every validation", REPORTS, REPORT,
     UPDATES, HD_LONG_INTO(OWNER, save_every, 0, 1e15)},
    {"report-every", 0, "N", "100", "log every N updates", REPORTS, REPORT, UPDATES,
     HD_LONG_INTO(OWNER, report_every, 1, 1e15)},

    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda", MACHINE, REPORT,
     HD_TEXT_INTO(OWNER, device)},
    {"precision", 0, "KIND", "auto", "auto, f32 or bf16 (CUDA only)", MACHINE,
     HD_CHOICE_INTO(OWNER, precision, hd_precision_names)},
    {0},
};

#undef X
#undef Y
#undef Z
