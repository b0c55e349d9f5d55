/* Whisper as `heed transcribe` has it. */
#include "cli/verb/transcribe/whisper.h"

#include <math.h>
#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "model/encdec/encdec.h"
#include "task/transcribe/whisper/file.h"

static const char *const only_whisper[] = {"language",    "translate",       "timestamps",
                                           "prompt",      "no-previous",     "no-fallback",
                                           "min-logprob", "max-compression", "max-no-speech"};
static const char *const not_whisper[] = {
    "n-best", "length-penalty", "alpha",        "stop",      "min-length", "max-length",
    "sample", "temperature",    "top-k",        "top-p",     "batch",      "ctc-weight",
    "lm",     "lm-weight",      "length-bonus", "attention", "view",       "kind",
    "layer",  "head",           "monotone",     "scores"};

bool hd_speech_is_whisper(const hd_command *c)
{
    return hd_model_folder_encdec(&c->model)->opt.names == &hd_encdec_whisper;
}

hd_status hd_speech_check(const hd_command *c, const hd_speech_choices *o, hd_err *err)
{
    if (o->srt + o->vtt + c->usual->json > 1)
        return hd_err_set(err, HD_EARG, "--srt, --vtt and --json contradict each other: give one of them");
    if (o->timestamps && (o->srt || o->vtt || c->usual->json))
        return hd_err_set(err, HD_EARG, "--timestamps has no effect: --srt, --vtt and --json have times");
    if (hd_command_given(c, "out") && !o->srt && !o->vtt)
        return hd_err_set(err, HD_EARG, "--out is the folder of subtitles: give --srt or --vtt");
    if (o->no_fallback && (hd_command_given(c, "min-logprob") || hd_command_given(c, "max-compression")))
        return hd_err_set(err, HD_EARG,
                          "--no-fallback: no text is poor then; leave --min-logprob and "
                          "--max-compression out");
    return HD_OK;
}

hd_status hd_speech_check_model(hd_command *c, hd_err *err)
{
    bool whisper = hd_speech_is_whisper(c);
    const char *const *list = whisper ? not_whisper : only_whisper;
    size_t count = whisper ? sizeof not_whisper / sizeof *list : sizeof only_whisper / sizeof *list;
    for (size_t i = 0; i < count; i++)
        if (hd_command_given(c, list[i])) {
            c->misused = true;
            return hd_err_set(err, HD_EARG,
                              whisper ? "--%s: a Whisper decodes by rules of its own and has no such option"
                                      : "--%s is an option of Whisper, and %s is none",
                              list[i], c->operands.word[0]);
        }
    return HD_OK;
}

/* -- what is written -- */

hd_status hd_speech_subtitles(hd_text *to, hd_command *c, const hd_speech_choices *o, const char *path,
                              const hd_transcript *t, hd_err *err)
{
    hd_text own = {0}, *page = c->operands.count > 2 ? &own : to;
    char name[HD_PATH], file[HD_PATH];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    (o->srt ? hd_transcript_put_srt : hd_transcript_put_vtt)(page, t);
    if (page == to) return HD_OK;
    snprintf(name, sizeof name, "%.*s.%s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base,
             o->srt ? "srt" : "vtt");
    hd_status s = hd_text_status(&own, err);
    if (!s) s = hd_path(file, o->out, name, err);
    if (!s) s = hd_save_bytes(file, own.data ? own.data : "", own.size, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "wrote %s", file);
    hd_text_release(&own);
    return s;
}

static void put_segment(hd_text *to, const hd_tokenizer *t, const hd_spoken *s)
{
    hd_member_begin(to, NULL, '{');
    hd_member_number(to, "begin", s->begin, 9);
    hd_member_number(to, "end", s->end, 9);
    hd_member_text(to, "text", s->text);
    hd_member_begin(to, "tokens", '[');
    for (size_t i = 0; i < s->length; i++) {
        const char *piece = hd_tokenizer_piece(t, s->ids[i]);
        hd_member_text(to, NULL, piece ? piece : "");
    }
    hd_member_end(to, ']');
    if (s->times) {
        hd_member_begin(to, "words", '[');
        for (size_t i = 0; i < s->words; i++) {
            hd_member_begin(to, NULL, '{');
            hd_member_text(to, "text", s->word[i].text);
            hd_member_number(to, "begin", s->word[i].begin, 9);
            hd_member_number(to, "end", s->word[i].end, 9);
            hd_member_end(to, '}');
        }
        hd_member_end(to, ']');
    }
    hd_member_number(to, "logprob", s->logprob, 9);
    hd_member_number(to, "no_speech", s->no_speech, 9);
    hd_member_number(to, "compression", s->compression, 9);
    hd_member_number(to, "temperature", s->temperature, 6);
    hd_member_end(to, '}');
}

