/* Names with values. */
#include "model/details.h"

#include <stdio.h>

static void add(hd_details *f, const hd_detail *fact)
{
    if (f->count < HD_DETAILS) f->at[f->count++] = *fact;
}

void hd_details_text(hd_details *f, const char *name, const char *value)
{
    hd_detail fact = {.name = name, .kind = HD_DETAIL_text};
    snprintf(fact.text, sizeof fact.text, "%s", value);
    add(f, &fact);
}

void hd_details_whole(hd_details *f, const char *name, uint64_t value)
{
    add(f, &(hd_detail){.name = name, .kind = HD_DETAIL_whole, .whole = value});
}

void hd_details_real(hd_details *f, const char *name, double value, const char *unit)
{
    add(f, &(hd_detail){.name = name, .kind = HD_DETAIL_real, .real = value, .unit = unit});
}

void hd_details_flag(hd_details *f, const char *name, bool value)
{
    add(f, &(hd_detail){.name = name, .kind = HD_DETAIL_flag, .flag = value});
}
