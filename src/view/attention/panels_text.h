/* Attention over a picture in a terminal: the cells of the picture, shaded by weight, once for each word,
   object or layer. */
#ifndef HD_VIEW_ATTENTION_PANELS_TEXT_H
#define HD_VIEW_ATTENTION_PANELS_TEXT_H

#include "view/attention/text.h"

/* As hd_attention_text, of maps that hd_attention_pictured says yes to. */
hd_status hd_attention_panels_text(hd_text *to, const hd_attention_maps *a, const hd_attention_look *look,
                                   hd_err *err);

#endif