static void put_json(hd_text *to, const hd_tokenizer *t, const char *path, const hd_transcript *said,
                     const char *why)
{
    hd_text text = {0};
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "file", path);
    if (why) hd_member_text(to, "error", why);
    if (!why) {
        hd_transcript_put_text(&text, said);
        hd_member_text(to, "text", text.data ? text.data : "");
        hd_member_text(to, "language", said->language);
        hd_member_flag(to, "detected", said->detected);
        hd_member_number(to, "seconds", said->seconds, 9);
        hd_member_begin(to, "segments", '[');
        for (size_t i = 0; i < said->count; i++) put_segment(to, t, &said->segment[i]);
        hd_member_end(to, ']');
    }
    hd_member_end(to, '}');
    hd_text_put(to, "\n");
    hd_text_release(&text);
}

/* several: lines begin with the name of the sound. */
static void put_line(hd_text *to, const char *path, const hd_transcript *t, bool timed, bool several)
{
    if (timed && t) {
        hd_transcript_put_timed(to, t, several ? path : NULL);
        return;
    }
    hd_text_print(to, "%s\t", path);
    if (t) hd_transcript_put_text(to, t);
    hd_text_put(to, "\n");
}

/* -- sounds -- */

typedef struct call {
    hd_command *command;
    const hd_speech_choices *o;
    hd_whisper whisper;
    hd_whisper_opt opt;
    hd_features *features;
} call;

static hd_whisper_opt options_of(const hd_command *c, const hd_whisper *w, const hd_speech_choices *o,
                                 const hd_search_opt *search)
{
    hd_whisper_opt w_opt = hd_whisper_opt_usual();
    w_opt.language = o->language, w_opt.translate = o->translate, w_opt.prompt = o->prompt;
    w_opt.timestamps = o->timestamps || o->srt || o->vtt || c->usual->json;
    w_opt.words = c->usual->json && w->rules.aligned;
    w_opt.forgets = o->no_previous, w_opt.beam = search->beam, w_opt.seed = search->seed;
    w_opt.least_logprob = o->min_logprob, w_opt.most_compression = o->max_compression;
    w_opt.most_no_speech = o->max_no_speech;
    if (o->no_fallback) w_opt.temperatures = 0;
    return w_opt;
}

static hd_status hear(call *c, const char *path, hd_transcript *t, hd_err *err)
{
    hd_whisper_file file;
    hd_status s = hd_whisper_file_open(&file, c->features, path, err);
    if (s) return s;
    const hd_whisper_source from = hd_whisper_file_source(&file);
    s = hd_whisper_transcribe(t, &c->whisper, &c->command->machine.run, &from, &c->opt, err);
    hd_whisper_file_close(&file);
    return s;
}

/* A sound that cannot be read is said; what else fails ends the verb. */
static hd_status take(call *c, const char *path, size_t *bad, hd_err *err)
{
    hd_command *command = c->command;
    hd_transcript t;
    hd_err why = {0};
    hd_text out = {0};
    hd_transcript_init(&t);
    hd_status s = hear(c, path, &t, &why);
    const bool unread = s == HD_EFILE || s == HD_EFORMAT || s == HD_ELIMIT;
    if (unread) hd_log_say(&command->log, HD_WARN, "%s", why.text), ++*bad;
    if (s && !unread) {
        hd_transcript_release(&t);
        return hd_err_set(err, s, "%s", why.text);
    }
    s = HD_OK;
    if (command->usual->json)
        put_json(&out, command->model.tokenizer[1], path, &t, unread ? why.text : NULL);
    else if (c->o->srt || c->o->vtt)
        s = unread ? HD_OK : hd_speech_subtitles(&out, command, c->o, path, &t, err);
    else
        put_line(&out, path, unread ? NULL : &t, c->o->timestamps, command->operands.count > 2);
    hd_transcript_release(&t);
    return hd_command_put_page(command, &out, s, err);
}

hd_status hd_speech_whisper(hd_command *command, const hd_speech_choices *o, const hd_search_opt *search,
                            size_t *bad, hd_err *err)
{
    const hd_encdec *m = hd_model_folder_encdec(&command->model);
    call c = {.command = command, .o = o};
    hd_status s = hd_whisper_open(&c.whisper, m, command->model.tokenizer[1], command->operands.word[0], err);
    if (s) return s;
    c.opt = options_of(command, &c.whisper, o, search);
    s = hd_whisper_check(&c.whisper, &c.opt, err);
    if (s) command->misused = true;
    if (!s) s = hd_features_new(&c.features, &m->opt.sound.features, err);
    for (int i = 1; !s && i < command->operands.count; i++) s = take(&c, command->operands.word[i], bad, err);
    hd_features_free(c.features);
    hd_whisper_release(&c.whisper);
    return s;
}
