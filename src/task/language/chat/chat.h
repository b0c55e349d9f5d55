/* A conversation with a language model: messages, their tokens, and the cache that holds them from turn to
 * turn. */
#ifndef HD_TASK_LANGUAGE_CHAT_CHAT_H
#define HD_TASK_LANGUAGE_CHAT_CHAT_H

#include "task/language/chat/form.h"
#include "task/language/generate.h"

typedef struct hd_chat hd_chat;

/* The form stays the caller's, and so does the model. HD_EARG: the model has no cache that could grow. */
hd_status hd_chat_new(hd_chat **out, const hd_model_folder *f, const hd_chat_form *form, hd_err *err);
void hd_chat_free(hd_chat *c); /* accepts NULL */

/* Forgets all turns. system: what the conversation begins with, or NULL: nothing. */
hd_status hd_chat_begin(hd_chat *c, const char *system, hd_err *err);

/* Answers a message. After a failure the message is not there. opt: how tokens are drawn, with the tokens
   that end an answer; at most opt->tokens, and no more than the model's context holds: the oldest turns are
   dropped where there is not a quarter of it left. answer: {0}. */
hd_status hd_chat_answer(hd_chat *c, hd_run *r, const char *message, const hd_generate_opt *opt,
                         hd_generated *answer, hd_err *err);

size_t hd_chat_dropped(const hd_chat *c); /* messages dropped since it began */
size_t hd_chat_read(const hd_chat *c);    /* tokens that were read since it was made, but for those drawn */
const json_t *hd_chat_messages(const hd_chat *c); /* borrowed */

#endif
