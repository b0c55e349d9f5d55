/* Training a Whisper further. */
#include "task/transcribe/whisper/tuning.h"

#include <math.h>
#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/mem.h"
#include "task/model_folder.h"

enum { MOST_CARRIED = 1 << 24 };

static const char *const carried[] = {HD_GENERATION, "tokenizer_config.json", "special_tokens_map.json",
                                      "normalizer.json"};

hd_status hd_whisper_tuned(bool *out, const char *folder, hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, folder, "transcribe", err);
    if (s) return s;
    *out = hd_model_folder_encdec(&f)->opt.names == &hd_encdec_whisper;
    hd_model_folder_release(&f);
    return HD_OK;
}

static hd_status check_language(const hd_whisper_rules *r, const char *language, hd_err *err)
{
    if (language) return hd_whisper_language_id(r, language, err) < 0 ? HD_EARG : HD_OK;
    if (!r->multilingual) return HD_OK;
    return hd_err_set(err, HD_EARG, "--language is required: what is spoken in the sounds of --train");
}

hd_status hd_whisper_tuning_check(const char *folder, const char *language, hd_err *err)
{
    hd_model_folder f;
    hd_whisper w = {0};
    hd_status s = hd_model_folder_describe(&f, folder, "transcribe", err);
    if (s) return s;
    const hd_encdec *m = hd_model_folder_encdec(&f);
    if (m->opt.names == &hd_encdec_whisper) {
        s = hd_whisper_open(&w, m, f.tokenizer[1], folder, err);
        if (!s) s = check_language(&w.rules, language, err);
        hd_whisper_release(&w);
    } else if (language) {
        s = hd_err_set(err, HD_EARG, "--language is an option of Whisper, and %s is none", folder);
    }
    hd_model_folder_release(&f);
    return s;
}

hd_status hd_whisper_tuning_open(hd_whisper_tuning *out, const hd_encdec *m, const hd_tokenizer *t,
                                 const char *folder, const char *language, hd_err *err)
{
    hd_whisper_tuning w = {.language = language};
    hd_status s = hd_whisper_open(&w.whisper, m, t, folder, err);
    if (!s) s = check_language(&w.whisper.rules, language, err);
    int32_t id = !s && language ? hd_whisper_language_id(&w.whisper.rules, language, err) : -1;
    if (!s) s = hd_whisper_prompt(&w.prompt, &w.whisper.rules, id, false, false, err);
    if (s)
        hd_whisper_tuning_release(&w);
    else
        *out = w;
    return s;
}

void hd_whisper_tuning_release(hd_whisper_tuning *t)
{
    hd_whisper_release(&t->whisper);
    hd_ids_release(&t->prompt);
    *t = (hd_whisper_tuning){0};
}

/* -- what it writes -- */

typedef struct window {
    const float *value;
    size_t bins;
} window;

typedef struct desk {
    const hd_frames_host *sounds;
    window *window;  /* [items] */
    size_t next, at; /* the sound, and its first number */
    hd_whisper_told *told;
    void *context;
} desk;

static hd_status read_window(void *context, size_t first, size_t count, float *to, hd_err *err)
{
    const window *w = context;
    (void)err;
    memcpy(to, w->value + first * w->bins, count * w->bins * sizeof *to);
    return HD_OK;
}

static hd_status next(void *context, hd_whisper_job *job, bool *none, hd_err *err)
{
    desk *d = context;
    const hd_frames_host *s = d->sounds;
    (void)err;
    if ((*none = d->next == s->items)) return HD_OK;
    window *w = &d->window[d->next];
    size_t frames = (size_t)s->frames[d->next++];
    *w = (window){s->value + d->at, s->bins};
    d->at += frames * s->bins;
    job->from = (hd_whisper_source){.frames = frames, .readable = frames, .read = read_window, .context = w};
    return HD_OK;
}

static hd_status done(void *context, hd_whisper_job *job, hd_err *err)
{
    const desk *d = context;
    hd_text text = {0};
    hd_transcript_put_text(&text, &job->to);
    hd_status s = hd_text_status(&text, err);
    if (!s) s = d->told(d->context, job->number, text.data ? text.data : "", err);
    hd_text_release(&text);
    return s;
}

hd_status hd_whisper_tuning_hear(const hd_whisper_tuning *t, hd_run *r, const hd_frames_host *sounds,
                                 hd_whisper_told *told, void *context, hd_err *err)
{
    desk d = {.sounds = sounds,
              .told = told,
              .context = context,
              .window = hd_mem_array(sounds->items + 1, sizeof *d.window)};
    const hd_whisper_opt o = {.language = t->language,
                              .least_logprob = -INFINITY,
                              .most_compression = INFINITY,
                              .most_no_speech = INFINITY};
    if (!d.window) return hd_err_nomem(err, sounds->items * sizeof *d.window);
    hd_status s = hd_whisper_transcribe_all(
        &t->whisper, r, &(hd_whisper_desk){.next = next, .done = done, .context = &d}, &o, err);
    hd_mem_free(d.window);
    return s;
}

/* -- its files -- */

hd_status hd_whisper_tuning_carry(const char *from, const char *to, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof carried / sizeof *carried; i++)
        s = hd_file_carry(from, to, carried[i], MOST_CARRIED, true, err);
    return s;
}
