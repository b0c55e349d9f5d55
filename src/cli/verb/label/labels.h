/* What `heed classify` and `heed tag` share: the evaluation on labeled input, and lines that are answered as
   they come. A regression's numbers are answered as labels are. */
#ifndef HD_CLI_VERB_LABEL_LABELS_H
#define HD_CLI_VERB_LABEL_LABELS_H

#include "cli/frame/verb.h"
#include "task/label/labeler.h"

/* The options of both, of which --attention is of classify alone. */
typedef struct hd_labels_options {
    hd_usual usual;
    bool confusion;
} hd_labels_options;

#define HD_LABELS_JSON "write a JSON object for each line, or one for --confusion"
#define HD_LABELS_PLOT "draw the confusion matrix as .svg, .png or .pdf"
#define HD_LABELS_ROWS                                                     \
    {"json", 0, NULL, NULL, HD_LABELS_JSON, HD_FLAG_INTO(hd_usual, json)}, \
        {"plot", 0, "FILE", NULL, HD_LABELS_PLOT, HD_FILE_INTO(hd_usual, plot)}, HD_MACHINE_ROWS

/* How the two differ. */
typedef struct hd_labels_verb {
    const char *awaited, *awaited_labeled; /* of a user who types lines, or labeled ones */
    /* Writes the answer to item i: logp [units, classes] of all items. */
    void (*put)(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i, const hd_real *logp);
} hd_labels_verb;

typedef struct hd_labels_call {
    hd_command command;
    const hd_labels_verb *verb;
} hd_labels_call;

/* Whether labeled input is asked for. */
static inline bool hd_labels_evaluates(const hd_command *c)
{
    const hd_labels_options *o = c->options;
    return o->confusion || o->usual.plot;
}

hd_verb_fn hd_labels_check;
/* Answers lines, or evaluates on labeled ones. c is a hd_labels_call. */
hd_status hd_labels_run(hd_command *c, const hd_labels_verb *verb, hd_err *err);

#endif
