/* heed transcribe: sounds in, what is said in them out, in order. */
#include <string.h>

#include "cli/frame/searching.h"
#include "cli/frame/verb.h"
#include "cli/frame/written.h"
#include "cli/verb/transcribe/looks.h"
#include "cli/verb/transcribe/subtitles.h"
#include "task/transcribe/transcribe.h"

enum { CHUNK = 64 }; /* sounds that are transcribed at once */

typedef struct transcribe_options {
    hd_usual usual;
    hd_transcribe_opt opt; /* but for the kind of search, which this says: */
    bool sample;
    bool scores;
    const char *lm;
    bool monotone;
    hd_speech_choices speech;
} transcribe_options;

#define OWNER transcribe_options

#define SEARCH    .group = "Search"
#define INPUT     .group = "Input"
#define OUTPUT    .group = "Output"
#define ATTENTION .group = "Attention"

static const hd_option options[] = {
    HD_SEARCH_ROWS(OWNER, "transcript", "sound"),
    {"max-length", 0, "N", "0", "most tokens of a transcript; 0: what the model can write", SEARCH,
     HD_COUNT_INTO(OWNER, opt.search.max_length, 0, 1000000)},
    {"ctc-weight", 0, "X", "-1", "share of CTC in scores, 0 to 1; below 0: that of training", SEARCH,
     HD_FLOAT_INTO(OWNER, opt.ctc, -1, 1)},
    {"lm", 0, "FOLDER", NULL,
     "add the scores of the language model in this folder, which should have the same tokens", SEARCH,
     HD_FILE_INTO(OWNER, lm)},
    {"lm-weight", 0, "X", "0.3", "what they are multiplied by", SEARCH,
     HD_FLOAT_INTO(OWNER, opt.lm_weight, 0, 100)},
    {"length-bonus", 0, "X", "0", "added to a score for each token", SEARCH,
     HD_FLOAT_INTO(OWNER, opt.search.length.bonus, -100, 100)},

    HD_SAMPLING_ROWS(OWNER),

    {"batch", 0, "N", "0", "hypotheses searched in parallel, of a Whisper sounds; 0: 256, of a Whisper 8",
     INPUT, HD_COUNT_INTO(OWNER, opt.batch, 0, 1000000)},

    HD_WHISPER_ROWS(OWNER),

    {"json", 0, NULL, NULL,
     "JSON Lines: file, and transcripts with tokens, score and logprob; of a Whisper segments with times, "
     "and "
     "words with theirs",
     OUTPUT, HD_FLAG_INTO(hd_usual, json)},
    HD_SUBTITLE_ROWS(OWNER),
    {"scores", 0, NULL, NULL, "add a tab and the score", OUTPUT, HD_FLAG_INTO(OWNER, scores)},

    {"attention", 'a', "FILE", NULL,
     "write what each token listens to as .json, .html, .svg, .png or .pdf; .svg and .png of several sounds "
     "are numbered",
     ATTENTION, HD_FILE_INTO(hd_usual, attending.file)},
    {"view", 0, NULL, NULL, "draw it below each transcript", ATTENTION,
     HD_FLAG_INTO(hd_usual, attending.view)},
    {"kind", 0, "KIND", "auto",
     "encoder, decoder or cross; auto: cross in pictures, all in .json and .html, but for the encoder of a "
     "Whisper",
     ATTENTION, HD_CHOICE_INTO(hd_usual, attending.kind, hd_attention_choices)},
    HD_ATTENDING_LAYER,
    HD_ATTENDING_HEAD,
    HD_ATTENDING_HEADS,
    {"monotone", 0, NULL, NULL, "say how many tokens attend to no earlier time than the one before",
     ATTENTION, HD_FLAG_INTO(OWNER, monotone)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed transcribe model a.wav b.flac", "a line for each sound: its name, a tab and what is said"},
    {"heed transcribe model a.wav --beam 1", "greedy search: faster"},
    {"heed transcribe model a.wav --n-best 5 --scores", "five transcripts with their scores"},
    {"heed transcribe model a.wav --attention out.html",
     "what each letter listens to, as a page for the browser"},
    {"heed transcribe model film.flac --srt > film.srt", "subtitles"},
    {"heed transcribe whisper a.wav --language de --translate", "German speech as an English text"},
    {"heed transcribe whisper a.wav --json", "segments and words with their times"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const transcribe_options *o;
    hd_transcribe_opt opt;
    hd_features *features;
    hd_fusion lm;                /* of --lm */
    hd_transcribe_sounds sounds; /* of the chunk, those that could be read */
    const char *name[CHUNK];
    hd_err why[CHUNK]; /* of those that could not */
    size_t count;
    size_t number, bad; /* so far */
    hd_speech_looks looks;
} call;

/* A sound is one subtitle where the model knows no times. */
static hd_status write_subtitles(call *c, const hd_written_all *found, hd_err *err)
{
    const hd_features_opt *o = hd_features_options(c->features);
    hd_text out = {0};
    hd_status s = HD_OK;
    for (size_t i = 0, next = 0; !s && i < c->count; i++) {
        hd_transcript t;
        if (c->why[i].status) continue;
        hd_transcript_init(&t);
        if (found->found[next])
            s = hd_transcript_add(&t,
                                  (hd_spoken){.text = found->of[next][0].text,
                                              .end = (double)c->sounds.frames[next] * o->hop / o->rate},
                                  err);
        if (!s) s = hd_speech_subtitles(&out, &c->command, &c->o->speech, c->name[i], &t, err);
        hd_transcript_release(&t);
        next++;
    }
    return hd_command_put_page(&c->command, &out, s, err);
}

static hd_status write_chunk(call *c, const hd_written_all *found, hd_err *err)
{
    if (c->o->speech.srt || c->o->speech.vtt) return write_subtitles(c, found, err);
    const hd_written_how how = {c->o->usual.json, c->o->scores, "transcripts"};
    hd_text out = {0};
    for (size_t i = 0, next = 0; i < c->count; i++) {
        bool bad = c->why[i].status;
        hd_written_put(&out, &how, c->command.model.tokenizer[1], c->name[i], bad ? NULL : found->of[next],
                       bad ? 0 : found->found[next], bad ? c->why[i].text : NULL);
        next += !bad;
    }
    return hd_command_put_text(&c->command, &out, true, err);
}

/* Where a transcript listens. */
static hd_status look_at(call *c, const hd_frames_host *sound, const char *name, const hd_written *t,
                         hd_err *err)
{
    const hd_features_opt *how = hd_transcribe_features(&c->command.model);
    const hd_tokenizer *pieces = c->command.model.tokenizer[1];
    const hd_attention_sound heard = {.frames = sound,
                                      .seconds = (double)sound->frames[0] * how->hop / how->rate};
    hd_text drawn = {0};
    hd_status s = hd_speech_look(&c->looks,
                                 &(hd_attention_ask){.sound = &heard,
                                                     .name = name,
                                                     .start = hd_tokenizer_special(pieces).start,
                                                     .target = t->ids,
                                                     .targets = t->length,
                                                     .target_pieces = pieces,
                                                     .translation = {t->text, strlen(t->text)},
                                                     .score = t->score},
                                 &drawn, err);
    return hd_command_put_page(&c->command, &drawn, s, err);
}

static hd_status look(call *c, const hd_written_all *found, hd_err *err)
{
    hd_frames_host one = c->sounds.batch;
    hd_status s = HD_OK;
    one.items = 1;
    for (size_t i = 0, next = 0; !s && i < c->count; i++) {
        if (c->why[i].status) continue;
        if (found->found[next] && found->of[next]->length)
            s = look_at(c, &one, c->name[i], found->of[next], err);
        one.value += (size_t)one.frames[0] * one.bins, one.frames++, next++;
    }
    return s;
}

static hd_status answer(call *c, hd_err *err)
{
    hd_written_all found = {0};
    c->opt.first = c->number - c->count;
    hd_status s =
        hd_transcribe_of(&found, &c->command.machine.run, &c->command.model, &c->sounds.batch, &c->opt, err);
    if (!s) s = write_chunk(c, &found, err);
    if (!s && hd_speech_looks_wanted(&c->looks)) s = look(c, &found, err);
    hd_written_release(&found);
    hd_transcribe_sounds_clear(&c->sounds);
    c->count = 0;
    return s;
}

/* A sound that cannot be read is said and counted; anything else ends the verb. */
static hd_status take(call *c, const char *path, hd_err *err)
{
    hd_err *why = &c->why[c->count];
    *why = (hd_err){0};
    hd_status s = hd_transcribe_sounds_read(&c->sounds, &c->command.model, c->features, path, why);
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", why->text);
    if (s) hd_log_say(&c->command.log, HD_WARN, "%s", why->text), c->bad++;
    c->name[c->count++] = path, c->number++;
    return c->count == CHUNK ? answer(c, err) : HD_OK;
}

/* All sounds, chunk by chunk, with a model that is no Whisper. */
static hd_status take_all(call *c, hd_err *err)
{
    hd_command *command = &c->command;
    hd_status s = hd_features_new(&c->features, hd_transcribe_features(&command->model), err);
    if (!s && c->o->lm) {
        s = hd_fusion_open(&c->lm, c->o->lm, command->model.tokenizer[1], command->machine.backend, err);
        c->opt.lm = &c->lm;
    }
    for (int i = 1; !s && i < command->operands.count; i++) s = take(c, command->operands.word[i], err);
    if (!s && c->count) s = answer(c, err);
    return s;
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    hd_status s = hd_speech_check_model(command, err);
    if (!s) s = hd_speech_looks_open(&c->looks, command, c->o->monotone, err);
    if (!s && hd_speech_is_whisper(command))
        s = hd_speech_whisper(&c->looks, &c->o->speech, &c->opt, &c->bad, err);
    else if (!s)
        s = take_all(c, err);
    if (!s) hd_speech_looks_tell(&c->looks);
    if (!s && c->bad) {
        hd_log_say(&command->log, HD_WARN, "%zu of %d sounds could not be read", c->bad,
                   command->operands.count - 1);
        command->exit = HD_EXIT_FAILURE;
    }
    return s;
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const transcribe_options *o = c->o = command->options;
    hd_search_opt *search = &c->opt.search;
    c->opt = o->opt;
    search->kind = o->sample ? HD_SEARCH_SAMPLE : search->beam > 1 ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY;
    if (!o->sample && search->best > search->beam)
        return hd_err_set(err, HD_EARG, "--n-best %zu is more than --beam %zu", search->best, search->beam);
    if (hd_command_given(command, "lm-weight") && !hd_command_given(command, "lm"))
        return hd_err_set(err, HD_EARG, "--lm-weight is the weight of a language model: give --lm");
    return hd_speech_check(command, &o->speech, err);
}

static void release(hd_command *command)
{
    call *c = (call *)command;
    hd_transcribe_sounds_release(&c->sounds);
    hd_features_free(c->features);
    hd_fusion_release(&c->lm);
}

const hd_usage hd_verb_transcribe = {
    .operands = "MODEL SOUND...",
    .least = 2,
    .most = 1 + HD_INPUT_FILES_MOST,
    .about =
        "Writes what is said in each sound (WAV; with libsndfile also FLAC, OGG and MP3) with the model in "
        "the "
        "folder MODEL: the name of the file, a tab and the text. A sound that cannot be read gives an empty "
        "text, with --json an object with \"file\" and \"error\", and a warning; the exit status is then 1.\n"
        "With --n-best a sound has as many lines.",
    .options = options,
    .size = sizeof(transcribe_options),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .sounds = true,
    .task = "transcribe",
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
