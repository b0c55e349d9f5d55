/* What the samples of a prompt agree on, as `heed generate --majority` writes it. */
#ifndef HD_CLI_VERB_MAJORITY_H
#define HD_CLI_VERB_MAJORITY_H

#include "cli/frame/verb.h"
#include "metric/answers.h"
#include "task/language/generate.h"

typedef struct hd_majority {
    hd_answer_rule *rule;
    hd_answer *answer; /* [samples] */
    size_t samples;
} hd_majority;

/* regex: that of --answer, or NULL. */
hd_status hd_majority_init(hd_majority *m, const char *regex, size_t samples, hd_err *err);
void hd_majority_release(hd_majority *m); /* accepts {0} */

/* Appends the answer of the samples of a prompt, a line: text and share, or as JSON all answers. */
void hd_majority_put(hd_majority *m, hd_text *to, const hd_text *prompt, const hd_generated *made, bool json);

#endif
