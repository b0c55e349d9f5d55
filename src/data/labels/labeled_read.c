/* Items with labels in files. Easy to get wrong: labels get their numbers in alphabetical order, whatever the
   order they are met in, so that the same data in other files makes the same model. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "base/text.h"
#include "data/labels/labeled.h"

static hd_labeled_reader reader_of(hd_labeled *into, hd_vocab *labels)
{
    *into = (hd_labeled){0};
    return (hd_labeled_reader){.into = into, .labels = labels, .fixed = labels->count > 0};
}

hd_status hd_labeled_refuse(const hd_labeled_reader *r, const char *what, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: %s", hd_lines_name(r->lines), hd_lines_count(r->lines), what);
}

static hd_line trimmed(hd_line t)
{
    while (t.size && strchr(" \t\r\v\f", t.text[t.size - 1])) t.size--;
    while (t.size && strchr(" \t\r\v\f", t.text[0])) t.text++, t.size--;
    return t;
}

static hd_status number_of(hd_labeled_reader *r, hd_line label, int32_t *number, hd_err *err)
{
    if (!label.size) return hd_labeled_refuse(r, "the label is empty", err);
    if (!r->fixed) {
        hd_status s = hd_vocab_add(r->labels, label.text, label.size, err);
        if (s) return s;
    }
    *number = hd_vocab_find(r->labels, label.text, label.size);
    if (*number >= 0) return HD_OK;
    return hd_err_set(
        err, HD_EFORMAT, "%s:%zu: the label \"%.*s\" is none of the %zu that are known: %s, ...",
        hd_lines_name(r->lines), hd_lines_count(r->lines), (int)(label.size < 60 ? label.size : 60),
        label.text, r->labels->count, hd_vocab_piece(r->labels, 0));
}

hd_status hd_labeled_name(hd_labeled_reader *r, hd_line label, hd_err *err)
{
    int32_t number = -1;
    hd_status s = number_of(r, label, &number, err);
    return s ? s : hd_labeled_mark(r->into, number, (double)NAN, err);
}

hd_status hd_labeled_number(hd_labeled_reader *r, hd_line label, hd_err *err)
{
    double value = 0;
    bool number = hd_real_of(label.text, label.size, &value);
    if (number && fabs(value) <= (double)FLT_MAX) return hd_labeled_mark(r->into, -1, value, err);
    if (number)
        return hd_err_set(err, HD_EFORMAT,
                          "%s:%zu: the label %.*s is beyond what a 32-bit number can hold (%.3g): scale the "
                          "labels down",
                          hd_lines_name(r->lines), hd_lines_count(r->lines), (int)label.size, label.text,
                          (double)FLT_MAX);
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: the label \"%.*s\" is no number", hd_lines_name(r->lines),
                      hd_lines_count(r->lines), (int)(label.size < 60 ? label.size : 60), label.text);
}

/* Lines of a file that are UTF-8 and have no zero byte; text NULL at the end. */
static hd_status next(hd_labeled_reader *r, hd_line *line, hd_err *err)
{
    hd_status s = hd_lines_next(r->lines, line, err);
    if (s || !line->text) return s;
    if (memchr(line->text, 0, line->size))
        return hd_labeled_refuse(r, "a zero byte: is this a text file?", err);
    return HD_OK;
}

static hd_status open_file(hd_labeled_reader *r, const char *path, hd_err *err)
{
    return hd_lines_open(&r->lines, path, &(hd_lines_opt){.utf8 = true, .no_mark = true}, err);
}

/* Labels in alphabetical order. */
static hd_status sort_labels(hd_labeled_reader *r, hd_err *err)
{
    size_t n = r->labels->count;
    int32_t *place = hd_mem_array(n + 1, sizeof *place);
    hd_status s = place ? hd_vocab_sort(r->labels, place, err) : hd_err_nomem(err, n * sizeof *place);
    for (size_t i = 0; !s && i < r->into->labels; i++)
        if (r->into->label[i] >= 0) r->into->label[i] = place[r->into->label[i]];
    hd_mem_free(place);
    return s;
}

