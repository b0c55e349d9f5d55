/* A reader of TensorBoard event files that shares nothing with the writer: tests compare what it finds. */
#ifndef TFEVENTS_H
#define TFEVENTS_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TFEVENTS = 4096, TFFILE = 1 << 20 };

typedef struct tfevent {
    double time;
    int64_t step;
    char version[32], tag[300]; /* "" where there is none */
    float value;
    bool start;
} tfevent;

/* Remainder of the polynomial division, a byte at a time by a table made here. */
static uint32_t tf_crc(const uint8_t *data, size_t size)
{
    uint32_t table[256], crc = 0xFFFFFFFF;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82F63B78 : table[i] >> 1;
    }
    for (size_t i = 0; i < size; i++) crc = table[(crc ^ data[i]) & 0xFF] ^ crc >> 8;
    return ~crc;
}

static uint64_t tf_little(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    while (bytes--) value = value << 8 | at[bytes];
    return value;
}

static void tf_check(const uint8_t *data, size_t size, uint64_t masked)
{
    uint32_t crc = (uint32_t)masked - 0xA282EAD8u; /* undo the mask */
    assert_int_equal(crc >> 17 | crc << 15, tf_crc(data, size));
}

static uint64_t tf_varint(const uint8_t **at)
{
    uint64_t value = 0;
    int shift = 0;
    do value |= (uint64_t)(**at & 0x7F) << shift, shift += 7;
    while (*(*at)++ & 0x80);
    return value;
}

static void tf_text(char *to, size_t room, const uint8_t *from, size_t size)
{
    assert_true(size < room);
    memcpy(to, from, size);
    to[size] = 0;
}

/* Fields of a message; `path` holds the numbers of the messages around it, as decimal digits. */
static void tf_message(tfevent *e, int path, const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        uint64_t key = tf_varint(&at), size = 0, number = 0;
        switch (key & 7) {
        case 0:
            number = tf_varint(&at);
            break;
        case 1:
            size = 8;
            break;
        case 2:
            size = tf_varint(&at);
            break;
        case 5:
            size = 4;
            break;
        default:
            fail();
        }
        assert_true(size <= (size_t)(end - at));
        int field = path * 10 + (int)(key >> 3);
        uint64_t bits = size <= 8 ? tf_little(at, (int)size) : 0;
        uint32_t low = (uint32_t)bits;
        if (field == 1)
            memcpy(&e->time, &bits, 8);
        else if (field == 2)
            e->step = (int64_t)number;
        else if (field == 3)
            tf_text(e->version, sizeof e->version, at, size);
        else if (field == 511)
            tf_text(e->tag, sizeof e->tag, at, size);
        else if (field == 512)
            memcpy(&e->value, &low, 4);
        else if (field == 71)
            e->start = number == 1;
        else if (field == 5 || field == 51 || field == 7)
            tf_message(e, field, at, at + size);
        else
            fail_msg("field %d", field);
        at += size;
    }
    assert_ptr_equal(at, end);
}

/* All events of a file; fails unless it is whole. */
__attribute__((unused)) static size_t tf_read(tfevent *events, const char *path)
{
    static uint8_t data[TFFILE];
    FILE *from = fopen(path, "rb");
    assert_non_null(from);
    size_t size = fread(data, 1, sizeof data, from), count = 0;
    assert_true(size < sizeof data);
    fclose(from);
    for (size_t at = 0; at < size; count++) {
        assert_true(count < TFEVENTS && size - at >= 16);
        uint64_t length = tf_little(data + at, 8);
        assert_true(length <= size - at - 16);
        tf_check(data + at, 8, tf_little(data + at + 8, 4));
        tf_check(data + at + 12, length, tf_little(data + at + 12 + length, 4));
        events[count] = (tfevent){0};
        tf_message(&events[count], 0, data + at + 12, data + at + 12 + length);
        at += 16 + length;
    }
    return count;
}

/* Paths of the event files in a folder, sorted. */
__attribute__((unused)) static int tf_files(char path[8][400], const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (!strncmp(e->d_name, "events.out.tfevents.", 20)) {
            assert_true(count < 8);
            snprintf(path[count++], 400, "%s/%s", folder, e->d_name);
        }
    closedir(d);
    qsort(path, (size_t)count, 400, (int (*)(const void *, const void *))strcmp);
    return count;
}

#endif
