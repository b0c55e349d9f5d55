/* A model with what it reads and writes by, whatever its task: the handle of a model that was opened,
   imported or trained. In its folder lie config.json, the tokenizers, labels, and weights or counts.
   Read-only once it is open: any number of runs may share one. Tasks are listed in run/task_list.h. */
#ifndef HD_TASK_MODEL_FOLDER_H
#define HD_TASK_MODEL_FOLDER_H

#include "base/file/lines.h"
#include "model/config.h"
#include "model/type.h"
#include "run/task_list.h"
#include "text/vocab.h"

/* What a line is to a model. */
typedef enum hd_line_kind {
    HD_LINE_text,
    HD_LINE_masks,   /* "[MASK]" in it is one */
    HD_LINE_item,    /* of a classifier: one text or two, with a tab between */
    HD_LINE_words,   /* each word between blanks is cut into pieces by itself, as a tagger learned them */
    HD_LINE_picture, /* none: the files of a verb are pictures */
    HD_LINE_sound    /* none: they are sounds */
} hd_line_kind;

/* X(NAME, name, what becomes of the rows of a line where they become one vector, hd_reduction) */
#define HD_POOLING_LIST(X)                                                                               \
    X(AUTO, auto, "as the folder of a sentence model says, 1 long where it says so; else mean", HD_MEAN) \
    X(MEAN, mean, "their mean", HD_MEAN)                                                                 \
    X(LAST, last, "the last one", HD_LAST)                                                               \
    X(MAX, max, "the most of each column", HD_MAX)                                                       \
    X(FIRST, first, "the first one", HD_FIRST)                                                           \
    X(CLS, cls, "the same, by the name that BERT gives it", HD_FIRST)                                    \
    X(SQRT, sqrt, "their sum over the square root of their number", HD_MEAN)                             \
    X(NONE, none, "all of them", HD_SUM)                                                                 \
    X(POOLER, pooler, "the first one through BERT's pooler", HD_FIRST)

#define X(NAME, name, text, reduction) HD_POOLING_##NAME,
typedef enum hd_pooling { HD_POOLING_LIST(X) HD_POOLINGS } hd_pooling;
#undef X

extern const char *const hd_pooling_names[HD_POOLINGS + 1]; /* ends with NULL */

struct hd_model_folder;

typedef struct hd_task_folder { /* a row of the list of tasks */
    hd_train_task id;
    const char *name, *what, *verb;
    hd_line_kind line;
    bool start, end; /* special tokens that it reads before and behind a line, unless the model is `bare` */
    const char *best;
    /* Reads the rest of config.json and what lies beside it, but for weights, and makes the model in
       the backend. A fault stays in c; what was opened until then is released by the caller. */
    void (*read)(struct hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend);
    void (*write)(hd_text *to, const struct hd_model_folder *f); /* keys of config.json */
} hd_task_folder;

typedef struct hd_model_folder {
    const hd_task_folder *task;
    hd_model model;
    hd_tokenizer *tokenizer[2]; /* of what it reads and what it writes; one and the same where it has one;
                                   NULL: of pictures, and of what only gives labels to them */
    hd_vocab labels;            /* in the order of the classes; {0}: it has none */
    bool pairs;                 /* its items are pairs of texts */
    bool pictures;              /* it reads pictures, and has no tokenizer of what it reads */
    bool sounds;                /* the same of sounds */
    size_t trained;  /* of a translator: tokens of the longest sentence in training, end included */
    hd_pooling pool; /* of a sentence model: how its rows become a vector; else AUTO */
    bool normalize;  /* ... and whether that is made 1 long */
    char *base;      /* of an adapter whose weights are not loaded yet: the folder of its model; owned */
    hd_backend *described; /* that of a model without weights, which computes nothing; owned */

    /* How it reads a line: */
    size_t longest;   /* most tokens that are read at once, the special ones included */
    bool start, end;  /* the special tokens that it reads before and behind a line */
    bool drops_start; /* the start has no row of its own */
} hd_model_folder;

