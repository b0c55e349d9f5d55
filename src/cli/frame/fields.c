/* Names with values. */
#include "cli/frame/fields.h"

#include "cli/train/progress.h"
#include "view/draw/markup.h"

void hd_fields_name(hd_fields *s, const char *name)
{
    if (s->json) {
        hd_text_put(&s->out, s->begun ? ", " : "{");
        hd_markup_json(&s->out, name, false);
        hd_text_put(&s->out, ": ");
    } else {
        hd_text_print(&s->out, "%-22s", name);
    }
    s->begun = true;
}

void hd_fields_text(hd_fields *s, const char *name, const char *value)
{
    hd_fields_name(s, name);
    if (s->json)
        hd_markup_json(&s->out, value, false);
    else
        hd_text_print(&s->out, "%s\n", value);
}

void hd_fields_whole(hd_fields *s, const char *name, uint64_t value)
{
    char grouped[32];
    hd_fields_name(s, name);
    if (s->json)
        hd_text_print(&s->out, "%llu", (unsigned long long)value);
    else
        hd_text_print(&s->out, "%s\n", hd_grouped(value, grouped));
}

void hd_fields_real(hd_fields *s, const char *name, double value, const char *unit)
{
    hd_fields_name(s, name);
    hd_markup_number(&s->out, value, s->json ? 17 : 6);
    if (!s->json) hd_text_print(&s->out, "%s\n", unit);
}

void hd_fields_switch(hd_fields *s, const char *name, bool value)
{
    hd_fields_name(s, name);
    hd_text_put(&s->out, s->json ? value ? "true" : "false" : value ? "yes\n" : "no\n");
}
