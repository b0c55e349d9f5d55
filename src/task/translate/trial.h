/* Sentence pairs that a translator is put to the test with: read, and cut into batches in the order of the
   files. */
#ifndef HD_TASK_TRANSLATE_TRIAL_H
#define HD_TASK_TRANSLATE_TRIAL_H

#include "data/batch.h"
#include "run/options.h"
#include "task/model_folder.h"

typedef struct hd_trial {
    hd_sentences text;
    hd_corpus corpus; /* the same in ids of the translator; what is too long for it is cut */
    hd_batches *batches;
} hd_trial;

/* Files as `heed train` takes them: one for each side, or one with both. team and log may be NULL. */
hd_status hd_trial_open(hd_trial *t, const hd_model_folder *f, const hd_texts *files, hd_team *team,
                        const hd_log *log, hd_err *err);
void hd_trial_release(hd_trial *t); /* accepts {0} */

#endif