static hd_status finish(hd_labeled_reader *r, hd_status s, const char *path, hd_err *err)
{
    if (!s && !r->into->count)
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no item in it",
                       r->lines ? hd_lines_name(r->lines) : path);
    hd_lines_close(r->lines);
    if (!s && !r->fixed) s = sort_labels(r, err);
    if (s) hd_labeled_release(r->into);
    if (s && !r->fixed) hd_vocab_release(r->labels);
    return s;
}

/* -- a folder -- */

typedef struct names {
    const char *folder;
    char **at;
    size_t count, room;
} names;

static hd_status add_name(void *context, const char *name, hd_err *err)
{
    names *n = context;
    char path[HD_PATH];
    struct stat info;
    hd_status s = hd_path(path, n->folder, name, err);
    if (s || name[0] == '.' || stat(path, &info) || S_ISDIR(info.st_mode)) return s;
    if ((s = hd_mem_reserve(&n->at, &n->room, n->count + 1, sizeof *n->at, err))) return s;
    n->at[n->count] = hd_mem_text(name);
    return n->at[n->count++] ? HD_OK : hd_err_nomem(err, strlen(name));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "Czech" of "Czech.txt" and "Czech.txt.gz". */
static hd_line label_of(const char *name)
{
    size_t size = strlen(name);
    static const char *const packed[] = {".gz", ".xz", ".zst"};
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t end = strlen(packed[i]);
        if (size > end && !strcmp(name + size - end, packed[i])) {
            size -= end;
            break;
        }
    }
    for (size_t i = size; i-- > 1;)
        if (name[i] == '.') return (hd_line){name, i};
    return (hd_line){name, size};
}

static hd_status read_class(hd_labeled_reader *r, const char *folder, const char *name, hd_err *err)
{
    char path[HD_PATH];
    int32_t label = -1;
    hd_line line;
    size_t before = r->into->count;
    hd_status s = hd_path(path, folder, name, err);
    if (!s && hd_utf8_good(name, strlen(name)) < strlen(name))
        s = hd_err_set(err, HD_EFORMAT, "%s: its name is not UTF-8, and so no label: rename it", path);
    if (!s) s = open_file(r, path, err);
    if (!s) s = number_of(r, label_of(name), &label, err);
    while (!s && !(s = next(r, &line, err)) && line.text) {
        line = trimmed(line);
        if (!line.size) continue;
        s = hd_labeled_add(r->into, line, err);
        if (!s) s = hd_labeled_mark(r->into, label, (double)NAN, err);
        if (!s) s = hd_labeled_end(r->into, err);
    }
    hd_lines_close(r->lines);
    r->lines = NULL;
    if (!s && r->into->count == before)
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no item in it: a class needs one a line, or remove it",
                       path);
    return s;
}

hd_status hd_labeled_folder(hd_labeled *out, hd_vocab *labels, const char *folder, hd_err *err)
{
    hd_labeled_reader r = reader_of(out, labels);
    names n = {.folder = folder};
    hd_status s = hd_folder_each(folder, add_name, &n, err);
    if (!s && !n.count)
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no file in it: a class is a file of items", folder);
    if (!s) qsort(n.at, n.count, sizeof *n.at, by_text);
    for (size_t i = 0; !s && i < n.count; i++) s = read_class(&r, folder, n.at[i], err);
    for (size_t i = 0; i < n.count; i++) hd_mem_free(n.at[i]);
    hd_mem_free(n.at);
    return finish(&r, s, folder, err);
}

/* -- a table -- */

/* Column i of a line; text NULL: there are fewer. */
static hd_line column(hd_line line, size_t i)
{
    for (;; i--) {
        const char *tab = memchr(line.text, '\t', line.size);
        size_t size = tab ? (size_t)(tab - line.text) : line.size;
        if (!i) return trimmed((hd_line){line.text, size});
        if (!tab) return (hd_line){NULL, 0};
        line.text += size + 1, line.size -= size + 1;
    }
}

