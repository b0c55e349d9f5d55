/* The text of single tokens. Easy to get wrong: SentencePiece drops the blank of the first word of a text. */
#include "serve/api/token.h"

#include <string.h>

void hd_token_put(hd_text *to, const hd_tokenizer *t, int32_t id)
{
    static const char blank[] = "\xE2\x96\x81";
    const char *piece = hd_tokenizer_piece(t, id);
    hd_err err = {0};
    hd_text text = {0};
    if (hd_tokenizer_decode(t, &id, 1, &text, &err) || !piece) {
        hd_text_release(&text);
        return;
    }
    if (!strncmp(piece, blank, sizeof blank - 1) && !(text.size && text.data[0] == ' '))
        hd_text_put(to, " ");
    else if (!text.size)
        hd_text_put(to, piece);
    hd_text_add(to, text.data ? text.data : "", text.size);
    hd_text_release(&text);
}
