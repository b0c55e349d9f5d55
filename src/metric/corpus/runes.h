/* Text as code points, with the meanings Python gives to whitespace and to lower case: sacreBLEU is written
   in it, and its scores depend on both. */
#ifndef HD_METRIC_CORPUS_RUNES_H
#define HD_METRIC_CORPUS_RUNES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file/lines.h"

typedef struct hd_runes {
    uint32_t *at; /* NULL only while nothing was ever put in */
    size_t count, room;
} hd_runes;

/* {0} is an empty text. */
void hd_runes_release(hd_runes *r);
hd_status hd_runes_reserve(hd_runes *r, size_t count,
                           hd_err *err); /* also for 0 of them; what is there stays */

hd_status hd_runes_decode(hd_runes *r, hd_line utf8, hd_err *err); /* HD_EFORMAT where it is not UTF-8 */
hd_status hd_runes_lower(hd_runes *to, const hd_runes *from, hd_err *err);
void hd_runes_strip_end(hd_runes *r);

bool hd_rune_is_space(uint32_t c);

#endif
