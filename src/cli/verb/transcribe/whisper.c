/* Whisper as `heed transcribe` has it. */
#include "cli/verb/transcribe/whisper.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/verb/transcribe/subtitles.h"
#include "model/encdec/encdec.h"
#include "task/transcribe/whisper/file.h"

static const char *const only_whisper[] = {"language",    "translate",       "timestamps",
                                           "prompt",      "no-previous",     "no-fallback",
                                           "min-logprob", "max-compression", "max-no-speech"};
static const char *const not_whisper[] = {
    "n-best", "length-penalty", "alpha",      "stop", "min-length", "max-length",   "sample", "temperature",
    "top-k",  "top-p",          "ctc-weight", "lm",   "lm-weight",  "length-bonus", "scores"};

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
    return o->srt || o->vtt ? hd_speech_subtitles_check(c, o, err) : HD_OK;
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

/* A sound that is open, or whose answer waits until those before it were written. */
typedef struct sound {
    const char *path;
    hd_whisper_file file;
    hd_text answer, drawn;
    bool done;
} sound;

typedef struct call {
    hd_command *command;
    hd_speech_looks *looks;
    const hd_speech_choices *o;
    hd_whisper whisper;
    hd_whisper_opt opt;
    hd_features *features;
    sound *sound; /* [sounds] */
    size_t sounds, written;
    size_t *bad;
} call;

static hd_whisper_opt options_of(const call *c, const hd_transcribe_opt *opt)
{
    const hd_speech_choices *o = c->o;
    hd_whisper_opt w = hd_whisper_opt_usual();
    const bool json = c->command->usual->json;
    w.language = o->language, w.translate = o->translate, w.prompt = o->prompt;
    w.timestamps = o->timestamps || o->srt || o->vtt || json;
    w.words = json && c->whisper.rules.aligned;
    w.forgets = o->no_previous, w.beam = opt->search.beam, w.seed = opt->search.seed;
    w.least_logprob = o->min_logprob, w.most_compression = o->max_compression;
    w.most_no_speech = o->max_no_speech;
    w.batch = hd_speech_looks_wanted(c->looks) ? 1 : opt->batch; /* what is shown comes in order */
    if (o->no_fallback) w.temperatures = 0;
    return w;
}

/* A sound that cannot be read is said when its turn comes; what else fails ends the verb. */
static hd_status next(void *context, hd_whisper_job *job, bool *none, hd_err *err)
{
    call *c = context;
    if ((*none = job->number == c->sounds)) return HD_OK;
    sound *one = &c->sound[job->number];
    job->own = one, one->path = c->command->operands.word[1 + job->number];
    hd_status s = hd_whisper_file_open(&one->file, c->features, one->path, &job->why);
    if (s && !hd_whisper_unread(s)) return hd_err_set(err, s, "%s", job->why.text);
    if (!s) job->from = hd_whisper_file_source(&one->file);
    return HD_OK;
}

/* Those that may be written by now. */
static hd_status write_ready(call *c, hd_err *err)
{
    hd_status s = HD_OK;
    for (; !s && c->written < c->sounds && c->sound[c->written].done; c->written++) {
        sound *one = &c->sound[c->written];
        s = hd_command_put_page(c->command, &one->answer, HD_OK, err);
        if (!s && one->drawn.size) s = hd_command_put_page(c->command, &one->drawn, HD_OK, err);
    }
    return s;
}

static hd_status done(void *context, hd_whisper_job *job, hd_err *err)
{
    call *c = context;
    hd_command *command = c->command;
    sound *one = job->own;
    const char *why = job->why.status ? job->why.text : NULL;
    hd_status s = HD_OK;
    if (why) hd_log_say(&command->log, HD_WARN, "%s", why), ++*c->bad;
    if (command->usual->json)
        put_json(&one->answer, command->model.tokenizer[1], one->path, &job->to, why);
    else if (c->o->srt || c->o->vtt)
        s = why ? HD_OK : hd_speech_subtitles(&one->answer, command, c->o, one->path, &job->to, err);
    else
        put_line(&one->answer, one->path, why ? NULL : &job->to, c->o->timestamps, c->sounds > 1);
    hd_whisper_file_close(&one->file);
    one->done = true;
    return s ? s : write_ready(c, err);
}

/* -- attention -- */

/* What was said in the window, whose segments are the last ones. */
static void put_window(hd_text *to, const hd_transcript *t, size_t first)
{
    for (size_t i = first; i < t->count; i++) hd_text_put(to, t->segment[i].text);
}

