/* Formats of libsndfile where it was not found: refused with the remedy. */
#include "data/sound/codec.h"

hd_status hd_sound_open_sndfile(hd_sound_file *f, const char *title, hd_err *err)
{
    return hd_err_set(err, HD_EMISSING,
                      "%s: is %s, and this heed was built without libsndfile: install it (Debian: "
                      "libsndfile1-dev) and build again, or convert the file to WAV",
                      f->name, title);
}
