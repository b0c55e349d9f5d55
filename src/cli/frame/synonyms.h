/* What other programs call an option: people type those names first. */
#ifndef HD_CLI_FRAME_SYNONYMS_H
#define HD_CLI_FRAME_SYNONYMS_H

enum { HD_SYNONYMS = 3 };

typedef struct hd_synonym {
    const char *theirs;
    const char
        *ours[HD_SYNONYMS + 1]; /* most likely first, NULL behind the last; a verb may have none of them */
} hd_synonym;

extern const hd_synonym hd_synonyms[]; /* ends with a row without theirs */

#endif
