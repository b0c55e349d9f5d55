/* Pieces of JSON and XML put into a text. Strings are valid UTF-8. */
#ifndef HD_VIEW_DRAW_MARKUP_H
#define HD_VIEW_DRAW_MARKUP_H

#include <stdbool.h>

#include "base/text.h"

enum { HD_DECIMAL = 48 };

/* What printf writes for one double, with a point in every locale, into buf; returns buf. */
const char *hd_decimal(char buf[HD_DECIMAL], const char *format, double v);

/* As %.*g writes it, with a point too; what is not finite is null. 9 digits give a float back. */
void hd_markup_number(hd_text *to, double v, int digits);

/* With its quotes; NULL is null. inside_html: nothing in it can end a <script>. */
void hd_markup_json(hd_text *to, const char *s, bool inside_html);
/* ... of so many bytes, zeros among them. */
void hd_markup_json_bytes(hd_text *to, const char *s, size_t size, bool inside_html);

/* As text or inside a quoted attribute. What XML cannot hold becomes U+FFFD. */
void hd_markup_xml(hd_text *to, const char *s);

#endif
