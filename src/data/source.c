/* Sources of numbered batches. */
#include "data/source.h"

static hd_status next(hd_source *s, hd_position *after, hd_err *err)
{
    hd_numbered_source *n = (hd_numbered_source *)s;
    (void)err;
    n->at = n->following++;
    *after = (hd_position){n->following / s->batches, n->following % s->batches};
    return HD_OK;
}

static hd_status seek(hd_source *s, hd_position at, hd_err *err)
{
    hd_numbered_source *n = (hd_numbered_source *)s;
    (void)err;
    n->following = at.epoch * s->batches + at.batch;
    return HD_OK;
}

void hd_numbered_source_init(hd_numbered_source *s, uint64_t hash, size_t batches)
{
    *s = (hd_numbered_source){.source = {hash, batches, next, seek}};
}
