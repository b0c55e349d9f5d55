/* `heed score`: what is asked for, and what its tasks share. */
#ifndef HD_CLI_VERB_SCORE_SCORE_H
#define HD_CLI_VERB_SCORE_SCORE_H

#include "cli/frame/verb.h"
#include "metric/lengths.h"
#include "metric/report.h"

/* X(name, what FILE and --ref are, options that it has) */
#define HD_SCORE_LIST(X)                                                                                 \
    X(translate, "translations, a line each",                                                            \
      "ref metric tokenize lowercase sentence bootstrap seed digits json by-length source buckets plot") \
    X(caption, "captions, NAME<tab>CAPTION a line, and NAME#K<tab>CAPTION of --ref",                     \
      "ref metric bootstrap seed digits json shuffle")                                                   \
    X(transcribe, "transcripts, FILE<tab>TEXT a line, as those of --ref",                                \
      "ref metric bootstrap seed digits json")                                                           \
    X(detect,                                                                                            \
      "boxes with scores, as heed detect --json or COCO's results have them, and true ones, as CSV or "  \
      "COCO's "                                                                                          \
      "annotations",                                                                                     \
      "ref images split digits json")                                                                    \
    X(classify, "labels, as heed classify writes them for files, and FILE<tab>LABEL of --ref",           \
      "ref json plot")                                                                                   \
    X(answers,                                                                                           \
      "samples of a language model as JSON Lines, as heed generate --json writes them, and the right "   \
      "answer of each prompt, a line each, or PROMPT<tab>ANSWER",                                        \
      "ref pass majority answer json")

#define X(name, what, options) HD_SCORE_##name,
typedef enum hd_score_task { HD_SCORE_LIST(X) HD_SCORE_TASKS } hd_score_task;
#undef X

typedef struct hd_score_options {
    hd_texts ref;
    bool lowercase, sentence, json;
    int task, tokenize, bootstrap, seed, digits;
    const char *metric;
    bool by_length, shuffle;
    const char *source, *buckets, *plot, *split, *images, *pass, *answer;
    bool majority;
} hd_score_options;

enum { HD_SCORE_FILES = 2 * HD_OPTION_MOST + 1 };

typedef struct hd_score_call {
    hd_command command;
    hd_score_options own; /* with the task that options tell of */
    const hd_score_options *o;
    bool wanted[HD_METRICS];
    size_t metrics, systems, refs, files;
    const char *path[HD_SCORE_FILES]; /* of the systems, then of the references, then of the source */
    const char *name[HD_OPTION_MOST];
    hd_lines *file[HD_SCORE_FILES];
    hd_line line[HD_SCORE_FILES];
    hd_metric *metric[HD_OPTION_MOST * HD_METRICS]; /* [systems][metrics] */
    hd_score_report_cell cell[HD_OPTION_MOST * HD_METRICS];
    double *sample[HD_OPTION_MOST * HD_METRICS];
    size_t pretokenized;
    hd_lengths lengths;
} hd_score_call;

/* Makes the metrics that are wanted. */
hd_status hd_score_begin(hd_score_call *j, hd_err *err);
/* Once all is read. */
hd_status hd_score_settle(hd_score_call *j, hd_err *err);
/* Writes their scores. */
hd_status hd_score_show(hd_score_call *j, hd_err *err);

/* The tasks, once all is checked. */
hd_status hd_score_translations(hd_score_call *j, hd_err *err);
hd_status hd_score_named(hd_score_call *j, hd_err *err); /* captions and transcripts */
hd_status hd_score_detections(hd_score_call *j, hd_err *err);
hd_status hd_score_labels(hd_score_call *j, hd_err *err);
hd_status hd_score_answers(hd_score_call *j, hd_err *err);

#endif
