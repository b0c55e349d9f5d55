/* A format of sounds: how its files begin, and what reads them. Formats whose library this build lacks are in
   the list all the same; what opens them says what is missing. */
#ifndef HD_DATA_SOUND_CODEC_H
#define HD_DATA_SOUND_CODEC_H

#include <stdbool.h>

#include "base/file/file.h"
#include "data/sound/resample.h"
#include "data/sound/sound.h"

typedef struct hd_sound_codec {
    /* Frames (a sample of each channel) from .. from+count-1 into the mean of their channels. */
    hd_status (*read)(hd_sound_file *f, size_t from, size_t count, float *to, hd_err *err);
    void (*close)(hd_sound_file *f);
} hd_sound_codec;

struct hd_sound_file {
    hd_map map; /* {0}: the bytes are borrowed */
    const uint8_t *bytes;
    size_t size;
    char *name;
    const hd_sound_codec *codec;
    void *state;         /* of the codec */
    int channels, rate;  /* as the file has them */
    size_t count;        /* frames */
    hd_resampler *other; /* to the rate that was asked for; NULL: it is that of the file */
};

/* These bytes of the file were read: memory does not grow with its length. */
void hd_sound_file_forget(const hd_sound_file *f, const uint8_t *bytes, size_t size);

/* These fill codec, state, channels, rate, count, which are checked by the caller. `title` names the format
   in messages. */
hd_status hd_sound_open_wav(hd_sound_file *f, const char *title, hd_err *err);
hd_status hd_sound_open_sndfile(hd_sound_file *f, const char *title, hd_err *err);

#endif
