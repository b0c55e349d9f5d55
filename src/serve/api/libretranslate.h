/* LibreTranslate's interface: what its files share. */
#ifndef HD_SERVE_API_LIBRETRANSLATE_H
#define HD_SERVE_API_LIBRETRANSLATE_H

#include "serve/api/call.h"

typedef struct hd_libre_name {
    char text[40];
} hd_libre_name;

const char *hd_libre_code(const char *code);                       /* as replies have it: "zh-Hans" */
const char *hd_libre_name_of(const char *code, hd_libre_name *to); /* "English" */
/* As the models call it, of those that read (side 0) or write (1); the code itself where none does. */
const char *hd_libre_known(const hd_models *m, int side, const char *code);
void hd_libre_put_guess(hd_text *to, const char *key, const hd_guessed *g);

/* translation.c: POST /translate */
void hd_translation_begin(hd_call *c);
void hd_translation_finish(hd_call *c);

#endif
