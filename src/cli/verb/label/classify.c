/* heed classify: a label for every line. */
#include <math.h>
#include <string.h>

#include "cli/verb/label/labels.h"

struct classify {
    hd_labels_options labels;
    int top;
    double threshold;
};

static const hd_option options[] = {
    {"top", 0, "K", NULL,
     "show the K most likely labels; if not given, 1, or of a model of any number of labels all that "
     "--threshold leaves",
     HD_INT_INTO(struct classify, top, 1, 1000000)},
    {"threshold", 0, "X", NULL,
     "show only labels of at least this probability; if not given, 0, or of a model of any number of labels "
     "0.5 (0 with --json)",
     HD_FLOAT_INTO(struct classify, threshold, 0, 1)},
    {"confusion", 0, NULL, NULL,
     "the input is labeled: show the confusion matrix, accuracy, F1 and Matthews correlation; of any number "
     "of labels F1, exact match and average precision, of numbers Pearson and Spearman correlation",
     HD_FLAG_INTO(struct classify, labels.confusion)},
    {"dir", .gone = "give the folder after MODEL"},
    HD_LABELS_ROWS,
    HD_ATTENDING_FILE,
    HD_ATTENDING_LAYER,
    HD_ATTENDING_HEAD,
    {0},
};

static const hd_example examples[] = {
    {"echo Nakamura | heed classify model", "its label and the probability"},
    {"heed classify model names.txt --top 3", "the three most likely labels of each line"},
    {"heed classify model --confusion model/train/held-out.tsv", "how good it is on the held-out items"},
    {"heed classify model --confusion names/ --plot confusion.svg",
     "the same for a folder with a file for each class, and as a picture"},
    {"heed classify tuned texts.txt --attention out.html", "what each token of a text attends to"},
    {NULL, NULL},
};

/* The most likely label after `last`, which is the one of the rank before. */
static size_t next_best(const hd_real *logp, size_t classes, size_t rank, size_t last)
{
    size_t best = classes;
    for (size_t k = 0; k < classes; k++) {
        bool later = !rank || logp[k] < logp[last] || (logp[k] <= logp[last] && k > last);
        if (later && (best == classes || logp[k] > logp[best])) best = k;
    }
    return best;
}

static void put_number(hd_text *to, bool json, double number)
{
    char text[HD_DECIMAL];
    if (json)
        hd_member_number(to, "number", number, 9);
    else
        hd_text_put(to, hd_decimal(text, "%.6g", number));
}

/* Where nothing is said, JSON has all labels of a model that may give any number of them. */
static void put_labels(hd_text *to, const hd_command *c, const hd_real *answer)
{
    const struct classify *o = c->options;
    const hd_label_kind *kind = hd_labeler_kind(&c->model);
    size_t classes = hd_model_folder_classifier(&c->model)->opt.classes, last = 0;
    int asked = hd_command_given(c, "top") ? o->top : kind->top;
    size_t top = asked && (size_t)asked < classes ? (size_t)asked : classes;
    double least = hd_command_given(c, "threshold") ? o->threshold
                   : o->labels.usual.json           ? 0
                                                    : kind->threshold;
    char number[HD_DECIMAL];
    for (size_t i = 0; i < top; i++) {
        last = next_best(answer, classes, i, last);
        if (last == classes) break; /* NaN has no order */
        const char *label = hd_vocab_piece(&c->model.labels, (int32_t)last);
        double probability = kind->probability(answer[last]);
        if (probability < least) break;
        if (!o->labels.usual.json) {
            hd_text_print(to, "%s%s\t%s", i ? "\t" : "", label, hd_decimal(number, "%.4f", probability));
            continue;
        }
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "label", label);
        hd_member_number(to, "probability", probability, 9);
        hd_member_end(to, '}');
    }
}

static bool is_blank(hd_line line)
{
    for (size_t i = 0; i < line.size; i++)
        if (!memchr(" \t\r", line.text[i], 3)) return false;
    return true;
}

static void put(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i, const hd_real *answer)
{
    const bool json = c->usual->json, numbers = !hd_labeler_kind(&c->model)->probability;
    bool empty = true;
    if (json) hd_member_begin(to, NULL, '{');
    for (size_t begin = items->begin[i], k = begin; k < items->begin[i + 1]; k++) {
        hd_line text = hd_labeled_unit(items, k);
        if (json) hd_member_bytes(to, k == begin ? "text" : "text2", text.text, text.size);
        empty = empty && is_blank(text);
    }
    if (json && !numbers) hd_member_begin(to, "labels", '[');
    if (numbers && (json || !empty))
        put_number(to, json, empty ? (double)NAN : (double)answer[i]);
    else if (!empty)
        put_labels(to, c, answer + i * hd_model_folder_classifier(&c->model)->opt.classes);
    if (json && !numbers) hd_member_end(to, ']');
    hd_text_put(to, json ? "}\n" : "\n");
}

static hd_status run(hd_command *c, hd_err *err)
{
    static const hd_labels_verb verb = {
        .awaited = "a line to classify", .awaited_labeled = "a table with labels", .put = put};
    return hd_labels_run(c, &verb, err);
}

static hd_status check(hd_command *c, hd_err *err)
{
    const hd_usual *o = c->usual;
    const char *shows = hd_command_given(c, "top")         ? "top"
                        : hd_command_given(c, "threshold") ? "threshold"
                        : o->attending.file                ? "attention"
                                                           : NULL;
    if (hd_labels_evaluates(c) && shows)
        return hd_err_set(err, HD_EARG, "--%s and --confusion exclude each other", shows);
    return hd_labels_check(c, err);
}

const hd_usage hd_verb_classify = {
    HD_INPUT_OPERANDS,
    .about =
        "Writes, for every line, the label that the classifier in the folder MODEL predicts, a tab and its "
        "probability; with --top K, the K most likely labels with theirs. A model of any number of "
        "labels (heed train --task multilabel) writes all that are likely, one of numbers (regress) a "
        "number. A model of text pairs reads two texts separated by a tab. An empty line "
        "gives an empty line. " HD_INPUT_FILES " " HD_INPUT_ABOUT "\n"
        "With --confusion FILE has labels, a table as for heed train or a folder with a file for each class, "
        "and the output says how well the model predicts them: a row for each label, with a count for "
        "every label that was predicted instead.\n"
        "--attention shows what the tokens of each line attend to, in a classifier fine-tuned from a bert "
        "or gpt.",
    .options = options,
    .size = sizeof(struct classify),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "classify",
    .call = sizeof(hd_labels_call),
    .check = check,
    .run = run,
};
