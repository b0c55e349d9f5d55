/* Words of captions: tokens of the Penn Treebank without punctuation, as published figures of captions are
   computed from. */
#ifndef HD_METRIC_CORPUS_PTB_H
#define HD_METRIC_CORPUS_PTB_H

#include "metric/corpus/runes.h"

/* The words of a text in lower case, each followed by a space. Contractions are parted ("it 's", "do n't",
   "can not"); quotes, brackets, dashes and . , ? ! : ; are dropped where they are tokens of their own. A
   double quote between blanks stays: text that was cut into tokens before scores as published figures of it
   do. */
hd_status hd_ptb_words(hd_runes *to, const hd_runes *from, hd_err *err);

#endif
