/* Texts that a verb found for files: a line each, or JSON. */
#ifndef HD_CLI_FRAME_WRITTEN_H
#define HD_CLI_FRAME_WRITTEN_H

#include "task/written.h"

typedef struct hd_written_how {
    bool json, scores;
    const char *key; /* of the list in JSON */
} hd_written_how;

/* Appends what was found for a file, `count` texts, as lines or one object of JSON. why: NULL, or why there
   is nothing. */
void hd_written_put(hd_text *to, const hd_written_how *how, const hd_tokenizer *t, const char *name,
                    const hd_written *of, size_t count, const char *why);

#endif
