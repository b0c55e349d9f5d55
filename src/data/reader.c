/* Reading sentences. Easy to get wrong: in a parallel corpus a line that is left out takes its partner with
   it, and files of different length are no corpus at all, however good their lines. */
#include "data/reader.h"

#include <string.h>

#include "base/mem.h"

struct hd_reader {
    hd_read_opt opt;
    hd_lines *lines[2];
    int files; /* read in step: 1 or 2 */
    int sides;
    size_t next;   /* file of the list that follows; 0: none of all was opened yet */
    size_t before; /* lines of the files before */
    hd_report report;
};

/* -- a line -- */

static bool is_blank(hd_line text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!strchr(" \t\r\v\f", text.text[i])) return false;
    return true;
}

static bool find_fault(hd_line text, hd_fault *fault)
{
    bool zero = text.size && memchr(text.text, 0, text.size);
    if (zero)
        *fault = HD_FAULT_zero;
    else if (hd_utf8_good(text.text, text.size) < text.size)
        *fault = HD_FAULT_broken;
    else if (is_blank(text))
        *fault = HD_FAULT_empty;
    else
        return false;
    return true;
}

static hd_status refuse(const char *file, size_t line, hd_line text, hd_fault fault, hd_err *err)
{
    size_t good = hd_utf8_good(text.text, text.size);
    switch (fault) {
    case HD_FAULT_zero:
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: a zero byte: is this a text file? (or skip broken lines)",
                          file, line);
    case HD_FAULT_empty:
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: the line is empty (remove it, or skip empty lines)", file,
                          line);
    default:
        return hd_err_set(err, HD_EFORMAT,
                          "%s:%zu: not UTF-8: byte 0x%02x at offset %zu (convert the file with iconv, or "
                          "skip broken lines)",
                          file, line, (unsigned)(uint8_t)text.text[good], good);
    }
}

/* Keeps, leaves out or refuses the line or pair read last. */
static hd_status judge(hd_reader *r, hd_sentences *into, const hd_line text[2], hd_err *err)
{
    uint32_t line = (uint32_t)r->report.lines;
    for (int i = 0; i < r->sides; i++) {
        hd_fault fault;
        size_t number;
        if (!find_fault(text[i], &fault)) continue;
        const char *file = hd_sentences_file(into, i, line, &number);
        hd_policy policy = fault == HD_FAULT_empty ? r->opt.empty : r->opt.broken;
        bool skip = policy == HD_POLICY_SKIP || (policy == HD_POLICY_DEFAULT && fault == HD_FAULT_empty);
        if (!skip) return refuse(file, number, text[i], fault, err);
        hd_report_note(&r->report, fault, file, number, false);
        return HD_OK;
    }
    r->report.kept++;
    return hd_sentences_add(into, text, line, err);
}

/* A mark some editors put before a text is not part of it. */
static void drop_mark(hd_line *text)
{
    if (text->size < 3 || memcmp(text->text, "\xef\xbb\xbf", 3)) return;
    text->text += 3;
    text->size -= 3;
}

static hd_status cut_columns(const hd_reader *r, hd_line text[2], hd_err *err)
{
    const char *tab = text[0].size ? memchr(text[0].text, '\t', text[0].size) : NULL;
    if (!tab)
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: no tab: each line must be a source, a tab and a target",
                          hd_lines_name(r->lines[0]), hd_lines_count(r->lines[0]));
    const char *end = text[0].text + text[0].size;
    const char *next = memchr(tab + 1, '\t', (size_t)(end - tab - 1)); /* further columns are comments */
    text[1] = (hd_line){tab + 1, (size_t)((next ? next : end) - tab - 1)};
    text[0].size = (size_t)(tab - text[0].text);
    return HD_OK;
}

/* The files must end together; where they do not, the longer one is read on for its count. */
static hd_status compare_lengths(hd_reader *r, const hd_line text[2], hd_err *err)
{
    if (!text[0].text == !text[1].text) return HD_OK;
    hd_lines *longer = r->lines[text[0].text ? 0 : 1];
    hd_line line = {0};
    hd_status s;
    do s = hd_lines_next(longer, &line, err);
    while (!s && line.text);
    if (s) return s;
    return hd_err_set(
        err, HD_EFORMAT,
        "%s has %zu lines, %s has %zu: line n of one must be the translation of line n of the other",
        hd_lines_name(r->lines[0]), hd_lines_count(r->lines[0]), hd_lines_name(r->lines[1]),
        hd_lines_count(r->lines[1]));
}

/* -- files -- */

