/* Files, window by window: in each turn all that are being listened to have one. */
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
    hd_status s = hd_whisper_rules_read(&w.rules, folder, t, &sizes, err);
    if (s)
        hd_whisper_release(&w);
    else
        *out = w;
    return s;
}

void hd_whisper_release(hd_whisper *w)
{
    hd_whisper_rules_release(&w->rules);
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
    if (o->batch > HD_WHISPER_MOST_BATCH)
        return hd_err_set(err, HD_EARG, "more than %d windows side by side", HD_WHISPER_MOST_BATCH);
    if (o->temperatures > HD_WHISPER_TEMPERATURES)
        return hd_err_set(err, HD_EARG, "more than %d temperatures", HD_WHISPER_TEMPERATURES);
    return HD_OK;
}

/* -- a file -- */

static void release_listening(hd_listening *l)
{
    hd_ids_release(&l->before);
    hd_ids_release(&l->prompt);
    hd_ids_release(&l->heard.ids);
    hd_memory_release(&l->memory);
    hd_transcript_release(&l->job.to);
    hd_mem_free(l->features);
    hd_mem_free(l->times);
    *l = (hd_listening){0};
}

static hd_status read_prompt(hd_listening *l, const hd_hearing_room *room, hd_err *err)
{
    const char *prompt = room->opt->prompt;
    hd_text text = {0};
    if (!prompt || !*prompt) return HD_OK;
    hd_text_print(&text, " %s", prompt + strspn(prompt, " \t\n"));
    hd_status s = hd_text_status(&text, err);
    if (!s) s = hd_tokenizer_encode_ids(room->w->tokenizer, text.data, text.size, &l->before, err);
    l->prompted = l->before.count;
    hd_text_release(&text);
    return s;
}

/* Makes ready for the first window of a file. */
static hd_status begin_file(hd_listening *l, const hd_hearing_room *room, hd_err *err)
{
    const hd_whisper *w = room->w;
    size_t numbers;
    l->timestamps = room->opt->timestamps || room->opt->words || l->job.from.frames > w->window;
    if (l->timestamps && (size_t)w->rules.timestamp >= w->rules.vocab)
        return hd_err_set(err, HD_EARG,
                          "the file is longer than a window, and the model has no tokens for times");
    if (!hd_size_mul(w->window, w->bins, &numbers))
        return hd_err_set(err, HD_ELIMIT, "a window of %zu frames is too large", w->window);
    l->features = hd_mem_array(numbers, sizeof *l->features);
    l->job.to.seconds = (double)l->job.from.frames * w->frame;
    return l->features ? read_prompt(l, room, err) : hd_err_nomem(err, numbers * sizeof *l->features);
}

/* -- a window -- */

static size_t frames_of(const hd_listening *l, const hd_whisper *w)
{
    size_t left = l->job.from.frames - l->seek;
    return left < w->window ? left : w->window;
}

/* What is wrong with a file ends it alone. */
static hd_status encode(hd_listening *l, const hd_hearing_room *room, hd_err *err)
{
    const hd_whisper *w = room->w;
    const hd_whisper_source *from = &l->job.from;
    size_t left = from->readable > l->seek ? from->readable - l->seek : 0,
           n = left < w->window ? left : w->window;
    hd_frames frames;
    const int32_t length = (int32_t)w->window;
    hd_status s = n ? from->read(from->context, l->seek, n, l->features, &l->job.why) : HD_OK;
    if (s) return hd_whisper_unread(s) ? HD_OK : hd_err_set(err, s, "%s", l->job.why.text);
    memset(l->features + n * w->bins, 0, (w->window - n) * w->bins * sizeof *l->features);
    hd_run_begin(room->r, HD_INFERENCE);
    hd_frames_send(room->r, &frames,
                   &(hd_frames_host){
                       .value = l->features, .frames = &length, .items = 1, .bins = w->bins, .grid = true});
    return hd_memory_fill(&l->memory, room->r, w->model, &(hd_items){.frames = &frames}, err);
}

