/* A list of names with values, shown as aligned lines or as the members of one JSON object. */
#ifndef HD_CLI_FRAME_FIELDS_H
#define HD_CLI_FRAME_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct hd_sheet {
    hd_text out; /* without the brace that ends an object */
    bool json;
    bool begun;
} hd_sheet;

void hd_sheet_name(hd_sheet *s, const char *name); /* the caller writes the value */
void hd_sheet_text(hd_sheet *s, const char *name, const char *value);
void hd_sheet_whole(hd_sheet *s, const char *name, uint64_t value);
void hd_sheet_real(hd_sheet *s, const char *name, double value, const char *unit); /* unit: only in lines */
void hd_sheet_switch(hd_sheet *s, const char *name, bool value);

#endif
