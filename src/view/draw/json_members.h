/* Members of JSON objects and items of JSON lists, written straight into a text. Each writes the comma that
   parts it from the one before; key is NULL in a list. Strings are valid UTF-8. */
#ifndef HD_VIEW_DRAW_JSON_MEMBERS_H
#define HD_VIEW_DRAW_JSON_MEMBERS_H

#include <stdbool.h>

#include "base/text.h"

void hd_member_begin(hd_text *to, const char *key, char bracket); /* an object '{' or a list '[' */
void hd_member_end(hd_text *to, char bracket);
void hd_member_key(hd_text *to, const char *key); /* the caller writes the value */

void hd_member_text(hd_text *to, const char *key, const char *s); /* NULL: null */
void hd_member_bytes(hd_text *to, const char *key, const char *s, size_t size);
void hd_member_number(hd_text *to, const char *key, double v, int digits); /* not finite: null */
void hd_member_count(hd_text *to, const char *key, size_t n);
void hd_member_flag(hd_text *to, const char *key, bool yes);

#endif
