/* heed tokenize: the tokens of lines, or the text of tokens. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/frame/input.h"
#include "show/framed.h"
#include "text/tokenizer_find.h"
#include "view/draw/markup.h"

struct tokenize {
    bool ids, json, decode, pieces, specials, target;
    int pad; /* tokens of every line; 0: as many as it has */
};

static const hd_option options[] = {
    {"ids", 0, NULL, NULL, "write ids instead of pieces; with --decode: read ids only",
     HD_FLAG_INTO(struct tokenize, ids)},
    {"json", 0, NULL, NULL,
     "JSON Lines: tokens, ids and offsets in characters, with --specials types, too; with --decode text",
     HD_FLAG_INTO(struct tokenize, json)},
    {"decode", 0, NULL, NULL, "read ids or pieces, and write the text of them",
     HD_FLAG_INTO(struct tokenize, decode)},
    {"pieces", 0, NULL, NULL, "with --decode: a line of numbers is pieces, too",
     HD_FLAG_INTO(struct tokenize, pieces)},
    {"specials", 0, NULL, NULL, "what the model gets: with the special tokens among and around the pieces",
     HD_FLAG_INTO(struct tokenize, specials)},
    {"pad", 0, "N", "0",
     "fill every line up to N tokens with <pad>, as programs do that put lines side by side, and with --json "
     "say by a mask "
     "which tokens count; heed itself never pads",
     HD_INT_INTO(struct tokenize, pad, 0, 1 << 20)},
    {"target", 0, NULL, NULL, "the tokenizer of the target, where there are two",
     HD_FLAG_INTO(struct tokenize, target)},
    {0},
};

static const hd_example examples[] = {
    {"heed tokenize model < text.txt", "pieces of each line, with blanks between them"},
    {"heed tokenize model --ids < text.txt | heed tokenize model --decode", "there and back"},
    {"heed tokenize gpt2/tokenizer.json --json < text.txt", "tokens, ids and offsets for programs"},
    {NULL, NULL},
};

const hd_usage hd_verb_tokenize_usage = {
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .about =
        "Writes the tokens of each line of standard input, a line for a line. MODEL is the folder of a "
        "model, "
        "a folder with the tokenizer of a published checkpoint (tokenizer.json, vocab.json with merges.txt, "
        "vocab.txt, source.spm with vocab.json, spiece.model), or one of these files.\n"
        "With --specials a line is cut as the model of the folder reads it: [MASK] is one token to a masked "
        "language model; a classifier reads a start and an end around a text, of a model of pairs around two "
        "with "
        "a tab between, cut to its positions; a tagger each word by itself; a translator or language model "
        "an end "
        "behind the line, and whatever a published tokenizer puts there.\n"
        "In pieces a backslash is written \\\\, a blank or another control byte \\xNN. With --decode a line "
        "of numbers alone is ids.\n" HD_INPUT_ABOUT,
    .options = options,
    .size = sizeof(struct tokenize),
    .examples = examples,
};

typedef struct call {
    const hd_command *command;
    const struct tokenize *o;
    hd_tokenizer *tokenizer;
    hd_frame frame;
    hd_pieces pieces;
    size_t unpadded; /* of them, with --pad */
    hd_ids ids;
    hd_text out, word;
    hd_input in;
} call;

/* -- writing tokens -- */

static void put_piece(hd_text *to, const char *piece)
{
    for (; *piece; piece++) {
        unsigned char byte = (unsigned char)*piece;
        if (byte == '\\')
            hd_text_put(to, "\\\\");
        else if (byte <= ' ' || byte == 0x7f)
            hd_text_print(to, "\\x%02x", byte);
        else
            hd_text_add(to, piece, 1);
    }
}

/* Ids are most of what is written, and printf took as long as a fourth of the encoding. */
static void put_number(hd_text *to, uint32_t n)
{
    char digits[10];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    hd_text_add(to, digits + at, sizeof digits - at);
}

static void put_tokens(call *c)
{
    for (size_t i = 0; i < c->pieces.count; i++) {
        int32_t id = c->pieces.at[i].id;
        if (i) hd_text_put(&c->out, " ");
        if (c->o->ids)
            put_number(&c->out, (uint32_t)id);
        else
            put_piece(&c->out, hd_frame_piece(&c->frame, id));
    }
}

