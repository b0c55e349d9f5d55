/* Status codes and error text. The first error of a chain wins: a caller that fails because its callee failed
   keeps the callee's text. */
#ifndef HD_BASE_STATUS_H
#define HD_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#define HD_STATUS_LIST(X)                                        \
    X(OK, "ok")                                                  \
    X(ENOMEM, "out of memory")                                   \
    X(EARG, "invalid argument")                                  \
    X(ESHAPE, "shapes do not fit")                               \
    X(EFILE, "file cannot be read or written")                   \
    X(EFORMAT, "malformed file")                                 \
    X(ELIMIT, "limit exceeded")                                  \
    X(ENUMBER, "not a finite number")                            \
    X(EMISSING, "not available in this build or on this device") \
    X(EDEVICE, "the device failed")                              \
    X(ESTOPPED, "stopped by the caller")

typedef enum hd_status {
#define X(name, text) HD_##name,
    HD_STATUS_LIST(X)
#undef X
} hd_status;

typedef struct hd_err {
    hd_status status;
    char text[512];
} hd_err;

/* Short English text of a code; never NULL. */
const char *hd_status_text(hd_status s);

/* Stores status and formatted text unless err already holds an error; err may be NULL. Returns s. */
hd_status hd_err_set(hd_err *err, hd_status s, const char *format, ...) __attribute__((format(printf, 3, 4)));
hd_status hd_err_setv(hd_err *err, hd_status s, const char *format, va_list args);
hd_status hd_err_nomem(hd_err *err, size_t bytes);

#endif
