/* Archives of uncompressed files, as torch.save writes them. */
#ifndef HD_TENSOR_ZIP_H
#define HD_TENSOR_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hd_zip_file {
    const char *name; /* name_size bytes, not terminated */
    size_t name_size;
    const uint8_t *data;
    size_t size;
} hd_zip_file;

bool hd_is_zip(const uint8_t *bytes, size_t size);
/* Receives the files in the order of the list at the end of the archive; false: stop, with HD_OK. Messages
   do not name the archive. */
typedef bool hd_zip_take(void *context, const hd_zip_file *file);
hd_status hd_zip_list(const uint8_t *bytes, size_t size, hd_zip_take *take, void *context, hd_err *err);

#endif
