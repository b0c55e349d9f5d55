/* Music as tokens. A token is a word of a fixed vocabulary ("on060", "rest"), so that a model of music is a
   language model whose tokenizer is `words`: what reads texts reads music too. */
#ifndef HD_DATA_MUSIC_TOKENS_H
#define HD_DATA_MUSIC_TOKENS_H

#include "text/tokenizer.h"

/* X(NAME, name, tokens beside the special ones, what a piece is) */
#define HD_MUSIC_LIST(X)                                                                                   \
    X(CHORALE, chorale, 129, "four voices: soprano, alto, tenor and bass in turn, sixteenth by sixteenth") \
    X(PERFORMANCE, performance, 388, "keys struck and released, their velocity, and time between in 10 ms")

typedef enum hd_music {
    HD_MUSIC_NONE,
#define X(NAME, ...) HD_MUSIC_##NAME,
    HD_MUSIC_LIST(X)
#undef X
        HD_MUSICS
} hd_music;

extern const char *const hd_music_names[HD_MUSICS + 1]; /* "none", ...; ends with NULL */
size_t hd_music_size(hd_music kind); /* its tokens, those of all vocabularies not counted */

/* Ids of tokens. They are in the order of the alphabet, as in every vocabulary that is learned from words
   seen equally often. */
enum { HD_VOICES = 4, HD_SHIFTS = 100, HD_VELOCITIES = 32, HD_SHIFTS_A_SECOND = 100 };
enum { /* chorale: "000" to "127", then "rest" */
       HD_PITCH_ID = HD_SPECIALS,
       HD_REST_ID = HD_PITCH_ID + 128
};
enum { /* performance: "off000", "on000", "shift001" to "shift100", "velocity00" to "velocity31" */
       HD_OFF_ID = HD_SPECIALS,
       HD_ON_ID = HD_OFF_ID + 128,
       HD_SHIFT_ID = HD_ON_ID + 128,
       HD_VELOCITY_ID = HD_SHIFT_ID + HD_SHIFTS
};

/* The tokenizer of a kind; and the kind of a tokenizer, HD_MUSIC_NONE: it is of texts. */
hd_status hd_music_tokenizer(hd_tokenizer **out, hd_music kind, hd_err *err);
hd_music hd_music_of(const hd_tokenizer *t);

/* Whether an id is a pitch of a voice, a key struck or released; which one is then in *pitch. */
bool hd_music_pitch(hd_music kind, int32_t id, int *pitch);

/* -- variations, for training -- */

typedef struct hd_variation {
    int semitones;
    double stretch; /* of time, performances alone; 1: none */
} hd_variation;

/* The lowest and highest pitch of each voice; of a performance of all, as the first. low > high: it has none.
 */
typedef struct hd_music_ranges {
    int low[HD_VOICES], high[HD_VOICES];
} hd_music_ranges;

hd_music_ranges hd_music_no_ranges(void);
void hd_music_widen(hd_music_ranges *r, hd_music kind, const int32_t *ids, size_t count); /* by a piece */

/* Draws one from seed, epoch and number: up to `most` semitones up or down, as far as every voice of the
   piece stays within its range in `all`, and time stretched by up to the fraction. */
hd_variation hd_music_draw(hd_music kind, const hd_music_ranges *piece, const hd_music_ranges *all, int most,
                           double stretch, uint64_t seed, uint64_t epoch, uint64_t number);
/* Appends the tokens of a piece so varied. */
hd_status hd_music_vary(hd_ids *out, hd_music kind, const int32_t *ids, size_t count, hd_variation v,
                        hd_err *err);

#endif
