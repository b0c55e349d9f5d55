/* %41 in paths, queries and forms. */
#include "serve/parse/percent.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hd_percent_decode(hd_text *to, const char *text, size_t size, bool plus)
{
    size_t plain = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c != '%' && !(plus && c == '+')) continue;
        hd_text_add(to, text + plain, i - plain);
        int high = c == '%' && i + 2 < size ? digit(text[i + 1]) : -1;
        int low = high >= 0 ? digit(text[i + 2]) : -1;
        if (c == '%' && (low < 0 || !(high | low))) return false;
        char made = (char)(c == '%' ? high << 4 | low : ' ');
        hd_text_add(to, &made, 1);
        if (c == '%') i += 2;
        plain = i + 1;
    }
    hd_text_add(to, text + plain, size - plain);
    return true;
}
