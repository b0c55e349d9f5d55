/* What was wrong with the lines of a corpus, and what was done about it. */
#ifndef HD_DATA_REPORT_H
#define HD_DATA_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

/* X(name, text): "12 of 3000 lines are TEXT" */
#define HD_FAULT_LIST(X)        \
    X(broken, "not UTF-8")      \
    X(zero, "with a zero byte") \
    X(empty, "empty")           \
    X(too_long, "longer than allowed")

typedef enum hd_fault {
#define X(name, text) HD_FAULT_##name,
    HD_FAULT_LIST(X)
#undef X
        HD_FAULTS
} hd_fault;

typedef enum hd_policy {
    HD_POLICY_DEFAULT, /* what the option says of itself */
    HD_POLICY_ERROR,
    HD_POLICY_SKIP,
    HD_POLICY_CUT
} hd_policy;

typedef struct hd_report {
    size_t lines; /* read; for two files, pairs of lines */
    size_t kept;
    struct {
        size_t count;     /* a pair counts once, under the first fault found */
        size_t first;     /* line number */
        const char *file; /* where that was; lives as long as the sentences */
        bool cut;         /* kept in part; otherwise left out */
    } fault[HD_FAULTS];
} hd_report;

/* {0} before first use. */
void hd_report_note(hd_report *r, hd_fault fault, const char *file, size_t line, bool cut);

/* Says what was left out or cut, a warning for each fault, and nothing where nothing was. log may be NULL. */
void hd_report_say(const hd_report *r, const hd_log *log);

#endif
