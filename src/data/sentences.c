/* Sentences of a corpus as read. Easy to get wrong: in a parallel corpus a line that is left out takes its
   partner with it, and files of different length are no corpus at all, however good their lines. */
#include "data/sentences.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_PLACES = 1024, FIRST_BYTES = 1 << 16 };

void hd_sentences_release(hd_sentences *s)
{
    for (int i = 0; i < 2; i++) {
        hd_mem_free(s->file[i]);
        hd_mem_free(s->side[i].bytes);
        hd_mem_free(s->side[i].end);
    }
    hd_mem_free(s->line);
    *s = (hd_sentences){0};
}

static hd_status grow_places(hd_sentences *s, hd_err *err)
{
    size_t places = s->places ? 2 * s->places : FIRST_PLACES;
    for (int i = 0; i < s->sides; i++) {
        size_t *end = hd_mem_grow(s->side[i].end, places * sizeof *end);
        if (!end) return hd_err_nomem(err, places * sizeof *end);
        s->side[i].end = end;
    }
    uint32_t *line = hd_mem_grow(s->line, places * sizeof *line);
    if (!line) return hd_err_nomem(err, places * sizeof *line);
    s->line = line;
    s->places = places;
    return HD_OK;
}

static hd_status add_text(hd_sentences *s, int side, hd_line text, hd_err *err)
{
    size_t used = s->side[side].used, room = s->side[side].room;
    if (text.size > room - used) {
        room = room ? room : FIRST_BYTES;
        while (text.size > room - used) room *= 2;
        char *bytes = hd_mem_grow(s->side[side].bytes, room);
        if (!bytes) return hd_err_nomem(err, room);
        s->side[side].bytes = bytes;
        s->side[side].room = room;
    }
    if (text.size) memcpy(s->side[side].bytes + used, text.text, text.size);
    s->side[side].used = s->side[side].end[s->count] = used + text.size;
    return HD_OK;
}

static hd_status add_sentence(hd_sentences *s, const hd_line text[2], size_t line, hd_err *err)
{
    hd_status status = s->count == s->places ? grow_places(s, err) : HD_OK;
    for (int i = 0; !status && i < s->sides; i++) status = add_text(s, i, text[i], err);
    if (status) return status;
    s->line[s->count++] = (uint32_t)line;
    return HD_OK;
}

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

/* One reader, or two in step. */
struct reader {
    const hd_read_opt *opt;
    hd_sentences *into;
    hd_lines *lines[2];
    int files;
    hd_report report;
};

/* Keeps, leaves out or refuses the line or pair read last. */
static hd_status judge(struct reader *r, const hd_line text[2], hd_err *err)
{
    size_t line = r->report.lines;
    for (int i = 0; i < r->into->sides; i++) {
        hd_fault fault;
        if (!find_fault(text[i], &fault)) continue;
        const char *file = r->into->file[r->files == 2 ? i : 0];
        hd_policy policy = fault == HD_FAULT_empty ? r->opt->empty : r->opt->broken;
        bool skip = policy == HD_POLICY_SKIP || (policy == HD_POLICY_DEFAULT && fault == HD_FAULT_empty);
        if (!skip) return refuse(file, line, text[i], fault, err);
        hd_report_note(&r->report, fault, file, line, false);
        return HD_OK;
    }
    return add_sentence(r->into, text, line, err);
}

/* A mark some editors put before a text is not part of it. */
static void drop_mark(hd_line *text)
{
    if (text->size < 3 || memcmp(text->text, "\xef\xbb\xbf", 3)) return;
    text->text += 3;
    text->size -= 3;
}

static hd_status cut_columns(const struct reader *r, hd_line text[2], hd_err *err)
{
    const char *tab = text[0].size ? memchr(text[0].text, '\t', text[0].size) : NULL;
    if (!tab)
        return hd_err_set(err, HD_EFORMAT, "%s:%zu: no tab: each line must be a source, a tab and a target",
                          r->into->file[0], r->report.lines);
    const char *end = text[0].text + text[0].size;
    const char *next = memchr(tab + 1, '\t', (size_t)(end - tab - 1)); /* further columns are comments */
    text[1] = (hd_line){tab + 1, (size_t)((next ? next : end) - tab - 1)};
    text[0].size = (size_t)(tab - text[0].text);
    return HD_OK;
}

/* The files must end together; where they do not, the longer one is read on for its count. */
static hd_status compare_lengths(struct reader *r, const hd_line text[2], hd_err *err)
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
        r->into->file[0], hd_lines_count(r->lines[0]), r->into->file[1], hd_lines_count(r->lines[1]));
}

static hd_status read_all(struct reader *r, hd_err *err)
{
    for (;;) {
        hd_line text[2] = {{0}};
        hd_status s = HD_OK;
        for (int i = 0; !s && i < r->files; i++) s = hd_lines_next(r->lines[i], &text[i], err);
        if (!s && r->files == 2) s = compare_lengths(r, text, err);
        if (s || !text[0].text) return s;
        if (r->report.lines++ == UINT32_MAX)
            return hd_err_set(err, HD_ELIMIT, "%s: more than %u lines", r->into->file[0], UINT32_MAX);
        for (int i = 0; r->report.lines == 1 && i < r->files; i++) drop_mark(&text[i]);
        if (r->opt->tabs && !is_blank(text[0])) s = cut_columns(r, text, err);
        if (!s) s = judge(r, text, err);
        if (s) return s;
    }
}

