/* Lines of a text file. Bytes go from the file to `raw`, from there (unpacked where the file is
   compressed) to `text`, and a line is a window of `text`. Easy to get wrong: truncated compressed data must
   not pass for the whole. */
#include "base/file/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/file/packed.h"

enum { RAW = 1 << 16, FIRST_ROOM = 1 << 16 };

struct hd_lines {
    char *name;
    int file; /* -1: not open */
    hd_lines_opt opt;
    size_t count;               /* lines given */
    hd_status failed;           /* HD_OK, or the failure that every later call returns */
    hd_err refused;             /* of the last line, if reading continues after it */
    bool passed;                /* this line is too long: some of its bytes were skipped */
    const hd_packed_type *type; /* NULL: raw bytes are the text */
    void *packed;               /* its state */
    bool raw_ended;             /* the file has no more bytes */
    const uint8_t *next;        /* the unread part of raw */
    size_t left;
    char *text;
    size_t room, end;   /* bytes allocated, bytes filled; one is always left free at the end */
    size_t start, seen; /* of the next line; up to where no newline was found */
    uint8_t raw[RAW];
};

static hd_status file_error(hd_err *err, const char *name, const char *what)
{
    return hd_err_set(err, HD_EFILE, "%s: %s: %s", name, what, strerror(errno));
}

/* Reads more into raw, after what is left there. */
static hd_status read_raw(hd_lines *l, hd_err *err)
{
    memmove(l->raw, l->next, l->left);
    l->next = l->raw;
    ssize_t got;
    do got = read(l->file, l->raw + l->left, RAW - l->left);
    while (got < 0 && errno == EINTR);
    if (got < 0) return file_error(err, l->name, "cannot read");
    l->left += (size_t)got;
    l->raw_ended = !got;
    return HD_OK;
}

/* Unpacks into the free part of text; *got is 0 only at the end of the file. */
static hd_status unpack_some(hd_lines *l, size_t *got, hd_err *err)
{
    size_t space = l->room - l->end - 1;
    hd_packed_flow f = {.out = (uint8_t *)l->text + l->end, .out_left = space};
    bool ended = false;
    hd_status s = HD_OK;
    while (!s && f.out_left == space && !ended) {
        if (!l->left && !l->raw_ended) s = read_raw(l, err);
        if (s) break;
        f.in = l->next, f.in_left = l->left, f.in_last = l->raw_ended;
        s = l->type->step(l->packed, &f, &ended, err);
        bool stuck = f.out_left == space && f.in_left == l->left && !ended;
        l->next = f.in, l->left = f.in_left;
        if (s || !stuck) continue;
        s = l->raw_ended ? hd_err_set(err, HD_EFORMAT, "%s: the %s data is cut short", l->name, l->type->name)
                         : read_raw(l, err);
    }
    *got = space - f.out_left;
    return s;
}

static hd_status copy_some(hd_lines *l, size_t *got, hd_err *err)
{
    hd_status s = l->left || l->raw_ended ? HD_OK : read_raw(l, err);
    if (s) return s;
    size_t space = l->room - l->end - 1;
    *got = l->left < space ? l->left : space;
    memcpy(l->text + l->end, l->next, *got);
    l->next += *got;
    l->left -= *got;
    return HD_OK;
}

/* Moves the unfinished line to the front, and doubles text when that line fills it. */
static hd_status make_room(hd_lines *l, hd_err *err)
{
    if (l->start) memmove(l->text, l->text + l->start, l->end - l->start);
    l->end -= l->start;
    l->seen -= l->start;
    l->start = 0;
    if (l->end + 1 < l->room) return HD_OK;
    char *text = hd_mem_grow(l->text, 2 * l->room);
    if (!text) return hd_err_nomem(err, 2 * l->room);
    l->text = text;
    l->room *= 2;
    return HD_OK;
}

/* The failure ends reading, or is reported with the line. */
__attribute__((format(printf, 4, 5))) static hd_status refuse(hd_lines *l, hd_status s, hd_err *err,
                                                              const char *format, ...)
{
    char why[200];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    if (!l->opt.goes_on) return hd_err_set(err, s, "%s:%zu: %s", l->name, l->count + 1, why);
    hd_err_set(&l->refused, s, "%s", why);
    return HD_OK;
}

static hd_status too_long(hd_lines *l, hd_err *err)
{
    return refuse(l, HD_ELIMIT, err, "the line is longer than %zu bytes", l->opt.longest);
}

/* Reads until text[start..] holds a whole line, or the end of one whose beginning was skipped; *size
   includes the line ending. */
static hd_status find_line(hd_lines *l, size_t *size, hd_err *err)
{
    for (;;) {
        const char *newline = memchr(l->text + l->seen, '\n', l->end - l->seen);
        *size = newline ? (size_t)(newline + 1 - l->text) - l->start : l->end - l->start;
        if (newline) return HD_OK;
        l->seen = l->end;
        if (*size && *size - 1 > l->opt.longest) { /* one more may be a '\r' */
            if (!l->opt.goes_on) return too_long(l, err);
            l->passed = true;
            l->start = l->end;
            *size = 0;
        }
        hd_status s = make_room(l, err);
        size_t got = 0;
        if (!s) s = l->type ? unpack_some(l, &got, err) : copy_some(l, &got, err);
        if (s || !got) return s;
        l->end += got;
    }
}

