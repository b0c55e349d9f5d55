/* The options of `heed train`. */
#include "run/options.h"

#include "backend/backend.h"
#include "backend/mixture.h"
#include "data/sound/features.h"
#include "model/encoder/classifier.h"
#include "model/encdec/encdec.h"
#include "model/vision/image_encoder.h"
#include "nn/map_norm.h"
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
    "music", "handwriting",
#define X(name, text) #name,
    HD_IMAGE_MODEL_LIST(X)
#undef X
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
static const char *const augmentations[] = {"plain", "strong", "auto", NULL};
static const char *const flips[] = {"none", "horizontal", "vertical", "both", "turns", "auto", NULL};
static const char *const normalizings[] = {"none", "bins", "sound", NULL};
static const char *const features[] = {
#define X(name, text) #text,
    HD_FEATURES_LIST(X)
#undef X
        NULL};
static const char *const subwords[] = {"bpe", "unigram", NULL};
const char *const hd_train_stems[] = {"auto", "large", "small", NULL};
static const char *const query_kinds[] = {"anchors", "learned", NULL};
static const char *const norms[] = {"pre", "post", NULL};
static const char *const position_kinds[] = {"sinusoidal", "learned", "none", "periodic", "rotary", NULL};
static const char *const weights[] = {"f32", "bf16", NULL};
static const char *const documents[] = {"none", "line", "blank", "mark", NULL};
static const char *const norm_kinds[] = {"layer", "rms", NULL};
static const char *const ffns[] = {"plain", "gated", NULL};
static const char *const balances[] = {"none", "loss", "sequence", "bias", "both", NULL};
static const char *const biases[] = {"all", "qkv", "none", NULL};
static const char *const optimizers[] = {"sgd", "adam", "adamw", "muon", NULL};
static const char *const tokenizers[] = {
#define X(name, summary) #name,
    HD_TOKENIZER_LIST(X)
#undef X
        NULL};
