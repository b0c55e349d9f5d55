/* A string that grows by doubling. */
#include "base/text.h"

#include <inttypes.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { FIRST_ROOM = 256 };

void hd_text_release(hd_text *t)
{
    hd_mem_free(t->data);
    *t = (hd_text){0};
}

/* Room for `count` more bytes and the zero byte. */
static bool reserve(hd_text *t, size_t count)
{
    if (t->missed) return false;
    if (count < t->room - t->size) return true; /* room 0 and size 0: never true */
    size_t room = t->room ? t->room : FIRST_ROOM;
    while (room <= t->size || room - t->size <= count) {
        if (room > SIZE_MAX / 2) return t->missed = SIZE_MAX, false;
        room *= 2;
    }
    char *data = hd_mem_grow(t->data, room);
    if (!data) return t->missed = room, false;
    t->data = data;
    t->room = room;
    return true;
}

void hd_text_add(hd_text *t, const char *bytes, size_t count)
{
    if (!reserve(t, count)) return;
    if (count) memcpy(t->data + t->size, bytes, count); /* an empty text's bytes are NULL */
    t->size += count;
    t->data[t->size] = 0;
}

void hd_text_put(hd_text *t, const char *string)
{
    hd_text_add(t, string, strlen(string));
}

void hd_text_print(hd_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int count = vsnprintf(NULL, 0, format, args);
    if (count >= 0 && reserve(t, (size_t)count)) {
        vsnprintf(t->data + t->size, (size_t)count + 1, format, again);
        t->size += (size_t)count;
    }
    va_end(again);
    va_end(args);
}

void hd_text_base64(hd_text *t, const void *bytes, size_t count)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = bytes;
    for (size_t i = 0; i < count; i += 3) {
        uint32_t v = (uint32_t)from[i] << 16 | (i + 1 < count ? (uint32_t)from[i + 1] << 8 : 0) |
                     (i + 2 < count ? from[i + 2] : 0);
        char four[4] = {digit[v >> 18], digit[v >> 12 & 63], digit[v >> 6 & 63], digit[v & 63]};
        if (i + 2 >= count) four[3] = '=';
        if (i + 1 >= count) four[2] = '=';
        hd_text_add(t, four, 4);
    }
}

hd_status hd_text_status(const hd_text *t, hd_err *err)
{
    return t->missed ? hd_err_nomem(err, t->missed) : HD_OK;
}

bool hd_real_of(const char *text, size_t size, double *value)
{
    char copy[64] = "", *end = copy;
    const char *point = localeconv()->decimal_point;
    bool plain = size > 0;
    for (size_t i = 0; plain && i < size; i++) plain = memchr("+-.0123456789eE", text[i], 15);
    if (plain && size + strlen(point) < sizeof copy) {
        const char *dot = memchr(text, '.', size);
        size_t whole = dot ? (size_t)(dot - text) : size;
        snprintf(copy, sizeof copy, "%.*s%s%.*s", (int)whole, text, dot ? point : "",
                 dot ? (int)(size - whole - 1) : 0, dot ? dot + 1 : "");
        *value = strtod(copy, &end);
    }
    return end > copy && !*end;
}

const char *hd_grouped(uint64_t n, char buffer[32])
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, n), to = 0;
    for (int i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0) buffer[to++] = ',';
        buffer[to++] = digits[i];
    }
    buffer[to] = 0;
    return buffer;
}
