/* heed embed: lines in, vectors out, in order. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "cli/verb/attention.h"
#include "cli/verb/embed_words.h"
#include "cli/frame/input.h"
#include "cli/verb/unknown.h"
#include "show/embed.h"
#include "show/reader.h"
#include "view/plot.h"
#include "view/draw/markup.h"

enum { CHUNK = 512 }; /* lines read at once */

struct embed {
    const char *input;
    int pool;
    int too_long; /* 1: cut */
    bool normalize, json;
    const char *device;
    int precision;
    int layer;
    hd_embed_words words;
    hd_attending_options attending;
};

static const char *const long_lines[] = {"error", "cut", NULL};

#define POOL_HELP(NAME, name, text, reduction) "; " #name ": " text

static const hd_option options[] = {
    {"input", 'i', "FILE", "-",
     "lines to turn into vectors, plain or compressed (gzip, xz, zstd); -: standard input",
     HD_FILE_INTO(struct embed, input)},
    {"pool", 'p', "HOW", "auto", "what becomes of the rows of a line" HD_POOLING_LIST(POOL_HELP),
     HD_CHOICE_INTO(struct embed, pool, hd_pooling_names)},
    {"normalize", 0, NULL, NULL, "make every vector 1 long", HD_FLAG_INTO(struct embed, normalize)},
    {"long", 0, "WHAT", "error", "lines too long for the model: error or cut",
     HD_CHOICE_INTO(struct embed, too_long, long_lines)},
    {"json", 0, NULL, NULL, "JSON Lines: text and vector; with --pool none text, tokens and vectors",
     HD_FLAG_INTO(struct embed, json)},
    {"layer", 'l', "N", "-1", "whose rows: those behind layer N; -1: the last; 0: the token vectors alone",
     HD_INT_INTO(struct embed, layer, -1, 1 << 20)},
    {"similar", 0, "WORD", NULL, "instead: the cosines of this word's vectors in the lines that have it",
     HD_TEXT_INTO(struct embed, words.similar)},
    {"plot", 0, "FILE", NULL, "--similar as a picture, too: .svg, .png or .pdf",
     HD_FILE_INTO(struct embed, words.plot)},
    {"nearest", 0, "WORD", NULL, "instead: the tokens whose vectors are nearest to the word's, without lines",
     HD_TEXT_INTO(struct embed, words.nearest)},
    {"analogy", 0, "SUM", NULL, "the same of a sum of words, as in 'king - man + woman'",
     HD_TEXT_INTO(struct embed, words.analogy)},
    {"top", 'k', "N", "10", "how many tokens --nearest and --analogy show",
     HD_INT_INTO(struct embed, words.top, 1, 1 << 20)},
    HD_ATTENDING_FILE(struct embed, attending),
    HD_ATTENDING_HEAD(struct embed, attending),
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct embed, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(struct embed, precision, hd_precision_names)},
    {0},
};

static const hd_example examples[] = {
    {"heed embed model < in.en > vectors.txt", "a vector for each line, its numbers apart by blanks"},
    {"heed embed model --normalize --json < in.en", "vectors whose products are cosines"},
    {"heed embed bert --pool first < in.txt", "what BERT makes of the token before each line"},
    {"heed embed minilm --long cut < in.txt", "as sentence-transformers does with the same model"},
    {"heed embed lm --pool none < in.txt", "a vector for each token, an empty line behind each line"},
    {"heed embed bert --similar apple < in.txt", "is an apple in one sentence like that in another?"},
    {"heed embed bert --layer 0 --analogy 'king - man + woman'",
     "sums of words in the table of token vectors"},
    {"heed embed minilm --attention out.html < in.txt",
     "also what each token of a line looked at, to be looked at in a browser"},
    {NULL, NULL},
};

