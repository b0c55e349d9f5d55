/* Single messages to a chat model, as heed generate --chat asks them: each is a conversation of its own. */
#ifndef HD_CLI_VERB_CHAT_ASKING_H
#define HD_CLI_VERB_CHAT_ASKING_H

#include "cli/verb/chat/sampling.h"
#include "task/language/chat/form.h"

typedef struct hd_asking_options {
    const char *system, *template;
} hd_asking_options;

/* clang-format off */
/* Rows for a struct S with a hd_asking_options `asking`, in a group of options or NULL. */
#define HD_ASKING_ROWS(S, GROUP)                                                                              \
    {"system", 0, "TEXT", NULL, "what a conversation begins with: how the model should answer",               \
     .group = GROUP, HD_TEXT_INTO(S, asking.system)},                                                         \
    {"template", 0, "FILE", NULL, "a chat template (Jinja) in place of the model's own",                      \
     .group = GROUP, HD_FILE_INTO(S, asking.template)}
/* clang-format on */

enum { HD_ASKING_MOST = 64 };

typedef struct hd_asking {
    const hd_asking_options *o;
    hd_chat_form form;
    hd_ids ids[HD_ASKING_MOST];
} hd_asking;

hd_status hd_asking_open(hd_asking *a, const hd_command *m, const hd_asking_options *o, hd_err *err);
/* The messages as tokens, which opt then has; at most HD_ASKING_MOST. */
hd_status hd_asking_read(hd_asking *a, const hd_command *m, const hd_line *message, size_t n,
                         hd_generate_opt *opt, hd_err *err);
void hd_asking_release(hd_asking *a); /* accepts {0} */

#endif
