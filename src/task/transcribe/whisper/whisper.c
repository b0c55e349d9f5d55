/* A file, window by window. */
#include "task/transcribe/whisper/whisper.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "nn/frames.h"
#include "task/transcribe/whisper/align.h"

/* -- opening -- */

hd_status hd_whisper_open(hd_whisper *out, const hd_encdec *m, const hd_tokenizer *t, const char *folder,
                          hd_err *err)
{
    const hd_encdec_opt *o = &m->opt;
    const hd_whisper_sizes sizes = {o->target_vocab, o->positions, o->decoder.at[0].layers, o->stack.heads};
    hd_whisper w = {.model = m,
                    .tokenizer = t,
                    .window = hd_sound_encoder_frames(&o->sound),
                    .bins = (size_t)o->sound.features.mels,
                    .frame = 0.01};
    size_t numbers;
    hd_status s = hd_whisper_rules_read(&w.rules, folder, t, &sizes, err);
    if (!s && !hd_size_mul(w.window, w.bins, &numbers))
        s = hd_err_set(err, HD_ELIMIT, "a window of %zu frames is too large", w.window);
    if (!s) w.features = hd_mem_array(numbers, sizeof *w.features);
    if (!s && !w.features) s = hd_err_nomem(err, numbers * sizeof *w.features);
    if (s)
        hd_whisper_release(&w);
    else
        *out = w;
    return s;
}

void hd_whisper_release(hd_whisper *w)
{
    hd_whisper_rules_release(&w->rules);
    hd_memory_release(&w->memory);
    hd_mem_free(w->features);
    *w = (hd_whisper){0};
}

hd_status hd_whisper_check(const hd_whisper *w, const hd_whisper_opt *o, hd_err *err)
{
    const hd_whisper_rules *r = &w->rules;
    if (o->language && hd_whisper_language_id(r, o->language, err) < 0) return HD_EARG;
    if (o->translate && (!r->multilingual || r->translate < 0))
        return hd_err_set(err, HD_EARG, "the model knows one language and cannot translate");
    if ((o->timestamps || o->words) && (size_t)r->timestamp >= r->vocab)
        return hd_err_set(err, HD_EARG, "the model has no tokens for times");
    if (o->words && !r->aligned)
        return hd_err_set(err, HD_EARG,
                          "the model has no \"alignment_heads\" in " HD_GENERATION
                          ", which times of words need");
    if (o->temperatures > HD_WHISPER_TEMPERATURES)
        return hd_err_set(err, HD_EARG, "more than %d temperatures", HD_WHISPER_TEMPERATURES);
    return HD_OK;
}

/* -- a file -- */

typedef struct hearing {
    hd_whisper *w;
    hd_run *r;
    const hd_whisper_source *from;
    const hd_whisper_opt *opt;
    hd_listening now;
    hd_window_text heard;
    hd_ids before;    /* text of the windows so far, behind that of --prompt */
    size_t prompted;  /* of these, those of the prompt */
    int32_t language; /* -1: none */
    const char *code;
    double *times;
    size_t times_room;
} hearing;

static hd_status encode(hearing *h, size_t seek, hd_err *err)
{
    hd_whisper *w = h->w;
    size_t left = h->from->readable > seek ? h->from->readable - seek : 0,
           n = left < w->window ? left : w->window;
    hd_frames frames;
    const int32_t length = (int32_t)w->window;
    hd_status s = n ? h->from->read(h->from->context, seek, n, w->features, err) : HD_OK;
    if (s) return s;
    memset(w->features + n * w->bins, 0, (w->window - n) * w->bins * sizeof *w->features);
    hd_run_begin(h->r, HD_INFERENCE);
    hd_frames_send(h->r, &frames,
                   &(hd_frames_host){
                       .value = w->features, .frames = &length, .items = 1, .bins = w->bins, .grid = true});
    return hd_memory_fill(&w->memory, h->r, w->model, &(hd_items){.frames = &frames}, err);
}

static hd_status put_id(hd_ids *to, int32_t id, hd_err *err)
{
    hd_status s = hd_ids_reserve(to, 1, err);
    if (!s) to->at[to->count++] = id;
    return s;
}

/* [previous, earlier text,] start, language, task, no timestamps. */
static hd_status make_prompt(hearing *h, bool goes_on, hd_err *err)
{
    const hd_whisper_rules *r = &h->w->rules;
    hd_ids *p = &h->now.prompt;
    size_t all = goes_on ? h->before.count : h->prompted, most = r->positions / 2 - 1,
           n = all < most ? all : most;
    hd_status s = HD_OK;
    p->count = 0;
    if (n && r->previous >= 0) s = put_id(p, r->previous, err);
    for (size_t i = all - n; !s && r->previous >= 0 && i < all; i++) s = put_id(p, h->before.at[i], err);
    h->now.start = p->count;
    if (!s) s = put_id(p, r->start, err);
    if (!s && h->language >= 0) s = put_id(p, h->language, err);
    if (!s && h->language >= 0) s = put_id(p, h->opt->translate ? r->translate : r->transcribe, err);
    if (!s && !h->now.timestamps && r->no_timestamps >= 0) s = put_id(p, r->no_timestamps, err);
    if (!s && p->count >= r->longest)
        s = hd_err_set(err, HD_ELIMIT, "a prompt of %zu tokens leaves no room among %zu", p->count,
                       r->longest);
    return s;
}

