/* Zstandard. Its memory is its own: only an unstable interface takes allocators. */
#include "base/file/packed.h"

#include <zstd.h>

#include "base/mem.h"

typedef struct zstd {
    const char *file;
    bool inside; /* in the middle of a frame */
    ZSTD_DStream *z;
} zstd;

static void zstd_close(void *state)
{
    zstd *z = state;
    if (z) ZSTD_freeDStream(z->z);
    hd_mem_free(z);
}

static hd_status zstd_open(void **state, const char *file, hd_err *err)
{
    zstd *z = hd_mem_zero(sizeof *z);
    if (z) z->z = ZSTD_createDStream();
    if (!z || !z->z) {
        zstd_close(z);
        return hd_err_nomem(err, sizeof *z);
    }
    z->file = file;
    *state = z;
    return HD_OK;
}

static hd_status zstd_step(void *state, hd_packed_flow *f, bool *ended, hd_err *err)
{
    zstd *z = state;
    ZSTD_inBuffer in = {f->in, f->in_left, 0};
    ZSTD_outBuffer out = {f->out, f->out_left, 0};
    size_t got = 0;
    /* when `out` was filled there may be more output although all input was read */
    while (!ZSTD_isError(got) && out.pos < out.size && (in.pos < in.size || z->inside)) {
        size_t read = in.pos, written = out.pos;
        got = ZSTD_decompressStream(z->z, &out, &in);
        z->inside = got != 0;
        if (in.pos == read && out.pos == written) break;
    }
    f->in += in.pos, f->in_left -= in.pos;
    f->out += out.pos, f->out_left -= out.pos;
    if (ZSTD_isError(got))
        return hd_err_set(err, HD_EFORMAT, "%s: damaged zstd data: %s", z->file, ZSTD_getErrorName(got));
    *ended = f->in_last && !f->in_left && !z->inside;
    return HD_OK;
}

const hd_packed_type hd_packed_zstd = {"zstd", zstd_open, zstd_step, zstd_close};
