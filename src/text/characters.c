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

static hd_status describe(const hd_tokenizer *t, json_t *root, bool continues, hd_err *err)
{
    (void)continues, (void)err;
    return hd_list_describe(t, root, "[\\s\\S]", json_pack("{s:s}", "type", "Fuse"));
}

static const hd_list_rules rules = {cut_character, check_character, "", "\xef\xbf\xbd"}; /* U+FFFD */

const hd_tokenizer_type hd_tokenizer_characters = HD_LIST_TYPE(&rules, describe);