const hd_usage hd_verb_embed_usage = {
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .about =
        "Turns the lines of standard input, or of --input, into vectors with the model in the folder MODEL: "
        "the rows of a translator's encoder, one for each token and one for the end of the line, or the "
        "states of the last layer of a language model (rnn, gru, lstm, gpt) after each token, or the rows of "
        "a masked language model (bert) for the start of the line, each token and the end, or those of the "
        "body of a classifier, for the same, or of a tagger, for each token alone; pooled to one vector for "
        "each line. Models of other kinds have no such rows.\n"
        "One line goes out for each that came in, with --pool none one for each token and an empty one "
        "behind each line. An empty line has no vector and gives an empty line. " HD_INPUT_ABOUT "\n"
        "--layer takes the rows of an earlier layer instead, before the last norm of a model that normalizes "
        "before its layers; 0 is the table of token vectors, without positions and norms.\n"
        "--similar finds a word in the lines, as a whole and with its letters folded as the tokenizer folds "
        "them, and writes the cosine of every two of its vectors. A word of several pieces has the mean of "
        "their rows; each place where it stands has its own. Lines without it are warned of; where none has "
        "it the exit status is 1.\n"
        "--nearest and --analogy ask the table of token vectors and read no lines. It knows pieces, not "
        "words: a word of several pieces has the mean of their vectors, and every answer is one piece. Those "
        "of the words asked with are not among the answers. With --json any of the three writes one object.\n"
        "--attention shows how each token of a line attends to all of them in a masked language model, also "
        "in one without a head; a picture is of --layer.",
    .options = options,
    .size = sizeof(struct embed),
    .examples = examples,
};

typedef struct call {
    const hd_command *command;
    const struct embed *o;
    hd_backend *backend;
    hd_run run;
    hd_any_model model;
    hd_input in;
    hd_arena memory; /* of the lines of a chunk */
    hd_line line[CHUNK];
    const char *why[CHUNK]; /* NULL, or why an empty line stands for it */
    size_t count, done;     /* lines in this chunk, and before it */
    hd_similar similar;     /* of all chunks, with --similar */
    bool ended;
    hd_attending attending;
} call;

static hd_status copy(call *c, const char **to, const char *text, size_t size, hd_err *err)
{
    char *block = hd_arena_take(&c->memory, size + 1);
    if (!block) return hd_err_nomem(err, size + 1);
    memcpy(block, text, size + 1);
    *to = block;
    return HD_OK;
}

/* Lines until a chunk is full or whoever writes them pauses. */
static hd_status read_chunk(call *c, hd_err *err)
{
    hd_status s = HD_OK;
    c->done += c->count;
    c->count = 0;
    hd_arena_reset(&c->memory);
    do {
        hd_line line;
        const char *why;
        s = hd_input_next(&c->in, &line, &why, err);
        c->ended = s || !line.text;
        if (c->ended) break;
        c->line[c->count].size = line.size, c->why[c->count] = NULL;
        s = copy(c, &c->line[c->count].text, line.text, line.size, err);
        if (!s && why) s = copy(c, &c->why[c->count], why, strlen(why), err);
        c->count += !s;
    } while (!s && c->count < CHUNK && hd_lines_ready(c->in.lines));
    return s;
}

/* -- writing -- */

/* Why line i of the chunk has no vector though it has text; NULL: it has one. */
static const char *why_not(const call *c, size_t i, const hd_embedded *e)
{
    return c->why[i] ? c->why[i] : e->status ? e->why : NULL;
}

static void put_numbers(hd_text *to, const hd_real *v, size_t width, const char *between)
{
    for (size_t i = 0; i < width; i++) {
        if (i) hd_text_put(to, between);
        hd_put_number(to, (double)v[i], 9);
    }
}

static void put_tokens(hd_text *to, const hd_embedded *e, const hd_tokenizer *t)
{
    hd_text_put(to, ", \"tokens\": [");
    for (size_t i = 0; i < e->tokens; i++) {
        if (i) hd_text_put(to, ", ");
        const char *piece = hd_tokenizer_piece(t, e->ids[i]);
        hd_put_json(to, piece ? piece : HD_MASK_TEXT, false);
    }
    hd_text_put(to, "], \"vectors\": [");
}

static void put_object(hd_text *to, const call *c, size_t line, const hd_embedded *e, size_t width)
{
    bool all = c->o->pool == HD_POOLING_NONE;
    const char *why = why_not(c, line, e);
    hd_text_put(to, "{\"text\": ");
    hd_put_json(to, c->why[line] ? NULL : c->line[line].text, false);
    if (why) hd_text_put(to, ", \"error\": "), hd_put_json(to, why, false);
    if (all)
        put_tokens(to, e, hd_reader_of(&c->model).tokenizer);
    else
        hd_text_put(to, ", \"vector\": ");
    for (size_t i = 0; i < e->vectors; i++) {
        hd_text_put(to, i ? ", [" : "[");
        put_numbers(to, e->vector + i * width, width, ", ");
        hd_text_put(to, "]");
    }
    if (!all && !e->vectors) hd_text_put(to, "null");
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
    return e->tokens ? hd_attending_add(&c->attending, &c->run, &one, err) : HD_OK;
}

