/* A file of sound as windows read it. One that fits into a window is padded with silence; of a longer one
   only what is asked for is in memory. */
#ifndef HD_TASK_TRANSCRIBE_WHISPER_FILE_H
#define HD_TASK_TRANSCRIBE_WHISPER_FILE_H

#include "data/sound/features.h"
#include "task/transcribe/whisper/whisper.h"

typedef struct hd_whisper_file {
    hd_sound_file *file;
    const hd_features *features;
    size_t count, total; /* samples; with silence behind them */
    float largest;       /* of all frames: what is much less is lifted */
} hd_whisper_file;

/* Reads the whole file once, piece by piece, for its largest number. The features must outlive it. */
hd_status hd_whisper_file_open(hd_whisper_file *out, const hd_features *features, const char *path,
                               hd_err *err);
void hd_whisper_file_close(hd_whisper_file *f); /* accepts {0} */

hd_whisper_source hd_whisper_file_source(hd_whisper_file *f);

#endif
