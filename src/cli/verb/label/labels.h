/* What `heed classify` and `heed tag` share, which is all but their options and words. A regression's numbers
   are answered as labels are. */
#ifndef HD_CLI_VERB_LABEL_LABELS_H
#define HD_CLI_VERB_LABEL_LABELS_H

#include "cli/frame/verb.h"
#include "task/label/labeler.h"

/* The options of both; what is not of `usual` and --confusion is of classify alone. */
typedef struct hd_labels_options {
    hd_usual usual;
    bool confusion;
    int top;
    double threshold;
    int on_invalid; /* error or skip */
    const char *images;
} hd_labels_options;

#define HD_LABELS_JSON "write a JSON object for each line, or one for --confusion"
#define HD_LABELS_PLOT "draw the confusion matrix as .svg, .png or .pdf"
#define HD_LABELS_ROWS                                                     \
    {"json", 0, NULL, NULL, HD_LABELS_JSON, HD_FLAG_INTO(hd_usual, json)}, \
        {"plot", 0, "FILE", NULL, HD_LABELS_PLOT, HD_FILE_INTO(hd_usual, plot)}, HD_MACHINE_ROWS

hd_verb_fn hd_labels_check;
/* Answers lines, or evaluates on labeled ones. */
hd_verb_fn hd_labels_run;
/* Writes the answer to item i of them; answer: those of all. */
void hd_labels_put(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i,
                   const hd_real *answer);

/* The labels that are asked for, the most likely first; answer: of one item. */
void hd_labels_put_likely(hd_text *to, const hd_command *c, const hd_real *answer);

/* -- pictures -- */

/* Answers the files behind the model, which are pictures. */
hd_verb_fn hd_labels_answer_pictures;
/* Judges the model by labeled pictures there. */
hd_status hd_labels_judge_pictures(hd_judged *out, hd_command *c, hd_err *err);

#endif
