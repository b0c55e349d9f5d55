/* config.json of a model folder, key by key. The first fault stays, and its owner asks for it once. */
#ifndef HD_MODEL_CONFIG_H
#define HD_MODEL_CONFIG_H

#include "base/file/folder.h"
#include "base/json.h"
#include "base/text.h"
#include "model/stages.h"
#include "text/tokenizer.h"

typedef struct hd_model_config {
    char path[HD_PATH];
    hd_arena arena;
    json_t *object;
    hd_err *err;
    hd_status status;
} hd_model_config;

/* Reads the file and checks its format. To be released, also after a failure. */
void hd_model_config_open(hd_model_config *c, const char *folder, hd_err *err);
/* The same of any program's config.json; `maker` is what a text says that makes such folders. */
void hd_model_config_read(hd_model_config *c, const char *folder, const char *maker, hd_err *err);
/* ... of another file in a folder; where it is not there the object is NULL, which has no keys. */
void hd_model_config_read_file(hd_model_config *c, const char *folder, const char *name, hd_err *err);
void hd_model_config_release(hd_model_config *c);

/* Keeps checksums of the files beside it in config.json (base/file/seal.h): to be called when all of them are
   written. hd_model_config_open checks them. */
hd_status hd_model_config_seal(const char *folder, hd_err *err);

void hd_model_config_refuse(hd_model_config *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool hd_model_config_has(const hd_model_config *c, const char *key); /* and not null */

/* The object of a key as a config of its own, which borrows all from c and is not released; without keys
   where there is none. Its faults are to be handed back. */
hd_model_config hd_model_config_inside(const hd_model_config *c, const char *key);
void hd_model_config_leave(hd_model_config *c, const hd_model_config *inside);

/* Each takes a key that must be there; what it gives after a fault is harmless. */
long long hd_model_config_whole(hd_model_config *c, const char *key, long long least, long long most);
double hd_model_config_real(hd_model_config *c, const char *key, double most); /* from 0 on */
double hd_model_config_between(hd_model_config *c, const char *key, double least, double most);
bool hd_model_config_switch(hd_model_config *c, const char *key);
const char *hd_model_config_text(hd_model_config *c, const char *key);
int hd_model_config_name(hd_model_config *c, const char *key, const char *const *names, int count);
hd_stages hd_model_config_stages(hd_model_config *c, const char *key);
hd_tokenizer_kind hd_model_config_tokenizer_kind(hd_model_config *c, const char *key);
hd_unary hd_model_config_activation(hd_model_config *c, const char *key);

/* The tokenizer in the folder, of the kind that the key "tokenizer" says. */
hd_tokenizer *hd_model_config_tokenizer(hd_model_config *c, const char *folder);

/* HD_EFORMAT with a text that names the tokenizer's file: with [MASK] it has so many pieces, and what
   config.json says under the key is another number. */
hd_status hd_tokenizer_refuse(const hd_tokenizer *t, size_t pieces, const char *key, size_t vocab,
                              hd_err *err);

/* Whether the vocabulary of a model is that of its tokenizer, which has so many pieces with [MASK], or, where
   the key "padded" says so, larger: published models may have rows that no piece has. */
void hd_model_config_check_vocab(hd_model_config *c, size_t vocab, const hd_tokenizer *t, size_t pieces);
void hd_model_config_put_padded(hd_text *to, size_t vocab, size_t pieces); /* nothing where they are equal */

void hd_model_config_put_tokenizer(hd_text *to, const hd_tokenizer *t); /* the key "tokenizer" */

enum { HD_REAL_TEXT = 40 };
/* As few digits as give the float back, as the locale writes them. */
const char *hd_model_config_digits(char to[HD_REAL_TEXT], double x);
/* Writes ",\n "key": x" with these, whatever the locale of the program around us. */
void hd_model_config_put_real(hd_text *to, const char *key, double x);

#endif
