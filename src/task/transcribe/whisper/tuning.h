/* Training a Whisper further: what its decoder reads before a text, what its greedy search writes, and the
   files that its folder has beside the model. */
#ifndef HD_TASK_TRANSCRIBE_WHISPER_TUNING_H
#define HD_TASK_TRANSCRIBE_WHISPER_TUNING_H

#include "nn/frames.h"
#include "task/transcribe/whisper/whisper.h"

/* Whether the model in a folder is one. */
hd_status hd_whisper_tuned(bool *out, const char *folder, hd_err *err);
/* Refuses a --language (NULL: none) that the model in a folder does not have, or that is missing. */
hd_status hd_whisper_tuning_check(const char *folder, const char *language, hd_err *err);

typedef struct hd_whisper_tuning {
    hd_whisper whisper;
    const char *language; /* borrowed; NULL: the model knows one */
    hd_ids prompt;        /* start, language, task, no timestamps */
} hd_whisper_tuning;

/* The model stays the caller's. */
hd_status hd_whisper_tuning_open(hd_whisper_tuning *out, const hd_encdec *m, const hd_tokenizer *t,
                                 const char *folder, const char *language, hd_err *err);
void hd_whisper_tuning_release(hd_whisper_tuning *t); /* accepts {0} */

/* Calls told for each sound, windows as the model reads them, with what greedy search writes; in any order.
 */
typedef hd_status hd_whisper_told(void *context, size_t sound, const char *text, hd_err *err);
hd_status hd_whisper_tuning_hear(const hd_whisper_tuning *t, hd_run *r, const hd_frames_host *sounds,
                                 hd_whisper_told *told, void *context, hd_err *err);

/* Copies the files to a folder, which may be the same. */
hd_status hd_whisper_tuning_carry(const char *from, const char *to, hd_err *err);

#endif
