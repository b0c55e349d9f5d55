/* heed embed: lines in, vectors out, in order. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/frame/input.h"
#include "cli/frame/machine.h"
#include "cli/verb/attention.h"
#include "cli/verb/embed/words.h"
#include "cli/verb/unknown.h"
#include "show/embed.h"
#include "task/masked/masked.h"
#include "view/draw/json_members.h"
#include "view/draw/markup.h"
#include "view/plot.h"

enum { CHUNK = 512 }; /* lines read at once */

struct embed {
    int pool;
    int too_long; /* 1: cut */
    bool normalize, json;
    hd_machine_options machine;
    int layer;
    hd_embed_words words;
    hd_attending_options attending;
};

static const char *const long_lines[] = {"error", "cut", NULL};

#define POOL_HELP(NAME, name, text, reduction) "; " #name ": " text

static const hd_option options[] = {
    {"input", 'i', .gone = "give files after MODEL"},
    {"pool", 'p', "HOW", "auto", "how the rows of a line become a vector" HD_POOLING_LIST(POOL_HELP),
     HD_CHOICE_INTO(struct embed, pool, hd_pooling_names)},
    {"normalize", 0, NULL, NULL, "normalize every vector to length 1", HD_FLAG_INTO(struct embed, normalize)},
    {"long", 0, "WHAT", "error", "lines too long for the model: error or cut",
     HD_CHOICE_INTO(struct embed, too_long, long_lines)},
    {"json", 0, NULL, NULL, "JSON Lines: text and vector; with --pool none text, tokens and vectors",
     HD_FLAG_INTO(struct embed, json)},
    {"layer", 'l', "N", "-1", "take the rows after layer N; -1: the last; 0: the embedding table",
     HD_INT_INTO(struct embed, layer, -1, 1 << 20)},
    {"similar", 0, "WORD", NULL,
     "instead: the cosines between the vectors of this word in all lines that have it",
     HD_TEXT_INTO(struct embed, words.similar)},
    {"plot", 0, "FILE", NULL, "also draw --similar as .svg, .png or .pdf",
     HD_FILE_INTO(struct embed, words.plot)},
    {"nearest", 0, "WORD", NULL,
     "instead: the tokens nearest to this word in the embedding table; reads no lines",
     HD_TEXT_INTO(struct embed, words.nearest)},
    {"analogy", 0, "SUM", NULL, "the same for a sum of words, as in 'king - man + woman'",
     HD_TEXT_INTO(struct embed, words.analogy)},
    {"top", 'k', "N", "10", "tokens that --nearest and --analogy show",
     HD_INT_INTO(struct embed, words.top, 1, 1 << 20)},
    HD_ATTENDING_FILE(struct embed, attending),
    HD_ATTENDING_HEAD(struct embed, attending),
    HD_MACHINE_ROWS(struct embed, machine),
    {0},
};

static const hd_example examples[] = {
    {"heed embed model in.en > vectors.txt", "a vector for each line, numbers separated by spaces"},
    {"heed embed model --normalize --json in.en", "vectors whose dot products are cosines"},
    {"heed embed bert --pool first in.txt", "the row of the start token"},
    {"heed embed minilm --long cut in.txt", "as sentence-transformers does with the same model"},
    {"heed embed lm --pool none in.txt", "a vector for each token, an empty line after each line"},
    {"heed embed bert --similar apple in.txt", "does 'apple' mean the same in all sentences?"},
    {"heed embed bert --layer 0 --analogy 'king - man + woman'",
     "sums of word vectors in the embedding table"},
    {"heed embed minilm --attention out.html in.txt",
     "also what each token attends to, as a page for the browser"},
    {NULL, NULL},
};

const hd_usage hd_verb_embed_usage = {
    HD_INPUT_OPERANDS,
    .about =
        "Turns each line into a vector with the model in the folder MODEL, by pooling hidden states: those "
        "of a translator's encoder, for each token and the end of the line; those of the last layer of a "
        "language model (rnn, gru, lstm, gpt), for each token; those of a masked language model (bert) or of "
        "a classifier's encoder, for the start token, each token and the end token; those of a tagger, for "
        "each token. Other models have no hidden states. " HD_INPUT_FILES "\n"
        "The output has one line for each input line, with --pool none one for each token and an empty line "
        "after each input line. An empty line has no vector and gives an empty line. " HD_INPUT_ABOUT "\n"
        "--layer takes the rows of an earlier layer, in a pre-norm model before the final norm; 0 is the "
        "embedding table, without positions and norms.\n"
        "--similar finds a word in the lines, as a whole word and with the tokenizer's case folding, and "
        "writes the cosines between all its vectors. A word of several tokens has the mean of their rows; "
        "every occurrence has its own vector. A line without the word gives a warning; if no line has it, "
        "the exit status is 1.\n"
        "--nearest and --analogy search the embedding table and read no lines. It has tokens, not words: a "
        "word of several tokens has the mean of their vectors, and every answer is one token. The words of "
        "the query are not among the answers. With --json any of the three writes one object.\n"
        "--attention shows what each token of a line attends to in a masked language model, with or without "
        "a head; a picture shows --layer.",
    .options = options,
    .size = sizeof(struct embed),
    .examples = examples,
};