static hd_status find_language(hearing *h, hd_transcript *out, hd_err *err)
{
    const hd_whisper_rules *r = &h->w->rules;
    h->language = -1;
    if (!r->multilingual) return out->language = h->code = "en", HD_OK;
    if (h->opt->language) {
        h->language = hd_whisper_language_id(r, h->opt->language, err);
        if (h->language < 0) return HD_EARG;
    } else {
        hd_status s = hd_whisper_detect(&h->language, h->w, h->r, err);
        if (s) return s;
        out->detected = true;
    }
    h->code = hd_whisper_language_code(r, h->language);
    out->language = hd_arena_copy(&out->memory, h->code, strlen(h->code), err);
    return out->language ? HD_OK : HD_ENOMEM;
}

static hd_status read_prompt(hearing *h, hd_err *err)
{
    hd_text text = {0};
    if (!h->opt->prompt || !*h->opt->prompt) return HD_OK;
    hd_text_print(&text, " %s", h->opt->prompt + strspn(h->opt->prompt, " \t\n"));
    hd_status s = hd_text_status(&text, err);
    if (!s) s = hd_tokenizer_encode_ids(h->w->tokenizer, text.data, text.size, &h->before, err);
    h->prompted = h->before.count;
    hd_text_release(&text);
    return s;
}

/* Times of the tokens of a window, its end token among them. */
static hd_status align(hearing *h, size_t frames, hd_err *err)
{
    hd_ids all = {0};
    const hd_ids *p = &h->now.prompt, *said = &h->heard.ids;
    hd_status s = hd_mem_reserve(&h->times, &h->times_room, said->count + 1, sizeof *h->times, err);
    if (!s) s = hd_ids_reserve(&all, p->count + said->count + 1, err);
    if (!s) {
        memcpy(all.at, p->at, p->count * sizeof *all.at);
        if (said->count) memcpy(all.at + p->count, said->at, said->count * sizeof *all.at);
        all.count = p->count + said->count;
        if (h->heard.finished) all.at[all.count++] = h->w->rules.end;
        s = hd_whisper_align(h->times, h->r, h->w->model, &h->w->memory, 0, &h->w->rules,
                             &(hd_aligning){.ids = all.at,
                                            .prompt = p->count,
                                            .count = all.count,
                                            .rows = frames / 2,
                                            .seconds = 2 * h->w->frame},
                             err);
    }
    hd_ids_release(&all);
    return s;
}

/* What later windows go on from: of a pair of timestamps at the end one. */
static hd_status remember(hearing *h, const hd_transcript *t, size_t from, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = from; !s && i < t->count; i++) {
        const hd_spoken *one = &t->segment[i];
        size_t n = one->length;
        if (n > 2 && one->ids[n - 2] >= h->w->rules.timestamp) n--;
        s = hd_ids_reserve(&h->before, n, err);
        for (size_t k = 0; !s && k < n; k++) h->before.at[h->before.count++] = one->ids[k];
    }
    return s;
}

static hd_status hear_window(hearing *h, hd_transcript *out, size_t *seek, hd_err *err)
{
    size_t left = h->from->frames - *seek, n = left < h->w->window ? left : h->w->window, next = n,
           from = out->count;
    bool goes_on = !h->opt->forgets && h->heard.temperature < 0.5;
    hd_status s = encode(h, *seek, err);
    if (!s && !h->now.number) s = find_language(h, out, err);
    if (!s) s = make_prompt(h, goes_on, err);
    if (!s) s = hd_whisper_hear(&h->heard, &h->now, err);
    if (!s && !h->heard.skip && h->opt->words) s = align(h, n, err);
    if (!s && !h->heard.skip)
        s = hd_whisper_segments(out, h->w, &h->heard,
                                &(hd_window_place){*seek, n, h->opt->words ? h->times : NULL, h->code}, &next,
                                err);
    if (!s) s = remember(h, out, from, err);
    *seek += next ? next : n;
    h->now.number++;
    return s;
}

hd_status hd_whisper_transcribe(hd_transcript *out, hd_whisper *w, hd_run *r, const hd_whisper_source *from,
                                const hd_whisper_opt *opt, hd_err *err)
{
    hearing h = {.w = w, .r = r, .from = from, .opt = opt};
    h.now = (hd_listening){.w = w, .r = r, .opt = opt};
    h.now.timestamps = opt->timestamps || opt->words || from->frames > w->window;
    hd_status s = hd_whisper_check(w, opt, err);
    if (!s && h.now.timestamps && (size_t)w->rules.timestamp >= w->rules.vocab)
        s = hd_err_set(err, HD_EARG,
                       "the file is longer than a window, and the model has no tokens for times");
    if (!s) s = read_prompt(&h, err);
    for (size_t seek = 0; !s && seek < from->frames;) s = hear_window(&h, out, &seek, err);
    out->seconds = (double)from->frames * w->frame;
    hd_ids_release(&h.before);
    hd_ids_release(&h.now.prompt);
    hd_ids_release(&h.heard.ids);
    hd_mem_free(h.times);
    return s;
}
