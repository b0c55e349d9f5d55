/* Options as text. */
#include "cli/frame/settings.h"

#include <string.h>

bool hd_settings_named(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list)) return true;
    return false;
}

void hd_settings_write(hd_text *to, const hd_option *table, const void *into, const char *const *but)
{
    for (const hd_option *o = table; o->name; o++) {
        hd_text value = {0};
        if (hd_settings_named(o->name, but)) continue;
        hd_option_value(&value, o, into);
        if (value.size) hd_text_print(to, "%s: %s\n", o->name, value.data);
        if (value.missed) to->missed = value.missed;
        hd_text_release(&value);
    }
}