size_t hd_utf8_good(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size) {
        uint64_t eight;
        if (size - i >= sizeof eight) {
            memcpy(&eight, text + i, sizeof eight);
            if (!(eight & 0x8080808080808080u)) {
                i += sizeof eight;
                continue;
            }
        }
        utf8proc_int32_t point;
        utf8proc_ssize_t used =
            utf8proc_iterate((const uint8_t *)text + i, (utf8proc_ssize_t)(size - i), &point);
        if (used <= 0) return i;
        i += (size_t)used;
    }
    return size;
}

static hd_status check(hd_lines *l, const char *text, size_t size, hd_err *err)
{
    if (l->passed || size > l->opt.longest) return too_long(l, err);
    size_t good = l->opt.utf8 ? hd_utf8_good(text, size) : size;
    if (good < size)
        return refuse(l, HD_EFORMAT, err, "not UTF-8: byte 0x%02x at offset %zu",
                      (unsigned)(uint8_t)text[good], good);
    const char *zero = l->opt.no_zero ? memchr(text, 0, size) : NULL;
    if (zero)
        return refuse(l, HD_EFORMAT, err, "a zero byte at offset %td: is this a text file?", zero - text);
    return HD_OK;
}

hd_status hd_lines_next(hd_lines *l, hd_line *line, hd_err *err)
{
    *line = (hd_line){0};
    l->refused = (hd_err){0};
    size_t size = 0;
    hd_status s = l->failed ? hd_err_set(err, l->failed, "%s: an earlier line could not be read", l->name)
                            : find_line(l, &size, err);
    if (s) return l->failed = s;
    char *text = l->text + l->start;
    size_t whole = size;
    if (!whole && !l->passed) return HD_OK;
    if (whole && text[size - 1] == '\n') {
        size--;
        if (size && text[size - 1] == '\r') size--;
    }
    s = check(l, text, size, err);
    if (s) return l->failed = s;
    if (l->refused.status) size = 0;
    text[size] = 0;
    l->start += whole;
    l->seen = l->start;
    l->count++;
    l->passed = false;
    bool marked = l->opt.no_mark && l->count == 1 && size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
    *line = (hd_line){text + (marked ? 3 : 0), size - (marked ? 3 : 0)};
    return HD_OK;
}

const hd_err *hd_lines_refused(const hd_lines *l)
{
    return l->refused.status ? &l->refused : NULL;
}

static hd_status open_file(hd_lines *l, const char *path, hd_err *err)
{
    struct stat info;
    bool standard = !strcmp(path, "-");
    l->file =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (l->file < 0) return file_error(err, l->name, "cannot open");
    if (!fstat(l->file, &info) && S_ISDIR(info.st_mode))
        return hd_err_set(err, HD_EFILE, "%s: is a folder, not a file", l->name);
    l->next = l->raw;
    hd_status s = HD_OK;
    bool newline = false; /* a pipe may deliver the first bytes one by one; a shorter line need not wait */
    while (!s && !l->raw_ended && l->left < HD_PACKED_MAGIC && !newline) {
        s = read_raw(l, err);
        newline = memchr(l->raw, '\n', l->left);
    }
    if (!s) s = hd_packed_find(&l->type, l->next, l->left, l->name, err);
    return s || !l->type ? s : l->type->open(&l->packed, l->name, err);
}

const hd_lines_opt hd_lines_text = {.utf8 = true, .no_zero = true, .no_mark = true};

hd_status hd_lines_open(hd_lines **out, const char *path, const hd_lines_opt *opt, hd_err *err)
{
    hd_lines *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    l->file = -1;
    if (opt) l->opt = *opt;
    if (!l->opt.longest) l->opt.longest = HD_LINE_LONGEST;
    l->room = FIRST_ROOM;
    l->text = hd_mem_new(l->room);
    l->name = hd_mem_text(strcmp(path, "-") ? path : "standard input");
    hd_status s = l->text && l->name ? open_file(l, path, err) : hd_err_nomem(err, FIRST_ROOM);
    if (s)
        hd_lines_close(l);
    else
        *out = l;
    return s;
}

void hd_lines_close(hd_lines *l)
{
    if (!l) return;
    if (l->packed) l->type->close(l->packed);
    if (l->file >= 0) close(l->file);
    hd_mem_free(l->text);
    hd_mem_free(l->name);
    hd_mem_free(l);
}

bool hd_lines_ready(const hd_lines *l)
{
    if (l->failed || l->raw_ended) return true;
    if (memchr(l->text + l->start, '\n', l->end - l->start)) return true;
    if (l->left && (l->type || memchr(l->next, '\n', l->left))) return true;
    struct pollfd file = {.fd = l->file, .events = POLLIN};
    return poll(&file, 1, 0) != 0;
}

size_t hd_lines_count(const hd_lines *l)
{
    return l->count;
}

const char *hd_lines_name(const hd_lines *l)
{
    return l->name;
}
