/* Compressed data as a stream. A format is a line of the list and a file; it is detected from the first
   bytes. */
#ifndef HD_BASE_FILE_PACKED_H
#define HD_BASE_FILE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/*     name, first bytes */
#define HD_PACKED_LIST(X)  \
    X(gzip, "\x1f\x8b")    \
    X(xz, "\xfd\x37zXZ\0") \
    X(zstd, "\x28\xb5\x2f\xfd")

enum { HD_PACKED_MAGIC = 6 }; /* bytes that tell all formats */

/* Input and output; both advance. */
typedef struct hd_packed_flow {
    const uint8_t *in;
    size_t in_left;
    bool in_last; /* nothing follows what is in `in` */
    uint8_t *out;
    size_t out_left;
} hd_packed_flow;

typedef struct hd_packed_type {
    const char *name;
    /* `file` is for messages and outlives the state. */
    hd_status (*open)(void **state, const char *file, hd_err *err);
    /* Continues until `out` is full or `in` is used up. *ended: everything is unpacked, and only padding
       followed. No progress despite in_last means that the data is truncated: the caller reports it. */
    hd_status (*step)(void *state, hd_packed_flow *f, bool *ended, hd_err *err);
    void (*close)(void *state); /* accepts NULL */
} hd_packed_type;

#define HD_PACKED_DECLARE(name, magic) extern const hd_packed_type hd_packed_##name;
HD_PACKED_LIST(HD_PACKED_DECLARE)
#undef HD_PACKED_DECLARE

/* The format of data that begins with these bytes; *type is NULL if it is not compressed. Formats that
   heed does not read, and those this build has no library for, are refused with the remedy. */
hd_status hd_packed_find(const hd_packed_type **type, const uint8_t *data, size_t size, const char *file,
                         hd_err *err);

/* The bytes of a regular file, unpacked where it is compressed, in memory of the caller, who frees it; of a
   longer one the first `most`, and *whole is false. Memory grows with what is unpacked. */
hd_status hd_packed_read(uint8_t **out, size_t *size, bool *whole, const char *path, size_t most,
                         hd_err *err);

/* Bytes that zlib makes of these, as zlib.compress of Python: how much they repeat themselves. */
hd_status hd_packed_size(size_t *out, const void *bytes, size_t count, hd_err *err);

/* The error of a format whose library is missing. */
hd_status hd_packed_absent(const char *name, const char *library, const char *file, hd_err *err);

#endif
