/* heed fill: predictions for the masks of a text. */
#include <math.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "task/masked/masked.h"

struct fill {
    hd_usual usual;
    size_t top;
};

static const hd_option options[] = {
    {"top", 'k', "N", "5", "predictions to show for each " HD_MASK_TEXT,
     HD_COUNT_INTO(struct fill, top, 1, 1000)},
    {"json", 0, NULL, NULL, "one JSON object for each text", HD_FLAG_INTO(hd_usual, json)},
    HD_ATTENDING_ROWS,
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed fill model 'the cat [MASK] on the mat'", "the most likely words in the middle"},
    {"heed fill model --top 1 'the [MASK] sat on the [MASK]'", "the best word for each mask"},
    {"heed fill model 'the cat [MASK] on the mat' --attention out.html",
     "what each token attends to, as a page for the browser"},
    {"heed fill model --json < in.txt", "one text a line, for programs"},
    {NULL, NULL},
};

static void put_lines(hd_text *to, const hd_command *c, const hd_filled *f)
{
    for (size_t i = 0; i < f->masks * f->top; i++) {
        char p[HD_DECIMAL];
        hd_text_print(to, "%zu  %s  %s\n", i / f->top + 1, hd_decimal(p, "%.4f", f->choice[i].p),
                      hd_tokenizer_piece(c->model.tokenizer[0], f->choice[i].id));
    }
}

static hd_status put_choice(hd_text *to, const hd_tokenizer *t, int32_t id, double probability, hd_err *err)
{
    hd_text word = {0};
    hd_status s = hd_tokenizer_decode(t, &id, 1, &word, err);
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "token", hd_tokenizer_piece(t, id));
    hd_member_text(to, "text", word.data ? word.data : "");
    hd_member_number(to, "probability", probability, 9);
    hd_member_end(to, '}');
    hd_text_release(&word);
    return s;
}

static hd_status put_object(hd_text *to, const hd_command *c, const char *text, const hd_filled *f,
                            hd_err *err)
{
    hd_status s = HD_OK;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "text", text);
    hd_member_begin(to, "masks", '[');
    for (size_t i = 0; !s && i < f->masks * f->top; i++) {
        if (i % f->top == 0) hd_member_begin(to, NULL, '[');
        s = put_choice(to, c->model.tokenizer[0], f->choice[i].id, f->choice[i].p, err);
        if ((i + 1) % f->top == 0) hd_member_end(to, ']');
    }
    hd_text_put(to, "]}\n");
    return s;
}

/* The text is read once more, as a whole and with a probe. */
static hd_status attend(hd_command *c, hd_line text, hd_err *err)
{
    hd_ids ids = {0};
    hd_status s = hd_masked_encode_again(c->model.tokenizer[0], text, &ids, err);
    hd_attended one = {.ids = ids.at, .count = ids.count, .text = text, .score = (double)NAN};
    if (!s) s = hd_attending_add(c, &one, err);
    hd_ids_release(&ids);
    return s;
}

/* What --view draws goes below the predictions, so these are written first. */
static hd_status answer(hd_command *c, hd_line text, hd_text *to, hd_err *err)
{
    const struct fill *o = c->options;
    hd_filled f;
    hd_status s = hd_masked_fill(&f, &c->machine.run, &c->model, text, o->top, err);
    if (s) return s;
    if (o->usual.json)
        s = put_object(to, c, text.text, &f, err);
    else
        put_lines(to, c, &f);
    hd_filled_release(&f);
    if (!s) s = hd_command_put_text(c, to, true, err);
    return s || !hd_attending_wanted(&o->usual.attending) ? s : attend(c, text, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const hd_usual *o = c->usual;
    hd_text out = {0};
    hd_status s = hd_masked_fill_check(&c->model, err);
    if (!s) s = hd_attending_open(c, &o->attending, err);
    if (!s && c->operands.count == 1) {
        s = hd_input_open(c, "a line with " HD_MASK_TEXT " in it", "answered", HD_INPUT_TEXT, err);
        return s ? s : hd_input_each_one(c, o->json, answer, err);
    }
    for (int i = 1; !s && i < c->operands.count; i++)
        s = answer(c, (hd_line){c->operands.word[i], strlen(c->operands.word[i])}, &out, err);
    hd_text_release(&out);
    return s;
}

const hd_usage hd_verb_fill = {
    .operands = "MODEL [TEXT...]",
    .least = 1,
    .most = 1 + HD_INPUT_FILES_MOST,
    .about =
        "Predicts the token at each " HD_MASK_TEXT
        " of every TEXT, or of every line of standard input, with the masked language model in the folder "
        "MODEL (heed train --task mlm, or an imported BERT). Each prediction is a line: the number of the "
        "mask, the probability and the token as the vocabulary has it; with --json also its text. Masks are "
        "predicted independently, one token each: a word of several tokens needs several "
        "masks. " HD_INPUT_ABOUT "\n"
        "--attention and --view show what each token attends to.",
    .options = options,
    .size = sizeof(struct fill),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "mlm",
    .run = run,
};
