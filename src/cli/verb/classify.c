/* heed classify: the label of every line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/input.h"
#include "cli/verb/labels.h"
#include "view/draw/markup.h"

struct classify {
    hd_labels_options common;
    const char *dir;
    int top;
};

static const hd_option options[] = {
    {"top", 0, "K", "1", "the K likeliest labels", HD_INT_INTO(struct classify, top, 1, 1000000)},
    {"json", 0, NULL, NULL, "a JSON object for each line, or for --confusion one",
     HD_FLAG_INTO(struct classify, common.json)},
    {"confusion", 0, NULL, NULL,
     "the input has labels, in a table as of heed train: show what is taken for what, accuracy, F1 and "
     "Matthews' correlation; of numbers Pearson's and Spearman's",
     HD_FLAG_INTO(struct classify, common.confusion)},
    {"dir", 0, "FOLDER", NULL, "with --confusion: the input is a folder with a file for each class",
     HD_FILE_INTO(struct classify, dir)},
    {"plot", 0, "FILE", NULL, "--confusion as a picture: .svg, .png or .pdf",
     HD_FILE_INTO(struct classify, common.plot)},
    HD_ATTENDING_FILE(struct classify, common.attending),
    HD_ATTENDING_LAYER(struct classify, common.attending),
    HD_ATTENDING_HEAD(struct classify, common.attending),
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct classify, common.device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(struct classify, common.precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"echo Nakamura | heed classify model", "its label and the probability of that"},
    {"heed classify model names.txt --top 3", "the three likeliest labels of each line"},
    {"heed classify model --confusion model/train/held-out.tsv", "how good it is on what was held back"},
    {"heed classify tuned texts.txt --attention out.html", "what each token of a text looked at"},
    {"heed classify model --confusion --dir names --plot confusion.svg",
     "the same of a folder, with a picture"},
    {NULL, NULL},
};

const hd_usage hd_verb_classify_usage = {
    .operands = "MODEL [FILE]",
    .least = 1,
    .most = 2,
    .about =
        "Writes, for every line of standard input or of FILE, the label that the classifier in the folder "
        "MODEL gives it, a tab and the probability of that label. With --top K, the K likeliest labels and "
        "their probabilities stand behind each other, tabs between. An empty line gives an empty line. A "
        "model that has learned numbers "
        "(--task regress) writes the number; one that has learned pairs of texts reads two, a tab "
        "between. " HD_INPUT_ABOUT "\n"
        "With --confusion the input has labels already, and what is written is how well the model finds "
        "them: a table with a row for each label and in it how often it was taken for which.\n"
        "--attention shows how the tokens of each line attend to each other in a classifier that was "
        "fine-tuned from a bert or a gpt.",
    .options = options,
    .size = sizeof(struct classify),
    .examples = examples,
};

static hd_status take(const hd_labels_call *c, hd_labeled *items, hd_line line, hd_err *err)
{
    return hd_labeler_take(items, c->labeler, line, err);
}

/* The likeliest label that is not taken yet, and marks it taken. */
static size_t next_best(const hd_real *logp, size_t classes, size_t rank, size_t last)
{
    size_t best = classes;
    for (size_t k = 0; k < classes; k++) {
        bool later = !rank || logp[k] < logp[last] || (logp[k] <= logp[last] && k > last);
        if (later && (best == classes || logp[k] > logp[best])) best = k;
    }
    return best;
}

static void put_quoted(hd_text *to, const char *key, hd_line line)
{
    hd_text text = {0};
    hd_text_add(&text, line.text, line.size);
    hd_text_put(to, key);
    hd_put_json(to, text.data ? text.data : "", false);
    if (text.missed) to->missed = text.missed;
    hd_text_release(&text);
}

static void put_number(hd_text *to, const hd_labels_call *c, double number)
{
    char text[HD_DECIMAL];
    if (!c->o->json) {
        hd_text_print(to, "%s\n", hd_decimal(text, "%.6g", number));
        return;
    }
    hd_text_put(to, ", \"number\": ");
    hd_put_number(to, number, 9);
    hd_text_put(to, "}\n");
}

