/* Leveled log callback. Easy to get wrong: a dropped message must cost nothing, so the level is checked
   before formatting. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

void hd_log_say(const hd_log *log, hd_level level, const char *format, ...)
{
    if (!log || !log->write || level > log->most) return;
    char small[512], *text = small;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (length < 0) return;
    if ((size_t)length >= sizeof small) {
        text = hd_mem_new((size_t)length + 1);
        if (text) {
            va_start(args, format);
            vsnprintf(text, (size_t)length + 1, format, args);
            va_end(args);
        }
    }
    log->write(log->context, level, text ? text : small); /* out of memory: its first 511 bytes */
    if (text != small) hd_mem_free(text);
}

const char *hd_level_name(hd_level level)
{
    static const char *const name[] = {
        [HD_ERROR] = "error", [HD_WARN] = "warning", [HD_INFO] = "info", [HD_DEBUG] = "debug"};
    return (size_t)level < sizeof name / sizeof *name ? name[level] : "unknown";
}
