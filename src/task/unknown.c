/* Unknown words are found again by reading the text once more: the n-th <unk> stands for the n-th place that
   is unknown. */
#include "task/unknown.h"

#include "task/masked/masked.h"
#include "text/character.h"

/* The bytes of a piece without white space around them. */
static hd_line bytes_of(hd_line text, const hd_piece *p)
{
    size_t begin = p->begin, end = p->end, used;
    int32_t c;
    while (begin < end && hd_is_space((used = hd_character(text.text + begin, end - begin, &c), c)))
        begin += used;
    while (end > begin && text.text[end - 1] == ' ') end--;
    return (hd_line){text.text + begin, end - begin};
}

/* The unknown pieces of a text, with their places in it. */
static hd_status find(hd_pieces *out, const hd_tokenizer *t, hd_line text, bool masks, hd_err *err)
{
    hd_status s = masks ? hd_masked_pieces(t, text, true, out, err)
                        : hd_tokenizer_encode_again(t, text.text, text.size, out, err);
    size_t count = 0;
    for (size_t i = 0; !s && i < out->count; i++)
        if (out->at[i].id == hd_tokenizer_special(t).unk) out->at[count++] = out->at[i];
    out->count = count;
    return s;
}

hd_status hd_unknown_words(hd_line *word, const hd_tokenizer *t, const int32_t *ids, size_t count,
                           hd_line text, bool masks, hd_err *err)
{
    const int32_t unk = t ? hd_tokenizer_special(t).unk : -1;
    size_t unknown = 0;
    hd_pieces place = {0};
    for (size_t i = 0; i < count; i++) {
        word[i] = (hd_line){NULL, 0};
        unknown += unk >= 0 && ids[i] == unk;
    }
    if (!unknown || !text.text) return HD_OK;
    hd_status s = find(&place, t, text, masks, err);
    for (size_t i = 0, n = 0; !s && place.count >= unknown && i < count; i++) {
        if (ids[i] != unk) continue;
        hd_line bytes = bytes_of(text, &place.at[n++]);
        if (bytes.size) word[i] = bytes;
    }
    hd_pieces_release(&place);
    return s;
}