static hd_status write_chunk(call *c, const hd_embeddings *all, hd_err *err)
{
    hd_status s = HD_OK;
    hd_text out = {0};
    for (size_t i = 0; !s && i < c->count; i++) {
        const hd_embedded *e = &all->of[i];
        const char *why = why_not(c, i, e);
        if (why) hd_input_refuse(&c->in, c->done + i + 1, why, HD_INPUT_EMPTY);
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
    hd_status s = hd_similar_add(&c->similar, &c->run, &c->model, c->line, c->count, c->done, &opt, why, err);
    for (size_t i = 0; !s && i < c->count; i++)
        if (c->why[i])
            hd_input_refuse(&c->in, c->done + i + 1, c->why[i], "left out");
        else if (why[i])
            hd_log_say(&c->command->log, HD_WARN, "%s:%zu: %s: left out", hd_lines_name(c->in.lines),
                       c->done + i + 1, why[i]);
    return s;
}

static hd_status embed_chunk(call *c, hd_err *err)
{
    hd_embeddings all = {0};
    const hd_embed_opt opt = opt_of(c->o);
    if (c->o->words.similar) return find_word(c, err);
    hd_status s = hd_embed_lines(&all, &c->run, &c->model, c->line, c->count, &opt, err);
    if (!s) s = write_chunk(c, &all, err);
    hd_embeddings_release(&all);
    return s;
}

static hd_status read_lines(call *c, hd_err *err)
{
    const char *what = c->o->words.similar ? "lines with the word" : "a line to turn into a vector";
    hd_status s = hd_input_open(&c->in, c->command, c->o->input, what, HD_INPUT_TEXT, err);
    while (!s && !c->ended) {
        s = read_chunk(c, err);
        hd_err later = {0}; /* what was read before a failure is answered first */
        hd_status now = c->count ? embed_chunk(c, s ? &later : err) : HD_OK;
        if (!s) s = now;
    }
    if (s || !c->o->words.similar) return s;
    const hd_reader by = hd_reader_of(&c->model);
    int layer = c->o->layer < 0 ? hd_reader_layers(&by) : c->o->layer;
    return hd_embed_similar(c->command, &c->o->words, &c->similar, layer, c->o->json, err);
}

static hd_status open_model(call *c, hd_err *err)
{
    hd_backend_opt opt = {.threads = c->command->common.threads,
                          .precision = (hd_precision)c->o->precision,
                          .log = &c->command->log};
    hd_status s = c->o->words.plot ? hd_plot_check(c->o->words.plot, err) : HD_OK;
    if (!s) s = hd_backend_new(&c->backend, c->o->device, &opt, err);
    if (!s) s = hd_run_init(&c->run, c->backend, err);
    if (!s) s = hd_any_model_open(&c->model, c->command->operands.word[0], c->backend, err);
    return s;
}

/* Those who write have their own verbs for it. */
static hd_status open_attending(call *c, hd_err *err)
{
    hd_attending *a = &c->attending;
    if (!hd_attending_wanted(a)) return HD_OK;
    if (!c->model.masked)
        return hd_err_set(
            err, HD_EARG,
            "--attention of `heed embed` is for masked language models: `heed translate`, `heed "
            "generate` and `heed classify` have it for others");
    a->model.bert = c->model.masked->model, a->pieces = c->model.masked->tokenizer;
    return hd_attending_open(a, err);
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
    c->command = command, c->o = command->options;
    c->attending = (hd_attending){.command = command, .o = c->o->attending};
    c->attending.o.layer = c->o->layer > 0 ? c->o->layer : 0;
    hd_arena_init(&c->memory, hd_allocator_host, 1 << 16);
    if (c->o->words.similar) hd_similar_init(&c->similar, c->o->words.similar);
    c->in.command = command;
    int status = hd_input_close(&c->in, run(c, &err), "read");
    hd_similar_release(&c->similar);
    hd_unknown_warn(command, &c->model);
    hd_any_model_release(&c->model);
    hd_run_release(&c->run);
    hd_backend_free(c->backend);
    hd_arena_release(&c->memory);
    hd_mem_free(c);
    return status;
}