/* [previous, earlier text,] start, language, task, no timestamps. */
static hd_status make_prompt(hd_listening *l, const hd_hearing_room *room, hd_err *err)
{
    const hd_whisper_rules *r = &room->w->rules;
    const bool goes_on = !room->opt->forgets && l->heard.temperature < 0.5;
    hd_ids *p = &l->prompt;
    size_t all = goes_on ? l->before.count : l->prompted, most = r->positions / 2 - 1,
           n = all < most ? all : most;
    hd_status s = HD_OK;
    p->count = 0;
    if (n && r->previous >= 0) s = hd_ids_add(p, r->previous, err);
    for (size_t i = all - n; !s && r->previous >= 0 && i < all; i++) s = hd_ids_add(p, l->before.at[i], err);
    l->start = p->count;
    if (!s) s = hd_whisper_prompt(p, r, l->language, room->opt->translate, l->timestamps, err);
    if (!s && p->count >= r->longest)
        s = hd_err_set(err, HD_ELIMIT, "a prompt of %zu tokens leaves no room among %zu", p->count,
                       r->longest);
    return s;
}

/* Of those whose first window it is. */
static hd_status find_languages(const hd_hearing_room *room, hd_listening *const *l, size_t count,
                                hd_err *err)
{
    const hd_whisper_rules *r = &room->w->rules;
    const char *said = room->opt->language;
    hd_listening *unknown[HD_WHISPER_MOST_BATCH];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (l[i]->number) continue;
        l[i]->language = r->multilingual && said ? hd_whisper_language_id(r, said, err) : -1;
        if (r->multilingual && said && l[i]->language < 0) return HD_EARG;
        if (r->multilingual && !said) unknown[n++] = l[i], l[i]->job.to.detected = true;
    }
    hd_status s = n ? hd_whisper_detect(room, unknown, n, err) : HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        if (l[i]->number) continue;
        l[i]->code = r->multilingual ? hd_whisper_language_code(r, l[i]->language) : "en";
        hd_transcript *t = &l[i]->job.to;
        t->language = hd_arena_copy(&t->memory, l[i]->code, strlen(l[i]->code), err);
        if (!t->language) s = HD_ENOMEM;
    }
    return s;
}

/* Times of the tokens of a window, its end token among them. */
static hd_status align(hd_listening *l, const hd_hearing_room *room, hd_err *err)
{
    const hd_whisper *w = room->w;
    hd_ids all = {0};
    const hd_ids *p = &l->prompt, *said = &l->heard.ids;
    hd_status s = hd_mem_reserve(&l->times, &l->times_room, said->count + 1, sizeof *l->times, err);
    if (!s) s = hd_ids_reserve(&all, p->count + said->count + 1, err);
    if (!s) {
        memcpy(all.at, p->at, p->count * sizeof *all.at);
        if (said->count) memcpy(all.at + p->count, said->at, said->count * sizeof *all.at);
        all.count = p->count + said->count;
        if (l->heard.finished) all.at[all.count++] = w->rules.end;
        s = hd_whisper_align(l->times, room->r, w->model, &l->memory, &w->rules,
                             &(hd_aligning){.ids = all.at,
                                            .prompt = p->count,
                                            .count = all.count,
                                            .rows = frames_of(l, w) / 2,
                                            .seconds = 2 * w->frame},
                             err);
    }
    hd_ids_release(&all);
    return s;
}

/* What later windows go on from: of a pair of timestamps at the end one. */
static hd_status remember(hd_listening *l, const hd_whisper *w, size_t from, hd_err *err)
{
    const hd_transcript *t = &l->job.to;
    hd_status s = HD_OK;
    for (size_t i = from; !s && i < t->count; i++) {
        const hd_spoken *one = &t->segment[i];
        size_t n = one->length;
        if (n > 2 && one->ids[n - 2] >= w->rules.timestamp) n--;
        for (size_t k = 0; !s && k < n; k++) s = hd_ids_add(&l->before, one->ids[k], err);
    }
    return s;
}

/* What was heard in a window to the transcript, and on to the next. */
static hd_status end_window(hd_listening *l, const hd_hearing_room *room, const hd_whisper_desk *desk,
                            hd_err *err)
{
    const bool words = room->opt->words;
    size_t n = frames_of(l, room->w), next = n, from = l->job.to.count;
    hd_status s = HD_OK;
    if (!l->heard.skip && words) s = align(l, room, err);
    if (!s && !l->heard.skip)
        s = hd_whisper_segments(&l->job.to, room->w, &l->heard,
                                &(hd_window_place){l->seek, n, words ? l->times : NULL, l->code}, &next, err);
    if (!s && desk->window && !l->heard.skip)
        s = desk->window(desk->context, &l->job,
                         &(hd_whisper_window){l->features, l->seek, n, from, &l->prompt, &l->heard}, err);
    if (!s) s = remember(l, room->w, from, err);
    l->seek += next ? next : n;
    l->number++;
    return s;
}

