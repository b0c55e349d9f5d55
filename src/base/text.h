/* A string that grows. A failed allocation is remembered and later writes are dropped, so that a page is
   written without checks and the status is checked once. */
#ifndef HD_BASE_TEXT_H
#define HD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_text {
    char *data;        /* ends with a zero byte; NULL while empty */
    size_t size, room; /* bytes without the zero byte; bytes allocated */
    size_t missed;     /* bytes of the allocation that failed, or 0 */
} hd_text;

/* {0} is an empty text. */
void hd_text_release(hd_text *t);
void hd_text_add(hd_text *t, const char *bytes, size_t count);
void hd_text_put(hd_text *t, const char *string);
void hd_text_print(hd_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hd_text_base64(hd_text *t, const void *bytes, size_t count);
hd_status hd_text_status(const hd_text *t, hd_err *err);

/* Whether the bytes are a number, whatever the locale of the program around us: digits, a point, an
   exponent. One that is too large is infinite. */
bool hd_real_of(const char *text, size_t size, double *value);

/* "12,345", in the buffer. */
const char *hd_grouped(uint64_t n, char buffer[32]);

#endif
