/* The options of `heed train`: one table has those of all tasks. */
#ifndef HD_RUN_OPTIONS_H
#define HD_RUN_OPTIONS_H

#include <string.h>

#include "run/option.h"
#include "run/presets.h"
#include "run/task_list.h"
#include "model/lm/lm.h"
#include "text/tokenizer.h"

/* X(NAME, name, how the best model is chosen) */
#define HD_CHOICE_LIST(X)                                                      \
    X(BLEU, bleu, "by the BLEU score of translated validation sentences")      \
    X(LOSS, loss, "by the validation loss")                                    \
    X(CIDER, cider, "by the CIDEr-D score of captions of validation pictures") \
    X(WER, wer, "by the word error rate of transcripts of validation sounds")

#define X(NAME, name, text) HD_CHOICE_##NAME,
typedef enum hd_choice { HD_CHOICE_LIST(X) HD_CHOICES } hd_choice;
#undef X

extern const char *const hd_choice_names[HD_CHOICES + 1];

/* A field for every row of run/options_list.h. */
#define FLAG(name, letter, field, ...)                       bool field;
#define INT(name, letter, argument, fallback, field, ...)    int field;
#define LONG(name, letter, argument, fallback, field, ...)   int64_t field;
#define REAL(name, letter, argument, fallback, field, ...)   double field;
#define CHOICE(name, letter, argument, fallback, field, ...) int field; /* the place in the list */
#define TEXT(name, letter, argument, fallback, field, ...)   const char *field;
#define TEXTS(name, letter, argument, field, ...)            hd_texts field;
#define PATH(name, letter, argument, field, ...)             const char *field;
#define FILES(name, letter, argument, field, ...)            hd_texts field;
typedef struct hd_train_options {
#include "run/options_list.h"
} hd_train_options;

/* X(NAME, what it is): the parts a run can have. A row of the table needs one of some, or has no effect. The
   task says those of the model (run/recipe.h). */
#define HD_MODEL_PART_LIST(X)                                                                              \
    X(UPDATES, "a model that is trained by updates, not --model ngram")                                    \
    X(NETWORK, "a neural network")                                                                         \
    X(LAYERS, "rnn, gru, lstm or transformer layers")                                                      \
    X(BLOCKS, "transformer layers")                                                                        \
    X(CELLS_FIRST, "an encoder that begins with rnn, gru or lstm")                                         \
    X(ACTIVATION, "layers that have it: transformer (relu, gelu, gelu_tanh, silu) or rnn (tanh, sigmoid)") \
    X(MODERN, "--model llama, moe or deepseek")                                                            \
    X(EXPERTS, "--model moe or deepseek")                                                                  \
    X(LATENT, "--model deepseek")                                                                          \
    X(POSITIONS, "--model gpt, or an --encoder or --decoder that begins with transformer")                 \
    X(WINDOWS, "a model that reads windows of a text")                                                     \
    X(NGRAM, "--model ngram")                                                                              \
    X(MAXENT, "--model maxent")                                                                            \
    X(FFNN, "--model ffnn")                                                                                \
    X(DECODER_CELLS, "a recurrent --decoder")                                                              \
    X(ATTENTION, "a recurrent --decoder with --decoder-context attention")                                 \
    X(LOCAL_ATTENTION, "a recurrent --decoder with local --attention-span")                                \
    X(PREVIOUS, "a recurrent --decoder alone, which reads the previous token")                             \
    X(ONE_WAY, "an --encoder that begins with a recurrent layer of one direction")                         \
    X(RESNET, "a resnet that reads pictures")                                                              \
    X(VIT, "a vit that reads pictures")                                                                    \
    X(ANCHORS, "--query-kind anchors")                                                                     \
    X(MUSIC, "--model music")                                                                              \
    X(PEN_CELLS, "--model handwriting")                                                                    \
    X(PICTURES, "pictures to learn from")                                                                  \
    X(SOUND, "sounds to learn from")                                                                       \
    X(TEXTS, "texts to learn from")

#define HD_RUN_PART_LIST(X)                                  \
    X(SCHEDULED, "--decoder-input scheduled or gumbel")      \
    X(SAMPLES, "--decoder-input free, scheduled or gumbel")  \
    X(ADD_K, "--smoothing add-k")                            \
    X(SUBWORDS, "a subword vocabulary that is learned here") \
    X(UNTIED, "--untied")                                    \
    X(PRESET, "a preset of the task")                        \
    X(FROM, "--from")                                        \
    X(LORA, "--lora")                                        \
    X(VALIDATION, "--valid or --valid-fraction")             \
    X(ADAM, "--optimizer adam, adamw or muon")               \
    X(MUON, "--optimizer muon")                              \
    X(SGD, "--optimizer sgd")                                \
    X(DECAY, "--schedule cosine or linear")

#define HD_PART_LIST(X) HD_MODEL_PART_LIST(X) HD_RUN_PART_LIST(X)

