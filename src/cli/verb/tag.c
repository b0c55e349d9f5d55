/* heed tag: the label of every token. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/input.h"
#include "cli/verb/labels.h"
#include "view/draw/markup.h"

static const hd_option options[] = {
    {"json", 0, NULL, NULL, "a JSON object for each line, or for --confusion one",
     HD_FLAG_INTO(hd_labels_options, json)},
    {"confusion", 0, NULL, NULL,
     "the input has labels, a token, a tab and its label a line: show what is taken for what, accuracy and "
     "macro-F1",
     HD_FLAG_INTO(hd_labels_options, confusion)},
    {"plot", 0, "FILE", NULL, "--confusion as a picture: .svg, .png or .pdf",
     HD_FILE_INTO(hd_labels_options, plot)},
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(hd_labels_options, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(hd_labels_options, precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"echo 'the dog barks .' | heed tag model", "a token, a tab and its label a line"},
    {"heed tag model --confusion model/train/held-out.tsv", "how good it is on what was held back"},
    {NULL, NULL},
};

const hd_usage hd_verb_tag_usage = {
    .operands = "MODEL [FILE]",
    .least = 1,
    .most = 2,
    .about =
        "Reads sentences from standard input or FILE, one a line with blanks between the tokens, and writes "
        "each token on a line of its own, a tab and the label that the tagger in the folder MODEL gives "
        "it; an empty line ends a sentence. A line without tokens gives just that empty line. " HD_INPUT_ABOUT
        "\n"
        "With --confusion the input has labels already, in the form it was learned from, and what is "
        "written is how well the model finds them.",
    .options = options,
    .size = sizeof(hd_labels_options),
    .examples = examples,
};

static hd_status take(const hd_labels_call *c, hd_labeled *items, hd_line line, hd_err *err)
{
    return hd_labeler_take(items, c->labeler, line, err);
}

static const char *label_of(const hd_labels_call *c, const hd_real *logp)
{
    size_t best = 0;
    for (size_t k = 1; k < c->labeler->model->opt.classes; k++)
        if (logp[k] > logp[best]) best = k;
    return hd_vocab_piece(&c->labeler->labels, (int32_t)best);
}

static void put_token(hd_text *to, bool json, hd_line token, const char *label)
{
    if (!json) {
        hd_text_add(to, token.text, token.size);
        hd_text_print(to, "\t%s\n", label);
        return;
    }
    hd_text text = {0};
    hd_text_add(&text, token.text, token.size);
    hd_text_put(to, "{\"token\": ");
    hd_put_json(to, text.data ? text.data : "", false);
    hd_text_put(to, ", \"label\": ");
    hd_put_json(to, label, false);
    hd_text_put(to, "}");
    if (text.missed) to->missed = text.missed;
    hd_text_release(&text);
}

static void put(hd_text *to, const hd_labels_call *c, const hd_labeled *items, const hd_real *logp)
{
    size_t classes = c->labeler->model->opt.classes;
    for (size_t i = 0; i < items->count; i++) {
        if (c->o->json) hd_text_put(to, "{\"tokens\": [");
        for (size_t u = items->begin[i]; u < items->begin[i + 1]; u++) {
            if (c->o->json && u > items->begin[i]) hd_text_put(to, ", ");
            put_token(to, c->o->json, hd_labeled_unit(items, u), label_of(c, logp + u * classes));
        }
        hd_text_put(to, c->o->json ? "]}\n" : "\n");
    }
}

static hd_status judge(hd_labels_call *c, hd_err *err)
{
    hd_labeled items = {0};
    hd_input_await(c->command, hd_labels_input(c->command), "a token, a tab and its label a line");
    hd_status s = hd_labeled_tokens(&items, &c->labeler->labels, hd_labels_input(c->command), err);
    if (!s) s = hd_labels_judge(c, &items, err);
    hd_labeled_release(&items);
    return s;
}

int hd_verb_tag(const hd_command *command)
{
    hd_err err = {0};
    hd_labels_call c = {.command = command, .o = command->options, .awaited = "a sentence to tag"};
    bool judges = hd_labels_judges(c.o);
    hd_status s = hd_labels_open(&c, HD_TAG, &err);
    if (!s && judges) s = judge(&c, &err);
    int status = s        ? hd_command_fail(command, &err)
                 : judges ? HD_EXIT_OK
                          : hd_labels_answer(&c, take, put, &err);
    hd_labels_close(&c);
    return status;
}
