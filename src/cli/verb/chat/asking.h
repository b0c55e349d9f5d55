/* Single messages to a chat model, as heed generate --chat asks them: each is a conversation of its own. */
#ifndef HD_CLI_VERB_CHAT_ASKING_H
#define HD_CLI_VERB_CHAT_ASKING_H

#include "cli/frame/verb.h"
#include "task/language/chat/form.h"
#include "task/language/chat/generation.h"

typedef struct hd_asking_options {
    const char *system, *template;
} hd_asking_options;

enum { HD_ASKING_MOST = 64 };

typedef struct hd_asking {
    const hd_asking_options *o;
    hd_chat_form form;
    hd_ids ids[HD_ASKING_MOST];
} hd_asking;

/* The template, and the ends of answers, which are added to those of g. */
hd_status hd_asking_open(hd_asking *a, const hd_command *m, const hd_asking_options *o, hd_generation *g,
                         hd_generate_opt *opt, hd_err *err);
/* The messages as tokens, which opt then has; at most HD_ASKING_MOST. */
hd_status hd_asking_read(hd_asking *a, const hd_command *m, const hd_line *message, size_t n,
                         hd_generate_opt *opt, hd_err *err);
void hd_asking_release(hd_asking *a); /* accepts {0} */

#endif
