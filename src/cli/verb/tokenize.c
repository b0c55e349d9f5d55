/* heed tokenize: lines to tokens, or back. */
#include <stdlib.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "show/framed.h"
#include "text/tokenizer_find.h"

struct tokenize {
    bool ids, json, decode, pieces, specials, target;
    int pad; /* tokens of every line; 0: as many as it has */
};

static const hd_option options[] = {
    {"ids", 0, NULL, NULL, "write ids instead of tokens; with --decode: read ids only",
     HD_FLAG_INTO(struct tokenize, ids)},
    {"json", 0, NULL, NULL,
     "JSON Lines: tokens, ids and offsets in characters, with --specials also types; with --decode text",
     HD_FLAG_INTO(struct tokenize, json)},
    {"decode", 0, NULL, NULL, "read ids or tokens and write their text",
     HD_FLAG_INTO(struct tokenize, decode)},
    {"pieces", 0, NULL, NULL, "with --decode: read every line as tokens, also one that is all numbers",
     HD_FLAG_INTO(struct tokenize, pieces)},
    {"specials", 0, NULL, NULL, "add the special tokens, as the model sees the line",
     HD_FLAG_INTO(struct tokenize, specials)},
    {"pad", 0, "N", "0",
     "pad every line to N tokens with <pad>, as programs do that batch lines side by side; --json adds the "
     "mask. heed itself never pads",
     HD_INT_INTO(struct tokenize, pad, 0, 1 << 20)},
    {"target", 0, NULL, NULL, "use the tokenizer of the target language, if there are two",
     HD_FLAG_INTO(struct tokenize, target)},
    {0},
};

static const hd_example examples[] = {
    {"heed tokenize model text.txt", "the tokens of each line, separated by spaces"},
    {"heed tokenize model --ids text.txt | heed tokenize model --decode", "there and back"},
    {"heed tokenize gpt2/tokenizer.json --json text.txt", "tokens, ids and offsets for programs"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const struct tokenize *o;
    hd_tokenizer *tokenizer;
    hd_frame frame;
    hd_pieces pieces;
    size_t unpadded; /* of them, with --pad */
    hd_ids ids;
    hd_text *out; /* of the line that is answered */
    hd_text word;
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
        if (i) hd_text_put(c->out, " ");
        if (c->o->ids)
            put_number(c->out, (uint32_t)id);
        else
            put_piece(c->out, hd_frame_piece(&c->frame, id));
    }
}

static void put_object(const call *c)
{
    hd_text *to = c->out;
    const hd_piece *p = c->pieces.at;
    size_t count = c->pieces.count;
    hd_text_put(to, "{\"tokens\": [");
    for (size_t i = 0; i < count; i++) hd_member_text(to, NULL, hd_frame_piece(&c->frame, p[i].id));
    hd_text_put(to, "], \"ids\": [");
    for (size_t i = 0; i < count; i++) hd_text_print(to, i ? ", %d" : "%d", p[i].id);
    hd_text_put(to, "], \"offsets\": [");
    for (size_t i = 0; i < count; i++) hd_text_print(to, i ? ", [%u, %u]" : "[%u, %u]", p[i].begin, p[i].end);
    if (c->o->pad) hd_text_put(to, "], \"mask\": [");
    for (size_t i = 0; c->o->pad && i < count; i++) hd_text_print(to, i ? ", %d" : "%d", i < c->unpadded);
    if (c->o->specials) hd_text_put(to, "], \"types\": [");
    for (size_t i = 0; c->o->specials && i < count; i++) hd_text_print(to, i ? ", %d" : "%d", p[i].type);
    hd_text_put(to, "]}");
}

static hd_status pad(call *c, hd_err *err)
{
    size_t most = (size_t)c->o->pad;
    hd_piece filler = {.id = hd_tokenizer_special(c->tokenizer).pad, .text = -1};
    c->unpadded = c->pieces.count;
    if (c->pieces.count > most)
        return hd_err_set(err, HD_ELIMIT, "%zu tokens, more than --pad %zu", c->pieces.count, most);
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
    if (c->o->json) {
        hd_pieces_count_characters(&c->pieces, 0, line);
        put_object(c);
    } else {
        put_tokens(c);
    }
    return HD_OK;
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
        char byte = word.text[i];
        if (low >= 0) byte = (char)(high << 4 | low);
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
        return hd_err_set(err, HD_EFORMAT, "'%.*s' is not %s of the vocabulary, which has %zu", shown,
                          word.text, numbers ? "an id" : "a token", hd_tokenizer_size(c->tokenizer));
    hd_status s = hd_ids_reserve(&c->ids, 1, err);
    if (!s) c->ids.at[c->ids.count++] = (int32_t)number;
    return s;
}

