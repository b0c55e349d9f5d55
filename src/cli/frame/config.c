/* Options from a YAML file, through the events of libyaml: a flat mapping of scalars and lists of scalars,
   and nothing else YAML has. Easy to get wrong: a value that the command line overrides is checked all the
   same, or a mistake in the file would come to light only when the word is left out. */
#include "cli/frame/option.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/file/file.h"
#include "base/file/lines.h"

/* An option the file has set, and where. */
struct seen {
    const hd_option *option;
    size_t line;
    const struct seen *before;
};

struct reader {
    const hd_option_set *set;
    const char *path;
    hd_map file;
    hd_arena *texts;
    const struct seen *seen;
    yaml_parser_t yaml;
    yaml_event_t event; /* the current one */
    hd_err *err;
};

/* What an option's value is read into: its field, or a place to forget it in. */
union value {
    bool flag;
    int number;
    int64_t whole;
    double real;
    const char *text;
    hd_texts texts;
};

/* ---- errors ---- */

static hd_status __attribute__((format(printf, 4, 5)))
wrong(const struct reader *r, hd_status status, size_t line, const char *format, ...)
{
    hd_err why = {0};
    va_list args;
    va_start(args, format);
    hd_err_setv(&why, status, format, args);
    va_end(args);
    return hd_err_set(r->err, status, "%s:%zu: %s", r->path, line, why.text);
}

static size_t line_of_byte(const struct reader *r, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset && i < r->file.size; i++) line += r->file.data[i] == '\n';
    return line;
}

static size_t line_of_event(const struct reader *r)
{
    return r->event.start_mark.line + 1;
}

static hd_status not_yaml(const struct reader *r)
{
    const yaml_parser_t *y = &r->yaml;
    if (y->error == YAML_MEMORY_ERROR) return hd_err_nomem(r->err, 0);
    bool raw = y->error == YAML_READER_ERROR;
    return wrong(r, HD_EFORMAT, raw ? line_of_byte(r, y->problem_offset) : y->problem_mark.line + 1,
                 "not YAML: %s; write 'option: value', and quotes around text with signs in it",
                 y->problem ? y->problem : "malformed");
}

/* ---- events ---- */

static hd_status refuse_extras(const struct reader *r)
{
    const yaml_event_type_t type = r->event.type;
    bool tagged =
        type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
    /* what these events hold begins alike, and that of an alias with the anchor */
    const yaml_char_t *tag = tagged ? r->event.data.scalar.tag : NULL,
                      *anchor = tagged || type == YAML_ALIAS_EVENT ? r->event.data.scalar.anchor : NULL;
    if (anchor)
        return wrong(r, HD_EFORMAT, line_of_event(r),
                     "anchors and aliases are not read: write the value out, or in quotes if it begins with "
                     "'&' or '*'");
    if (tag)
        return wrong(r, HD_EFORMAT, line_of_event(r),
                     "tags are not read: leave '%s' out, or write the value in quotes if it begins with '!'",
                     (const char *)tag);
    return HD_OK;
}

static hd_status next(struct reader *r)
{
    yaml_event_delete(&r->event);
    return yaml_parser_parse(&r->yaml, &r->event) ? refuse_extras(r) : not_yaml(r);
}

static bool is_null(const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    return e->type == YAML_SCALAR_EVENT && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (!*text || !strcmp(text, "~") || !strcasecmp(text, "null"));
}

/* ---- options ---- */

/* The name that the current event is, with '-' for '_'; one that is too long or holds a zero byte is cut. */
static hd_status read_key(const struct reader *r, char name[HD_OPTION_NAME], bool *cut)
{
    if (r->event.type != YAML_SCALAR_EVENT)
        return wrong(r, HD_EFORMAT, line_of_event(r), "the name of an option is expected before the ':'");
    snprintf(name, HD_OPTION_NAME, "%s", (const char *)r->event.data.scalar.value);
    *cut = strlen(name) != r->event.data.scalar.length;
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    return HD_OK;
}

/* Finds the option of that name, whose value the current event begins, and notes that it is set here. */
static hd_status find_option(struct reader *r, const char *name, bool cut, size_t line, hd_option_place *at)
{
    const char *value = r->event.type == YAML_SCALAR_EVENT ? (const char *)r->event.data.scalar.value : NULL;
    const char *today = cut ? NULL : hd_option_renamed(r->set, name, value);
    *at = cut ? (hd_option_place){0} : hd_option_find(r->set, today ? today : name);
    if (!at->option) {
        char suggestion[HD_OPTION_SUGGESTION];
        return wrong(r, HD_EARG, line, "unknown option '%s'%s", name,
                     hd_option_suggestion(r->set, name, "", suggestion));
    }
    if (!strcmp(name, HD_CONFIG_NAME) || !strcmp(name, "help"))
        return wrong(r, HD_EARG, line, "%s: belongs on the command line, not in a file", name);
    for (const struct seen *s = r->seen; s; s = s->before)
        if (s->option == at->option)
            return wrong(r, HD_EARG, line, "%s: is already set in line %zu; keep one of them", name, s->line);
    struct seen *s = hd_arena_array(r->texts, 1, sizeof *s, r->err);
    if (!s) return HD_ENOMEM;
    *s = (struct seen){at->option, line, r->seen};
    r->seen = s;
    return HD_OK;
}

/* One scalar of the option's value. */
static hd_status read_scalar(const struct reader *r, const hd_option *o, void *field)
{
    const yaml_event_t *e = &r->event;
    size_t length = e->data.scalar.length, line = line_of_event(r);
    if (is_null(e))
        return wrong(r, HD_EARG, line, "%s: has no value; leave the line out for the default", o->name);
    if (memchr(e->data.scalar.value, 0, length))
        return wrong(r, HD_EARG, line, "%s: the value holds a zero byte; leave it out", o->name);
    char *text = hd_arena_copy(r->texts, (const char *)e->data.scalar.value, length, r->err);
    if (!text) return HD_ENOMEM;
    hd_err why = {0};
    return hd_option_read(o, field, text, &why) ? wrong(r, HD_EARG, line, "%s: %s", o->name, why.text)
                                                : HD_OK;
}

