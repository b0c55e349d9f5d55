/* heed explain: what a model did with a sentence, number by number; and one step of an encoder-decoder
   Transformer small enough to read, matrix by matrix. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "lab/worked/worked.h"
#include "task/masked/masked.h"
#include "view/explain/exhibit_json.h"
#include "view/explain/exhibit_text.h"
#include "view/explain/explain_json.h"
#include "view/explain/beam.h"
#include "view/explain/explain_text.h"
#include "view/explain/gradients.h"

enum { MOST_STEP = 1000000 };

struct explain {
    bool backward, json;
    int train;  /* steps */
    int shift;  /* positions; 0: none */
    int digits; /* decimals shown */
    const char *only;
    const char *step; /* a number or "all" */
    const char *head; /* a number, "all" or "mean" */
    const char *heads;
    const char *out;
    int columns;
    size_t beam; /* 0: not asked for */
    int lecture; /* as in `lectures` */
};

static const char *const lectures[] = {"000", "003", "004", NULL};
enum { LECTURE_000, LECTURE_003, LECTURE_004 };

#define EXAMPLE_ROWS "Worked examples (without MODEL)"
#define MODEL_ROWS   "A trained model (with MODEL and TEXT)"
#define EXAMPLE      .group = EXAMPLE_ROWS
#define MODEL        .group = MODEL_ROWS

static const hd_option options[] = {
    {"only", 0, "PATTERN", NULL,
     "show only matrices whose name matches the glob PATTERN, such as 'dec.self.*'",
     HD_TEXT_INTO(struct explain, only)},
    {"digits", 0, "N", "2", "decimals shown, 1 to 9", HD_INT_INTO(struct explain, digits, 1, 9)},
    {"json", 0, NULL, NULL, "write one JSON object instead of text", HD_FLAG_INTO(struct explain, json)},
    {"step", 0, "N", "1", "the step of the translation to show; 'all': one line per step and nothing more",
     MODEL, HD_TEXT_INTO(struct explain, step)},
    {"head", 0, "N", "1", "show this head of every attention layer; 'all': each of them, 'mean': their mean",
     MODEL, HD_TEXT_INTO(struct explain, head)},
    {"heads", 0, "LIST", NULL, HD_HEADS_HELP, MODEL, HD_TEXT_INTO(struct explain, heads)},
    {"columns", 0, "N", "0", "numbers to show of a row; 0: as many as fit", MODEL,
     HD_INT_INTO(struct explain, columns, 0, 1000000)},
    {"backward", 0, NULL, NULL,
     "the worked example: add every gradient; a translator or language model: gradients of what it says, by "
     "layer, position and head",
     HD_FLAG_INTO(struct explain, backward)},
    {"beam", 0, "N", "0", "a translator: the search with a beam of N as it forks and prunes", MODEL,
     HD_COUNT_INTO(struct explain, beam, 0, 32)},
    {"out", 'o', "FILE", NULL,
     "write what --backward or --beam shows of a model, or --lecture, to a .html, .json, .svg, .png or .pdf "
     "file",
     HD_FILE_INTO(struct explain, out)},
    {"lecture", 0, "NUMBER", "003",
     "whose examples: 003, a Transformer; 000, recurrent encoder-decoders and attention scores; 004, "
     "searches, "
     "positions and the polls. Of 000 and 004 each number stands beside the lecture's",
     EXAMPLE, HD_CHOICE_INTO(struct explain, lecture, lectures)},
    {"train", 0, "N", "0",
     "train N steps with Adam (rate 0.01) on both sentence pairs and show how it learns; the matrices are "
     "left out unless --backward, --only or --json asks for them",
     EXAMPLE, HD_INT_INTO(struct explain, train, 0, 100000)},
    {"shift", 0, "N", "0",
     "show the positions alone, with the one matrix M that takes each of them N places further: p(t + N) = M "
     "p(t)",
     EXAMPLE, HD_INT_INTO(struct explain, shift, 0, 1000)},
    {0},
};

