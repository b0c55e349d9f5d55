/* Option tables: the parser, files of options, help, man pages and completions all read the same rows. A row
   says where its value goes by offset; the macros below take the C type of that field from the table's owner,
   so a row and its field cannot disagree. */
#ifndef HD_RUN_OPTION_H
#define HD_RUN_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

typedef enum hd_option_type {
    HD_OPTION_FLAG,   /* bool */
    HD_OPTION_WHOLE,  /* int, int64_t, size_t or uint64_t within [min, max], at most 2^53 */
    HD_OPTION_FLOAT,  /* float or double within [min, max] */
    HD_OPTION_CHOICE, /* int or an enum, the index in choices */
    HD_OPTION_TEXT,   /* const char *, NULL without default */
    HD_OPTION_FILE    /* the same; completed as a path */
} hd_option_type;

/* Who says what a row is in a run that begins with a model that is there. */
typedef enum hd_option_from {
    HD_FROM_USER,      /* the options, as in any run */
    HD_FROM_DEFAULT,   /* the model, where the options do not */
    HD_FROM_MODEL,     /* the model: an option that differs is refused */
    HD_FROM_SIZE,      /* the same, and a preset that differs is refused, too */
    HD_FROM_TOKENIZER, /* the tokenizer of the model: the option is refused */
} hd_option_from;

/* What becomes of a row when the run goes on later. */
typedef enum hd_option_keep {
    HD_KEEP,        /* it is kept, and cannot change: it would be another run */
    HD_KEEP_LIMIT,  /* may change: it says when the run ends */
    HD_KEEP_REPORT, /* may change: it has no effect on what is learned */
    HD_KEEP_NOT,    /* it is about one call */
} hd_option_keep;

typedef uint64_t hd_run_parts; /* bits: parts of a run (run/options.h) */

enum { HD_OPTION_MOST = 64 };

/* What an option of several values fills, in the order given. */
typedef struct hd_texts {
    const char *text[HD_OPTION_MOST];
    int count;
} hd_texts;

/* A table ends with a row without name. Its fields from `type` on come from one of the macros. */
typedef struct hd_option {
    const char *name;     /* long form, without dashes */
    char letter;          /* short form, or 0 */
    const char *argument; /* how help calls the value; NULL for a flag */
    const char *fallback; /* default as typed; NULL: zero, false or NULL */
    const char *help;
    const char *group; /* heading in help; NULL: "Options" */
    bool hidden;       /* works, but no page shows it */
    const char *gone;  /* not an option any more: what to do instead; the rest of the row is unused */
    hd_option_type type;
    double min, max;
    const char *const *choices; /* ends with NULL */
    size_t offset, size;        /* of the field */
    /* TEXT or FILE of several values; the field is a hd_texts, and there is no default. A word that begins
       with a dash ends the values of `most`, a lone dash is one of them. */
    bool many; /* may be repeated */
    int most;  /* takes 1 to so many words at once; 0: one */
    /* Columns of a table that several tasks share (run/recipe.h); 0 in others. */
    unsigned tasks;      /* bits of the tasks that have it; 0: all */
    hd_run_parts needs;  /* parts of a run without which it has no effect, one of them; 0: none */
    hd_option_from from; /* where a run begins with a model */
    hd_option_keep keep; /* where a run is resumed */
} hd_option;

#define HD_OPTION_INTO(ctype, owner, field)                                            \
    .size = sizeof(((owner *)0)->field), .offset = _Generic(((owner *)0)->field, ctype \
                                                            : offsetof(owner, field))
/* The same of a field of so many bytes. */
#define HD_OPTION_SIZED_INTO(bytes, owner, field) \
    .size = sizeof(((owner *)0)->field),          \
    .offset = offsetof(owner, field) + 0 * sizeof(char[sizeof(((owner *)0)->field) == (bytes) ? 1 : -1])
#define HD_FLAG_INTO(owner, field) .type = HD_OPTION_FLAG, HD_OPTION_INTO(bool, owner, field)
#define HD_INT_INTO(owner, field, low, high) \
    .type = HD_OPTION_WHOLE, .min = low, .max = high, HD_OPTION_INTO(int, owner, field)
#define HD_LONG_INTO(owner, field, low, high) \
    .type = HD_OPTION_WHOLE, .min = low, .max = high, HD_OPTION_INTO(int64_t, owner, field)
