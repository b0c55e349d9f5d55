/* What there is to say of a model: names with values, in the order in which they are shown. */
#ifndef HD_MODEL_DETAILS_H
#define HD_MODEL_DETAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_DETAILS = 40, HD_DETAIL_TEXT = 512 };

typedef enum hd_detail_kind {
    HD_DETAIL_text,
    HD_DETAIL_whole,
    HD_DETAIL_real,
    HD_DETAIL_flag
} hd_detail_kind;

typedef struct hd_detail {
    const char *name; /* borrowed: a constant as a rule */
    hd_detail_kind kind;
    char text[HD_DETAIL_TEXT];
    uint64_t whole;
    double real;
    const char *unit; /* of real; only people are told */
    bool flag;
} hd_detail;

typedef struct hd_details {
    hd_detail at[HD_DETAILS];
    size_t count;
} hd_details;

/* The value is copied. What does not fit is left out; tests see to it that all of every model does. */
void hd_details_text(hd_details *f, const char *name, const char *value);
void hd_details_whole(hd_details *f, const char *name, uint64_t value);
void hd_details_real(hd_details *f, const char *name, double value, const char *unit);
void hd_details_flag(hd_details *f, const char *name, bool value);

#endif
