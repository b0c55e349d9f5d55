/* The models of a server: each an engine with a name and, of a translator, the languages that it is for. */
#ifndef HD_SERVE_ENGINE_MODELS_H
#define HD_SERVE_ENGINE_MODELS_H

#include "serve/engine/engine.h"

enum { HD_MODEL_NAME = 128, HD_LANGUAGE_CODE = 24 };

typedef struct hd_served {
    char name[HD_MODEL_NAME];
    char source[HD_LANGUAGE_CODE], target[HD_LANGUAGE_CODE]; /* of a translator; "": it is none */
    const char *folder;
    uint64_t stamp; /* of the files, when the engine was opened */
    hd_engine *engine;
} hd_served;

typedef struct hd_models {
    hd_served *at;
    size_t count;
} hd_models;

/* [NAME=]FOLDER and SOURCE:TARGET, which may be NULL: then files of the folder or its name tell. */
hd_status hd_served_read(hd_served *to, const char *operand, const char *languages, hd_err *err);

/* Opens all of them side by side. opt: what they share. */
hd_status hd_models_open(hd_models *m, const hd_engine_opt *opt, hd_err *err);
void hd_models_close(hd_models *m); /* accepts {0}; the list is the caller's */

/* Whether files of its folder are other ones than when it was opened. */
bool hd_served_changed(const hd_served *s);
/* An engine for what its folder holds now, with the options of the one there is, which stays; NULL: it cannot
   be opened, and err says why. In *stamp that of the files. */
hd_engine *hd_served_reopen(const hd_served *s, uint64_t *stamp, hd_err *err);

/* NULL: there is none. */
const hd_served *hd_models_named(const hd_models *m, const char *name);
const hd_served *hd_models_pair(const hd_models *m, const char *source, const char *target);
/* Whether some translator reads (side 0) or writes (side 1) the language. */
bool hd_models_speak(const hd_models *m, int side, const char *language);

/* Languages that translators read, by how well a text fits, best first: at most `most`. Each by its share of
   100. Where they read one language alone it is that one. */
typedef struct hd_guessed {
    const char *language;
    double confidence;
} hd_guessed;
size_t hd_models_detect(const hd_models *m, hd_line text, hd_guessed *to, size_t most);

#endif
