/* What `heed classify` and `heed tag` share: the model, the judging of labeled input, and lines that are
   answered as they come. Numbers are answered as labels are. */
#ifndef HD_CLI_VERB_LABELS_H
#define HD_CLI_VERB_LABELS_H

#include "cli/verb/attention.h"
#include "task/label/labeler.h"

/* The options of both. */
typedef struct hd_labels_options {
    bool json, confusion;
    const char *plot, *device;
    int precision;
    hd_attending_options attending; /* of classify alone */
} hd_labels_options;

typedef struct hd_labels_call {
    const hd_command *command;
    const hd_labels_options *o;
    const char *awaited; /* of whoever types lines */
    hd_backend *backend;
    hd_run run;
    hd_labeler *labeler;
    hd_attending attending;
} hd_labels_call;

hd_status hd_labels_open(hd_labels_call *c, hd_label_task task, hd_err *err); /* the model of operand 0 */
void hd_labels_close(hd_labels_call *c);
/* The file of operand 1, or "-". */
const char *hd_labels_input(const hd_command *c);

/* Whether labeled input is asked for. */
static inline bool hd_labels_judges(const hd_labels_options *o)
{
    return o->confusion || o->plot;
}

/* Judges labeled items and shows what is taken for what, or how numbers go together. */
hd_status hd_labels_judge(hd_labels_call *c, const hd_labeled *items, hd_err *err);

/* Reads one line into items, as one or more units with the label -1, and ends their item. */
typedef hd_status hd_labels_take(const hd_labels_call *c, hd_labeled *items, hd_line line, hd_err *err);
/* Writes what is found of the items, in their order: logp [units, classes]. */
typedef void hd_labels_put(hd_text *to, const hd_labels_call *c, const hd_labeled *items,
                           const hd_real *logp);
/* Lines of the input, answered whenever many have come or whoever writes them pauses. The exit status. */
int hd_labels_answer(hd_labels_call *c, hd_labels_take *take, hd_labels_put *put, hd_err *err);

#endif
