/* Pieces of JSON and XML put into a text. Strings are valid UTF-8. */
#ifndef HD_VIEW_PUT_H
#define HD_VIEW_PUT_H

#include <stdbool.h>

#include "base/text.h"

/* As %.*g writes it, with a point in every locale; what is not finite is null. 9 digits give a float back. */
void hd_put_number(hd_text *to, double v, int digits);

/* With its quotes; NULL is null. inside_html: nothing in it can end a <script>. */
void hd_put_json(hd_text *to, const char *s, bool inside_html);

/* As text or inside a quoted attribute. What XML cannot hold becomes U+FFFD. */
void hd_put_xml(hd_text *to, const char *s);

#endif
