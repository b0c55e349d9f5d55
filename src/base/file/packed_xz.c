/* xz through liblzma, which handles several streams and the padding between them itself. */
#include "base/file/packed.h"

#include <lzma.h>

#include "base/mem.h"

enum { MOST_MEMORY = 256 << 20 }; /* a header may ask for any amount; xz -9 asks for 65 MiB */

typedef struct xz {
    const char *file;
    lzma_stream z;
} xz;

static void *xz_get(void *context, size_t count, size_t size)
{
    (void)context;
    return hd_mem_array(count, size);
}

static void xz_put(void *context, void *block)
{
    (void)context;
    hd_mem_free(block);
}

static const lzma_allocator memory = {.alloc = xz_get, .free = xz_put};

static hd_status xz_open(void **state, const char *file, hd_err *err)
{
    xz *x = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    x->file = file;
    x->z = (lzma_stream)LZMA_STREAM_INIT;
    x->z.allocator = &memory;
    if (lzma_stream_decoder(&x->z, MOST_MEMORY, LZMA_CONCATENATED) != LZMA_OK) {
        hd_mem_free(x);
        return hd_err_nomem(err, 0);
    }
    *state = x;
    return HD_OK;
}

static hd_status xz_step(void *state, hd_packed_flow *f, bool *ended, hd_err *err)
{
    xz *x = state;
    x->z.next_in = f->in, x->z.avail_in = f->in_left;
    x->z.next_out = f->out, x->z.avail_out = f->out_left;
    lzma_ret z = LZMA_OK;
    while (z == LZMA_OK && x->z.avail_out && (x->z.avail_in || f->in_last))
        z = lzma_code(&x->z, f->in_last ? LZMA_FINISH : LZMA_RUN);
    f->in = x->z.next_in, f->in_left = x->z.avail_in;
    f->out = x->z.next_out, f->out_left = x->z.avail_out;
    *ended = z == LZMA_STREAM_END;
    if (z == LZMA_MEM_ERROR) return hd_err_nomem(err, 0);
    if (z == LZMA_MEMLIMIT_ERROR)
        return hd_err_set(
            err, HD_ELIMIT,
            "%s: unpacking this xz data takes more than %d MiB: compress it with a smaller dictionary",
            x->file, MOST_MEMORY >> 20);
    if (z != LZMA_OK && z != LZMA_STREAM_END && z != LZMA_BUF_ERROR)
        return hd_err_set(err, HD_EFORMAT, "%s: damaged xz data", x->file);
    return HD_OK;
}

static void xz_close(void *state)
{
    xz *x = state;
    if (x) lzma_end(&x->z);
    hd_mem_free(x);
}

const hd_packed_type hd_packed_xz = {"xz", xz_open, xz_step, xz_close};
