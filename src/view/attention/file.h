/* A file of attention: numbers, pictures or a page, by its ending. */
#ifndef HD_VIEW_ATTENTION_FILE_H
#define HD_VIEW_ATTENTION_FILE_H

#include "show/attention.h"

typedef struct hd_attention_file hd_attention_file;

/* HD_EARG for an ending that is none, with those there are; HD_EMISSING where this build cannot write it;
   HD_EFILE where the folder cannot be written to. pick says which map is drawn, and what .json and .html are
   restricted to; NULL: nothing. */
hd_status hd_attention_file_open(hd_attention_file **out, const char *path, const hd_attention_pick *pick,
                                 hd_err *err);

/* Adds a sentence. A failure stays: further adds and closing fail too. .svg and .png hold one sentence:
   where there are several, NAME.svg becomes NAME-1.svg, NAME-2.svg, ..., each saved when it is added (the
   first with the second), and no NAME.svg is written. */
hd_status hd_attention_file_add(hd_attention_file *f, const hd_attention_maps *a, hd_err *err);

hd_status hd_attention_file_close(hd_attention_file *f, hd_err *err); /* saves; frees f in any case */
void hd_attention_file_abandon(hd_attention_file *f);                 /* saves nothing more; accepts NULL */

/* For an option that takes such a file: "write ... to FILE, by its ending: .json (...) ..." */
extern const char hd_attention_file_help[];

#endif