/* -- all files -- */

typedef struct table { /* the files that are being listened to */
    hd_listening *seat[HD_WHISPER_MOST_BATCH];
    size_t taken, numbers;
    bool empty; /* there is no next file */
} table;

static bool is_over(const hd_listening *l)
{
    return l->job.why.status || l->seek >= l->job.from.frames;
}

static hd_status seat_files(table *t, const hd_hearing_room *room, const hd_whisper_desk *desk, hd_err *err)
{
    const size_t seats = room->opt->batch ? room->opt->batch : HD_WHISPER_BATCH;
    hd_status s = HD_OK;
    while (!s && !t->empty && t->taken < seats) {
        hd_listening *l = hd_mem_zero(sizeof *l);
        if (!l) return hd_err_nomem(err, sizeof *l);
        hd_transcript_init(&l->job.to);
        l->job.number = t->numbers;
        s = desk->next(desk->context, &l->job, &t->empty, err);
        if (s || t->empty) {
            release_listening(l);
            hd_mem_free(l);
            return s;
        }
        t->seat[t->taken++] = l, t->numbers++;
        if (!l->job.why.status) s = begin_file(l, room, err);
    }
    return s;
}

/* Hands in the files that are over; those that are not move up. */
static hd_status clear_seats(table *t, const hd_whisper_desk *desk, bool all, hd_err *err)
{
    size_t left = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; i < t->taken; i++) {
        hd_listening *l = t->seat[i];
        if (!all && !is_over(l)) {
            t->seat[left++] = l;
            continue;
        }
        if (!s && !all) s = desk->done(desk->context, &l->job, err);
        release_listening(l);
        hd_mem_free(l);
    }
    t->taken = left;
    return s;
}

static hd_status hear_windows(table *t, const hd_hearing_room *room, const hd_whisper_desk *desk, hd_err *err)
{
    hd_listening *now[HD_WHISPER_MOST_BATCH];
    size_t n = 0;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < t->taken; i++) {
        hd_listening *l = t->seat[i];
        if (is_over(l)) continue;
        s = encode(l, room, err);
        if (!l->job.why.status) now[n++] = l;
    }
    if (!s) s = find_languages(room, now, n, err);
    for (size_t i = 0; !s && i < n; i++) s = make_prompt(now[i], room, err);
    if (!s && n) s = hd_whisper_hear(room, now, n, err);
    for (size_t i = 0; !s && i < n; i++) s = end_window(now[i], room, desk, err);
    return s;
}

hd_status hd_whisper_transcribe_all(const hd_whisper *w, hd_run *r, const hd_whisper_desk *desk,
                                    const hd_whisper_opt *opt, hd_err *err)
{
    const hd_hearing_room room = {w, r, opt};
    table *t = NULL;
    hd_status s = hd_whisper_check(w, opt, err);
    if (!s && !(t = hd_mem_zero(sizeof *t))) s = hd_err_nomem(err, sizeof *t);
    while (!s && (!t->empty || t->taken)) {
        s = seat_files(t, &room, desk, err);
        if (!s) s = hear_windows(t, &room, desk, err);
        if (!s) s = clear_seats(t, desk, false, err);
    }
    if (t) clear_seats(t, desk, true, NULL);
    hd_mem_free(t);
    return s;
}

/* -- one -- */

typedef struct single {
    const hd_whisper_source *from; /* NULL: it was taken */
    hd_transcript *to;
} single;

static hd_status next_single(void *context, hd_whisper_job *job, bool *none, hd_err *err)
{
    single *c = context;
    (void)err;
    *none = !c->from;
    if (c->from) job->from = *c->from;
    c->from = NULL;
    return HD_OK;
}

static hd_status done_single(void *context, hd_whisper_job *job, hd_err *err)
{
    single *c = context;
    hd_transcript_release(c->to);
    *c->to = job->to, job->to = (hd_transcript){0};
    return job->why.status ? hd_err_set(err, job->why.status, "%s", job->why.text) : HD_OK;
}

hd_status hd_whisper_transcribe(hd_transcript *out, const hd_whisper *w, hd_run *r,
                                const hd_whisper_source *from, const hd_whisper_opt *opt, hd_err *err)
{
    single c = {from, out};
    return hd_whisper_transcribe_all(
        w, r, &(hd_whisper_desk){.next = next_single, .done = done_single, .context = &c}, opt, err);
}