static const hd_example examples[] = {
    {"heed explain model \"ein Hund bellt\"", "tokens, encoder, and the first step of the translation"},
    {"heed explain model \"ein Hund\" --step 3", "another step; --only '*.cross.*': only its attention"},
    {"heed explain lm \"To be or not\" --json", "how a language model reads a prompt, for programs"},
    {"heed explain bert \"the [MASK] sat\" --head 2",
     "all layers of a BERT, up to the predictions for each mask"},
    {"heed explain vit tiny.png", "a classifier of pictures, from the bytes to the labels"},
    {"heed explain names Nakamura", "how a character network reads a name, letter by letter"},
    {"heed explain model \"ein Hund bellt\" --backward",
     "which words its translation depends on, layer by layer"},
    {"heed explain model \"ein Hund\" --beam 3", "what its search tried and gave up"},
    {"heed explain", "the worked example: every matrix from the embeddings to the loss"},
    {"heed explain --backward --only 'dec.cross.*'",
     "the cross-attention of the decoder, with its gradients"},
    {"heed explain --train 200", "watch the loss fall"},
    {"heed explain --lecture 000 --only 'gru.*'", "the GRU encoder-decoder, beside the lecture's numbers"},
    {"heed explain --shift 2 --digits 6", "positions, and the matrix that shifts them by two places"},
    {NULL, NULL},
};

/* -- a trained model -- */

typedef struct call {
    hd_command command;
    const struct explain *o;
    size_t step; /* 0: all */
    int head;    /* as hd_exhibit_look has it */
    hd_exhibit *made;
} call;

static hd_status explain_model(call *c, hd_err *err)
{
    hd_command *m = &c->command;
    const char *folder = m->operands.word[0], *text = m->operands.word[1];
    hd_status s = hd_model_folder_open(&m->model, folder, NULL, m->machine.backend, HD_WEIGHTS_BEST, err);
    if (!s) s = hd_attending_scale(m, c->o->heads, err);
    if (!s && m->model.pictures) {
        hd_image im = {0};
        s = hd_image_read(&im, text, err);
        if (!s) s = hd_exhibit_picture(&c->made, &m->machine.run, &m->model, &im, err);
        hd_image_release(&im);
        return s;
    }
    return s ? s
             : hd_exhibit_text_of(&c->made, &m->machine.run, &m->model, (hd_line){text, strlen(text)},
                                  c->step, err);
}

/* Whether the model has what was asked for. */
static hd_status has_it(const call *c, hd_err *err)
{
    const hd_exhibit *x = c->made;
    const struct explain *o = c->o;
    bool found = !o->only;
    for (size_t i = 0; !found && i < x->items; i++) found = !fnmatch(o->only, x->item[i].name, 0);
    if (!found)
        return hd_err_set(err, HD_EARG, "--only: no matrix matches '%s'; --json shows all names", o->only);
    if (x->kind == HD_EXHIBIT_LANGUAGE && hd_command_given(&c->command, "step"))
        return hd_err_set(err, HD_EARG, "--step: a language model is shown at one step, the next token");
    if (x->kind != HD_EXHIBIT_TRANSLATOR && hd_command_given(&c->command, "step"))
        return hd_err_set(err, HD_EARG,
                          "--step: the model reads a text at once, only translations have steps");
    if (hd_command_given(&c->command, "head") && c->head > (int)hd_exhibit_heads(x))
        return hd_err_set(err, HD_EARG, "--head: there is no head %d, the model has %zu", c->head,
                          hd_exhibit_heads(x));
    return HD_OK;
}

static hd_status show(hd_text *page, const call *c, hd_err *err)
{
    const struct explain *o = c->o;
    const hd_exhibit_look look = {.width = c->command.out.width,
                                  .color = c->command.out.color,
                                  .utf8 = hd_terminal_utf8(),
                                  .digits = o->digits,
                                  .columns = o->columns,
                                  .head = c->head,
                                  .only = o->shift && !o->only ? "*" : o->only};
    return o->json ? hd_exhibit_json(page, c->made, o->only, err)
                   : hd_exhibit_text(page, c->made, &look, err);
}

/* A paper on what was asked for: to a file, or to the page. */
static hd_status put_paper(hd_text *page, const call *c, hd_paper *p, hd_err *err)
{
    const hd_terminal *t = &c->command.out;
    hd_text_pen pen = {.to = page, .width = t->width, .color = t->color, .utf8 = hd_terminal_utf8()};
    if (c->o->out) return hd_paper_save(c->o->out, p, err);
    if (c->o->json)
        hd_paper_json(page, p);
    else
        hd_paper_text(&pen, p);
    return HD_OK;
}

typedef hd_status on_paper(hd_paper *to, call *c, hd_line text, hd_err *err);

static hd_status put_gradients(hd_paper *to, call *c, hd_line text, hd_err *err)
{
    hd_gradients g = {0};
    to->title = "Gradients by layer, position and head", to->source = "heed explain --backward";
    hd_status s = hd_gradients_of(&g, &c->command.machine.run, &c->command.model, text, err);
    if (!s) s = hd_gradients_paper(to, &g, err);
    hd_gradients_release(&g);
    return s;
}

