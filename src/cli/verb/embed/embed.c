/* heed embed: lines in, vectors out, in order; and what there is to say of single words: neighbors in the
   table of token vectors, and how alike one word is to itself in several sentences. */
#include "cli/verb/embed/embed.h"

#include <math.h>
#include <string.h>

#include "show/words.h"
#include "task/masked/masked.h"
#include "view/similarity.h"

enum { CHUNK = 512 }; /* lines read at once */

struct embed {
    hd_usual usual;
    hd_embed_opt opt; /* but for cut, layer and table */
    int too_long;     /* 1: cut */
    int layer;
    const char *similar, *nearest, *analogy; /* one of them, or none */
    int top;
};

static const char *const long_lines[] = {"error", "cut", NULL};

#define POOL_HELP(NAME, name, text, reduction) "; " #name ": " text

static const hd_option options[] = {
    {"input", 'i', .gone = "give files after MODEL"},
    {"pool", 'p', "HOW", "auto", "how the rows of a line become a vector" HD_POOLING_LIST(POOL_HELP),
     HD_CHOICE_INTO(struct embed, opt.pool, hd_pooling_names)},
    {"normalize", 0, NULL, NULL, "normalize every vector to length 1",
     HD_FLAG_INTO(struct embed, opt.normalize)},
    {"long", 0, "WHAT", "error", "lines too long for the model: error or cut",
     HD_CHOICE_INTO(struct embed, too_long, long_lines)},
    {"json", 0, NULL, NULL, "JSON Lines: text and vector; with --pool none text, tokens and vectors",
     HD_FLAG_INTO(hd_usual, json)},
    {"layer", 'l', "N", "-1", "take the rows after layer N; -1: the last; 0: the embedding table",
     HD_INT_INTO(struct embed, layer, -1, 1 << 20)},
    {"similar", 0, "WORD", NULL,
     "instead: the cosines between the vectors of this word in all lines that have it",
     HD_TEXT_INTO(struct embed, similar)},
    {"plot", 0, "FILE", NULL, "also draw --similar as .svg, .png or .pdf", HD_FILE_INTO(hd_usual, plot)},
    {"nearest", 0, "WORD", NULL,
     "instead: the tokens nearest to this word in the embedding table; reads no lines",
     HD_TEXT_INTO(struct embed, nearest)},
    {"analogy", 0, "SUM", NULL, "the same for a sum of words, as in 'king - man + woman'",
     HD_TEXT_INTO(struct embed, analogy)},
    {"top", 'k', "N", "10", "tokens that --nearest and --analogy show",
     HD_INT_INTO(struct embed, top, 1, 1 << 20)},
    HD_ATTENDING_FILE,
    HD_ATTENDING_HEAD,
    HD_ATTENDING_HEADS,
    HD_MACHINE_ROWS,
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
    hd_embed_opt opt;
    const hd_input_line *from; /* the lines of this chunk */
    hd_line line[CHUNK];
    size_t count;
    hd_similar similar; /* of all chunks, with --similar */
    hd_terms terms;     /* of --nearest and --analogy */
} call;

/* -- writing -- */

/* Why line i of the chunk has no vector though it has text; NULL: it has one. */
static const char *why_not(const call *c, size_t i, const hd_embedded *e)
{
    return c->from[i].why ? c->from[i].why : e->status ? e->why : NULL;
}

void hd_embed_put_numbers(hd_text *to, const hd_real *v, size_t width, const char *between)
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
    bool all = c->opt.pool == HD_POOLING_NONE;
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
        hd_embed_put_numbers(to, e->vector + i * width, width, ", ");
        hd_member_end(to, ']');
    }
    if (!all && !e->vectors) hd_member_text(to, "vector", NULL);
    hd_text_put(to, all ? "]}\n" : "}\n");
}

static void put_lines(hd_text *to, const call *c, const hd_embedded *e, size_t width)
{
    for (size_t i = 0; i < e->vectors; i++) {
        hd_embed_put_numbers(to, e->vector + i * width, width, " ");
        hd_text_put(to, "\n");
    }
    if (!e->vectors || c->opt.pool == HD_POOLING_NONE) hd_text_put(to, "\n");
}

