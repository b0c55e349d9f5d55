/* What is read alike in every tokenizer.json (and tokenizer_config.json): vocabulary, added tokens, special
   tokens, what stands around a text. A part that is not known is refused by its name. */
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

/* The type of a part, one of `known` (ends with NULL): its index; -1 where the part is null or absent. `name`
   is what the file calls it ("normalizer"). */
hd_status hd_json_part(const hd_tokenizer_json *j, const json_t *part, const char *name,
                       const char *const *known, int *which);
/* A switch of an object; `otherwise` where it is absent or null. */
hd_status hd_json_switch(const hd_tokenizer_json *j, const json_t *object, const char *key, bool otherwise,
                         bool *out);

/* object: piece to id. added: an array of tokens with their "id", or an object that has them under theirs;
   may be NULL. Together the ids must be 0 to n-1, each once. What only `added` has is seen 0 times, the
   rest once: a model does not make such pieces of a text. */
hd_status hd_json_vocab(const hd_tokenizer_json *j, const json_t *object, const json_t *added, hd_vocab *out);
hd_status hd_json_added(const hd_tokenizer_json *j, const json_t *added, const hd_vocab *v, hd_added *out);

typedef struct hd_post {
    hd_text_frame frame[2];
    bool trim, prefixed; /* ByteLevel, RobertaProcessing: offsets without spaces, but for one in front */
} hd_post;

/* pieces: of the vocabulary. */
hd_status hd_json_post(const hd_tokenizer_json *j, size_t pieces, hd_post *out);

/* The special tokens of a vocabulary by the names that published ones have; `brackets`: [SEP] rather than
   </s>. Where several are pieces, one that `added` has is it: an MPNet's has BERT's, too, as mere pieces.
   HD_EFORMAT where there is no end. */
hd_status hd_find_specials(hd_special *out, const hd_vocab *v, const hd_added *added, bool brackets,
                           const char *path, hd_err *err);
/* Those that tokenizer_config.json names go before these; NULL: it is not there. */
void hd_name_specials(hd_special *out, const hd_vocab *v, const json_t *config);
/* Those as added tokens, for a vocabulary that comes without a list of them. */
hd_status hd_add_specials(hd_added *out, const hd_special *special, const hd_vocab *v, hd_err *err);

#endif
