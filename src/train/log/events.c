/* TensorBoard event files: records of length, checksum, data, checksum; the data is a protobuf message Event,
   written by hand. Easy to get wrong: half a record ends the file for every reader, so what a failed write
   leaves is cut off again. */
#include "train/log/events.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/checksum.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "base/text.h"

enum { TRIES = 1000, FULL = 1 << 16, HEAD = 12 };

struct hd_events {
    char path[HD_PATH];
    int file;
    off_t size;      /* bytes in the file, whole records */
    bool torn;       /* half a record is at its end and could not be cut off */
    hd_text pending; /* whole records still to be written */
};

/* ---- protobuf ---- */

enum { VARINT = 0, EIGHT_BYTES = 1, BYTES = 2, FOUR_BYTES = 5 };

#define KEY(field, wire) ((field) << 3 | (wire))

static void put_bytes(hd_text *t, uint64_t value, int count)
{
    for (; count; count--, value >>= 8) hd_text_add(t, (const char[]){(char)(value & 0xFF)}, 1);
}

static void put_varint(hd_text *t, uint64_t value)
{
    for (; value > 0x7F; value >>= 7) put_bytes(t, value | 0x80, 1);
    put_bytes(t, value, 1);
}

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7) size++;
    return size;
}

static void put_string(hd_text *t, int field, const char *text)
{
    put_varint(t, KEY(field, BYTES));
    put_varint(t, strlen(text));
    hd_text_put(t, text);
}

/* Event { double wall_time = 1; int64 step = 2; ... */
static void put_event(hd_text *t, uint64_t step, double time)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    put_varint(t, KEY(1, EIGHT_BYTES));
    put_bytes(t, bits, 8);
    if (!step) return; /* as protobuf leaves out zeros */
    put_varint(t, KEY(2, VARINT));
    put_varint(t, step);
}

/* ... Summary summary = 5 } with Summary { repeated Value value = 1 } and Value { string tag = 1;
   float simple_value = 2 } */
static void put_summary(hd_text *t, const char *tag, double value)
{
    size_t length = strlen(tag), inner = 1 + varint_size(length) + length + 1 + sizeof(float);
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    put_varint(t, KEY(5, BYTES));
    put_varint(t, 1 + varint_size(inner) + inner);
    put_varint(t, KEY(1, BYTES));
    put_varint(t, inner);
    put_string(t, 1, tag);
    put_varint(t, KEY(2, FOUR_BYTES));
    put_bytes(t, bits, 4);
}

/* ... SessionLog session_log = 7 } with SessionLog { SessionStatus status = 1 } and START = 1 */
static void put_start(hd_text *t)
{
    put_varint(t, KEY(7, BYTES));
    put_varint(t, 2);
    put_varint(t, KEY(1, VARINT));
    put_varint(t, 1);
}

/* ---- records ---- */

static uint32_t masked_crc(const void *data, size_t size)
{
    uint32_t crc = hd_checksum(0, data, size);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

static void store(char *to, uint64_t value, int count)
{
    for (int i = 0; i < count; i++) to[i] = (char)(value >> 8 * i & 0xFF);
}

/* Leaves room for what stands in front of the data; returns where the record begins. */
static size_t begin_record(hd_events *e)
{
    size_t start = e->pending.size;
    put_bytes(&e->pending, 0, HEAD);
    return start;
}

static hd_status end_record(hd_events *e, size_t start, hd_err *err)
{
    hd_text *t = &e->pending;
    size_t length = t->size - start - HEAD;
    if (!t->missed) put_bytes(t, masked_crc(t->data + start + HEAD, length), 4);
    hd_status s = hd_text_status(t, err);
    if (s) {
        t->size = start; /* the records before it are whole */
        t->missed = 0;
        return s;
    }
    store(t->data + start, length, 8);
    store(t->data + start + 8, masked_crc(t->data + start, 8), 4);
    return HD_OK;
}

/* ---- the file ---- */

static hd_status file_error(const hd_events *e, const char *what, hd_err *err)
{
    return hd_err_set(err, HD_EFILE, "%s: %s: %s", e->path, what, strerror(errno));
}

static hd_status create_file(hd_events *e, const char *folder, double time, hd_err *err)
{
    char name[64];
    hd_status s = HD_OK;
    for (int n = 0; !s && n < TRIES && e->file < 0; n++) {
        snprintf(name, sizeof name, "events.out.tfevents.%010.0f.heed-%03d", floor(time), n);
        s = hd_path(e->path, folder, name, err);
        if (!s) e->file = open(e->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (e->file < 0 && errno != EEXIST) break;
    }
    return s ? s : e->file < 0 ? file_error(e, "cannot create", err) : HD_OK;
}

/* The version comes first. A start tells TensorBoard where this file goes on; it must be in the first file of
   a run too, or the second one's would count as the first. */
static hd_status write_opening(hd_events *e, uint64_t first, double time, hd_err *err)
{
    size_t start = begin_record(e);
    put_event(&e->pending, 0, time);
    put_string(&e->pending, 3, "brain.Event:2");
    hd_status s = end_record(e, start, err);
    if (s) return s;
    start = begin_record(e);
    put_event(&e->pending, first, time);
    put_start(&e->pending);
    s = end_record(e, start, err);
    return s ? s : hd_events_flush(e, err);
}

static void events_free(hd_events *e)
{
    if (e->file >= 0) close(e->file);
    hd_text_release(&e->pending);
    hd_mem_free(e);
}

hd_status hd_events_open(hd_events **out, const char *folder, uint64_t first, double time, hd_err *err)
{
    hd_events *e = hd_mem_zero(sizeof *e);
    if (!e) return hd_err_nomem(err, sizeof *e);
    e->file = -1;
    hd_status s = create_file(e, folder, time, err);
    if (!s) {
        s = write_opening(e, first, time, err);
        if (s) unlink(e->path);
    }
    if (s)
        events_free(e);
    else
        *out = e;
    return s;
}

hd_status hd_events_add(hd_events *e, const char *tag, uint64_t step, double value, double time, hd_err *err)
{
    size_t start = begin_record(e);
    put_event(&e->pending, step, time);
    put_summary(&e->pending, tag, value);
    hd_status s = end_record(e, start, err);
    return s || e->pending.size < FULL ? s : hd_events_flush(e, err);
}

hd_status hd_events_flush(hd_events *e, hd_err *err)
{
    const char *data = e->pending.data;
    size_t left = e->pending.size;
    e->pending.size = 0;
    if (left && e->torn) return hd_err_set(err, HD_EFILE, "%s: was damaged by a failed write", e->path);
    off_t size = e->size + (off_t)left;
    while (left) {
        ssize_t n = write(e->file, data, left);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = ENOSPC; /* a file that takes nothing and gives no reason */
        if (n <= 0) {
            hd_status s = file_error(e, "cannot write", err);
            if (data != e->pending.data) e->torn = ftruncate(e->file, e->size);
            return s;
        }
        data += n;
        left -= (size_t)n;
    }
    e->size = size;
    return HD_OK;
}

hd_status hd_events_close(hd_events *e, hd_err *err)
{
    if (!e) return HD_OK;
    hd_status s = hd_events_flush(e, err);
    int file = e->file;
    e->file = -1;
    if (close(file) && !s) s = file_error(e, "cannot close", err);
    events_free(e);
    return s;
}
