/* A text on its way to a file: written out whenever much of it has come together, so that a long one needs
   little memory. The first failure stays, and its owner asks for it once. */
#ifndef HD_VIEW_DRAW_TEXT_FILE_H
#define HD_VIEW_DRAW_TEXT_FILE_H

#include "base/file/file.h"
#include "base/text.h"

typedef struct hd_text_file {
    hd_text text;  /* what is not written yet */
    hd_save *save; /* NULL: all stays in text */
    hd_err err;
} hd_text_file;

void hd_text_file_settle(hd_text_file *s); /* now is a good time to write */
hd_status hd_text_file_status(const hd_text_file *s, hd_err *err);
hd_status hd_text_file_flush(hd_text_file *s, hd_err *err); /* all of it, now */

#endif