static hd_status attend(call *c, hd_line line, const hd_embedded *e, hd_err *err)
{
    hd_attended one = {.ids = e->ids, .count = e->tokens, .text = line, .score = (double)NAN};
    return e->tokens ? hd_attending_add(&c->command, &one, err) : HD_OK;
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

static hd_status find_word(call *c, hd_err *err)
{
    const char *why[CHUNK];
    hd_status s = hd_similar_add(&c->similar, &c->command.machine.run, &c->command.model, c->line, c->count,
                                 c->from->number - 1, &c->opt, why, err);
    for (size_t i = 0; !s && i < c->count; i++)
        if (c->from[i].why)
            hd_input_refuse(&c->command.in, &c->from[i], c->from[i].why, "left out");
        else if (why[i])
            hd_log_say(&c->command.log, HD_WARN, "%s:%zu: %s: left out", c->from[i].file, c->from[i].at,
                       why[i]);
    return s;
}

static hd_status answer(hd_command *command, const hd_input_line *line, size_t count, hd_err *err)
{
    call *c = (call *)command;
    hd_embeddings all = {0};
    c->from = line, c->count = count;
    for (size_t i = 0; i < count; i++) c->line[i] = line[i].text;
    if (c->o->similar) return find_word(c, err);
    hd_status s =
        hd_embed_lines(&all, &c->command.machine.run, &c->command.model, c->line, c->count, &c->opt, err);
    if (!s) s = write_chunk(c, &all, err);
    hd_embeddings_release(&all);
    return s;
}

/* -- words -- */

static hd_status put_neighbors(hd_text *to, const struct embed *o, const hd_neighbors *n,
                               const hd_tokenizer *t, hd_err *err)
{
    hd_status s = HD_OK;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, o->nearest ? "nearest" : "analogy", o->nearest ? o->nearest : o->analogy);
    hd_member_begin(to, "neighbors", '[');
    for (size_t i = 0; !s && i < n->count; i++) {
        hd_text text = {0};
        s = hd_tokenizer_decode(t, &n->at[i].id, 1, &text, err);
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "token", hd_tokenizer_piece(t, n->at[i].id));
        hd_member_text(to, "text", text.data ? text.data : "");
        hd_member_number(to, "cosine", n->at[i].cosine, 9);
        hd_member_end(to, '}');
        hd_text_release(&text);
    }
    hd_text_put(to, "]}\n");
    return s;
}

static hd_status find_neighbors(call *c, hd_err *err)
{
    const bool json = c->o->usual.json;
    const hd_tokenizer *t = c->command.model.tokenizer[0];
    hd_neighbors n = {0};
    hd_text out = {0};
    hd_status s = hd_neighbors_find(&n, &c->command.model, &c->terms, (size_t)c->o->top, err);
    if (!s && json) s = put_neighbors(&out, c->o, &n, t, err);
    for (size_t i = 0; !s && !json && i < n.count; i++) {
        char number[HD_DECIMAL];
        hd_text_print(&out, "%s  %s\n", hd_decimal(number, "%.4f", n.at[i].cosine),
                      hd_tokenizer_piece(t, n.at[i].id));
    }
    hd_neighbors_release(&n);
    return hd_command_put_page(&c->command, &out, s, err);
}

/* How alike the word is in all the lines that were read. */
static hd_status show_similar(call *c, hd_err *err)
{
    const hd_terminal *t = &c->command.out;
    const struct embed *o = c->o;
    const hd_model body = hd_model_body(&c->command.model.model);
    char title[128];
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = t->width, .color = t->color, .utf8 = true};
    hd_similarity_view v = {.of = &c->similar,
                            .layer = o->layer < 0 ? body.type->sizes(body.self).layers : o->layer,
                            .title = title};
    if (!c->similar.count) return hd_err_set(err, HD_EARG, "no line has the word '%.64s'", o->similar);
    snprintf(title, sizeof title, "Cosines of \"%.64s\", layer %d", o->similar, v.layer);
    title[hd_utf8_good(title, strlen(title))] = 0; /* a long word may have been cut inside a letter */
    if (o->usual.json)
        hd_similarity_json(&out, &v);
    else
        hd_similarity_text(&pen, &v);
    hd_status s = hd_command_put_text(&c->command, &out, true, err);
    return !s && o->usual.plot ? hd_similarity_save(o->usual.plot, &v, err) : s;
}

