/* Where the words of captions look: --attention and --boxes. */
#ifndef HD_CLI_VERB_CAPTION_LOOKS_H
#define HD_CLI_VERB_CAPTION_LOOKS_H

#include "cli/verb/caption/caption.h"
#include "show/picture/inside.h"

typedef struct hd_caption_looks {
    bool wanted, measured;
    hd_image_set set; /* of --boxes */
    hd_vocab labels;
    hd_inside inside;
} hd_caption_looks;

hd_status hd_caption_looks_open(hd_caption_looks *l, hd_command *c, const hd_caption_options *o, hd_err *err);
/* A picture as decoded and its best caption. */
hd_status hd_caption_look(hd_caption_looks *l, hd_command *c, const char *name, const hd_image *im,
                          const hd_written *caption, hd_err *err);
void hd_caption_looks_say(const hd_caption_looks *l, hd_command *c); /* what --boxes measured */
void hd_caption_looks_release(hd_caption_looks *l);                  /* accepts {0} */

#endif
