/* JPEG where libjpeg was not found: refused with the remedy. */
#include "data/image/codec.h"

hd_status hd_codec_decode_jpeg(hd_image *out, const hd_codec_job *job, hd_err *err)
{
    (void)out;
    return hd_err_set(err, HD_EMISSING,
                      "%s: is a JPEG picture, and this heed was built without libjpeg: install it (Debian: "
                      "libjpeg62-turbo-dev) and build again",
                      job->name);
}