static hd_status put_beam(hd_paper *to, call *c, hd_line text, hd_err *err)
{
    hd_inspection *x = NULL;
    const hd_model_folder *f = &c->command.model;
    hd_inspect_ask ask = {
        .text = text, .heads = c->o->heads, .bare = true, .search = hd_translate_usual(c->o->beam)};
    ask.search.best = c->o->beam;
    to->title = "A search that forks and prunes", to->source = "heed explain --beam";
    if (!f->model.type->decode || f->pictures || f->sounds)
        return hd_err_set(err, HD_EARG, "--beam: %s searches no translation", f->task->what);
    hd_status s = hd_inspect(&x, &c->command.machine.run, f, &ask, err);
    if (!s) s = hd_beam_paper(to, x, err);
    hd_inspection_free(x);
    return s;
}

static hd_status explain_paper(hd_text *page, call *c, on_paper *fill, hd_err *err)
{
    hd_command *m = &c->command;
    const char *folder = m->operands.word[0], *text = m->operands.word[1];
    hd_paper paper;
    hd_paper_init(&paper);
    paper.name = folder, paper.about = text;
    hd_status s = hd_model_folder_open(&m->model, folder, NULL, m->machine.backend, HD_WEIGHTS_WHOLE, err);
    if (!s) s = fill(&paper, c, (hd_line){text, strlen(text)}, err);
    if (!s) s = put_paper(page, c, &paper, err);
    hd_paper_release(&paper);
    return s;
}

/* A number from 1 on; 0: it is none. */
static int count_of(const char *text)
{
    char *end = NULL;
    long n = strtol(text, &end, 10);
    return end == text || *end || n < 1 || n > MOST_STEP ? 0 : (int)n;
}

static hd_status read_picks(call *c, hd_err *err)
{
    const char *step = c->o->step, *head = c->o->head;
    c->step = (size_t)count_of(step);
    if (!c->step && strcmp(step, "all"))
        return hd_err_set(err, HD_EARG, "--step: '%s' is neither a number from 1 on nor 'all'", step);
    c->head = !strcmp(head, "all")    ? HD_EXHIBIT_ALL
              : !strcmp(head, "mean") ? HD_EXHIBIT_MEAN
                                      : count_of(head);
    if (!c->head && strcmp(head, "mean"))
        return hd_err_set(err, HD_EARG, "--head: '%s' is neither a number from 1 on nor 'all' nor 'mean'",
                          head);
    return HD_OK;
}

/* Lectures whose examples are papers. */
static bool worked(const call *c)
{
    return !c->command.operands.count && c->o->lecture != LECTURE_003;
}

static hd_status check_options(call *c, hd_err *err)
{
    const hd_command *m = &c->command;
    const bool model = m->operands.count;
    if (m->operands.count == 1)
        return hd_err_set(err, HD_EARG, "TEXT is missing: what '%s' is to be shown with",
                          m->operands.word[0]);
    for (const hd_option *row = options; row->name; row++)
        if (row->group && !strcmp(row->group, model ? EXAMPLE_ROWS : MODEL_ROWS) &&
            hd_command_given(m, row->name))
            return hd_err_set(err, HD_EARG,
                              model ? "--%s is for the worked example, without MODEL"
                                    : "--%s needs MODEL and TEXT",
                              row->name);
    if (c->o->out && !worked(c) && (!model || (!c->o->backward && !c->o->beam)))
        return hd_err_set(err, HD_EARG,
                          "--out needs --backward or --beam of a model, or --lecture 000 or 004");
    if (worked(c) && (c->o->backward || c->o->train || c->o->shift))
        return hd_err_set(err, HD_EARG, "--%s is for the example of lecture 003",
                          c->o->backward ? "backward"
                          : c->o->train  ? "train"
                                         : "shift");
    if (c->o->beam && c->o->backward)
        return hd_err_set(err, HD_EARG, "--beam and --backward show two things: give one of them");
    if (c->o->out) return hd_paper_check(c->o->out, err);
    if (c->o->shift && (c->o->backward || c->o->train))
        return hd_err_set(err, HD_EARG,
                          "--shift shows positions alone: --backward and --train have nothing to show there");
    if (c->o->only && !strcmp(c->o->step, "all"))
        return hd_err_set(err, HD_EARG, "--step all shows no matrices: --only needs one step");
    return read_picks(c, err);
}

