/* The list of files at the end of a zip archive, and the head of each file. Sizes and places of 64 bits,
   which large archives have, lie in "extra" fields. Every number is checked before it is used. */
#include "tensor/zip.h"

#include <string.h>

enum {
    END = 22,
    END64 = 56,
    LOCATOR = 20,
    ENTRY = 46,
    HEAD = 30,
    MOST_COMMENT = 65535,
    MOST_FILES = 1 << 16
};

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < bytes; i++) n |= (uint64_t)at[i] << 8 * i;
    return n;
}

static bool has(const uint8_t *at, char a, char b)
{
    const uint8_t mark[4] = {'P', 'K', (uint8_t)a, (uint8_t)b};
    return !memcmp(at, mark, 4);
}

bool hd_is_zip(const uint8_t *bytes, size_t size)
{
    return size >= END && has(bytes, 3, 4);
}

static hd_status bad(hd_err *err, const char *what)
{
    return hd_err_set(err, HD_EFORMAT, "the archive is damaged: %s", what);
}

/* Where the list begins and how many files it has. */
static bool find_list(const uint8_t *bytes, size_t size, uint64_t *begin, uint64_t *count)
{
    if (size < END) return false;
    size_t at = size - END, least = at > MOST_COMMENT ? at - MOST_COMMENT : 0;
    while (!has(bytes + at, 5, 6))
        if (at-- == least) return false;
    *count = number(bytes + at + 10, 2);
    *begin = number(bytes + at + 16, 4);
    if (*count != 0xffff && *begin != 0xffffffff) return true;
    if (at < LOCATOR || !has(bytes + at - LOCATOR, 6, 7)) return true;
    uint64_t end = number(bytes + at - LOCATOR + 8, 8);
    if (end > size || size - (size_t)end < END64 || !has(bytes + end, 6, 6)) return false;
    *count = number(bytes + end + 32, 8);
    *begin = number(bytes + end + 48, 8);
    return true;
}

/* Numbers of 64 bits in place of those that are all ones, in this order. */
static void widen(const uint8_t *extra, size_t size, uint64_t *const wide[3])
{
    while (size >= 4) {
        uint64_t id = number(extra, 2), length = number(extra + 2, 2);
        if (length > size - 4) return;
        const uint8_t *at = extra + 4, *end = at + length;
        for (int i = 0; id == 1 && i < 3; i++)
            if (*wide[i] == 0xffffffff && end - at >= 8) *wide[i] = number(at, 8), at += 8;
        extra += 4 + length, size -= 4 + (size_t)length;
    }
}

static hd_status read_entry(const uint8_t *bytes, size_t size, size_t *at, hd_zip_file *f, hd_err *err)
{
    const uint8_t *e = bytes + *at;
    if (size - *at < ENTRY || !has(e, 1, 2)) return bad(err, "its list is cut short");
    uint64_t packed = number(e + 20, 4), whole = number(e + 24, 4), head = number(e + 42, 4);
    size_t name = (size_t)number(e + 28, 2), extra = (size_t)number(e + 30, 2),
           note = (size_t)number(e + 32, 2);
    if (name + extra + note > size - *at - ENTRY) return bad(err, "its list is cut short");
    widen(e + ENTRY + name, extra, (uint64_t *const[]){&whole, &packed, &head});
    if (number(e + 10, 2) || packed != whole)
        return hd_err_set(err, HD_EFORMAT, "the archive is packed: PyTorch stores files as they are");
    if (number(e + 8, 2) & 1) return bad(err, "a file is encrypted");
    if (head > size || size - (size_t)head < HEAD || !has(bytes + head, 3, 4))
        return bad(err, "a file is not where its list says");
    size_t data = (size_t)head + HEAD,
           more = (size_t)number(bytes + head + 26, 2) + (size_t)number(bytes + head + 28, 2);
    if (more > size - data || whole > size - data - more) return bad(err, "a file reaches past its end");
    *f = (hd_zip_file){(const char *)e + ENTRY, name, bytes + data + more, (size_t)whole};
    *at += ENTRY + name + extra + note;
    return HD_OK;
}

hd_status hd_zip_list(const uint8_t *bytes, size_t size, hd_zip_take *take, void *context, hd_err *err)
{
    uint64_t begin = 0, count = 0;
    hd_zip_file f;
    if (!find_list(bytes, size, &begin, &count)) return bad(err, "it has no list of files");
    if (begin > size) return bad(err, "its list is not there");
    if (count > MOST_FILES)
        return hd_err_set(err, HD_ELIMIT, "the archive has more than %d files", MOST_FILES);
    size_t at = (size_t)begin;
    for (uint64_t i = 0; i < count; i++) {
        hd_status s = read_entry(bytes, size, &at, &f, err);
        if (s) return s;
        if (!take(context, &f)) return HD_OK;
    }
    return HD_OK;
}
