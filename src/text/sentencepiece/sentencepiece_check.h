/* Checks a SentencePiece model before the library reads it: the library trusts offsets and counts in the
   file. */
#ifndef HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_CHECK_H
#define HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_CHECK_H

#include <stdint.h>

#include "base/status.h"

/* Error texts do not name the file. */
hd_status hd_spm_check(const uint8_t *bytes, size_t size, hd_err *err);

#endif