/* -- the worked example -- */

static bool matches_something(const char *pattern)
{
    const hd_lecture_matrix *m = hd_lecture_matrices;
    while (m->name && fnmatch(pattern, m->name, 0)) m++;
    return m->name;
}

static hd_status explain_example(hd_text *page, const hd_command *c, const struct explain *o, hd_err *err)
{
    hd_explain *x = NULL;
    const hd_explain_look look = {.width = c->out.width,
                                  .color = c->out.color,
                                  .utf8 = hd_terminal_utf8(),
                                  .digits = o->digits,
                                  .only = o->only,
                                  .no_matrices = o->train && !o->backward && !o->only};
    hd_status s = hd_explain_run(&x, c->machine.backend, &(hd_explain_opt){o->backward, o->train}, err);
    if (!s) s = o->json ? hd_explain_json(page, x, o->only, err) : hd_explain_text(page, x, &look, err);
    hd_explain_free(x);
    return s;
}

/* Examples of the other lectures, beside their numbers. */
static hd_status explain_worked(hd_text *page, call *c, hd_err *err)
{
    enum { ALL_DIGITS = 9 };
    hd_paper paper;
    hd_paper_init(&paper);
    const struct explain *o = c->o;
    const bool exact = o->json && !hd_command_given(&c->command, "digits");
    hd_status s = hd_worked_run(&paper, &c->command.machine.run,
                                &(hd_worked_opt){.lecture = o->lecture == LECTURE_004 ? 4 : 0,
                                                 .only = o->only,
                                                 .digits = exact ? ALL_DIGITS : o->digits},
                                err);
    if (s == HD_EARG) c->command.misused = true;
    if (!s) s = put_paper(page, c, &paper, err);
    hd_paper_release(&paper);
    return s;
}

/* -- the verb -- */

/* Of a model, or of the positions of the worked example. */
static hd_status explain_exhibit(hd_text *page, call *c, hd_err *err)
{
    const size_t shift = (size_t)c->o->shift;
    hd_status s = shift ? hd_exhibit_shift(&c->made, HD_LECTURE_LENGTH, HD_LECTURE_WIDTH, shift, err)
                        : explain_model(c, err);
    if (!s && (s = has_it(c, err))) c->command.misused = true;
    return s ? s : show(page, c, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct explain *o = c->options;
    hd_text page = {0};
    const bool model = c->operands.count;
    hd_status s = model && o->beam       ? explain_paper(&page, (call *)c, put_beam, err)
                  : model && o->backward ? explain_paper(&page, (call *)c, put_gradients, err)
                  : model || o->shift    ? explain_exhibit(&page, (call *)c, err)
                  : worked((call *)c)    ? explain_worked(&page, (call *)c, err)
                                         : explain_example(&page, c, o, err);
    return hd_command_put_page(c, &page, s, err);
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    c->o = command->options;
    const char *only = command->operands.count || c->o->shift || worked(c) ? NULL : c->o->only;
    hd_status s = check_options(c, err);
    if (!s && only && !matches_something(only))
        s = hd_err_set(err, HD_EARG, "--only: no matrix matches '%s'", only);
    return s;
}

static void release(hd_command *c)
{
    hd_exhibit_free(((call *)c)->made);
}

const hd_usage hd_verb_explain = {
    .operands = "[MODEL TEXT]",
    .most = 2,
    .about =
        "With a translator and a sentence: its tokens, the output of each encoder layer, the translation "
        "found by greedy search, and everything in one decoder step up to the distribution of the next "
        "token. With a language model and the beginning of a line: the same for the next token; for an "
        "n-gram model the counts behind it. With a masked language model and a text: every layer, and the "
        "predictions for "
        "each " HD_MASK_TEXT
        ". With a classifier: every layer, the vector of the text and its labels; a model of pairs takes two "
        "texts separated by a tab. With a tagger and tokens separated by spaces: every layer, and the labels "
        "of each token. With a classifier of pictures and a picture: the same, its cells in place of tokens. "
        "Every item has a name, a shape and the formula that computes it.\n"
        "Without a model: a worked example, one step of a small encoder-decoder Transformer (one layer, one "
        "head, six channels). Its weights are fixed, so the numbers are the same on every machine. --lecture "
        "shows the examples of other lectures.",
    .options = options,
    .size = sizeof(struct explain),
    .examples = examples,
    .opens = HD_OPENS_CPU,
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
