/* heed tag: a label for every token. */
#include "cli/verb/label/labels.h"

static const hd_option options[] = {
    {"confusion", 0, NULL, NULL,
     "the input is labeled, each line a token, a tab and its label: show the confusion matrix, accuracy and "
     "macro-F1",
     HD_FLAG_INTO(hd_labels_options, confusion)},
    HD_LABELS_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"echo 'the dog barks .' | heed tag model", "each token with its label"},
    {"heed tag model --confusion model/train/held-out.tsv", "how good it is on the held-out sentences"},
    {NULL, NULL},
};

static const char *label_of(const hd_command *c, const hd_real *logp)
{
    size_t best = 0;
    for (size_t k = 1; k < hd_model_folder_classifier(&c->model)->opt.classes; k++)
        if (logp[k] > logp[best]) best = k;
    return hd_vocab_piece(&c->model.labels, (int32_t)best);
}

static void put_token(hd_text *to, bool json, hd_line token, const char *label)
{
    if (!json) {
        hd_text_add(to, token.text, token.size);
        hd_text_print(to, "\t%s\n", label);
        return;
    }
    hd_member_begin(to, NULL, '{');
    hd_member_bytes(to, "token", token.text, token.size);
    hd_member_text(to, "label", label);
    hd_member_end(to, '}');
}

static void put(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i, const hd_real *logp)
{
    const bool json = c->usual->json;
    size_t classes = hd_model_folder_classifier(&c->model)->opt.classes;
    if (json) hd_text_put(to, "{\"tokens\": [");
    for (size_t u = items->begin[i]; u < items->begin[i + 1]; u++)
        put_token(to, json, hd_labeled_unit(items, u), label_of(c, logp + u * classes));
    hd_text_put(to, json ? "]}\n" : "\n");
}

static hd_status run(hd_command *c, hd_err *err)
{
    static const hd_labels_verb verb = {.awaited = "a sentence to tag",
                                        .awaited_labeled =
                                            "lines TOKEN<tab>LABEL, an empty line between sentences",
                                        .put = put};
    return hd_labels_run(c, &verb, err);
}

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
    .call = sizeof(hd_labels_call),
    .check = hd_labels_check,
    .run = run,
};
