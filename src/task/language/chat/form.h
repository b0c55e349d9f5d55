/* How a conversation becomes tokens: the template of a model, and the special tokens that it may name.
   Messages are a JSON list of {"role", "content"}. What is in messages never becomes a special token. */
#ifndef HD_TASK_LANGUAGE_CHAT_FORM_H
#define HD_TASK_LANGUAGE_CHAT_FORM_H

#include "text/template/template.h"
#include "text/tokenizer.h"

#define HD_CHAT_TEMPLATE "chat_template.jinja"

/* The template of models made here: ChatML whose start of a turn is <s>, and whose ends of turns and of lines
 * are </s>. */
extern const char hd_chat_plain[];

typedef struct hd_chat_form {
    hd_template *template;
    const char *source; /* its text; in the arena */
    hd_arena arena;
    json_t *tokens; /* bos_token, eos_token, ...; in the arena */
} hd_chat_form;

/* The template of the model in the folder: chat_template.jinja, or what tokenizer_config.json has; file:
   another one, or NULL. HD_EARG: the model has none, and the message says what to do. */
hd_status hd_chat_form_open(hd_chat_form *out, const char *folder, const char *file, const hd_tokenizer *t,
                            hd_err *err);
void hd_chat_form_release(hd_chat_form *f); /* accepts {0} */

/* Copies what a model is asked by, its template and generation_config.json, into the folder of a model that
   learned on from it; what is there already stays. */
hd_status hd_chat_carry(const char *from, const char *to, hd_err *err);

/* Appends the text of the messages; answer: with what comes before the next answer. */
hd_status hd_chat_form_text(const hd_chat_form *f, const json_t *messages, bool answer, hd_marked *to,
                            hd_err *err);
/* Appends the pieces of the text, with where their bytes are. */
hd_status hd_chat_form_pieces(const hd_tokenizer *t, const hd_marked *m, hd_pieces *out, hd_err *err);
/* Appends the tokens of the text from byte `from` on. */
hd_status hd_chat_form_ids(const hd_tokenizer *t, const hd_marked *m, size_t from, hd_ids *to, hd_err *err);
/* The tokens of messages that a model answers which sees `room` tokens at once (0: any number); *tokens of
   the answer become no more than are left of it. HD_EARG: there are none, or too many. */
hd_status hd_chat_form_prompt(const hd_chat_form *f, const hd_tokenizer *t, const json_t *messages,
                              size_t room, hd_ids *to, size_t *tokens, hd_err *err);

#endif
