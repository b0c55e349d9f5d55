/* Numbers of a safetensors file, changed in place. Include after cmocka.h (check.h has it). */
#ifndef SPOIL_H
#define SPOIL_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tensor/safetensors.h"

/* Where an entry's numbers begin in the file; the caller frees *s. */
static long spoil_at(hd_safetensors **s, const hd_entry **e, const char *path, const char *name)
{
    hd_err err = {0};
    hd_map map = {0};
    uint64_t header;
    if (hd_safetensors_open(s, path, &err) || hd_map_open(&map, path, &err)) fail_msg("%s", err.text);
    memcpy(&header, map.data, sizeof header);
    hd_map_close(&map);
    if (!(*e = hd_safetensors_find(*s, name))) fail_msg("%s: no tensor '%s'", path, name);
    size_t at = sizeof header + (size_t)header;
    for (size_t i = 0; i < hd_safetensors_count(*s); i++)
        if (hd_safetensors_at(*s, i)->data < (*e)->data) at += hd_safetensors_at(*s, i)->bytes;
    return (long)at;
}

/* Numbers first .. first+count-1 of the tensor become `value`; count 0: all behind. */
static void spoil(const char *path, const char *name, size_t first, size_t count, double value)
{
    char number[8];
    const hd_entry *e;
    hd_safetensors *s = NULL;
    long at = spoil_at(&s, &e, path, name);
    size_t bytes = hd_dtype_bytes(e->dtype);
    if (!count) count = e->count - first;
    if (first + count > e->count) fail_msg("'%s' has %zu numbers", name, e->count);
    hd_convert(number, e->dtype, &value, HD_F64, 1);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at + (long)(first * bytes), SEEK_SET), 0);
    for (size_t i = 0; i < count; i++) assert_int_equal(fwrite(number, bytes, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    hd_safetensors_free(s);
}

#endif
