/* gzip through zlib. Easy to get wrong: a file may have several members, and zeros after the last one
   where a tape block was padded. */
#include "base/file/packed.h"

#include <zlib.h>

#include "base/mem.h"

enum { WINDOW = 15 + 16 }; /* the largest, and the header of gzip */

typedef struct gzip {
    const char *file;
    bool inside; /* in the middle of a member */
    z_stream z;
} gzip;

static void *z_get(void *context, unsigned count, unsigned size)
{
    (void)context;
    return hd_mem_array(count, size);
}

static void z_put(void *context, void *block)
{
    (void)context;
    hd_mem_free(block);
}

static hd_status gzip_open(void **state, const char *file, hd_err *err)
{
    gzip *g = hd_mem_zero(sizeof *g);
    if (!g) return hd_err_nomem(err, sizeof *g);
    g->file = file;
    g->z.zalloc = z_get;
    g->z.zfree = z_put;
    if (inflateInit2(&g->z, WINDOW) != Z_OK) {
        hd_mem_free(g);
        return hd_err_nomem(err, 0);
    }
    *state = g;
    return HD_OK;
}

/* Between two members, or after the last. */
static hd_status next_member(gzip *g, hd_packed_flow *f, bool *ended, hd_err *err)
{
    if (f->in_left >= 2 && f->in[0] == 0x1f && f->in[1] == 0x8b) {
        g->inside = true;
        return inflateReset(&g->z) == Z_OK ? HD_OK
                                           : hd_err_set(err, HD_EFORMAT, "%s: cannot inflate", g->file);
    }
    while (f->in_left && !*f->in) f->in++, f->in_left--;
    if (f->in_left)
        return hd_err_set(err, HD_EFORMAT, "%s: data that is not gzip follows the gzip data", g->file);
    *ended = f->in_last;
    return HD_OK;
}

static hd_status inflate_member(gzip *g, hd_packed_flow *f, hd_err *err)
{
    unsigned in = f->in_left < 1u << 30 ? (unsigned)f->in_left : 1u << 30; /* zlib counts in unsigned */
    unsigned out = f->out_left < 1u << 30 ? (unsigned)f->out_left : 1u << 30;
    g->z.next_in = (uint8_t *)f->in, g->z.avail_in = in;
    g->z.next_out = f->out, g->z.avail_out = out;
    int z = inflate(&g->z, Z_NO_FLUSH);
    f->in += in - g->z.avail_in, f->in_left -= in - g->z.avail_in;
    f->out += out - g->z.avail_out, f->out_left -= out - g->z.avail_out;
    g->inside = z != Z_STREAM_END;
    if (z == Z_MEM_ERROR) return hd_err_nomem(err, 0);
    if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
        return hd_err_set(err, HD_EFORMAT, "%s: damaged gzip data%s%s", g->file, g->z.msg ? ": " : "",
                          g->z.msg ? g->z.msg : "");
    return HD_OK;
}

static hd_status gzip_step(void *state, hd_packed_flow *f, bool *ended, hd_err *err)
{
    gzip *g = state;
    hd_status s = HD_OK;
    while (!s && !*ended && f->out_left) {
        if (g->inside ? !f->in_left : f->in_left < 2 && !f->in_last) break; /* more first */
        s = g->inside ? inflate_member(g, f, err) : next_member(g, f, ended, err);
    }
    return s;
}

static void gzip_close(void *state)
{
    gzip *g = state;
    if (g) inflateEnd(&g->z);
    hd_mem_free(g);
}

const hd_packed_type hd_packed_gzip = {"gzip", gzip_open, gzip_step, gzip_close};

hd_status hd_packed_size(size_t *out, const void *bytes, size_t count, hd_err *err)
{
    z_stream z = {.zalloc = z_get, .zfree = z_put};
    uint8_t packed[4096];
    int done = Z_OK;
    if (count > UINT32_MAX / 2) return hd_err_set(err, HD_ELIMIT, "%zu bytes are too many to pack", count);
    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK) return hd_err_nomem(err, 0);
    z.next_in = (uint8_t *)bytes, z.avail_in = (unsigned)count;
    for (*out = 0; done == Z_OK; *out += sizeof packed - z.avail_out) {
        z.next_out = packed, z.avail_out = sizeof packed;
        done = deflate(&z, Z_FINISH);
    }
    deflateEnd(&z);
    return HD_OK;
}
