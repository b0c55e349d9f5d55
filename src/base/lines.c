/* Lines of a text file. Bytes go from the file to `raw`, from there (inflated where the file is gzip) to
   `text`, and a line is a window of `text`. Easy to get wrong: a gzip file may be several one after the
   other, and one that is cut short must not pass for a whole one. */
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>
#include <zlib.h>

#include "base/mem.h"

enum { RAW = 1 << 16, FIRST_ROOM = 1 << 16, GZIP_WINDOW = 15 + 16 };

struct hd_lines {
    char *name;
    int file; /* -1: not open */
    hd_lines_opt opt;
    size_t count;     /* lines given */
    hd_status failed; /* HD_OK, or what every later call returns */
    bool plain;       /* raw bytes are the text */
    bool inflating;   /* z is in the middle of a gzip member */
    bool z_ready;     /* z holds memory */
    bool raw_ended;   /* the file has no more bytes */
    z_stream z;       /* its next_in and avail_in are the unread part of raw, for plain files too */
    char *text;
    size_t room, end;   /* bytes allocated, bytes filled; one is always left free behind the end */
    size_t start, seen; /* of the next line; up to where no newline was found */
    uint8_t raw[RAW];
};

static hd_status file_error(hd_err *err, const char *name, const char *what)
{
    return hd_err_set(err, HD_EFILE, "%s: %s: %s", name, what, strerror(errno));
}

static void *z_get(void *context, unsigned count, unsigned size)
{
    (void)context;
    return hd_mem_array(count, size);
}

static void z_put(void *context, void *block)
{
    (void)context;
    hd_mem_free(block);
}

/* Reads more into raw, behind what is left there. */
static hd_status read_raw(hd_lines *l, hd_err *err)
{
    memmove(l->raw, l->z.next_in, l->z.avail_in);
    l->z.next_in = l->raw;
    ssize_t got;
    do got = read(l->file, l->raw + l->z.avail_in, RAW - l->z.avail_in);
    while (got < 0 && errno == EINTR);
    if (got < 0) return file_error(err, l->name, "cannot read");
    l->z.avail_in += (unsigned)got;
    l->raw_ended = !got;
    return HD_OK;
}

/* A pipe may bring the first bytes one by one. */
static hd_status read_two(hd_lines *l, hd_err *err)
{
    hd_status s = HD_OK;
    while (!s && !l->raw_ended && l->z.avail_in < 2) s = read_raw(l, err);
    return s;
}

static bool at_gzip(const hd_lines *l)
{
    return l->z.avail_in >= 2 && l->z.next_in[0] == 0x1f && l->z.next_in[1] == 0x8b;
}

/* Between two members of a gzip file, or behind the last, where zeros may fill up a block of a tape. */
static hd_status next_member(hd_lines *l, bool *more, hd_err *err)
{
    hd_status s = read_two(l, err);
    *more = !s && at_gzip(l);
    if (*more) {
        if (inflateReset(&l->z) != Z_OK) return hd_err_set(err, HD_EFORMAT, "%s: cannot inflate", l->name);
        l->inflating = true;
    }
    while (!s && !*more && l->z.avail_in) {
        if (*l->z.next_in)
            return hd_err_set(err, HD_EFORMAT, "%s: what follows the gzip data is none", l->name);
        l->z.next_in++;
        if (!--l->z.avail_in && !l->raw_ended) s = read_raw(l, err);
    }
    return s;
}

/* Inflates into the free part of text; *got is 0 only at the end of the file. */
static hd_status inflate_some(hd_lines *l, size_t *got, hd_err *err)
{
    bool more = true;
    hd_status s = HD_OK;
    size_t free_bytes = l->room - l->end - 1;
    unsigned space = free_bytes < RAW ? (unsigned)free_bytes : RAW; /* zlib counts in unsigned */
    l->z.next_out = (uint8_t *)l->text + l->end;
    l->z.avail_out = space;
    while (!s && l->z.avail_out == space) {
        if (!l->inflating) {
            s = next_member(l, &more, err);
            if (s || !more) break;
        }
        if (!l->z.avail_in && !l->raw_ended) s = read_raw(l, err);
        if (s) break;
        int z = inflate(&l->z, Z_NO_FLUSH);
        if (z == Z_STREAM_END)
            l->inflating = false;
        else if (z == Z_MEM_ERROR)
            s = hd_err_nomem(err, 0);
        else if (z == Z_BUF_ERROR && l->raw_ended && !l->z.avail_in)
            s = hd_err_set(err, HD_EFORMAT, "%s: the gzip data is cut short", l->name);
        else if (z != Z_OK && z != Z_BUF_ERROR)
            s = hd_err_set(err, HD_EFORMAT, "%s: damaged gzip data%s%s", l->name, l->z.msg ? ": " : "",
                           l->z.msg ? l->z.msg : "");
    }
    *got = space - l->z.avail_out;
    return s;
}