static void put_object(call *c)
{
    const hd_piece *p = c->pieces.at;
    size_t count = c->pieces.count;
    hd_text_put(&c->out, "{\"tokens\": [");
    for (size_t i = 0; i < count; i++) {
        if (i) hd_text_put(&c->out, ", ");
        hd_put_json(&c->out, hd_frame_piece(&c->frame, p[i].id), false);
    }
    hd_text_put(&c->out, "], \"ids\": [");
    for (size_t i = 0; i < count; i++) hd_text_print(&c->out, i ? ", %d" : "%d", p[i].id);
    hd_text_put(&c->out, "], \"offsets\": [");
    for (size_t i = 0; i < count; i++)
        hd_text_print(&c->out, i ? ", [%u, %u]" : "[%u, %u]", p[i].begin, p[i].end);
    if (c->o->pad) hd_text_put(&c->out, "], \"mask\": [");
    for (size_t i = 0; c->o->pad && i < count; i++)
        hd_text_print(&c->out, i ? ", %d" : "%d", i < c->unpadded);
    if (c->o->specials) hd_text_put(&c->out, "], \"types\": [");
    for (size_t i = 0; c->o->specials && i < count; i++) hd_text_print(&c->out, i ? ", %d" : "%d", p[i].type);
    hd_text_put(&c->out, "]}");
}

static hd_status pad(call *c, hd_err *err)
{
    size_t most = (size_t)c->o->pad;
    hd_piece filler = {.id = hd_tokenizer_special(c->tokenizer).pad, .text = -1};
    c->unpadded = c->pieces.count;
    if (c->pieces.count > most)
        return hd_err_set(err, HD_ELIMIT, "%zu tokens are more than --pad %zu", c->pieces.count, most);
    while (c->pieces.count < most)
        if (!hd_pieces_add(&c->pieces, filler)) return hd_err_nomem(err, most * sizeof filler);
    return HD_OK;
}

static hd_status encode(call *c, hd_line line, hd_err *err)
{
    c->pieces.count = 0;
    hd_status s = c->o->specials ? hd_frame_encode(&c->frame, line, &c->pieces, err)
                                 : hd_tokenizer_encode(c->tokenizer, line.text, line.size, &c->pieces, err);
    if (!s && c->o->pad) s = pad(c, err);
    if (s) return s;
    if (!c->o->json) return put_tokens(c), HD_OK;
    hd_pieces_count_characters(&c->pieces, 0, line);
    return put_object(c), HD_OK;
}

/* -- reading tokens -- */

static bool next_word(hd_line *rest, hd_line *word)
{
    while (rest->size && *rest->text == ' ') rest->text++, rest->size--;
    word->text = rest->text, word->size = 0;
    while (rest->size && *rest->text != ' ') rest->text++, rest->size--, word->size++;
    return word->size > 0;
}

static bool is_number(hd_line word)
{
    return word.size < 10 && strspn(word.text, "0123456789") >= word.size;
}

static bool are_numbers(hd_line line)
{
    hd_line word;
    while (next_word(&line, &word))
        if (!is_number(word)) return false;
    return true;
}

