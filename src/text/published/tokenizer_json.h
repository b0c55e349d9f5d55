/* The common parts of every tokenizer.json (and tokenizer_config.json): vocabulary, added tokens, special
   tokens and their places around a text. An unknown part is refused with its name. */
#ifndef HD_TEXT_PUBLISHED_TOKENIZER_JSON_H
#define HD_TEXT_PUBLISHED_TOKENIZER_JSON_H

#include "text/published/added.h"
#include "text/published/file_set.h"
#include "text/vocab.h"

typedef struct hd_tokenizer_json {
    const char *path; /* for messages */
    const json_t *root;
    hd_err *err;
} hd_tokenizer_json;

/* The type of a part, one of `known` (ends with NULL): its index; -1 if the part is null or absent. `name`
   is its name in the file ("normalizer"). */
hd_status hd_json_part(const hd_tokenizer_json *j, const json_t *part, const char *name,
                       const char *const *known, int *which);
/* A boolean of an object; `otherwise` if it is absent or null. */
hd_status hd_json_switch(const hd_tokenizer_json *j, const json_t *object, const char *key, bool otherwise,
                         bool *out);

/* object: piece to id. added: an array of tokens with their "id", or an object with the ids as keys; may
   be NULL. Together the ids must be 0 to n-1, each once. Pieces that only `added` has count 0, the others 1:
   a model does not cut a text into the former. */
hd_status hd_json_vocab(const hd_tokenizer_json *j, const json_t *object, const json_t *added, hd_vocab *out);
hd_status hd_json_added(const hd_tokenizer_json *j, const json_t *added, const hd_vocab *v, hd_added *out);

typedef struct hd_post {
    hd_text_frame frame[2];
    bool trim, prefixed; /* ByteLevel, RobertaProcessing: offsets without spaces, but for one in front */
} hd_post;

/* pieces: of the vocabulary. */
hd_status hd_json_post(const hd_tokenizer_json *j, size_t pieces, hd_post *out);

/* The special tokens of a vocabulary by their usual names; `brackets`: [SEP] rather than </s>. If several
   are pieces, one from `added` is taken: an MPNet also has BERT's, as ordinary pieces. HD_EFORMAT if there is
   no end. */
hd_status hd_find_specials(hd_special *out, const hd_vocab *v, const hd_added *added, bool brackets,
                           const char *path, hd_err *err);
/* Those that tokenizer_config.json names take precedence; NULL: there is no such file. */
void hd_name_specials(hd_special *out, const hd_vocab *v, const json_t *config);
/* The same as added tokens, for a vocabulary without a list of them. */
hd_status hd_add_specials(hd_added *out, const hd_special *special, const hd_vocab *v, hd_err *err);

#endif
