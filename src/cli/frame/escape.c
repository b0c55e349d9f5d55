/* Escapes. */
#include "cli/frame/escape.h"

void hd_unescape(hd_text *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char next = text[i] == '\\' && i + 1 < size ? text[i + 1] : 0;
        const char c = next == 'n' ? '\n' : next == 't' ? '\t' : next == '\\' ? '\\' : 0;
        hd_text_add(to, c ? &c : text + i, 1);
        i += c != 0;
    }
}
