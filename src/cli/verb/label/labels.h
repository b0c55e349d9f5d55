/* What `heed classify` and `heed tag` share: the model, the evaluation on labeled input, and lines that are
   answered as they come. A regression's numbers are answered as labels are. */
#ifndef HD_CLI_VERB_LABEL_LABELS_H
#define HD_CLI_VERB_LABEL_LABELS_H

#include "cli/frame/verb.h"
#include "task/label/labeler.h"

/* The options of both. */
typedef struct hd_labels_options {
    bool json, confusion;
    const char *plot;
    hd_machine_options machine;
    hd_attending_options attending; /* of classify alone */
} hd_labels_options;

#define HD_LABELS_ROWS(owner, to)                                 \
    {"json",                                                      \
     0,                                                           \
     NULL,                                                        \
     NULL,                                                        \
     "write a JSON object for each line, or one for --confusion", \
     HD_FLAG_INTO(owner, to json)},                               \
        {"plot",                                                  \
         0,                                                       \
         "FILE",                                                  \
         NULL,                                                    \
         "draw the confusion matrix as .svg, .png or .pdf",       \
         HD_FILE_INTO(owner, to plot)},                           \
        HD_MACHINE_ROWS(owner, to machine)

typedef struct hd_labels_call hd_labels_call;

/* How the two differ. */
typedef struct hd_labels_verb {
    hd_train_task task;
    const char *awaited, *awaited_labeled; /* of a user who types lines, or labeled ones */
    /* Writes the answer to item i: logp [units, classes] of all items. */
    void (*put)(hd_text *to, const hd_labels_call *c, const hd_labeled *items, size_t i, const hd_real *logp);
    /* Reads labeled items from a file. */
    hd_status (*read)(hd_labeled *items, hd_labels_call *c, const char *path, hd_err *err);
} hd_labels_verb;

struct hd_labels_call {
    hd_command *command;
    const hd_labels_options *o;
    const hd_labels_verb *verb;
    hd_machine machine;
    hd_model_folder model;
    hd_attending attending;
};

/* Whether labeled input is asked for. */
static inline bool hd_labels_evaluates(const hd_labels_options *o)
{
    return o->confusion || o->plot;
}

/* Answers lines, or evaluates on labeled ones. Returns the exit status. */
int hd_labels_run(hd_command *command, const hd_labels_options *o, const hd_labels_verb *verb);

#endif