static hd_status open_files(struct reader *r, hd_err *err)
{
    const char *path[2] = {r->opt->source, r->opt->target};
    if (path[1] && r->opt->tabs)
        return hd_err_set(err, HD_EARG, "%s: a tab-separated file has both sides, %s is one too many",
                          path[0], path[1]);
    if (path[1] && !strcmp(path[0], "-") && !strcmp(path[1], "-"))
        return hd_err_set(err, HD_EARG, "only one side can be read from standard input");
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2 && path[i]; i++) {
        r->files = i + 1;
        s = hd_lines_open(&r->lines[i], path[i], &(hd_lines_opt){.longest = r->opt->longest}, err);
        if (!s) r->into->file[i] = hd_mem_text(hd_lines_name(r->lines[i]));
        if (!s && !r->into->file[i]) s = hd_err_nomem(err, strlen(path[i]));
    }
    r->into->sides = r->opt->tabs ? 2 : r->files;
    return s;
}

hd_status hd_sentences_read(hd_sentences *out, const hd_read_opt *opt, hd_report *report, hd_err *err)
{
    hd_sentences sentences = {0};
    struct reader r = {.opt = opt, .into = &sentences};
    hd_status s = open_files(&r, err);
    if (!s) s = read_all(&r, err);
    r.report.kept = sentences.count;
    if (!s) hd_report_say(&r.report, opt->log);
    if (!s && !sentences.count)
        s = r.report.lines ? hd_err_set(err, HD_EFORMAT, "%s: none of its %zu lines can be used",
                                        sentences.file[0], r.report.lines)
                           : hd_err_set(err, HD_EFORMAT, "%s: the file is empty", sentences.file[0]);
    for (int i = 0; i < 2; i++) hd_lines_close(r.lines[i]);
    if (s) {
        hd_sentences_release(&sentences);
        return s;
    }
    *out = sentences;
    if (report) *report = r.report;
    return HD_OK;
}

static uint64_t hash_text(uint64_t h, hd_line text)
{
    for (size_t i = 0; i < text.size; i++) h = (h ^ (uint8_t)text.text[i]) * 0x100000001b3u; /* FNV-1a */
    return (h ^ 0x1ff) * 0x100000001b3u; /* no byte: "a" + "bc" is not "ab" + "c" */
}

/* In [0, 1). The last steps (splitmix64) spread the bits: FNV alone leaves the upper ones of short texts
 * alike. */
static double hash_of(const hd_sentences *s, size_t i)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int side = 0; side < s->sides; side++) h = hash_text(h, hd_sentence(s, side, i));
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return (double)((h ^ h >> 31) >> 11) * 0x1p-53;
}

/* The copies first, which may fail; then what cannot. */
static hd_status copy_chosen(hd_sentences *to, const hd_sentences *from, double fraction, hd_err *err)
{
    hd_status status = HD_OK;
    for (int i = 0; !status && i < 2; i++) {
        if (!from->file[i]) continue;
        to->file[i] = hd_mem_text(from->file[i]);
        if (!to->file[i]) status = hd_err_nomem(err, strlen(from->file[i]));
    }
    for (size_t i = 0; !status && i < from->count; i++) {
        if (hash_of(from, i) >= fraction) continue;
        hd_line text[2] = {hd_sentence(from, 0, i),
                           from->sides == 2 ? hd_sentence(from, 1, i) : (hd_line){0}};
        status = add_sentence(to, text, from->line[i], err);
    }
    return status;
}

/* Closes the gaps in place. A sentence never moves up, so `end` is read before it is written over. */
static void drop_copied(hd_sentences *s, const hd_sentences *copied)
{
    size_t count = s->count, begin[2] = {0}, dropped = 0;
    s->count = s->side[0].used = s->side[1].used = 0;
    for (size_t i = 0; i < count; i++) {
        bool drop = dropped < copied->count && copied->line[dropped] == s->line[i];
        for (int side = 0; side < s->sides; side++) {
            size_t from = begin[side], size = s->side[side].end[i] - from;
            begin[side] += size;
            if (drop) continue;
            memmove(s->side[side].bytes + s->side[side].used, s->side[side].bytes + from, size);
            s->side[side].end[s->count] = s->side[side].used += size;
        }
        dropped += drop;
        if (!drop) s->line[s->count++] = s->line[i];
    }
}

hd_status hd_sentences_split(hd_sentences *s, double fraction, hd_sentences *out, hd_err *err)
{
    hd_sentences chosen = {.sides = s->sides};
    hd_status status = copy_chosen(&chosen, s, fraction, err);
    if (status) {
        hd_sentences_release(&chosen);
        return status;
    }
    drop_copied(s, &chosen);
    *out = chosen;
    return HD_OK;
}

static bool next_sentence(void *context, hd_line *line)
{
    hd_sentence_walk *w = context;
    while (w->next == w->of->count) {
        if (w->side == w->last) return false;
        w->side++;
        w->next = 0;
    }
    *line = hd_sentence(w->of, w->side, w->next++);
    return true;
}

hd_feed hd_sentences_feed(const hd_sentences *s, int side, bool both, hd_sentence_walk *walk)
{
    *walk = (hd_sentence_walk){.of = s, .side = both ? 0 : side, .last = both ? s->sides - 1 : side};
    return (hd_feed){next_sentence, walk};
}
