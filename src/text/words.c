/* The tokenizer `words`. Spaces separate words, and so does the border between a word (letters, marks and
   digits, with an apostrophe or hyphen kept between two of them: don't, well-known) and a punctuation mark;
   each mark is a piece of its own. Decoding puts one space between pieces, also before a comma. */
#include <utf8proc.h>

#include "text/list.h"

typedef enum group { BROKEN, SPACE, LETTER, JOINT, MARK } group;

static group group_of(int32_t point)
{
    if (point < 0) return BROKEN;
    if (point == '\'' || point == '-' || point == 0x2019) return JOINT;
    utf8proc_category_t category = utf8proc_category(point);
    if ((point >= '\t' && point <= '\r') || point == 0x85)
        return SPACE; /* Unicode calls them control characters */
    if (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) return SPACE;
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO ? LETTER : MARK;
}

static group group_at(const char *text, size_t size, size_t *used)
{
    int32_t point;
    *used = hd_character(text, size, &point);
    return group_of(point);
}

static size_t cut_word(const char *text, size_t size, size_t *skip)
{
    size_t at = 0, used = 0, next;
    group g = SPACE;
    while (at < size && (g = group_at(text + at, size - at, &used)) == SPACE) at += used;
    *skip = at;
    if (at == size) return 0;
    at += used;
    if (g != LETTER) return at - *skip;
    while (at < size) {
        g = group_at(text + at, size - at, &used);
        if (g == JOINT && at + used < size && group_at(text + at + used, size - at - used, &next) == LETTER)
            at += used + next;
        else if (g == LETTER)
            at += used;
        else
            break;
    }
    return at - *skip;
}

static const char *check_word(const char *piece, size_t size)
{
    size_t skip;
    return cut_word(piece, size, &skip) == size
               ? NULL
               : "is not one word: write one word or punctuation mark a line";
}

/* cut_word as a regular expression. */
static hd_status describe(const hd_tokenizer *t, json_t *root, bool continues, hd_err *err)
{
    json_t *decoder = json_pack("{s:s}", "type", "Sequence"), *list = json_array();
    (void)err;
    hd_json_append(
        list, json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", "Regex", "\\A", "content", " "));
    hd_json_append(list, json_pack("{s:s}", "type", "Fuse"));
    if (!continues)
        hd_json_append(
            list, json_pack("{s:s,s:s,s:i,s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0));
    hd_json_set(decoder, "decoders", list);
    return hd_list_describe(t, root,
                            "[\\p{L}\\p{M}\\p{N}]+(?:['\\-\\x{2019}][\\p{L}\\p{M}\\p{N}]+)*"
                            "|[^\\p{Z}\\t-\\r\\x{85}]",
                            decoder);
}

static const hd_list_rules rules = {cut_word, check_word, " ", "<unk>"};

const hd_tokenizer_type hd_tokenizer_words = HD_LIST_TYPE(&rules, describe);
