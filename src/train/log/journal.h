/* What a training run tells people: train/log.jsonl below the model folder, one JSON object a line, and the
   numbers of it as TensorBoard events beside it.

       hd_journal_add(j, &(hd_report_line){.step = n, .kind = "train",
                                           HD_FIELDS(HD_FIELD("loss", loss), HD_FIELD("tokens", count))},
   err);

   adds {"step":100,"kind":"train","time":1700000000.123,"loss":2.5,"tokens":4096} and the tags train/loss and
   train/tokens. */
#ifndef HD_TRAIN_LOG_JOURNAL_H
#define HD_TRAIN_LOG_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum hd_field_kind { HD_FIELD_REAL, HD_FIELD_WHOLE, HD_FIELD_TEXT } hd_field_kind;

typedef struct hd_field {
    const char *name; /* not step, kind or time */
    hd_field_kind kind;
    double real; /* reads back with the same bits; null where it is not finite */
    int64_t whole;
    const char *text; /* NULL: null */
} hd_field;

static inline hd_field hd_field_real(const char *name, double value)
{
    return (hd_field){.name = name, .kind = HD_FIELD_REAL, .real = value};
}

static inline hd_field hd_field_whole(const char *name, int64_t value)
{
    return (hd_field){.name = name, .kind = HD_FIELD_WHOLE, .whole = value};
}

static inline hd_field hd_field_text(const char *name, const char *value)
{
    return (hd_field){.name = name, .kind = HD_FIELD_TEXT, .text = value};
}

/* A field of the kind that the C type of the value says. */
#define HD_FIELD(name, value) \
    _Generic((value), \
        float : hd_field_real, double : hd_field_real, \
        char * : hd_field_text, const char * : hd_field_text, \
        default : hd_field_whole)(name, value)

#define HD_FIELDS(...)                         \
    .fields = (const hd_field[]){__VA_ARGS__}, \
    .count = sizeof((const hd_field[]){__VA_ARGS__}) / sizeof(hd_field)

typedef struct hd_report_line {
    uint64_t step;
    const char *kind; /* "train", "valid", "save", ... */
    const hd_field *fields;
    size_t count;
    double time; /* seconds since the epoch; 0: now */
} hd_report_line;

typedef struct hd_journal hd_journal;

/* Opens the journal of the model in `folder`, which must be there; train/ is made where it is not. With
   `resumed` 0 the log starts empty; else it is cut back to the lines of steps up to that one, in one rename,
   and lines that a kill left unfinished go too. The events go on in a new file. */
hd_status hd_journal_open(hd_journal **out, const char *folder, uint64_t resumed, hd_err *err);

/* Adds a line by one write, and its numbers to the events. A failure leaves out what could not be written and
   nothing else: the caller may go on, and add again. */
hd_status hd_journal_add(hd_journal *j, const hd_report_line *line, hd_err *err);

hd_status hd_journal_close(hd_journal *j, hd_err *err); /* frees j in any case; accepts NULL */

#endif
