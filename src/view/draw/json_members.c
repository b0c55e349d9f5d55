/* Members of objects and items of lists. */
#include "view/draw/json_members.h"

#include <string.h>

#include "view/draw/markup.h"

void hd_member_key(hd_text *to, const char *key)
{
    if (to->size && !strchr("{[\n", to->data[to->size - 1])) hd_text_put(to, ", ");
    if (!key) return;
    hd_markup_json(to, key, false);
    hd_text_put(to, ": ");
}

void hd_member_begin(hd_text *to, const char *key, char bracket)
{
    hd_member_key(to, key);
    hd_text_add(to, &bracket, 1);
}

void hd_member_end(hd_text *to, char bracket)
{
    hd_text_add(to, &bracket, 1);
}

void hd_member_text(hd_text *to, const char *key, const char *s)
{
    hd_member_key(to, key);
    hd_markup_json(to, s, false);
}

void hd_member_bytes(hd_text *to, const char *key, const char *s, size_t size)
{
    hd_member_key(to, key);
    hd_markup_json_bytes(to, s, size, false);
}

void hd_member_number(hd_text *to, const char *key, double v, int digits)
{
    hd_member_key(to, key);
    hd_markup_number(to, v, digits);
}

void hd_member_count(hd_text *to, const char *key, size_t n)
{
    hd_member_key(to, key);
    hd_text_print(to, "%zu", n);
}

void hd_member_flag(hd_text *to, const char *key, bool yes)
{
    hd_member_key(to, key);
    hd_text_put(to, yes ? "true" : "false");
}