/* Into a size_t or uint64_t; low is not negative. */
#define HD_COUNT_INTO(owner, field, low, high) \
    .type = HD_OPTION_WHOLE, .min = low, .max = high, HD_OPTION_SIZED_INTO(sizeof(int64_t), owner, field)
#define HD_FLOAT_INTO(owner, field, low, high)                                             \
    .type = HD_OPTION_FLOAT, .min = low, .max = high, .size = sizeof(((owner *)0)->field), \
    .offset = _Generic(((owner *)0)->field, float                                          \
                       : offsetof(owner, field), double                                    \
                       : offsetof(owner, field))
#define HD_CHOICE_INTO(owner, field, list) \
    .type = HD_OPTION_CHOICE, .choices = list, HD_OPTION_SIZED_INTO(sizeof(int), owner, field)
#define HD_TEXT_INTO(owner, field) .type = HD_OPTION_TEXT, HD_OPTION_INTO(const char *, owner, field)
#define HD_FILE_INTO(owner, field) .type = HD_OPTION_FILE, HD_OPTION_INTO(const char *, owner, field)
#define HD_FILES_INTO(owner, field) \
    .type = HD_OPTION_FILE, .many = true, HD_OPTION_INTO(hd_texts, owner, field)
#define HD_FILES_AT_ONCE_INTO(owner, field, number) \
    .type = HD_OPTION_FILE, .most = number, HD_OPTION_INTO(hd_texts, owner, field)
#define HD_TEXTS_AT_ONCE_INTO(owner, field, number) \
    .type = HD_OPTION_TEXT, .most = number, HD_OPTION_INTO(hd_texts, owner, field)

/* A FILE row of this name lets a verb take its options from a file (hd_config_read). */
#define HD_CONFIG_NAME "config"
#define HD_CONFIG_HELP \
    "YAML file of options, each a line 'name: value'; the command line wins, 'no-NAME' undoes a flag"

extern const hd_option hd_no_options[]; /* the empty table */

/* Where the value of a row is from. */
typedef enum hd_given {
    HD_GIVEN_NOT,      /* its default */
    HD_GIVEN_HERE,     /* the command line */
    HD_GIVEN_FILE,     /* a file of options */
    HD_GIVEN_PRESET,   /* not given: a preset has it */
    HD_GIVEN_MODEL,    /* not given: the model that the run begins with has it */
    HD_GIVEN_BY_OTHERS /* not given: it follows from other options */
} hd_given;

typedef struct hd_option_set {
    const hd_option *table;
    void *into;
    hd_given *given;                  /* one a row, 0 before; NULL: nobody asks */
    const struct hd_option_set *next; /* another table that is searched behind this one; NULL: none */
} hd_option_set;

/* Rows of a table. */
size_t hd_option_count(const hd_option *table);

/* A row, and where its value and its mark go. */
typedef struct hd_option_place {
    const hd_option *option; /* NULL: there is none of this name */
    void *field;
    hd_given *given; /* may be NULL */
} hd_option_place;

/* Whether somebody has given it, on the command line or in a file. */
static inline bool hd_option_given(const hd_given *g)
{
    return g && (*g == HD_GIVEN_HERE || *g == HD_GIVEN_FILE);
}

hd_option_place hd_option_find(const hd_option_set *set, const char *name);

/* Gives every row of these tables its default. */
hd_status hd_option_set_defaults(const hd_option_set *set, hd_err *err);

/* Reads one value into the field of o; one of several is added. Text is kept, not copied. HD_EARG with a text
   that does not name the option. */
hd_status hd_option_read(const hd_option *o, void *field, const char *text, hd_err *err);

/* The value of a row as YAML (and JSON) writes it; nothing where it has none. */
void hd_option_value(hd_text *to, const hd_option *o, const void *into);
/* "name: value", the same way; false where it has none, and nothing is written. */
bool hd_option_line(hd_text *to, const hd_option *o, const void *into);

/* Whether a row has the same value in both structs. If not, `value`, 0 before, has both of them; it may be
   NULL. HD_ENOMEM in err: it is not known. */
bool hd_option_same(const hd_option *o, const void *a, const void *b, hd_text value[2], hd_err *err);

/* Copies the value of a row from one struct to another. */
void hd_option_copy(const hd_option *o, void *to, const void *from);

#endif
