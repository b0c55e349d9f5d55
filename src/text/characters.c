/* The tokenizer `characters`: every Unicode code point is a piece, spaces and newlines too. */
#include "text/list.h"

static size_t cut_character(const char *text, size_t size, size_t *skip)
{
    int32_t point;
    *skip = 0;
    return hd_character(text, size, &point);
}

static const char *check_character(const char *piece, size_t size)
{
    int32_t point;
    return hd_character(piece, size, &point) == size ? NULL : "is not one character: write one a line";
}

static hd_status train(hd_tokenizer *t, hd_feed lines, const hd_tokenizer_opt *opt, hd_err *err)
{
    return hd_list_train(t, lines, cut_character, opt, err);
}

static hd_status open_list(hd_tokenizer *t, const char *path, hd_err *err)
{
    return hd_list_open(t, path, check_character, err);
}

static hd_status encode(const hd_tokenizer *t, const char *text, size_t size, hd_piece_sink to, hd_err *err)
{
    return hd_list_encode(t, text, size, cut_character, to, err);
}

static hd_status decode(const hd_tokenizer *t, const int32_t *ids, size_t count, hd_text *out, hd_err *err)
{
    return hd_list_decode(t, ids, count, "", "\xef\xbf\xbd", out, err); /* U+FFFD */
}

static hd_status describe(const hd_tokenizer *t, json_t *root, bool continues, hd_err *err)
{
    (void)continues, (void)err;
    return hd_list_describe(t, root, "[\\s\\S]", json_pack("{s:s}", "type", "Fuse"));
}

const hd_tokenizer_type hd_tokenizer_characters = {
    .file = {"source.txt", "target.txt", "tokenizer.txt"},
    .train = train,
    .open = open_list,
    .save = hd_list_save,
    .release = hd_list_release,
    .encode = encode,
    .decode = decode,
    .describe = describe,
    .piece = hd_list_piece,
    .id = hd_list_id,
};
