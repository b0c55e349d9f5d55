/* heed embed: lines in, vectors out, in order. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/verb/embed/words.h"
#include "show/embed.h"
#include "task/masked/masked.h"
#include "view/draw/json_members.h"
#include "view/draw/markup.h"

enum { CHUNK = 512 }; /* lines read at once */

struct embed {
    hd_usual usual;
    int pool;
    int too_long; /* 1: cut */
    bool normalize;
    int layer;
    hd_embed_words words;
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
     HD_FLAG_INTO(struct embed, usual.json)},
    {"layer", 'l', "N", "-1", "take the rows after layer N; -1: the last; 0: the embedding table",
     HD_INT_INTO(struct embed, layer, -1, 1 << 20)},
    {"similar", 0, "WORD", NULL,
     "instead: the cosines between the vectors of this word in all lines that have it",
     HD_TEXT_INTO(struct embed, words.similar)},
    {"plot", 0, "FILE", NULL, "also draw --similar as .svg, .png or .pdf",
     HD_FILE_INTO(struct embed, usual.plot)},
    {"nearest", 0, "WORD", NULL,
     "instead: the tokens nearest to this word in the embedding table; reads no lines",
     HD_TEXT_INTO(struct embed, words.nearest)},
    {"analogy", 0, "SUM", NULL, "the same for a sum of words, as in 'king - man + woman'",
     HD_TEXT_INTO(struct embed, words.analogy)},
    {"top", 'k', "N", "10", "tokens that --nearest and --analogy show",
     HD_INT_INTO(struct embed, words.top, 1, 1 << 20)},
    HD_ATTENDING_FILE(struct embed, usual.attending),
    HD_ATTENDING_HEAD(struct embed, usual.attending),
    HD_MACHINE_ROWS(struct embed, usual.machine),
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

typedef struct call {
    hd_command command;
    const struct embed *o;
    const hd_input_line *from; /* the lines of this chunk */
    hd_line line[CHUNK];
    size_t count;
    hd_similar similar; /* of all chunks, with --similar */
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
        put_tokens(to, e, c->command.model.tokenizer[0]);
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
    return e->tokens ? hd_attending_add(&c->command.attending, &c->command.machine.run, &one, err) : HD_OK;
}

static hd_status write_chunk(call *c, const hd_embeddings *all, hd_err *err)
{
    hd_status s = HD_OK;
    hd_text out = {0};
    for (size_t i = 0; !s && i < c->count; i++) {
        const hd_embedded *e = &all->of[i];
        const char *why = why_not(c, i, e);
        if (why) hd_input_refuse(&c->command.in, &c->from[i], why, HD_INPUT_EMPTY);
        out.size = 0;
        if (c->o->usual.json)
            put_object(&out, c, i, e, all->width);
        else
            put_lines(&out, c, e, all->width);
        s = hd_text_status(&out, err);
        /* whoever pauses waits for the last of them */
        if (!s) s = hd_command_put(&c->command, out.data, out.size, i + 1 == c->count, err);
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
    hd_status s = hd_similar_add(&c->similar, &c->command.machine.run, &c->command.model, c->line, c->count,
                                 c->from->number - 1, &opt, why, err);
    for (size_t i = 0; !s && i < c->count; i++)
        if (c->from[i].why)
            hd_input_refuse(&c->command.in, &c->from[i], c->from[i].why, "left out");
        else if (why[i])
            hd_log_say(&c->command.log, HD_WARN, "%s:%zu: %s: left out", c->from[i].file, c->from[i].at,
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
    hd_status s =
        hd_embed_lines(&all, &c->command.machine.run, &c->command.model, c->line, c->count, &opt, err);
    if (!s) s = write_chunk(c, &all, err);
    hd_embeddings_release(&all);
    return s;
}

static hd_status read_lines(call *c, hd_err *err)
{
    const char *what = c->o->words.similar ? "lines with the word" : "a line to turn into a vector";
    hd_status s = hd_input_open(&c->command, what, "read", HD_INPUT_TEXT, err);
    if (!s) s = hd_input_each(&c->command.in, CHUNK, answer, c, err);
    if (s || !c->o->words.similar) return s;
    const hd_model body = hd_model_body(&c->command.model.model);
    int layer = c->o->layer < 0 ? body.type->sizes(body.self).layers : c->o->layer;
    return hd_embed_similar(&c->command, &c->o->words, &c->similar, layer, err);
}

/* Those who write have their own verbs for it. */
static hd_status open_attending(hd_command *c, const struct embed *o, hd_err *err)
{
    hd_attending_options attending = o->usual.attending;
    attending.layer = o->layer > 0 ? o->layer : 0;
    if (!hd_attending_wanted(&attending)) return HD_OK;
    if (!c->model.model.type->fill)
        return hd_err_set(
            err, HD_EARG,
            "--attention of `heed embed` is for masked language models: `heed translate`, `heed "
            "generate` and `heed classify` have it for others");
    return hd_attending_open(&c->attending, c, &attending, c->model.model, c->model.tokenizer[0], err);
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const struct embed *o = c->o;
    const hd_embed_opt asked = opt_of(o);
    hd_status s = hd_embed_check(&command->model, &asked, err);
    command->misused = s == HD_ELIMIT; /* a layer that it does not have */
    if (!s) s = open_attending(command, o, err);
    if (s) return s;
    return o->words.nearest || o->words.analogy ? hd_embed_neighbors(command, &o->words, err)
                                                : read_lines(c, err);
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const struct embed *o = c->o = command->options;
    const hd_embed_words *w = &o->words;
    if (w->similar) hd_similar_init(&c->similar, w->similar);
    hd_status s = hd_embed_words_check(command, w, o->layer, err);
    if (!s && o->usual.attending.file && (w->similar || w->nearest || w->analogy))
        s = hd_err_set(err, HD_EARG, "--attention is of lines that become vectors");
    return s;
}

static void release(hd_command *c)
{
    hd_similar_release(&((call *)c)->similar);
}

const hd_usage hd_verb_embed = {
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
    .opens = HD_OPENS_MODEL,
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