static void close_files(hd_reader *r)
{
    for (int i = 0; i < 2; i++) hd_lines_close(r->lines[i]), r->lines[i] = NULL;
}

static hd_status open_files(hd_reader *r, hd_sentences *into, hd_err *err)
{
    const hd_files *more = r->opt.more;
    const char *path[2] = {r->opt.source, r->opt.target}, *name[2] = {0};
    for (int i = 0; r->next && i < r->files; i++) path[i] = more->at[r->next - 1 + (size_t)i];
    if (path[1] && !strcmp(path[0], "-") && !strcmp(path[1], "-"))
        return hd_err_set(err, HD_EARG, "only one side can be read from standard input");
    hd_status s = HD_OK;
    for (int i = 0; !s && i < r->files; i++) {
        s = hd_lines_open(&r->lines[i], path[i], &(hd_lines_opt){.longest = r->opt.longest}, err);
        if (!s) name[i] = hd_lines_name(r->lines[i]);
    }
    r->next += r->next ? (size_t)r->files : 1;
    r->before = r->report.lines;
    return s ? s : hd_sentences_begin(into, name, (uint32_t)r->before, err);
}

static bool has_files(const hd_reader *r)
{
    return !r->next || (r->opt.more && r->next - 1 < r->opt.more->count);
}

hd_status hd_reader_open(hd_reader **out, const hd_read_opt *opt, hd_err *err)
{
    if (opt->target && opt->tabs)
        return hd_err_set(err, HD_EARG, "%s: a tab-separated file has both sides, %s is one too many",
                          opt->source, opt->target);
    if (opt->target && opt->more && opt->more->count % 2)
        return hd_err_set(err, HD_EARG, "%s has no partner: give sources and targets in turn",
                          opt->more->at[opt->more->count - 1]);
    hd_reader *r = hd_mem_zero(sizeof *r);
    if (!r) return hd_err_nomem(err, sizeof *r);
    r->opt = *opt;
    r->files = opt->target ? 2 : 1;
    r->sides = opt->tabs ? 2 : r->files;
    *out = r;
    return HD_OK;
}

void hd_reader_close(hd_reader *r)
{
    if (r) close_files(r);
    hd_mem_free(r);
}

/* -- reading -- */

/* The next line or pair; *ended: the files that are open have no more. */
static hd_status read_one(hd_reader *r, hd_sentences *into, bool *ended, hd_err *err)
{
    hd_line text[2] = {{0}};
    hd_status s = HD_OK;
    for (int i = 0; !s && i < r->files; i++) s = hd_lines_next(r->lines[i], &text[i], err);
    if (!s && r->files == 2) s = compare_lengths(r, text, err);
    *ended = !text[0].text;
    if (s || *ended) return s;
    if (r->report.lines++ == UINT32_MAX)
        return hd_err_set(err, HD_ELIMIT, "%s: more than %u lines", hd_lines_name(r->lines[0]), UINT32_MAX);
    for (int i = 0; r->report.lines == r->before + 1 && i < r->files; i++) drop_mark(&text[i]);
    if (r->opt.tabs && !is_blank(text[0])) s = cut_columns(r, text, err);
    return s ? s : judge(r, into, text, err);
}

hd_status hd_reader_next(hd_reader *r, hd_sentences *into, size_t bytes, hd_err *err)
{
    hd_status s = HD_OK;
    hd_sentences_clear(into);
    into->sides = r->sides;
    while (!s && into->side[0].used + into->side[1].used < bytes) {
        bool ended = false;
        if (!r->lines[0] && !has_files(r)) break;
        if (!r->lines[0]) s = open_files(r, into, err);
        if (!s) s = read_one(r, into, &ended, err);
        if (ended) close_files(r);
        if (!s && ended && !has_files(r)) hd_report_say(&r->report, r->opt.log);
    }
    return s;
}

hd_status hd_sentences_read(hd_sentences *out, const hd_read_opt *opt, hd_report *report, hd_err *err)
{
    hd_sentences sentences = {0};
    hd_reader *r = NULL;
    hd_status s = hd_reader_open(&r, opt, err);
    if (!s) s = hd_reader_next(r, &sentences, SIZE_MAX, err);
    if (!s && !sentences.count)
        s = r->report.lines
                ? hd_err_set(err, HD_EFORMAT, "%s: none of its %zu lines can be used",
                             sentences.origin[0].name[0], r->report.lines)
                : hd_err_set(err, HD_EFORMAT, "%s: the file is empty", sentences.origin[0].name[0]);
    if (!s && report) *report = r->report;
    hd_reader_close(r);
    if (s)
        hd_sentences_release(&sentences);
    else
        *out = sentences;
    return s;
}