enum {
#define X(NAME, text) HD_PART_##NAME,
    HD_PART_LIST(X) HD_PARTS
#undef X
};
enum {
#define X(NAME, text) HD_HAS_##NAME = (hd_run_parts)1 << HD_PART_##NAME,
    HD_PART_LIST(X)
#undef X
#define X(NAME, text) | HD_HAS_##NAME
        HD_HAS_OF_MODEL = 0 HD_MODEL_PART_LIST(X), /* all of them */
#undef X
};
_Static_assert(HD_PARTS <= 64, "parts are bits of hd_run_parts");

extern const hd_option hd_train_table[];
extern const char *const hd_train_tasks[HD_TRAIN_TASKS + 1]; /* ends with NULL */

/* Whether a row of the table was given. */
static inline bool hd_train_given(const hd_option_set *set, const char *name)
{
    return hd_option_given(hd_option_find(set, name).given);
}

extern const char *const hd_train_activations[];
hd_unary hd_train_activation(int choice); /* what --activation says */
/* What it says of the feed-forward layers of blocks (`usual` where it is of cells), and of rnn cells (tanh
   where it is of blocks). */
hd_unary hd_train_block_activation(int choice, hd_unary usual);
hd_unary hd_train_cell(int choice);
bool hd_train_names_cell(int choice); /* whether it is of cells: tanh, sigmoid */

/* --model has those of language models, and behind them what classifiers and taggers have beside. */
enum {
    HD_TRAIN_MODEL_TRANSFORMER = HD_LM_KINDS,
    HD_TRAIN_MODEL_MUSIC, /* a gpt whose tokens are music */
    HD_TRAIN_MODEL_HANDWRITING,
    HD_TRAIN_MODEL_IMAGE /* then encoders of pictures */
};
extern const char *const hd_train_model_names[]; /* ends with NULL */

/* Whether a run of a task with labels learns from pictures. */
static inline bool hd_train_pictures(const hd_train_options *o)
{
    return o->model >= HD_TRAIN_MODEL_IMAGE;
}

/* --augment */
enum { HD_TRAIN_AUGMENT_PLAIN, HD_TRAIN_AUGMENT_STRONG, HD_TRAIN_AUGMENT_AUTO };

/* --flip */
enum {
    HD_TRAIN_FLIP_NONE,
    HD_TRAIN_FLIP_HORIZONTAL,
    HD_TRAIN_FLIP_VERTICAL,
    HD_TRAIN_FLIP_BOTH,
    HD_TRAIN_FLIP_TURNS,
    HD_TRAIN_FLIP_AUTO
};

/* --variant */
enum { HD_TRAIN_GRPO, HD_TRAIN_DR_GRPO, HD_TRAIN_DAPO };
extern const char *const hd_train_variants[];

/* --resnet-stem */
enum { HD_TRAIN_STEM_AUTO, HD_TRAIN_STEM_LARGE, HD_TRAIN_STEM_SMALL };
extern const char *const hd_train_stems[];

/* --position-kind */
enum {
    HD_TRAIN_POSITIONS_SINUSOIDAL,
    HD_TRAIN_POSITIONS_LEARNED,
    HD_TRAIN_POSITIONS_NONE,
    HD_TRAIN_POSITIONS_PERIODIC,
    HD_TRAIN_POSITIONS_ROTARY
};
/* --documents */
enum { HD_TRAIN_DOCUMENTS_NONE, HD_TRAIN_DOCUMENTS_LINE, HD_TRAIN_DOCUMENTS_BLANK, HD_TRAIN_DOCUMENTS_MARK };
/* How loads of experts are kept even. */
enum {
    HD_TRAIN_BALANCE_NONE,
    HD_TRAIN_BALANCE_LOSS,
    HD_TRAIN_BALANCE_SEQUENCE,
    HD_TRAIN_BALANCE_BIAS,
    HD_TRAIN_BALANCE_BOTH
};
hd_status hd_train_check_positions(const hd_train_options *o,
                                   hd_err *err); /* of tasks that have no periodic ones */

/* --unit */
enum { HD_TRAIN_WORD, HD_TRAIN_CHAR, HD_TRAIN_SUBWORD };
hd_tokenizer_kind hd_train_unit(int unit);
enum { HD_TRAIN_ALL_PIECES = 1000000 }; /* of --vocab-size: as many as there are */

/* How the tokenizer is learned. */
hd_tokenizer_opt hd_train_vocabulary(const hd_train_options *o);
/* The tokenizer file of a task with one tokenizer; NULL: there is none. vocab.json and merges.txt are one, by
   the first of them. */
hd_status hd_train_tokenizer(const char **to, const hd_train_options *o, hd_err *err);
/* HD_EARG where a task that learns from one file gets none or several, or --valid and --valid-fraction. what:
   "a language model learns from one text". */
hd_status hd_train_check_files(const hd_train_options *o, const char *what, hd_err *err);
hd_status hd_train_check_end(const hd_train_options *o, hd_err *err); /* that the run can end */

#endif
