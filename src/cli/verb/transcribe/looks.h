/* --attention, --view and --monotone of `heed transcribe`: what each token listens to. */
#ifndef HD_CLI_VERB_TRANSCRIBE_LOOKS_H
#define HD_CLI_VERB_TRANSCRIBE_LOOKS_H

#include "cli/frame/verb.h"

typedef struct hd_speech_looks {
    hd_command *command;
    bool monotone;                   /* to be measured */
    size_t in_order, tokens, looked; /* that is: so far */
    double span;                     /* of all sounds that were looked at, summed */
} hd_speech_looks;

/* Whether anything is to be looked at. */
bool hd_speech_looks_wanted(const hd_speech_looks *l);
/* HD_EARG where the model has no such layer, head or kind. */
hd_status hd_speech_looks_open(hd_speech_looks *l, hd_command *c, bool monotone, hd_err *err);
/* Of one sound: to the file, to `drawn` what --view shows, and into the measure. */
hd_status hd_speech_look(hd_speech_looks *l, const hd_attention_ask *ask, hd_text *drawn, hd_err *err);
/* Says the measure. */
void hd_speech_looks_tell(const hd_speech_looks *l);

#endif
