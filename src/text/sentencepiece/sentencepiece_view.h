/* The contents of a SentencePiece model file beyond what the library offers: pieces with their scores, and
   the normalization of texts. The file must have passed hd_spm_check. */
#ifndef HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_VIEW_H
#define HD_TEXT_SENTENCEPIECE_SENTENCEPIECE_VIEW_H

#include "base/file/lines.h"
#include "base/status.h"

typedef enum hd_spm_type {
    HD_SPM_NORMAL = 1,
    HD_SPM_UNKNOWN,
    HD_SPM_CONTROL,
    HD_SPM_USER_DEFINED,
    HD_SPM_UNUSED,
    HD_SPM_BYTE
} hd_spm_type;

typedef enum hd_spm_kind { HD_SPM_UNIGRAM = 1, HD_SPM_BPE, HD_SPM_WORD, HD_SPM_CHAR } hd_spm_kind;

typedef struct hd_spm_view {
    struct {
        hd_line text; /* not terminated */
        float score;
        hd_spm_type type;
    } * piece; /* [count] by id */
    size_t count;
    hd_spm_kind kind;
    bool byte_fallback;
    bool prefix;      /* a space is put before a text */
    bool tidy;        /* repeated spaces become one, and those at the ends are removed */
    bool escape;      /* spaces are U+2581 */
    bool suffix;      /* the space is put after the text */
    hd_line name;     /* of the normalization: "nmt_nfkc" */
    hd_line charsmap; /* its table; empty: characters are not changed */
} hd_spm_view;

/* Borrows the bytes. */
hd_status hd_spm_view_read(hd_spm_view *v, hd_line bytes, hd_err *err);
void hd_spm_view_release(hd_spm_view *v); /* accepts {0} */

#endif
