/* A list of names with values, shown as aligned lines or as the members of one JSON object. */
#ifndef HD_CLI_FRAME_FIELDS_H
#define HD_CLI_FRAME_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct hd_fields {
    hd_text out; /* without the brace that ends an object */
    bool json;
    bool begun;
} hd_fields;

void hd_fields_name(hd_fields *s, const char *name); /* the caller writes the value */
void hd_fields_text(hd_fields *s, const char *name, const char *value);
void hd_fields_whole(hd_fields *s, const char *name, uint64_t value);
void hd_fields_real(hd_fields *s, const char *name, double value, const char *unit); /* unit: only in lines */
void hd_fields_switch(hd_fields *s, const char *name, bool value);

#endif
