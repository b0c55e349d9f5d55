/* heed classify: a label for every line, or for every picture. */
#include "cli/verb/label/labels.h"

static const char *const invalid[] = {"error", "skip", NULL};

static const hd_option options[] = {
    {"top", 0, "K", NULL,
     "show the K most likely labels; if not given, 1, or of a model of any number of labels all that "
     "--threshold leaves",
     HD_INT_INTO(hd_labels_options, top, 1, 1000000)},
    {"threshold", 0, "X", NULL,
     "show only labels of at least this probability; if not given, 0, or of a model of any number of labels "
     "0.5 (0 with --json)",
     HD_FLOAT_INTO(hd_labels_options, threshold, 0, 1)},
    {"confusion", 0, NULL, NULL,
     "the input is labeled: show the confusion matrix, accuracy, F1 and Matthews correlation; of any number "
     "of labels F1, exact match and average precision, of numbers Pearson and Spearman correlation",
     HD_FLAG_INTO(hd_labels_options, confusion)},
    {"on-invalid", 0, "WHAT", "error",
     "pictures that cannot be read: error (each is said, and the exit status is 1) or skip (it is not); of "
     "--confusion: skip leaves them out",
     HD_CHOICE_INTO(hd_labels_options, on_invalid, invalid)},
    {"images", 0, "FOLDER", NULL, "of --confusion with a list: the folder of its pictures, if not its own",
     HD_FILE_INTO(hd_labels_options, images)},
    {"dir", .gone = "give the folder after MODEL"},
    HD_LABELS_ROWS,
    HD_ATTENDING_FILE,
    HD_ATTENDING_LAYER,
    HD_ATTENDING_HEAD,
    HD_ATTENDING_HEADS,
    {0},
};

static const hd_example examples[] = {
    {"echo Nakamura | heed classify model", "its label and the probability"},
    {"heed classify model names.txt --top 3", "the three most likely labels of each line"},
    {"heed classify model --confusion model/train/held-out.tsv", "how good it is on the held-out items"},
    {"heed classify model --confusion names/ --plot confusion.svg",
     "the same for a folder with a file for each class, and as a picture"},
    {"heed classify vit a.png b.jpg --top 5", "the five most likely labels of each picture"},
    {"heed classify vit --confusion photos/ --plot confusion.svg",
     "how good it is on a folder with a subfolder of pictures for each class"},
    {"heed classify vit a.png --attention out.html", "where in the picture it looks"},
    {"heed classify tuned texts.txt --attention out.html", "what each token of a text attends to"},
    {NULL, NULL},
};

const hd_usage hd_verb_classify = {
    HD_INPUT_OPERANDS,
    .about =
        "Writes, for every line, the label that the classifier in the folder MODEL predicts, a tab and its "
        "probability; with --top K, the K most likely labels with theirs. A model of any number of "
        "labels (heed train --task multilabel) writes all that are likely, one of numbers (regress) a "
        "number. A model of text pairs reads two texts separated by a tab. An empty line "
        "gives an empty line. " HD_INPUT_FILES " " HD_INPUT_ABOUT "\n"
        "A model that reads pictures answers each FILE, PNG or JPEG: its name, a tab, the label, a tab and "
        "the probability.\n"
        "With --confusion FILE has labels, a table as for heed train or a folder with a file for each class, "
        "and the output says how well the model predicts them: a row for each label, with a count for "
        "every label that was predicted instead. Labeled pictures are a folder with a subfolder for each "
        "class, a list with lines FILE<tab>LABEL, or an IDX file of pictures and one of labels.\n"
        "--attention shows what the tokens of each line attend to, in a classifier fine-tuned from a bert "
        "or gpt, and where in a picture a vit looks.",
    .options = options,
    .size = sizeof(hd_labels_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .pictures = true,
    .task = "classify",
    .check = hd_labels_check,
    .run = hd_labels_run,
};
