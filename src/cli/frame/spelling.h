/* "Did you mean": the nearest of some known words to a misspelled one. */
#ifndef HD_CLI_FRAME_SPELLING_H
#define HD_CLI_FRAME_SPELLING_H

typedef struct hd_spelling {
    const char *typed;
    const char *match; /* NULL while nothing is near enough */
    int distance;      /* of match, or the smallest that is too far */
} hd_spelling;

hd_spelling hd_spelling_of(const char *typed);
void hd_spelling_try(hd_spelling *s, const char *known); /* keeps known when nearer than those before */

#endif