static hd_status look(void *context, const hd_whisper_job *job, const hd_whisper_window *w, hd_err *err)
{
    call *c = context;
    sound *one = job->own;
    const hd_whisper *by = &c->whisper;
    const int32_t all = (int32_t)by->window;
    const hd_frames_host frames = {
        .value = w->features, .frames = &all, .items = 1, .bins = by->bins, .grid = true};
    const hd_attention_sound heard = {.frames = &frames,
                                      .seconds = (double)w->frames * by->frame,
                                      .begin = (double)w->seek * by->frame,
                                      .heard = w->frames};
    hd_attention_head *aligned = hd_mem_array(by->rules.aligned + 1, sizeof *aligned);
    hd_ids said = {0};
    hd_text text = {0}, name = {0};
    if (!w->heard->ids.count) return hd_mem_free(aligned), HD_OK;
    hd_status s = aligned ? HD_OK : hd_err_nomem(err, by->rules.aligned * sizeof *aligned);
    for (size_t i = 0; !s && i < by->rules.aligned; i++)
        aligned[i] = (hd_attention_head){by->rules.alignment[2 * i], by->rules.alignment[2 * i + 1]};
    for (size_t i = 0; !s && i < w->heard->ids.count; i++) s = hd_ids_add(&said, w->heard->ids.at[i], err);
    if (!s && w->heard->finished) s = hd_ids_add(&said, by->rules.end, err);
    put_window(&text, &job->to, w->first);
    hd_text_put(&name, one->path);
    if (job->from.frames > by->window)
        hd_text_print(&name, ", %.2f s to %.2f s", heard.begin, heard.begin + heard.seconds);
    if (!s) s = hd_text_status(&text, err);
    if (!s) s = hd_text_status(&name, err);
    if (!s)
        s = hd_speech_look(c->looks,
                           &(hd_attention_ask){.sound = &heard,
                                               .name = one->path,
                                               .sentence = {name.data, name.size},
                                               .prompt = w->prompt->at,
                                               .prompts = w->prompt->count - 1,
                                               .start = w->prompt->at[w->prompt->count - 1],
                                               .target = said.at,
                                               .targets = said.count,
                                               .target_pieces = by->tokenizer,
                                               .translation = {text.data ? text.data : "", text.size},
                                               .score = w->heard->logprob,
                                               .aligned = aligned,
                                               .alignings = by->rules.aligned,
                                               .kinds = hd_attending_kinds(&c->command->usual->attending)},
                           &one->drawn, err);
    hd_ids_release(&said);
    hd_text_release(&text);
    hd_text_release(&name);
    hd_mem_free(aligned);
    return s;
}

static void release(call *c)
{
    for (size_t i = 0; c->sound && i < c->sounds; i++) {
        hd_whisper_file_close(&c->sound[i].file);
        hd_text_release(&c->sound[i].answer);
        hd_text_release(&c->sound[i].drawn);
    }
    hd_mem_free(c->sound);
    hd_features_free(c->features);
    hd_whisper_release(&c->whisper);
}

hd_status hd_speech_whisper(hd_speech_looks *l, const hd_speech_choices *o, const hd_transcribe_opt *opt,
                            size_t *bad, hd_err *err)
{
    hd_command *command = l->command;
    const hd_encdec *m = hd_model_folder_encdec(&command->model);
    call c = {
        .command = command, .looks = l, .o = o, .bad = bad, .sounds = (size_t)command->operands.count - 1};
    const hd_whisper_desk desk = {
        .next = next, .window = hd_speech_looks_wanted(l) ? look : NULL, .done = done, .context = &c};
    hd_status s = hd_whisper_open(&c.whisper, m, command->model.tokenizer[1], command->operands.word[0], err);
    if (s) return s;
    c.opt = options_of(&c, opt);
    s = hd_whisper_check(&c.whisper, &c.opt, err);
    if (s) command->misused = true;
    c.sound = hd_mem_array(c.sounds, sizeof *c.sound);
    if (!s && !c.sound) s = hd_err_nomem(err, c.sounds * sizeof *c.sound);
    if (!s) s = hd_features_new(&c.features, &m->opt.sound.features, err);
    if (!s) s = hd_whisper_transcribe_all(&c.whisper, &command->machine.run, &desk, &c.opt, err);
    release(&c);
    return s;
}
