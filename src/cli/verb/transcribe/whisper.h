/* What `heed transcribe` does with a Whisper. */
#ifndef HD_CLI_VERB_TRANSCRIBE_WHISPER_H
#define HD_CLI_VERB_TRANSCRIBE_WHISPER_H

#include "cli/verb/transcribe/looks.h"
#include "task/transcribe/transcribe.h"
#include "task/transcribe/transcript.h"
#include "task/transcribe/whisper/whisper.h"

typedef struct hd_speech_choices {
    bool srt, vtt;
    const char *out; /* folder of the subtitles of several sounds */
    bool timestamps;
    const char *language, *prompt;
    bool translate, no_previous, no_fallback;
    double min_logprob, max_compression, max_no_speech;
} hd_speech_choices;

#define HD_WHISPER_ROWS(OWNER)                                                                              \
    {"language",                                                                                            \
     'l',                                                                                                   \
     "NAME",                                                                                                \
     NULL,                                                                                                  \
     "what is spoken, by code or English name (de, german); without it the model listens for it",           \
     .group = "Whisper",                                                                                    \
     HD_TEXT_INTO(OWNER, speech.language)},                                                                 \
        {"translate",                                                                                       \
         0,                                                                                                 \
         NULL,                                                                                              \
         NULL,                                                                                              \
         "write it in English",                                                                             \
         .group = "Whisper",                                                                                \
         HD_FLAG_INTO(OWNER, speech.translate)},                                                            \
        {"timestamps",                                                                                      \
         0,                                                                                                 \
         NULL,                                                                                              \
         NULL,                                                                                              \
         "a line for each segment, with its times",                                                         \
         .group = "Whisper",                                                                                \
         HD_FLAG_INTO(OWNER, speech.timestamps)},                                                           \
        {"prompt",                                                                                          \
         0,                                                                                                 \
         "TEXT",                                                                                            \
         NULL,                                                                                              \
         "text that comes before: names and spellings to expect",                                           \
         .group = "Whisper",                                                                                \
         HD_TEXT_INTO(OWNER, speech.prompt)},                                                               \
        {"no-previous",                                                                                     \
         0,                                                                                                 \
         NULL,                                                                                              \
         NULL,                                                                                              \
         "windows of long sounds do not go on from the text before them",                                   \
         .group = "Whisper",                                                                                \
         HD_FLAG_INTO(OWNER, speech.no_previous)},                                                          \
        {"no-fallback",                                                                                     \
         0,                                                                                                 \
         NULL,                                                                                              \
         NULL,                                                                                              \
         "do not draw tokens, at rising temperatures, where a text is poor",                                \
         .group = "Whisper",                                                                                \
         HD_FLAG_INTO(OWNER, speech.no_fallback)},                                                          \
        {"min-logprob",                                                                                     \
         0,                                                                                                 \
         "X",                                                                                               \
         "-1",                                                                                              \
         "a text is poor whose tokens have a smaller mean log-probability",                                 \
         .group = "Whisper",                                                                                \
         HD_FLOAT_INTO(OWNER, speech.min_logprob, -1000, 0)},                                               \
        {"max-compression",                                                                                 \
         0,                                                                                                 \
         "X",                                                                                               \
         "1.35",                                                                                            \
         "... or whose tokens zlib makes smaller than by this factor",                                      \
         .group = "Whisper",                                                                                \
         HD_FLOAT_INTO(OWNER, speech.max_compression, 0, 1000)},                                            \
    {                                                                                                       \
        "max-no-speech", 0, "X", "0.6", "a poor text is left out where silence is more probable than this", \
            .group = "Whisper", HD_FLOAT_INTO(OWNER, speech.max_no_speech, 0, 1)                            \
    }

/* Whether the model of the command is one. */
bool hd_speech_is_whisper(const hd_command *c);
/* Refuses options that contradict one another, or that no other model has. */
hd_status hd_speech_check(const hd_command *c, const hd_speech_choices *o, hd_err *err);
hd_status hd_speech_check_model(hd_command *c, hd_err *err);

/* All operands but the first, with the model of l->command. Sounds that cannot be read are said, and counted
   in *bad. */
hd_status hd_speech_whisper(hd_speech_looks *l, const hd_speech_choices *o, const hd_transcribe_opt *opt,
                            size_t *bad, hd_err *err);

#endif
