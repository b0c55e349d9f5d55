/* heed tag: a label for every token. */
#include "cli/verb/label/labels.h"

static const hd_option options[] = {
    {"confusion", 0, NULL, NULL,
     "the input is labeled, each line a token, a tab and its label: show the confusion matrix, accuracy and "
     "macro-F1",
     HD_FLAG_INTO(hd_labels_options, confusion)},
    HD_LABELS_ROWS,
    HD_ATTENDING_HEADS,
    {0},
};

static const hd_example examples[] = {
    {"echo 'the dog barks .' | heed tag model", "each token with its label"},
    {"heed tag model --confusion model/train/held-out.tsv", "how good it is on the held-out sentences"},
    {NULL, NULL},
};

const hd_usage hd_verb_tag = {
    HD_INPUT_OPERANDS,
    .about =
        "Labels every token with the tagger in the folder MODEL. Each input line is a sentence, its tokens "
        "separated by spaces; each output line is a token, a tab and its label, and an empty line ends a "
        "sentence. " HD_INPUT_FILES " " HD_INPUT_ABOUT "\n"
        "With --confusion the input has labels, in the format of the training data, and the output says how "
        "well the model predicts them.",
    .options = options,
    .size = sizeof(hd_labels_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "tag",
    .check = hd_labels_check,
    .run = hd_labels_run,
};