static hd_status copy_some(hd_lines *l, size_t *got, hd_err *err)
{
    hd_status s = l->z.avail_in || l->raw_ended ? HD_OK : read_raw(l, err);
    if (s) return s;
    size_t space = l->room - l->end - 1;
    *got = l->z.avail_in < space ? l->z.avail_in : space;
    memcpy(l->text + l->end, l->z.next_in, *got);
    l->z.next_in += *got;
    l->z.avail_in -= (unsigned)*got;
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

static hd_status too_long(const hd_lines *l, hd_err *err)
{
    return hd_err_set(err, HD_ELIMIT, "%s:%zu: the line is longer than %zu bytes", l->name, l->count + 1,
                      l->opt.longest);
}

/* Fills up until text[start..] holds a whole line; *size are its bytes with what ends it. */
static hd_status find_line(hd_lines *l, size_t *size, hd_err *err)
{
    for (;;) {
        const char *newline = memchr(l->text + l->seen, '\n', l->end - l->seen);
        *size = newline ? (size_t)(newline + 1 - l->text) - l->start : l->end - l->start;
        if (newline) return HD_OK;
        l->seen = l->end;
        if (*size && *size - 1 > l->opt.longest) return too_long(l, err); /* one more may be a '\r' */
        hd_status s = make_room(l, err);
        size_t got = 0;
        if (!s) s = l->plain ? copy_some(l, &got, err) : inflate_some(l, &got, err);
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

static hd_status check_utf8(const hd_lines *l, const char *text, size_t size, hd_err *err)
{
    size_t good = hd_utf8_good(text, size);
    if (good == size) return HD_OK;
    return hd_err_set(err, HD_EFORMAT, "%s:%zu: not UTF-8: byte 0x%02x at offset %zu", l->name, l->count + 1,
                      (unsigned)(uint8_t)text[good], good);
}

hd_status hd_lines_next(hd_lines *l, hd_line *line, hd_err *err)
{
    *line = (hd_line){0};
    size_t size = 0;
    hd_status s = l->failed ? hd_err_set(err, l->failed, "%s: a line before could not be read", l->name)
                            : find_line(l, &size, err);
    if (s) return l->failed = s;
    char *text = l->text + l->start;
    size_t whole = size;
    if (!whole) return HD_OK;
    if (text[size - 1] == '\n') {
        size--;
        if (size && text[size - 1] == '\r') size--;
    }
    if (size > l->opt.longest) s = too_long(l, err);
    if (!s && l->opt.utf8) s = check_utf8(l, text, size, err);
    if (s) return l->failed = s;
    text[size] = 0;
    l->start += whole;
    l->seen = l->start;
    l->count++;
    *line = (hd_line){text, size};
    return HD_OK;
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
    l->z.next_in = l->raw;
    hd_status s = read_two(l, err);
    l->plain = !at_gzip(l);
    if (s || l->plain) return s;
    if (inflateInit2(&l->z, GZIP_WINDOW) != Z_OK) return hd_err_nomem(err, 0);
    l->z_ready = l->inflating = true;
    return HD_OK;
}

hd_status hd_lines_open(hd_lines **out, const char *path, const hd_lines_opt *opt, hd_err *err)
{
    hd_lines *l = hd_mem_zero(sizeof *l);
    if (!l) return hd_err_nomem(err, sizeof *l);
    l->file = -1;
    l->z.zalloc = z_get;
    l->z.zfree = z_put;
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
    if (l->z_ready) inflateEnd(&l->z);
    if (l->file >= 0) close(l->file);
    hd_mem_free(l->text);
    hd_mem_free(l->name);
    hd_mem_free(l);
}

bool hd_lines_ready(const hd_lines *l)
{
    if (l->failed || l->raw_ended) return true;
    if (memchr(l->text + l->start, '\n', l->end - l->start)) return true;
    if (l->z.avail_in && (!l->plain || memchr(l->z.next_in, '\n', l->z.avail_in))) return true;
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
