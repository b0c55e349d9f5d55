/* PNG where libpng was not found: refused with the remedy. */
#include "data/image/codec.h"

hd_status hd_codec_decode_png(hd_image *out, const hd_codec_job *job, hd_err *err)
{
    (void)out;
    return hd_err_set(err, HD_EMISSING,
                      "%s: is a PNG picture, and this heed was built without libpng: install it (Debian: "
                      "libpng-dev) and build again",
                      job->name);
}

hd_status hd_image_encode_png(hd_text *to, const hd_image *im, hd_err *err)
{
    (void)to, (void)im;
    return hd_err_set(err, HD_EMISSING,
                      "a picture cannot be written as PNG: this heed was built without libpng: install it "
                      "(Debian: libpng-dev) and build again");
}