static hd_status decode(call *c, hd_line line, hd_err *err)
{
    bool numbers = c->o->ids || (!c->o->pieces && are_numbers(line));
    hd_text text = {0};
    hd_line word;
    hd_status s = HD_OK;
    c->ids.count = 0;
    while (!s && next_word(&line, &word)) s = add_word(c, word, numbers, err);
    if (!s && c->ids.count) s = hd_tokenizer_decode(c->tokenizer, c->ids.at, c->ids.count, &text, err);
    if (!s && c->o->json) {
        hd_member_begin(c->out, NULL, '{');
        hd_member_bytes(c->out, "text", text.data ? text.data : "", text.size);
        hd_member_end(c->out, '}');
    } else if (!s && text.size) {
        hd_text_add(c->out, text.data, text.size);
    }
    hd_text_release(&text);
    return s;
}

/* -- the verb -- */

static hd_status answer(hd_command *command, hd_line line, hd_text *to, hd_err *err)
{
    call *c = (call *)command;
    c->out = to;
    hd_status s = c->o->decode ? decode(c, line, err) : encode(c, line, err);
    hd_text_put(to, "\n");
    return s;
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const char *model = command->operands.word[0];
    hd_status s = hd_tokenizer_open_any(&c->tokenizer, model, c->o->target, err);
    if (!s && c->o->pad && hd_tokenizer_special(c->tokenizer).pad < 0)
        s = hd_err_set(err, HD_EARG, "--pad: the vocabulary of %s has no padding token", model);
    if (!s) s = hd_frame_open(&c->frame, c->tokenizer, model, err);
    if (!s)
        s = c->o->decode
                ? hd_input_open(command, "ids or tokens, separated by spaces", "decoded", HD_INPUT_ZEROS, err)
                : hd_input_open(command, "a line to tokenize", "tokenized", HD_INPUT_ZEROS, err);
    return s ? s : hd_input_each_one(command, c->o->json, answer, err);
}

static void release(hd_command *command)
{
    call *c = (call *)command;
    hd_tokenizer_free(c->tokenizer);
    hd_pieces_release(&c->pieces);
    hd_ids_release(&c->ids);
    hd_text_release(&c->word);
}

static hd_status check(hd_command *command, hd_err *err)
{
    const struct tokenize *o = ((call *)command)->o = command->options;
    if (!o->decode && o->pieces) return hd_err_set(err, HD_EARG, "--pieces needs --decode");
    if (o->decode && o->pad)
        return hd_err_set(err, HD_EARG, "--pad and --decode exclude each other: decoding drops padding");
    if (o->ids && (o->pieces || (o->json && !o->decode)))
        return hd_err_set(err, HD_EARG, "--ids and --%s exclude each other", o->pieces ? "pieces" : "json");
    return HD_OK;
}

const hd_usage hd_verb_tokenize = {
    HD_INPUT_OPERANDS,
    .about =
        "Writes the tokens of each line. " HD_INPUT_FILES
        " MODEL is a model folder, a folder with the tokenizer of a published checkpoint (tokenizer.json, "
        "vocab.json with merges.txt, vocab.txt, source.spm with vocab.json, spiece.model, "
        "sentencepiece.bpe.model), or one of these "
        "files.\n"
        "With --specials a line is tokenized as the model in the folder sees it. To a masked language model "
        "[MASK] is one token. A classifier adds a start and an end token, of a model of text pairs around "
        "both texts, which a tab separates, and truncates to its positions. A tagger tokenizes each word by "
        "itself. A translator or language model adds the end token, and whatever a published tokenizer "
        "adds.\n"
        "In tokens a backslash is written \\\\ and a space or control byte \\xNN. With --decode a line of "
        "numbers only is read as ids.\n" HD_INPUT_ABOUT,
    .options = options,
    .size = sizeof(struct tokenize),
    .examples = examples,
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
