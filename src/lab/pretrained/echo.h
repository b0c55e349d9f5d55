/* An echo: a text most of whose words are those a period before, so that who looks back knows them. */
#ifndef HD_LAB_PRETRAINED_ECHO_H
#define HD_LAB_PRETRAINED_ECHO_H

#include "lab/language/pupil.h"

enum { HD_ECHO_PERIOD = 4, HD_ECHO_WORDS = 12 }; /* words are numbered from HD_PUPIL_FIRST on */

void hd_echo_draw(int32_t *ids, size_t count, uint64_t seed);
/* Nats a word, in windows of a pupil, of who knows all that can be known. */
double hd_echo_floor(void);

#endif
