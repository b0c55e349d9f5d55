/* Leveled log callback. The library prints nothing itself: messages go to the callback. */
#ifndef HD_BASE_LOG_H
#define HD_BASE_LOG_H

typedef enum hd_level { HD_ERROR, HD_WARN, HD_INFO, HD_DEBUG } hd_level;

typedef struct hd_log {
    void (*write)(void *context, hd_level level, const char *text); /* NULL: silent */
    void *context;
    hd_level most; /* messages above it are dropped before formatting */
} hd_log;

void hd_log_say(const hd_log *log, hd_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *hd_level_name(hd_level level);

#endif
