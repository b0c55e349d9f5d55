/* `heed embed`: what it does with pictures. */
#ifndef HD_CLI_VERB_EMBED_EMBED_H
#define HD_CLI_VERB_EMBED_EMBED_H

#include "cli/frame/verb.h"
#include "show/embed.h"

/* Numbers with a text between them. */
void hd_embed_put_numbers(hd_text *to, const hd_real *v, size_t width, const char *between);

/* Answers the files behind the model, which are pictures. */
hd_status hd_embed_answer_pictures(hd_command *c, const hd_embed_opt *opt, hd_err *err);

#endif
