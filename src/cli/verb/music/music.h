/* What verbs of language models do with music. */
#ifndef HD_CLI_VERB_MUSIC_MUSIC_H
#define HD_CLI_VERB_MUSIC_MUSIC_H

#include "cli/frame/verb.h"
#include "data/music/set.h"
#include "task/language/generate.h"

/* A MIDI file that a piece begins with, as words; or the melody of one that is harmonised. */
typedef struct hd_music_prompt {
    hd_text text;
    hd_ids forced; /* of a melody: its tokens, and -1 for those of the other voices */
} hd_music_prompt;

hd_status hd_music_prompt_read(hd_music_prompt *out, const hd_model_folder *f, const char *path, bool melody,
                               hd_err *err);
void hd_music_prompt_release(hd_music_prompt *p); /* accepts {0} */

/* HD_EARG, and a wrong usage, where --prompts or --out is given (NULL: it is not) to a model of texts. */
hd_status hd_music_allows(hd_command *c, hd_music kind, bool harmonise, const char *out, hd_err *err);

/* Writes a piece as a MIDI file and says so in the log. number: from 0; several: it becomes part of the name.
 */
hd_status hd_music_write(const hd_command *c, hd_music kind, const hd_generated *g, const char *path,
                         size_t number, bool several, hd_err *err);

/* Whether a file holds music that a model can be measured with: MIDI or JSON, and the model is one of music.
 */
hd_status hd_music_measures(bool *out, const hd_model_folder *f, const char *path, hd_err *err);
/* What of the music counts. */
typedef struct hd_music_part {
    const char *part; /* of JSON; NULL: each of its parts by itself */
    size_t skip;      /* first tokens of each piece that do not */
} hd_music_part;

/* Appends what the model makes of a file: a line, or an object a line. */
hd_status hd_music_measure(hd_text *to, hd_command *c, const char *path, const hd_music_part *which,
                           hd_err *err);

#endif