static int hex_of(char digit)
{
    const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The piece that put_piece wrote as `word`. */
static const char *piece_of(call *c, hd_line word)
{
    c->word.size = 0;
    hd_text_put(&c->word, "");
    for (size_t i = 0; i < word.size; i++) {
        bool escape = word.text[i] == '\\' && i + 1 < word.size;
        int high = escape && i + 3 < word.size && word.text[i + 1] == 'x' ? hex_of(word.text[i + 2]) : -1;
        int low = high < 0 ? -1 : hex_of(word.text[i + 3]);
        char byte = low < 0 ? word.text[i] : (char)(high << 4 | low);
        hd_text_add(&c->word, &byte, 1);
        i += low >= 0 ? 3 : escape && word.text[i + 1] == '\\';
    }
    return c->word.missed ? "" : c->word.data;
}

static hd_status add_word(call *c, hd_line word, bool numbers, hd_err *err)
{
    int shown = word.size > 60 ? 60 : (int)word.size;
    if (numbers && !is_number(word))
        return hd_err_set(err, HD_EFORMAT, "'%.*s' is not an id", shown, word.text);
    long number = numbers ? strtol(word.text, NULL, 10) : hd_tokenizer_id(c->tokenizer, piece_of(c, word));
    if (c->word.missed) return hd_text_status(&c->word, err);
    int32_t mask = hd_frame_mask(&c->frame);
    if (mask >= 0 && (numbers ? number == mask : !strcmp(c->word.data, hd_frame_piece(&c->frame, mask))))
        return HD_OK; /* as other special tokens, it has no text */
    if (number < 0 || (size_t)number >= hd_tokenizer_size(c->tokenizer))
        return hd_err_set(err, HD_EFORMAT, "'%.*s' is not %s of the vocabulary of %zu", shown, word.text,
                          numbers ? "an id" : "a piece", hd_tokenizer_size(c->tokenizer));
    hd_status s = hd_ids_reserve(&c->ids, 1, err);
    if (!s) c->ids.at[c->ids.count++] = (int32_t)number;
    return s;
}

static hd_status decode(call *c, hd_line line, hd_err *err)
{
    bool numbers = c->o->ids || (!c->o->pieces && are_numbers(line));
    size_t before = c->out.size;
    hd_text text = {0};
    hd_line word;
    hd_status s = HD_OK;
    c->ids.count = 0;
    while (!s && next_word(&line, &word)) s = add_word(c, word, numbers, err);
    if (!s && c->ids.count) s = hd_tokenizer_decode(c->tokenizer, c->ids.at, c->ids.count, &text, err);
    if (!s && c->o->json) {
        hd_text_put(&c->out, "{\"text\": ");
        hd_put_json_bytes(&c->out, text.data ? text.data : "", text.size, false);
        hd_text_put(&c->out, "}");
    } else if (!s && text.size) {
        hd_text_add(&c->out, text.data, text.size);
    }
    hd_text_release(&text);
    if (s) c->out.size = before;
    return s;
}

/* -- lines -- */

static hd_status tell(call *c, hd_line line, const char *why, hd_err *err)
{
    hd_err later = {0};
    bool more = hd_lines_ready(c->in.lines);
    c->out.size = 0;
    hd_status s = why ? HD_OK : c->o->decode ? decode(c, line, err) : encode(c, line, err);
    if (s && !hd_input_forgives(err, &later)) return s;
    if (s) why = later.text;
    if (why) {
        c->out.size = 0;
        hd_input_refuse(&c->in, hd_lines_count(c->in.lines), why, HD_INPUT_EMPTY);
        hd_input_stand_in(&c->out, c->o->json, why);
    } else {
        hd_text_put(&c->out, "\n");
    }
    s = hd_text_status(&c->out, err);
    return s ? s : hd_command_put(c->command, c->out.data, c->out.size, !more, err);
}

static hd_status run(call *c, hd_err *err)
{
    hd_line line;
    const char *why;
    const char *what = c->o->decode ? "ids or pieces, a blank between them" : "a line to cut into tokens";
    hd_status s = hd_tokenizer_open_any(&c->tokenizer, c->command->operands.word[0], c->o->target, err);
    if (!s && c->o->pad && hd_tokenizer_special(c->tokenizer).pad < 0)
        s = hd_err_set(err, HD_EARG, "--pad: the vocabulary of %s has no token for padding",
                       c->command->operands.word[0]);
    if (!s) s = hd_frame_open(&c->frame, c->tokenizer, c->command->operands.word[0], err);
    if (!s) s = hd_input_open(&c->in, c->command, "-", what, HD_INPUT_ZEROS, err);
    while (!s && !(s = hd_input_next(&c->in, &line, &why, err)) && line.text) s = tell(c, line, why, err);
    return s;
}

int hd_verb_tokenize(const hd_command *command)
{
    hd_err err = {0};
    call c = {.command = command, .o = command->options, .in = {.command = command}};
    if (!c.o->decode && c.o->pieces) {
        hd_err_set(&err, HD_EARG, "--pieces is for --decode");
        return hd_verb_misused(command->verb, &err);
    }
    if (c.o->decode && c.o->pad) {
        hd_err_set(&err, HD_EARG, "--pad is not for --decode, which leaves padding out");
        return hd_verb_misused(command->verb, &err);
    }
    if (c.o->ids && (c.o->pieces || (c.o->json && !c.o->decode))) {
        hd_err_set(&err, HD_EARG, "--ids and %s cannot be used together",
                   c.o->pieces ? "--pieces" : "--json");
        return hd_verb_misused(command->verb, &err);
    }
    hd_status s = run(&c, &err);
    hd_tokenizer_free(c.tokenizer);
    hd_pieces_release(&c.pieces);
    hd_ids_release(&c.ids);
    hd_text_release(&c.out);
    hd_text_release(&c.word);
    return hd_input_close(&c.in, s ? hd_command_fail(command, &err) : HD_EXIT_OK,
                          c.o->decode ? "decoded" : "read");
}
