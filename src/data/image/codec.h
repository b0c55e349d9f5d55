/* A format of pictures: how its files begin, and what reads them. Formats whose library this build lacks are
   in the list all the same; their functions say what is missing. */
#ifndef HD_DATA_IMAGE_CODEC_H
#define HD_DATA_IMAGE_CODEC_H

#include "data/image/image.h"

/*     name, first bytes, last bytes, name in messages, whether it decodes parts (hd_codec_job.ask) */
#define HD_CODEC_LIST(X)                                              \
    X(png, "\x89PNG\r\n\x1a\n", "IEND\xae\x42\x60\x82", "PNG", false) \
    X(jpeg, "\xff\xd8\xff", "\xff\xd9", "JPEG", true)

typedef struct hd_codec_job {
    const uint8_t *bytes;
    size_t size;
    const char *name;        /* of the file */
    bool header;             /* width, height and channels alone */
    int side;                /* scale down, to no less than this on the shorter side; 0: never */
    const hd_image_ask *ask; /* which part; NULL: all */
} hd_codec_job;

/* Fills out; after a failure out->pixel may be allocated, the caller releases it. */
typedef hd_status hd_codec_decode(hd_image *out, const hd_codec_job *job, hd_err *err);

#define X(name, magic, end, title, parts) hd_codec_decode hd_codec_decode_##name;
HD_CODEC_LIST(X)
#undef X

#endif
