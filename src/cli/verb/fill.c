/* heed fill: what stands in the blanks of a text. */
#include <math.h>
#include <string.h>

#include "cli/verb/attention.h"
#include "cli/frame/input.h"
#include "cli/verb/unknown.h"
#include "task/masked/masked.h"
#include "view/draw/markup.h"

struct fill {
    int top;
    bool json;
    const char *device;
    int precision;
    hd_attending_options attending;
};

static const hd_option options[] = {
    {"top", 'k', "N", "5", "how many answers to show for each " HD_MASK_TEXT,
     HD_INT_INTO(struct fill, top, 1, 1000)},
    {"json", 0, NULL, NULL, "one JSON object for each text", HD_FLAG_INTO(struct fill, json)},
    HD_ATTENDING_FILE(struct fill, attending),
    HD_ATTENDING_VIEW(struct fill, attending),
    HD_ATTENDING_LAYER(struct fill, attending),
    HD_ATTENDING_HEAD(struct fill, attending),
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda", HD_TEXT_INTO(struct fill, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(struct fill, precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"heed fill model 'the cat [MASK] on the mat'", "the likeliest words in the middle"},
    {"heed fill model --top 1 'the [MASK] sat on the [MASK]'", "the best of each"},
    {"heed fill model 'the cat [MASK] on the mat' --attention out.html",
     "what each token looked at, to be looked at in a browser"},
    {"heed fill model --json < in.txt", "for programs, a text a line"},
    {NULL, NULL},
};

enum { MOST_TEXTS = 10000 };

const hd_usage hd_verb_fill_usage = {
    .operands = "MODEL [TEXT...]",
    .least = 1,
    .most = 1 + MOST_TEXTS,
    .about =
        "Says what most likely stands at each " HD_MASK_TEXT
        " of a TEXT, or of each line of standard input, by the masked language model in the folder MODEL "
        "(heed train --task mlm, or an imported BERT). A line for each answer: the number of the mask, the "
        "probability and the "
        "piece as the vocabulary has it; in JSON its text, too. Each mask is answered by itself, with one "
        "piece: what is more than one piece long needs more than one mask. " HD_INPUT_ABOUT "\n"
        "--attention and --view show how each token of a text attends to all of them.",
    .options = options,
    .size = sizeof(struct fill),
    .examples = examples,
};

typedef struct call {
    const hd_command *command;
    const struct fill *o;
    hd_run *run;
    const hd_masked *model;
    hd_attending *attending;
} call;

static void put_lines(hd_text *to, const call *c, const hd_filled *f)
{
    for (size_t i = 0; i < f->masks * f->top; i++) {
        char p[HD_DECIMAL];
        hd_text_print(to, "%zu  %s  %s\n", i / f->top + 1, hd_decimal(p, "%.4f", f->choice[i].p),
                      hd_tokenizer_piece(c->model->tokenizer, f->choice[i].id));
    }
}

static hd_status put_object(hd_text *to, const call *c, const char *text, const hd_filled *f, hd_err *err)
{
    const hd_tokenizer *t = c->model->tokenizer;
    hd_status s = HD_OK;
    hd_text_put(to, "{\"text\": ");
    hd_put_json(to, text, false);
    hd_text_put(to, ", \"masks\": [");
    for (size_t i = 0; !s && i < f->masks * f->top; i++) {
        hd_text word = {0};
        s = hd_tokenizer_decode(t, &f->choice[i].id, 1, &word, err);
        hd_text_put(to, i % f->top ? ", " : i ? "], [" : "[");
        hd_text_put(to, "{\"token\": ");
        hd_put_json(to, hd_tokenizer_piece(t, f->choice[i].id), false);
        hd_text_put(to, ", \"text\": ");
        if (!s) hd_put_json(to, word.data ? word.data : "", false);
        hd_text_put(to, ", \"probability\": ");
        hd_put_number(to, f->choice[i].p, 9);
        hd_text_put(to, "}");
        hd_text_release(&word);
    }
    hd_text_put(to, "]]}\n");
    return s;
}