const char *const hd_train_activations[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", NULL};
const char *const hd_train_variants[] = {"grpo", "dr-grpo", "dapo", NULL};
static const char *const schedules[] = {
#define X(name, help) #name,
    HD_SCHEDULE_LIST(X)
#undef X
        NULL};

/* The largest decay of an average: of 1 nothing new would count, and a float has no number between. */
#define BELOW_1 0.9999999

/* Headings. */
#define RUN        .group = NULL
#define DATA       .group = "Data"
#define VOCABULARY .group = "Vocabulary"
#define MODEL      .group = "Model"
#define RECURRENT  .group = "Recurrent encoder-decoders", .tasks = TRANSLATE | CAPTION | TRANSCRIBE
#define LEARNING   .group = "Optimization"
#define LIMITS     .group = "Stopping"
#define REPORTS    .group = "Validation, checkpoints and reports"
#define MACHINE    .group = "Device"
#define REWARDS    .group = "Rewards", .tasks = REWARD
#define LORA       .group = "LoRA", .tasks = LM | REWARD

enum { TEXT_text, TEXT_masks = 0, TEXT_item, TEXT_words = 0, TEXT_picture = 0, TEXT_sound = 0 };
enum { LABEL_text, LABEL_masks = 0, LABEL_item, LABEL_words = 1, LABEL_picture = 0, LABEL_sound = 0 };
enum {
    PICTURE_text,
    PICTURE_masks = 0,
    PICTURE_item,
    PICTURE_words = 0,
    PICTURE_picture = 1,
    PICTURE_sound = 0
};

/* Columns: the tasks, what the option needs, and what --from and --resume do with it. */
enum {
    TRANSLATE = 1u << HD_TRAIN_TRANSLATE,
    LM = 1u << HD_TRAIN_LM,
    MLM = 1u << HD_TRAIN_MLM,
    CLASSIFY = 1u << HD_TRAIN_CLASSIFY,
    CAPTION = 1u << HD_TRAIN_CAPTION,
    DETECT = 1u << HD_TRAIN_DETECT,
    TRANSCRIBE = 1u << HD_TRAIN_TRANSCRIBE,
    WRITE = 1u << HD_TRAIN_WRITE,
    READ = 1u << HD_TRAIN_READ,
    REWARD = 1u << HD_TRAIN_REWARD,
    TOKENS = ~(DETECT | WRITE | READ | REWARD), /* tasks with texts that are cut into tokens */
/* Tasks with labels, of texts or of any items: what a line is to their models says so. */
#define X(NAME, name, about, what, verb, line, ...) | TEXT_##line << HD_TRAIN_##NAME
    TEXTS = 0 HD_TASK_LIST(X),
#undef X
#define X(NAME, name, about, what, verb, line, ...) | LABEL_##line << HD_TRAIN_##NAME
    LABELS = 0 HD_TASK_LIST(X),
#undef X
/* Tasks whose items may be pictures. */
#define X(NAME, name, about, what, verb, line, ...) | PICTURE_##line << HD_TRAIN_##NAME
    PICTURES = 0 HD_TASK_LIST(X),
#undef X
};
#define FOR(which)    .tasks = which
#define NEEDS(parts)  .needs = parts
#define UPDATES       .needs = HD_HAS_UPDATES
#define TOKENIZER     .from = HD_FROM_TOKENIZER
#define SHAPE         .from = HD_FROM_MODEL
#define SIZE          .from = HD_FROM_SIZE
#define AUGMENTS(of)  .group = "Augmentation of pictures", FOR(of), NEEDS(HD_HAS_PICTURES)
#define AUGMENTATION  AUGMENTS(PICTURES)
#define MASKS         .group = "Augmentation of sound", FOR(TRANSCRIBE)
#define PICTURE_MODEL MODEL, FOR(PICTURES), NEEDS(HD_HAS_PICTURES)
#define MUSIC         .group = "Augmentation of music", FOR(LM), NEEDS(HD_HAS_MUSIC)
#define RESNET        MODEL, FOR(PICTURES), NEEDS(HD_HAS_RESNET), SHAPE
#define VIT           MODEL, FOR(PICTURES), NEEDS(HD_HAS_VIT), SHAPE
#define LATENT        MODEL, FOR(LM), NEEDS(HD_HAS_LATENT), SHAPE
#define EXPERTS       MODEL, FOR(LM), NEEDS(HD_HAS_EXPERTS), SHAPE
#define BALANCING     LEARNING, FOR(LM), NEEDS(HD_HAS_EXPERTS)
#define MODERN_BLOCKS MODEL, FOR(LM), NEEDS(HD_HAS_MODERN), SHAPE
#define CELLS         RECURRENT, SHAPE, NEEDS(HD_HAS_DECODER_CELLS)
#define ATTENDING     RECURRENT, SHAPE, NEEDS(HD_HAS_ATTENTION)
#define CALL          .keep = HD_KEEP_NOT
#define LIMIT         .keep = HD_KEEP_LIMIT
#define REPORT        .keep = HD_KEEP_REPORT

/* The choices of an option and what they are, behind what it is about. */
#define X(name, text)       "; " #name ": " text
#define STAGES              HD_STAGE_LIST(X)
#define CONTEXTS            HD_CONTEXT_LIST(X)
#define SCORINGS            HD_SCORING_LIST(X)
#define QUERIES             HD_QUERY_LIST(X)
#define BEGINNINGS          HD_BEGINNING_LIST(X)
#define READINGS            HD_READING_LIST(X)
#define FEEDINGS            HD_FEEDING_LIST(X)
#define IMAGE_ENCODERS      HD_IMAGE_MODEL_LIST(X)
#define Y(NAME, name, text) "; " name ": " text
#define LOCALITIES          HD_LOCALITY_LIST(Y)

#define Z(NAME, name, about, ...) "; " #name ": " about
#define TASKS                     HD_TASK_LIST(Z)

/* clang-format off */
#define FLAG(name, letter, field, help, ...) {name, letter, NULL, NULL, help, __VA_ARGS__, HD_FLAG_INTO(OWNER, field)},
#define NUMBER(KIND, name, letter, argument, fallback, field, low, high, help, ...) \
    {name, letter, argument, fallback, help, __VA_ARGS__, HD_##KIND##_INTO(OWNER, field, low, high)},
#define INT(...)  NUMBER(INT, __VA_ARGS__)
#define LONG(...) NUMBER(LONG, __VA_ARGS__)
#define REAL(...) NUMBER(FLOAT, __VA_ARGS__)
#define CHOICE(name, letter, argument, fallback, field, list, help, ...) \
    {name, letter, argument, fallback, help, __VA_ARGS__, HD_CHOICE_INTO(OWNER, field, list)},
#define TEXT(name, letter, argument, fallback, field, help, ...) \
    {name, letter, argument, fallback, help, __VA_ARGS__, HD_TEXT_INTO(OWNER, field)},
#define TEXTS(name, letter, argument, field, help, ...) \
    {name, letter, argument, NULL, help, __VA_ARGS__, .type = HD_OPTION_TEXT, .many = true, \
     HD_OPTION_INTO(hd_texts, OWNER, field)},
#define PATH(name, letter, argument, field, help, ...) \
    {name, letter, argument, NULL, help, __VA_ARGS__, HD_FILE_INTO(OWNER, field)},
#define FILES(name, letter, argument, field, most, help, ...) \
    {name, letter, argument, NULL, help, __VA_ARGS__, HD_FILES_AT_ONCE_INTO(OWNER, field, most)},
/* clang-format on */

const hd_option hd_train_table[] = {
#include "run/options_list.h"
    {0},
};

#undef X
#undef Y
#undef Z