typedef struct call {
    const hd_command *command;
    const struct embed *o;
    hd_machine machine;
    hd_model_folder model;
    hd_input in;
    const hd_input_line *from; /* the lines of this chunk */
    hd_line line[CHUNK];
    size_t count;
    hd_similar similar; /* of all chunks, with --similar */
    hd_attending attending;
} call;

/* -- writing -- */

/* Why line i of the chunk has no vector though it has text; NULL: it has one. */
static const char *why_not(const call *c, size_t i, const hd_embedded *e)
{
    return c->from[i].why ? c->from[i].why : e->status ? e->why : NULL;
}

static void put_numbers(hd_text *to, const hd_real *v, size_t width, const char *between)
{
    for (size_t i = 0; i < width; i++) {
        if (i) hd_text_put(to, between);
        hd_markup_number(to, (double)v[i], 9);
    }
}

static void put_tokens(hd_text *to, const hd_embedded *e, const hd_tokenizer *t)
{
    hd_member_begin(to, "tokens", '[');
    for (size_t i = 0; i < e->tokens; i++) {
        const char *piece = hd_tokenizer_piece(t, e->ids[i]);
        hd_member_text(to, NULL, piece ? piece : HD_MASK_TEXT);
    }
    hd_member_end(to, ']');
}

static void put_object(hd_text *to, const call *c, size_t line, const hd_embedded *e, size_t width)
{
    bool all = c->o->pool == HD_POOLING_NONE;
    const char *why = why_not(c, line, e);
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "text", c->from[line].why ? NULL : c->line[line].text);
    if (why) {
        hd_member_count(to, "line", c->from[line].number);
        hd_member_text(to, "error", why);
    }
    if (all) {
        put_tokens(to, e, c->model.tokenizer[0]);
        hd_member_begin(to, "vectors", '[');
    }
    for (size_t i = 0; i < e->vectors; i++) {
        hd_member_begin(to, all ? NULL : "vector", '[');
        put_numbers(to, e->vector + i * width, width, ", ");
        hd_member_end(to, ']');
    }
    if (!all && !e->vectors) hd_member_text(to, "vector", NULL);
    hd_text_put(to, all ? "]}\n" : "}\n");
}

static void put_lines(hd_text *to, const call *c, const hd_embedded *e, size_t width)
{
    for (size_t i = 0; i < e->vectors; i++) {
        put_numbers(to, e->vector + i * width, width, " ");
        hd_text_put(to, "\n");
    }
    if (!e->vectors || c->o->pool == HD_POOLING_NONE) hd_text_put(to, "\n");
}

static hd_status attend(call *c, hd_line line, const hd_embedded *e, hd_err *err)
{
    hd_attended one = {.ids = e->ids, .count = e->tokens, .text = line, .score = (double)NAN};
    return e->tokens ? hd_attending_add(&c->attending, &c->machine.run, &one, err) : HD_OK;
}

static hd_status write_chunk(call *c, const hd_embeddings *all, hd_err *err)
{
    hd_status s = HD_OK;
    hd_text out = {0};
    for (size_t i = 0; !s && i < c->count; i++) {
        const hd_embedded *e = &all->of[i];
        const char *why = why_not(c, i, e);
        if (why) hd_input_refuse(&c->in, &c->from[i], why, HD_INPUT_EMPTY);
        out.size = 0;
        if (c->o->json)
            put_object(&out, c, i, e, all->width);
        else
            put_lines(&out, c, e, all->width);
        s = hd_text_status(&out, err);
        /* whoever pauses waits for the last of them */
        if (!s) s = hd_command_put(c->command, out.data, out.size, i + 1 == c->count, err);
        if (!s) s = attend(c, c->line[i], e, err);
    }
    hd_text_release(&out);
    return s;
}

static hd_embed_opt opt_of(const struct embed *o)
{
    return (hd_embed_opt){.pool = (hd_pooling)o->pool,
                          .normalize = o->normalize,
                          .cut = o->too_long,
                          .layer = o->layer > 0 ? o->layer : 0,
                          .table = !o->layer || o->words.nearest || o->words.analogy};
}