/* -- the verb -- */

static hd_status read_lines(call *c, hd_err *err)
{
    const char *what = c->o->similar ? "lines with the word" : "a line to turn into a vector";
    hd_status s = hd_input_each(&c->command, what, "read", CHUNK, answer, err);
    return s || !c->o->similar ? s : show_similar(c, err);
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
    return hd_attending_open(c, &attending, err);
}

/* Words and lengths are of texts. */
static hd_status check_pictures(const call *c, hd_err *err)
{
    static const char *const of_texts[] = {"similar", "nearest", "analogy", "long", "attention", NULL};
    for (const char *const *name = of_texts; *name; name++)
        if (hd_command_given(&c->command, *name))
            return hd_err_set(err, HD_EARG, "--%s is for texts: the model reads pictures", *name);
    return HD_OK;
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const bool pictures = command->model.pictures;
    hd_status s = pictures ? check_pictures(c, err) : HD_OK;
    if (!s) s = hd_embed_check(&command->model, &c->opt, err);
    command->misused = s == HD_ELIMIT; /* a layer that it does not have */
    if (!s && !pictures) s = open_attending(command, c->o, err);
    if (s) return s;
    if (pictures) return hd_embed_answer_pictures(command, &c->opt, err);
    return c->terms.count ? find_neighbors(c, err) : read_lines(c, err);
}

/* Options of single words, of which one is given as --`name`. */
static hd_status check_words(call *c, const char *name, hd_err *err)
{
    const struct embed *o = c->o;
    const hd_command *m = &c->command;
    const char *word = o->similar ? o->similar : o->nearest;
    hd_err why = {0};
    if (!!o->similar + !!o->nearest + !!o->analogy > 1)
        return hd_err_set(err, HD_EARG, "--similar, --nearest and --analogy exclude each other");
    if (word && !word[strspn(word, " \t")])
        return hd_err_set(err, HD_EARG, "--%s: there is no word in it", name);
    if (hd_command_given(m, "pool") || hd_command_given(m, "normalize"))
        return hd_err_set(err, HD_EARG, "--%s writes no vectors: --pool and --normalize are not for it",
                          name);
    if (o->usual.attending.file)
        return hd_err_set(err, HD_EARG, "--attention is of lines that become vectors");
    if (o->similar) return HD_OK;
    if (m->operands.count > 1)
        return hd_err_set(err, HD_EARG, "--%s reads no lines: leave out %s", name, m->operands.word[1]);
    if (hd_command_given(m, "layer") && o->layer)
        return hd_err_set(err, HD_EARG, "--%s is asked of the token vectors, which are layer 0", name);
    if (o->nearest)
        c->terms = (hd_terms){.at = {{.word = {o->nearest, strlen(o->nearest)}}}, .count = 1};
    else if (hd_terms_read(&c->terms, o->analogy, &why))
        return hd_err_set(err, HD_EARG, "--%s: %s", name, why.text);
    return HD_OK;
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const struct embed *o = c->o = command->options;
    const char *name = o->similar ? "similar" : o->nearest ? "nearest" : o->analogy ? "analogy" : NULL;
    bool table = o->nearest || o->analogy;
    c->opt = o->opt;
    c->opt.cut = o->too_long;
    c->opt.layer = o->layer > 0 ? o->layer : 0;
    c->opt.table = !o->layer || table;
    if (o->similar) hd_similar_init(&c->similar, o->similar);
    if (o->usual.plot && !o->similar) return hd_err_set(err, HD_EARG, "--plot is a picture of --similar");
    if (hd_command_given(command, "top") && !table)
        return hd_err_set(err, HD_EARG, "--top is for --nearest and --analogy");
    return name ? check_words(c, name, err) : HD_OK;
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
        "each token. Other models have no hidden states. A model that reads pictures turns each FILE, PNG or "
        "JPEG, into a vector. " HD_INPUT_FILES "\n"
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
    .pictures = true,
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
