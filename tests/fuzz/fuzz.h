/* What the fuzz targets of files share: a folder in memory, and good files to lie beside a broken one. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "base/mem.h"
#include "text/published/bpe/byte_level.h"

#define MUST(condition) \
    if (!(condition)) abort() /* not a trap, which libFuzzer does not see on every machine */
#define FUZZ_UNUSED __attribute__((unused))

static char folder[64], path[HD_PATH]; /* path: of what was written last */

FUZZ_UNUSED static void make_folder(const char *name) /* "": that of all others */
{
    if (!*name) snprintf(folder, sizeof folder, "/dev/shm/heed-fuzz-XXXXXX");
    MUST(*name || mkdtemp(folder));
    MUST(!*name || (!hd_path(path, folder, name, NULL) && !hd_folder_make(path, NULL, NULL)));
}

FUZZ_UNUSED static void write_file(const char *name, const void *data, size_t size)
{
    MUST(!hd_path(path, folder, name, NULL));
    FILE *f = fopen(path, "wb");
    MUST(f);
    MUST(fwrite(data, 1, size, f) == size);
    MUST(!fclose(f));
}

/* Which of so many readers gets the bytes: the first of them says so, or always the one in HEED_FUZZ. */
FUZZ_UNUSED static size_t reader_of(uint8_t first, size_t readers)
{
    const char *only = getenv("HEED_FUZZ");
    return (only ? strtoul(only, NULL, 10) : first) % readers;
}

/* The first of the arguments that is a folder. */
FUZZ_UNUSED static const char *first_folder(int count, char **given)
{
    struct stat info;
    for (int i = 1; i < count; i++)
        if (given[i][0] != '-' && !stat(given[i], &info) && S_ISDIR(info.st_mode)) return given[i];
    return NULL;
}

enum { BPE_PIECES = 264 };

/* vocab.json of a byte-level BPE: every byte, the end, and a few pieces to merge. */
FUZZ_UNUSED static void write_bpe(const char *name)
{
    static const char *const more[] = {"<|endoftext|>", "ab", "abc", "bc", "aa", "aaa", "th", "the"};
    char text[8192];
    size_t size = (size_t)snprintf(text, sizeof text, "{");
    for (int i = 0; i < 256; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "\"\\u%04x\": %d,",
                                 (unsigned)hd_byte_character((uint8_t)i), i);
    for (int i = 0; i < (int)(sizeof more / sizeof *more); i++)
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%s\"%s\": %d", i ? "," : "", more[i], 256 + i);
    size += (size_t)snprintf(text + size, sizeof text - size, "}");
    write_file(name, text, size);
}

#endif
