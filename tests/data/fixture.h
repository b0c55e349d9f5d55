/* What the tests of text and data share: cmocka with what it needs before it, a folder for files, lines in
   memory, a log that is remembered, and walking through failing allocations. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "text/tokenizer.h"

#define UNUSED          __attribute__((unused))
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define MULTI30K        HEED_SHARED "/data/multi30k/"

static char folder[64];

UNUSED static const char *in_folder(const char *name)
{
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

UNUSED static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heed-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

UNUSED static int remove_folder(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') remove(in_folder(e->d_name));
    if (d) closedir(d);
    return rmdir(folder);
}

UNUSED static const char *put_file(const char *name, const void *data, size_t size)
{
    const char *path = in_folder(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

UNUSED static const char *put_text(const char *name, const char *text)
{
    return put_file(name, text, strlen(text));
}

/* Lines of an array that ends with NULL. */
typedef struct array_walk {
    const char *const *line;
} array_walk;

UNUSED static bool next_of_array(void *context, hd_line *line)
{
    array_walk *w = context;
    if (!*w->line) return false;
    *line = (hd_line){*w->line, strlen(*w->line)};
    w->line++;
    return true;
}

#define FEED(...)                    \
    (hd_feed)                        \
    {                                \
        next_of_array, &(array_walk) \
        {                            \
            (const char *const[])    \
            {                        \
                __VA_ARGS__, NULL    \
            }                        \
        }                            \
    }

/* The last message of a log, and how many there were. */
typedef struct heard {
    char last[512];
    int count;
} heard;

UNUSED static void hear(void *context, hd_level level, const char *text)
{
    heard *h = context;
    snprintf(h->last, sizeof h->last, "%s: %s", hd_level_name(level), text);
    h->count++;
}

#define ASSERT_OK(call, err)                             \
    do {                                                 \
        if (call) fail_msg("%s: %s", #call, (err).text); \
    } while (0)

/* The message holds every part; the status is one. */
UNUSED static void assert_error(const hd_err *err, hd_status status, const char *part)
{
    if (err->status != status || !strstr(err->text, part))
        fail_msg("expected status %d and '%s', got %d: %s", status, part, err->status, err->text);
}

/* Runs f with the first, second, ... allocation failing until it succeeds; nothing may be left behind. */
UNUSED static void walk_through_failures(hd_status (*f)(hd_err *err))
{
    for (size_t n = 1;; n++) {
        hd_mem_stat before = hd_mem_now();
        hd_err err = {0};
        hd_mem_fail_at(n);
        hd_status s = f(&err);
        hd_mem_fail_at(0);
        assert_int_equal(hd_mem_now().blocks, before.blocks);
        assert_int_equal(hd_mem_now().used, before.used);
        assert_int_equal(err.status, s);
        if (!s) {
            assert_true(n > 1);
            return;
        }
        assert_int_equal(s, HD_ENOMEM);
        assert_true(n < 100000);
    }
}

#endif