static void put_labels(hd_text *to, const hd_labels_call *c, const hd_real *logp)
{
    const struct classify *o = c->command->options;
    size_t classes = c->labeler->model->opt.classes, last = 0;
    char number[HD_DECIMAL];
    if (c->o->json) hd_text_put(to, ", \"labels\": [");
    for (size_t i = 0; i < (size_t)o->top && i < classes; i++) {
        last = next_best(logp, classes, i, last);
        if (last == classes) break; /* numbers that are none have no order */
        const char *label = hd_vocab_piece(&c->labeler->labels, (int32_t)last);
        double probability = exp((double)logp[last]);
        if (!c->o->json) {
            hd_text_print(to, "%s%s\t%s", i ? "\t" : "", label, hd_decimal(number, "%.4f", probability));
            continue;
        }
        hd_text_put(to, i ? ", {\"label\": " : "{\"label\": ");
        hd_put_json(to, label, false);
        hd_text_put(to, ", \"probability\": ");
        hd_put_number(to, probability, 9);
        hd_text_put(to, "}");
    }
    hd_text_put(to, c->o->json ? "]}\n" : "\n");
}

static bool is_blank(hd_line line)
{
    for (size_t i = 0; i < line.size; i++)
        if (!memchr(" \t\r", line.text[i], 3)) return false;
    return true;
}

static void put(hd_text *to, const hd_labels_call *c, const hd_labeled *items, const hd_real *logp)
{
    const hd_classifier_opt *m = &c->labeler->model->opt;
    for (size_t i = 0; i < items->count; i++) {
        size_t unit = items->begin[i], end = items->begin[i + 1];
        if (c->o->json) put_quoted(to, "{\"text\": ", hd_labeled_unit(items, unit));
        if (c->o->json && unit + 1 < end) put_quoted(to, ", \"text2\": ", hd_labeled_unit(items, unit + 1));
        bool empty = true; /* of what no one has said there is nothing to say */
        for (size_t k = unit; k < end; k++) empty = empty && is_blank(hd_labeled_unit(items, k));
        if (empty)
            hd_text_put(to, !c->o->json  ? "\n"
                            : m->numbers ? ", \"number\": null}\n"
                                         : ", \"labels\": []}\n");
        else if (m->numbers)
            put_number(to, c, (double)logp[i]);
        else
            put_labels(to, c, logp + i * m->classes);
    }
}

static hd_status judge(hd_labels_call *c, hd_err *err)
{
    const struct classify *o = c->command->options;
    hd_labeled items = {0};
    bool numbers = c->labeler->model->opt.numbers;
    hd_vocab *labels = numbers ? NULL : &c->labeler->labels;
    if (numbers && (o->dir || c->o->plot))
        return hd_err_set(err, HD_EARG, "the model gives numbers: --%s is for labels",
                          o->dir ? "dir" : "plot");
    if (!o->dir) hd_input_await(c->command, hd_labels_input(c->command), "a table with labels");
    hd_status s = o->dir ? hd_labeled_folder(&items, labels, o->dir, err)
                         : hd_labeled_table(&items, labels, hd_labels_input(c->command), err);
    if (!s) s = hd_labels_judge(c, &items, err);
    hd_labeled_release(&items);
    return s;
}

static hd_status check(const hd_command *c, hd_err *err)
{
    const struct classify *o = c->options;
    bool judges = hd_labels_judges(&o->common);
    if (o->dir && !judges)
        return hd_err_set(err, HD_EARG, "--dir is labeled input, which --confusion or --plot is for");
    if (o->dir && c->operands.count > 1)
        return hd_err_set(err, HD_EARG, "--dir and %s exclude each other", c->operands.word[1]);
    if (judges && o->common.attending.file)
        return hd_err_set(err, HD_EARG, "--attention and --confusion exclude each other");
    if (judges && hd_command_given(c, "top"))
        return hd_err_set(err, HD_EARG, "--top and --confusion exclude each other");
    return HD_OK;
}

int hd_verb_classify(const hd_command *command)
{
    const struct classify *o = command->options;
    hd_err err = {0};
    hd_labels_call c = {.command = command, .o = &o->common, .awaited = "a line to classify"};
    bool judges = hd_labels_judges(&o->common);
    if (check(command, &err)) return hd_verb_misused(command->verb, &err);
    hd_status s = hd_labels_open(&c, HD_CLASSIFY, &err);
    if (!s && judges) s = judge(&c, &err);
    int status = s        ? hd_command_fail(command, &err)
                 : judges ? HD_EXIT_OK
                          : hd_labels_answer(&c, take, put, &err);
    hd_labels_close(&c);
    return status;
}