static hd_status read_list(struct reader *r, const hd_option *o, void *field)
{
    size_t line = line_of_event(r);
    int count = 0;
    if (!o->many && !o->most) return wrong(r, HD_EARG, line, "%s: takes one value, not a list", o->name);
    for (;; count++) {
        hd_status s = next(r);
        if (s) return s;
        if (r->event.type == YAML_SEQUENCE_END_EVENT) break;
        if (r->event.type != YAML_SCALAR_EVENT)
            return wrong(r, HD_EARG, line_of_event(r),
                         "%s: takes a list of values; write them without nesting", o->name);
        s = read_scalar(r, o, field);
        if (s) return s;
    }
    return count ? HD_OK : wrong(r, HD_EARG, line, "%s: the list is empty; leave the line out", o->name);
}

/* The current event begins the value. What the command line gave stays as it is. */
static hd_status read_value(struct reader *r, hd_option_place at)
{
    union value forgotten = {.texts = {.count = 0}};
    void *field = hd_option_given(at.given) ? &forgotten : at.field;
    hd_status s;
    if (r->event.type == YAML_SCALAR_EVENT)
        s = read_scalar(r, at.option, field);
    else if (r->event.type == YAML_SEQUENCE_START_EVENT)
        s = read_list(r, at.option, field);
    else
        s = wrong(r, HD_EARG, r->seen->line,
                  "%s: holds 'name: value' lines; options are not nested, each stands at the left margin",
                  at.option->name);
    if (!s && !hd_option_given(at.given)) *at.given = HD_GIVEN_FILE;
    return s;
}

static hd_status read_mapping(struct reader *r)
{
    for (;;) {
        hd_option_place at = {0};
        char name[HD_OPTION_NAME];
        bool cut = false;
        hd_status s = next(r);
        if (s || r->event.type == YAML_MAPPING_END_EVENT) return s;
        size_t line = line_of_event(r);
        s = read_key(r, name, &cut);
        if (!s) s = next(r);
        if (!s) s = find_option(r, name, cut, line, &at);
        if (!s) s = read_value(r, at);
        if (s) return s;
    }
}

/* ---- the file ---- */

static hd_status read_root(struct reader *r)
{
    hd_status s = next(r);
    if (s || is_null(&r->event)) return s;
    if (r->event.type == YAML_MAPPING_START_EVENT) return read_mapping(r);
    return wrong(r, HD_EFORMAT, line_of_event(r), "holds %s; write 'option: value' lines",
                 r->event.type == YAML_SEQUENCE_START_EVENT ? "a list" : "only text");
}

static hd_status read_stream(struct reader *r)
{
    hd_status s = next(r); /* the start of the stream */
    if (!s) s = next(r);
    if (s || r->event.type == YAML_STREAM_END_EVENT) return s; /* nothing, or only comments */
    s = read_root(r);
    if (!s) s = next(r); /* the end of the document */
    if (!s) s = next(r);
    if (!s && r->event.type != YAML_STREAM_END_EVENT)
        s = wrong(r, HD_EFORMAT, line_of_event(r), "a second document begins; put all options in one");
    return s;
}

static hd_status check_bytes(const struct reader *r)
{
    const char *data = (const char *)r->file.data;
    if (r->file.size > HD_CONFIG_LARGEST)
        return hd_err_set(r->err, HD_ELIMIT, "%s: has %zu bytes, more than the %d a file of options may have",
                          r->path, r->file.size, HD_CONFIG_LARGEST);
    size_t good = hd_utf8_good(data, r->file.size);
    if (good == r->file.size) return HD_OK;
    return wrong(r, HD_EFORMAT, line_of_byte(r, good), "not UTF-8: byte 0x%02x; save the file as UTF-8",
                 (unsigned)(uint8_t)data[good]);
}

static hd_status read_file(struct reader *r)
{
    hd_status s = check_bytes(r);
    if (s) return s;
    if (!yaml_parser_initialize(&r->yaml)) return hd_err_nomem(r->err, sizeof r->yaml);
    yaml_parser_set_encoding(&r->yaml, YAML_UTF8_ENCODING);
    /* libyaml takes a byte order mark for a column when it is told the encoding */
    size_t mark = r->file.size >= 3 && !memcmp(r->file.data, "\xef\xbb\xbf", 3) ? 3 : 0;
    yaml_parser_set_input_string(&r->yaml, r->file.data + mark, r->file.size - mark);
    s = read_stream(r);
    yaml_event_delete(&r->event);
    yaml_parser_delete(&r->yaml);
    return s;
}

hd_status hd_config_read(const hd_option_set *set, hd_arena *texts, hd_err *err)
{
    hd_option_place at = hd_option_find(set, HD_CONFIG_NAME);
    if (!at.option || at.option->type != HD_OPTION_FILE || !hd_option_given(at.given)) return HD_OK;
    struct reader r = {.set = set, .path = *(const char **)at.field, .texts = texts, .err = err};
    hd_status s = hd_map_open(&r.file, r.path, err);
    if (!s) s = read_file(&r);
    hd_map_close(&r.file);
    return s;
}

void hd_config_write(hd_text *to, const hd_option *table, const void *options, hd_config_keeps *keeps)
{
    for (const hd_option *o = table; o->name; o++)
        if (keeps(o, options) && hd_option_line(to, o, options)) hd_text_put(to, "\n");
}
