/* heed heads: what each attention head of a model is worth. */
#include <stdio.h>

#include "cli/frame/verb.h"
#include "view/importance.h"

struct heads {
    hd_usual usual;
    hd_texts valid;
    int metric;
    bool gradient;
};

static const char *const metrics[] = {"loss", "bleu", NULL};

static const hd_option options[] = {
    {"valid", 0, "FILE [FILE]", NULL,
     "what to measure on, plain or compressed (gzip, xz, zstd): of a translator a file for each side, or one "
     "with both, separated by a tab; of a language model a text",
     HD_FILES_AT_ONCE_INTO(struct heads, valid, 2)},
    {"metric", 0, "NAME", "loss", "loss: nats a token; bleu: that of greedy translations, a translator's",
     HD_CHOICE_INTO(struct heads, metric, metrics)},
    {"gradient", 0, NULL, NULL,
     "also show how steep the loss is in each head's factor, and how well that ranks heads: one pass forward "
     "and backward for all heads together",
     HD_FLAG_INTO(struct heads, gradient)},
    {"plot", 0, "FILE", NULL, "draw layers and heads as .svg, .png or .pdf", HD_FILE_INTO(hd_usual, plot)},
    {"json", 0, NULL, NULL, "one JSON object", HD_FLAG_INTO(hd_usual, json)},
    HD_ATTENDING_HEADS,
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed heads model --valid val.en val.de --plot heads.svg", "a translator: a table and a picture"},
    {"heed heads model --valid val.en val.de --metric bleu --gradient", "what BLEU loses, beside gradients"},
    {"heed heads gpt --valid held-out.txt", "a language model"},
    {"heed heads model --valid val.en val.de --heads 'enc.3.self.*=0'", "once others are switched off"},
    {NULL, NULL},
};

static void tell(void *context, size_t done, size_t of)
{
    const hd_command *c = context;
    if (!c->err.is_terminal || c->common.quiet) return;
    if (done < of)
        fprintf(c->err.file, "\rhead %zu of %zu", done + 1, of);
    else
        fputs("\r\033[K", c->err.file);
    fflush(c->err.file);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct heads *o = c->options;
    const hd_importance_opt opt = {.files = o->valid,
                                   .bleu = o->metric,
                                   .gradient = o->gradient,
                                   .log = &c->log,
                                   .tell = tell,
                                   .context = c};
    hd_importance found = {0};
    hd_text page = {0};
    hd_status s = c->heads.layers ? HD_OK : hd_heads_init(&c->heads, &c->model.model, err);
    if (!s) s = hd_importance_measure(&found, &c->machine.run, &c->model, &c->heads, &opt, err);
    if (!s) (o->usual.json ? hd_importance_json : hd_importance_text)(&page, &found);
    s = hd_command_put_page(c, &page, s, err);
    if (!s && o->usual.plot) s = hd_importance_save(o->usual.plot, &found, err);
    hd_importance_release(&found);
    return s;
}

static hd_status check(hd_command *c, hd_err *err)
{
    const struct heads *o = c->options;
    if (!o->valid.count)
        return hd_err_set(err, HD_EARG, "--valid is required: sentence pairs, or a text of a language model");
    return HD_OK;
}

const hd_usage hd_verb_heads = {
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .about =
        "Switches off each attention head of the model in the folder MODEL, one at a time, and measures what "
        "becomes of the loss, or with --metric bleu of the translations: a translator, a language model with "
        "attention or a masked language model. The head without which the model is worst stands first.\n"
        "Heads are named as --heads of other verbs takes them: enc.2.self.5 is head 5 of the self-attention "
        "in layer 2 of the encoder, both counted from 0. A head that is off gives zeros to the layer that "
        "brings the heads together; the bias of that layer stays.\n"
        "--gradient: the mean over the tokens of |d loss / d factor|, summed for each sentence or window "
        "before the sign is dropped.",
    .options = options,
    .size = sizeof(struct heads),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .gradients = true,
    .check = check,
    .run = run,
};
