/* A folder of the test's own, in memory where there is a place for that (syncs of a disk cost most of the
   time), and whole files in it. Include after cmocka.h (check.h has it). */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <dirent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_UNUSED __attribute__((unused))

static char scratch[64];

SCRATCH_UNUSED static int scratch_make(void **state)
{
    (void)state;
    bool memory = !access("/dev/shm", W_OK | X_OK);
    snprintf(scratch, sizeof scratch, "%s/heed-test-XXXXXX", memory ? "/dev/shm" : "/tmp");
    return mkdtemp(scratch) ? 0 : -1;
}

/* Not by the code under test. */
SCRATCH_UNUSED static int scratch_remove(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    return system(command);
}

/* A path in the folder; the last eight stay valid. */
SCRATCH_UNUSED __attribute__((format(printf, 1, 2))) static const char *at(const char *format, ...)
{
    static char path[8][512];
    static int turn;
    char name[400];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", scratch, name);
    return path[turn];
}

SCRATCH_UNUSED static bool is_there(const char *path)
{
    struct stat info;
    return !lstat(path, &info);
}

SCRATCH_UNUSED static void put_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

SCRATCH_UNUSED static void put_file(const char *path, const char *text)
{
    put_bytes(path, text, strlen(text));
}

/* All bytes, and a zero behind them; the caller frees them. */
SCRATCH_UNUSED static char *get_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s is not there", path);
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(n + 1);
    assert_int_equal(fread(bytes, 1, n, f), n);
    fclose(f);
    bytes[n] = 0;
    if (size) *size = n;
    return bytes;
}

SCRATCH_UNUSED static void assert_same_file(const char *a, const char *b)
{
    size_t na, nb;
    char *x = get_file(a, &na), *y = get_file(b, &nb);
    if (na != nb || memcmp(x, y, na)) fail_msg("%s and %s differ", a, b);
    free(x);
    free(y);
}

/* Entries but "." and "..". */
SCRATCH_UNUSED static int entries_in(const char *path)
{
    int count = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) count += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d) closedir(d);
    return d ? count : -1;
}

#endif
