/* A text that knows where its bytes came from. Each byte has a mark: bytes of the template itself may spell
   control tokens, bytes of what people wrote may not. Marks go with bytes through every operation of a
   template. */
#ifndef HD_TEXT_TEMPLATE_MARKED_H
#define HD_TEXT_TEMPLATE_MARKED_H

#include "base/text.h"

typedef enum hd_mark {
    HD_MARK_TEMPLATE, /* the template, or a string given by its caller, such as bos_token */
    HD_MARK_INPUT,    /* contents: messages, tools, documents */
    HD_MARK_ANSWER    /* contents of messages of the assistant */
} hd_mark;

typedef struct hd_marked {
    hd_text text;
    hd_text mark; /* an hd_mark for each byte of the text */
} hd_marked;

/* {0} is an empty one. As with hd_text, a failed allocation is remembered: check the status once. */
void hd_marked_release(hd_marked *m);
void hd_marked_add(hd_marked *m, const char *bytes, const char *mark, size_t size); /* mark NULL: template */
void hd_marked_fill(hd_marked *m, const char *bytes, size_t size, char mark);
hd_status hd_marked_status(const hd_marked *m, hd_err *err);

#endif