static hd_status find_word(call *c, hd_err *err)
{
    const char *why[CHUNK];
    const hd_embed_opt opt = opt_of(c->o);
    hd_status s = hd_similar_add(&c->similar, &c->machine.run, &c->model, c->line, c->count,
                                 c->from->number - 1, &opt, why, err);
    for (size_t i = 0; !s && i < c->count; i++)
        if (c->from[i].why)
            hd_input_refuse(&c->in, &c->from[i], c->from[i].why, "left out");
        else if (why[i])
            hd_log_say(&c->command->log, HD_WARN, "%s:%zu: %s: left out", c->from[i].file, c->from[i].at,
                       why[i]);
    return s;
}

static hd_status answer(void *context, const hd_input_line *line, size_t count, hd_err *err)
{
    call *c = context;
    hd_embeddings all = {0};
    c->from = line, c->count = count;
    for (size_t i = 0; i < count; i++) c->line[i] = line[i].text;
    const hd_embed_opt opt = opt_of(c->o);
    if (c->o->words.similar) return find_word(c, err);
    hd_status s = hd_embed_lines(&all, &c->machine.run, &c->model, c->line, c->count, &opt, err);
    if (!s) s = write_chunk(c, &all, err);
    hd_embeddings_release(&all);
    return s;
}

static hd_status read_lines(call *c, hd_err *err)
{
    const char *what = c->o->words.similar ? "lines with the word" : "a line to turn into a vector";
    hd_status s = hd_input_open(&c->in, what, HD_INPUT_TEXT, err);
    if (!s) s = hd_input_each(&c->in, CHUNK, answer, c, err);
    if (s || !c->o->words.similar) return s;
    const hd_model body = hd_model_body(&c->model.model);
    int layer = c->o->layer < 0 ? body.type->sizes(body.self).layers : c->o->layer;
    return hd_embed_similar(c->command, &c->o->words, &c->similar, layer, c->o->json, err);
}

static hd_status open_model(call *c, hd_err *err)
{
    hd_status s = c->o->words.plot ? hd_plot_check(c->o->words.plot, err) : HD_OK;
    if (!s) s = hd_machine_open(&c->machine, c->command, &c->o->machine, err);
    if (!s)
        s = hd_model_folder_open(&c->model, c->command->operands.word[0], NULL, c->machine.backend,
                                 HD_WEIGHTS_BEST, err);
    return s;
}

/* Those who write have their own verbs for it. */
static hd_status open_attending(call *c, hd_err *err)
{
    hd_attending_options o = c->o->attending;
    o.layer = c->o->layer > 0 ? c->o->layer : 0;
    if (!hd_attending_wanted(&o)) return HD_OK;
    if (!c->model.model.type->fill)
        return hd_err_set(
            err, HD_EARG,
            "--attention of `heed embed` is for masked language models: `heed translate`, `heed "
            "generate` and `heed classify` have it for others");
    return hd_attending_open(&c->attending, c->command, &o, c->model.model, c->model.tokenizer[0], err);
}

/* The exit status. */
static int run(call *c, hd_err *err)
{
    const struct embed *o = c->o;
    if (hd_embed_words_check(c->command, &o->words, o->layer, err))
        return hd_verb_misused(c->command->verb, err);
    if (o->attending.file && (o->words.similar || o->words.nearest || o->words.analogy)) {
        hd_err_set(err, HD_EARG, "--attention is of lines that become vectors");
        return hd_verb_misused(c->command->verb, err);
    }
    const hd_embed_opt asked = opt_of(o);
    hd_status s = open_model(c, err);
    if (!s && (s = hd_embed_check(&c->model, &asked, err)) == HD_ELIMIT)
        return hd_verb_misused(c->command->verb, err); /* a layer that it does not have */
    if (!s) s = open_attending(c, err);
    if (!s)
        s = o->words.nearest || o->words.analogy
                ? hd_embed_neighbors(c->command, &o->words, &c->model, o->json, err)
                : read_lines(c, err);
    s = hd_attending_close(&c->attending, s, err);
    return s ? hd_command_fail(c->command, err) : HD_EXIT_OK;
}

int hd_verb_embed(const hd_command *command)
{
    hd_err err = {0};
    call *c = hd_mem_zero(sizeof *c);
    if (!c) return hd_err_nomem(&err, sizeof *c), hd_command_fail(command, &err);
    c->command = c->in.command = command, c->o = command->options;
    if (c->o->words.similar) hd_similar_init(&c->similar, c->o->words.similar);
    int status = hd_input_close(&c->in, run(c, &err), "read");
    hd_similar_release(&c->similar);
    hd_unknown_warn(command, c->model.tokenizer[0], c->model.tokenizer[1]);
    hd_model_folder_release(&c->model);
    hd_machine_close(&c->machine);
    hd_mem_free(c);
    return status;
}
