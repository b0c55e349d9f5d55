/* --srt and --vtt of `heed transcribe`. */
#ifndef HD_CLI_VERB_TRANSCRIBE_SUBTITLES_H
#define HD_CLI_VERB_TRANSCRIBE_SUBTITLES_H

#include "cli/verb/transcribe/whisper.h"

#define HD_SUBTITLE_ROWS(OWNER)                                                                           \
    {"srt",                                                                                               \
     0,                                                                                                   \
     NULL,                                                                                                \
     NULL,                                                                                                \
     "subtitles as SubRip has them; of several sounds a file NAME.srt each",                              \
     .group = "Output",                                                                                   \
     HD_FLAG_INTO(OWNER, speech.srt)},                                                                    \
        {"vtt", 0, NULL, NULL, "the same as WebVTT", .group = "Output", HD_FLAG_INTO(OWNER, speech.vtt)}, \
    {                                                                                                     \
        "out", 'o', "FOLDER", ".", "folder of the subtitles of several sounds",                           \
            .group = "Output", HD_FILE_INTO(OWNER, speech.out)                                            \
    }

/* Refuses what does not go with subtitles, and sounds that would write one file. */
hd_status hd_speech_subtitles_check(const hd_command *c, const hd_speech_choices *o, hd_err *err);

/* Appends the subtitles of a sound to `to` or, of several, writes their file. */
hd_status hd_speech_subtitles(hd_text *to, hd_command *c, const hd_speech_choices *o, const char *path,
                              const hd_transcript *t, hd_err *err);

#endif