static hd_status read_header(hd_labeled_reader *r, hd_labeled_columns *is, hd_err *err)
{
    hd_line line, c;
    hd_status s = next(r, &line, err);
    if (s) return s;
    for (int k = 0; k < HD_COLUMNS; k++) is->at[k] = SIZE_MAX;
    for (size_t i = 0; line.text && (c = column(line, i)).text; i++)
        for (int k = 0; k < HD_COLUMNS; k++) {
            const char *name = is->name[k];
            if (!name || c.size != strlen(name) || memcmp(c.text, name, c.size)) continue;
            if (is->at[k] != SIZE_MAX)
                return hd_err_set(err, HD_EFORMAT,
                                  "%s:1: two columns are called \"%s\": rename or remove one of them",
                                  hd_lines_name(r->lines), name);
            is->at[k] = i;
        }
    if (is->at[HD_COLUMN_LABEL] < SIZE_MAX && is->at[HD_COLUMN_TEXT] < SIZE_MAX) return HD_OK;
    return hd_err_set(err, HD_EFORMAT,
                      "%s:%zu: the first line must name the columns, %s and %s, with a tab between",
                      hd_lines_name(r->lines), hd_lines_count(r->lines), is->name[HD_COLUMN_LABEL],
                      is->name[HD_COLUMN_TEXT]);
}

static hd_status add_row(hd_labeled_reader *r, hd_line line, const hd_labeled_columns *is,
                         hd_labeled_column *labels, hd_err *err)
{
    hd_line name = column(line, is->at[HD_COLUMN_LABEL]), text[2] = {column(line, is->at[HD_COLUMN_TEXT])};
    size_t texts = 1;
    if (is->at[HD_COLUMN_TEXT2] < SIZE_MAX) text[texts++] = column(line, is->at[HD_COLUMN_TEXT2]);
    bool lacks = !name.text || !text[0].text || !text[texts - 1].text;
    if (lacks && is->lenient) return HD_OK;
    if (lacks) return hd_labeled_refuse(r, "a column is missing that the first line names", err);
    if (!text[0].size || !text[texts - 1].size) return hd_labeled_refuse(r, "the text is empty", err);
    hd_status s = labels(r, name, err);
    for (size_t i = 0; !s && i < texts; i++) s = hd_labeled_add(r->into, text[i], err);
    return s ? s : hd_labeled_end(r->into, err);
}

hd_status hd_labeled_table_of(hd_labeled *out, hd_vocab *labels, const char *path,
                              const hd_labeled_columns *columns, hd_labeled_column *how, hd_err *err)
{
    hd_labeled_reader r = reader_of(out, labels);
    hd_labeled_columns is = *columns;
    hd_line line;
    hd_status s = open_file(&r, path, err);
    if (!s && !is.nameless) s = read_header(&r, &is, err);
    while (!s && !(s = next(&r, &line, err)) && line.text) {
        if (trimmed(line).size) s = add_row(&r, line, &is, how, err);
    }
    return finish(&r, s, path, err);
}

hd_status hd_labeled_table(hd_labeled *out, hd_vocab *labels, const char *path, hd_labeled_column *how,
                           hd_err *err)
{
    static const hd_labeled_columns usual = {.name = {"label", "text", "text2"}};
    return hd_labeled_table_of(out, labels, path, &usual, how, err);
}

/* -- sentences -- */

static hd_status add_token(hd_labeled_reader *r, hd_line line, hd_err *err)
{
    const char *first = memchr(line.text, '\t', line.size), *last = first;
    if (!first) return hd_labeled_refuse(r, "no tab: each line must be a token, a tab and its label", err);
    for (const char *t = first; t; t = memchr(t + 1, '\t', (size_t)(line.text + line.size - t - 1))) last = t;
    hd_line token = {line.text, (size_t)(first - line.text)},
            name = {last + 1, (size_t)(line.text + line.size - last - 1)};
    if (!trimmed(token).size) return hd_labeled_refuse(r, "the token is empty", err);
    hd_status s = hd_labeled_name(r, trimmed(name), err);
    return s ? s : hd_labeled_add(r->into, trimmed(token), err);
}

hd_status hd_labeled_tokens(hd_labeled *out, hd_vocab *labels, const char *path, hd_err *err)
{
    hd_labeled_reader r = reader_of(out, labels);
    hd_line line;
    hd_status s = open_file(&r, path, err);
    for (size_t ended = 0; !s;) {
        s = next(&r, &line, err);
        if (s) break;
        bool blank = !line.text || !trimmed(line).size;
        if (!blank) s = add_token(&r, line, err);
        if (blank && out->units > ended) s = hd_labeled_end(out, err), ended = out->units;
        if (!line.text) break;
    }
    return finish(&r, s, path, err);
}