/* The text is read once more, as a whole and with a probe. */
static hd_status attend(const call *c, hd_line text, hd_err *err)
{
    hd_ids ids = {0};
    if (!hd_attending_wanted(c->attending)) return HD_OK;
    hd_status s = hd_masked_encode_again(c->model->tokenizer, text, &ids, err);
    hd_attended one = {.ids = ids.at, .count = ids.count, .text = text, .score = (double)NAN};
    if (!s) s = hd_attending_add(c->attending, c->run, &one, err);
    hd_ids_release(&ids);
    return s;
}

/* text ends with a zero byte behind its size. */
static hd_status answer(const call *c, hd_line text, hd_err *err)
{
    hd_filled f;
    hd_text out = {0};
    hd_status s = hd_masked_fill(&f, c->run, c->model, text, (size_t)c->o->top, err);
    if (s) return s;
    if (c->o->json)
        s = put_object(&out, c, text.text, &f, err);
    else
        put_lines(&out, c, &f);
    if (!s) s = hd_command_put_text(c->command, &out, true, err);
    hd_text_release(&out);
    hd_filled_release(&f);
    return s ? s : attend(c, text, err);
}

/* Of a line that cannot be answered an empty one, after which the next comes. */
static hd_status answer_line(const call *c, hd_input *in, hd_line line, const char *why, hd_err *err)
{
    hd_err later = {0};
    hd_text out = {0};
    if (!why && !answer(c, line, err)) return HD_OK;
    if (!why && !hd_input_forgives(err, &later)) return err->status;
    if (!why) why = later.text;
    hd_input_refuse(in, hd_lines_count(in->lines), why, HD_INPUT_EMPTY);
    hd_input_stand_in(&out, c->o->json, why);
    return hd_command_put_text(c->command, &out, true, err);
}

static hd_status answer_lines(const call *c, hd_input *in, hd_err *err)
{
    hd_line line = {0};
    const char *why;
    hd_status s =
        hd_input_open(in, c->command, "-", "a line with " HD_MASK_TEXT " in it", HD_INPUT_TEXT, err);
    while (!s && !(s = hd_input_next(in, &line, &why, err)) && line.text)
        s = answer_line(c, in, line, why, err);
    return s;
}

int hd_verb_fill(const hd_command *command)
{
    const struct fill *o = command->options;
    hd_err err = {0};
    hd_backend *backend = NULL;
    hd_run run = {0};
    hd_masked *model = NULL;
    const hd_words *words = &command->operands;
    hd_backend_opt opt = {
        .threads = command->common.threads, .precision = (hd_precision)o->precision, .log = &command->log};
    hd_status s = hd_backend_new(&backend, o->device, &opt, &err);
    if (!s) s = hd_run_init(&run, backend, &err);
    if (!s) s = hd_masked_open(&model, words->word[0], backend, &err);
    if (!s) s = hd_masked_fill_check(model, &err);
    hd_attending attending = {.command = command, .o = o->attending};
    if (!s) {
        attending.model.bert = model->model, attending.pieces = model->tokenizer;
        s = hd_attending_open(&attending, &err);
    }
    const call c = {command, o, &run, model, &attending};
    hd_input in = {.command = command};
    if (!s && words->count == 1) s = answer_lines(&c, &in, &err);
    for (int i = 1; !s && i < words->count; i++)
        s = answer(&c, (hd_line){words->word[i], strlen(words->word[i])}, &err);
    s = hd_attending_close(&attending, s, &err);
    hd_unknown_warn(command, &(hd_any_model){.masked = model});
    hd_masked_free(model);
    hd_run_release(&run);
    hd_backend_free(backend);
    return hd_input_close(&in, s ? hd_command_fail(command, &err) : HD_EXIT_OK, "answered");
}
