/* Counts of faulty lines. */
#include "data/report.h"

void hd_report_note(hd_report *r, hd_fault fault, const char *file, size_t line, bool cut)
{
    if (!r->fault[fault].count++) {
        r->fault[fault].first = line;
        r->fault[fault].file = file;
        r->fault[fault].cut = cut;
    }
}

void hd_report_say(const hd_report *r, const hd_log *log)
{
    static const char *const text[HD_FAULTS] = {
#define X(name, words) words,
        HD_FAULT_LIST(X)
#undef X
    };
    for (int i = 0; i < HD_FAULTS; i++)
        if (r->fault[i].count)
            hd_log_say(log, HD_WARN, "%s: %zu of %zu lines are %s and were %s; the first is line %zu",
                       r->fault[i].file, r->fault[i].count, r->lines, text[i],
                       r->fault[i].cut ? "cut" : "left out", r->fault[i].first);
}