/* The best of validation, or the last of training; WHOLE is added to either by whoever saves them or wants
   gradients: values stay beside the forms that products read. */
typedef enum hd_weights { HD_WEIGHTS_BEST, HD_WEIGHTS_LAST, HD_WEIGHTS_WHOLE } hd_weights;

extern const hd_task_folder hd_task_folders[HD_TRAIN_TASKS];
const hd_task_folder *hd_task_folder_find(const char *name); /* NULL: there is none */

/* What config.json says that it is; NULL: nothing that is known. Fails only for lack of memory: what is wrong
   with a folder is left to whoever opens it. */
hd_status hd_task_folder_peek(const hd_task_folder **out, const char *folder, hd_err *err);

/* Opens the model for inference. task: refuses those that another verb reads; NULL: any. Its memory comes
   from the backend, which must outlive it. */
hd_status hd_model_folder_open(hd_model_folder *out, const char *folder, const char *task,
                               hd_backend *backend, hd_weights which, hd_err *err);
/* The same without weights or counts. */
hd_status hd_model_folder_describe(hd_model_folder *out, const char *folder, const char *task, hd_err *err);
/* Small enough that the numbers of all weights together cannot overflow. */
enum { HD_MOST_LABELS = 1 << 20 };
/* Reads labels.txt into f->labels. */
hd_status hd_model_folder_read_labels(hd_model_folder *f, const char *folder, hd_err *err);
/* Puts a model of a task, which it owns from now on, beside the tokenizers, and sets how lines are read; a
   `longest` that is set already stays, and a second tokenizer that is not set is the first. */
void hd_model_folder_take(hd_model_folder *f, hd_train_task task, hd_model model);
void hd_model_folder_release(hd_model_folder *f);         /* accepts {0} */
void hd_model_folder_keep_tokenizers(hd_model_folder *f); /* releases the rest */

struct hd_encdec;
struct hd_lm;
struct hd_bert;
struct hd_classifier;
/* The model where its type is known. */
static inline struct hd_encdec *hd_model_folder_encdec(const hd_model_folder *f)
{
    return f->model.self;
}
static inline struct hd_lm *hd_model_folder_lm(const hd_model_folder *f)
{
    return f->model.self;
}
static inline struct hd_bert *hd_model_folder_bert(const hd_model_folder *f)
{
    return f->model.self;
}
static inline struct hd_classifier *hd_model_folder_classifier(const hd_model_folder *f)
{
    return f->model.self;
}

/* Writes all but the weights: tokenizers, labels, config.json. */
hd_status hd_model_folder_save(const hd_model_folder *f, const char *folder, hd_err *err);
hd_status hd_model_folder_save_tokenizers(hd_tokenizer *const tokenizer[2], const char *folder, hd_err *err);
/* Replaces the weights or counts. */
hd_status hd_model_folder_publish(const hd_model_folder *f, const char *folder, hd_err *err);
/* Both. */
hd_status hd_model_folder_write(const hd_model_folder *f, const char *folder, hd_err *err);
/* Removes the files of a model of any task and of its training from a folder, and nothing else that is in it:
   corpora perhaps. training.yml stays, so that what a kill leaves is still a model's folder. */
hd_status hd_model_folder_remove(const char *folder, hd_err *err);

/* Appends the pieces of a line, with their places in it and without special tokens. framed: words have some
   around them, and are read as parts of a text: the pieces of a BPE begin with the space before them. */
hd_status hd_line_pieces(hd_line_kind kind, bool framed, const hd_tokenizer *t, hd_line line, hd_pieces *out,
                         hd_err *err);
/* Appends the ids of a line with the special tokens around them. */
hd_status hd_model_folder_encode(const hd_model_folder *f, hd_line line, hd_ids *out, hd_err *err);

#define X(NAME, name, about, what, verb, line, start, end, best, functions)                \
    void hd_##functions##_read(hd_model_folder *f, hd_model_config *c, const char *folder, \
                               hd_backend *backend);                                       \
    void hd_##functions##_write(hd_text *to, const hd_model_folder *f);
HD_TASK_LIST(X)
#undef X

#endif
