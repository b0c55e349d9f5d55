/* Windows of some files: search, and search again with random draws where a result is poor. */
#include <math.h>
#include <string.h>

#include "base/file/packed.h"
#include "base/mem.h"
#include "task/transcribe/whisper/whisper.h"

static const float COLD = 0;

hd_whisper_opt hd_whisper_opt_usual(void)
{
    return (hd_whisper_opt){.temperature = {0, 0.2f, 0.4f, 0.6f, 0.8f, 1},
                            .temperatures = 6,
                            .least_logprob = -1,
                            .most_compression = 1.35,
                            .most_no_speech = 0.6,
                            .seed = 1};
}

/* How many times larger the tokens are, as little-endian numbers, than what zlib makes of them. */
static hd_status compression(double *out, const hd_ids *ids, size_t vocab, hd_err *err)
{
    size_t wide = (size_t)(log2((double)vocab) / 8) + 1, packed = 0;
    uint8_t *bytes = hd_mem_array(ids->count * wide + 1, 1);
    if (!bytes) return hd_err_nomem(err, ids->count * wide);
    for (size_t i = 0; i < ids->count; i++)
        for (size_t k = 0; k < wide; k++) bytes[i * wide + k] = (uint8_t)((uint32_t)ids->at[i] >> 8 * k);
    hd_status s = hd_packed_size(&packed, bytes, ids->count * wide, err);
    if (!s) *out = (double)(ids->count * wide) / (double)packed;
    hd_mem_free(bytes);
    return s;
}

/* Mean log-probability of all tokens, the end among them. */
static double mean(const hd_guess *g)
{
    return g->length ? g->sum / (double)g->length : 0;
}

static hd_status keep(hd_window_text *to, const hd_guess *g, size_t vocab, hd_err *err)
{
    to->finished = g->finished, to->logprob = mean(g);
    size_t n = g->length - g->finished;
    to->ids.count = 0;
    hd_status s = hd_ids_reserve(&to->ids, n + 1, err);
    if (s) return s;
    memcpy(to->ids.at, g->ids, n * sizeof *g->ids);
    to->ids.count = n;
    if (g->finished) to->ids.at[to->ids.count++] = g->ids[n]; /* it is counted among the tokens */
    s = compression(&to->compression, &to->ids, vocab, err);
    to->ids.count = n;
    return s;
}

/* What a search over windows needs of each, one behind the other. */
typedef struct side_by_side {
    const hd_memory **memory;
    int32_t *len, *row, *key;
    bool *timestamps;
    hd_ids prompt;
    void *block;
} side_by_side;

static void release_side(side_by_side *b)
{
    hd_ids_release(&b->prompt);
    hd_mem_free(b->block);
}

static hd_status lay_side(side_by_side *b, hd_listening *const *l, size_t count, hd_err *err)
{
    const size_t each = sizeof *b->memory + 3 * sizeof *b->len + sizeof *b->timestamps;
    *b = (side_by_side){.block = hd_mem_array(count + 1, each)};
    if (!b->block) return hd_err_nomem(err, count * each);
    b->memory = b->block, b->len = (int32_t *)(b->memory + count), b->row = b->len + count;
    b->key = b->row + count, b->timestamps = (bool *)(b->key + count);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        const hd_ids *p = &l[i]->prompt;
        b->memory[i] = &l[i]->memory, b->timestamps[i] = l[i]->timestamps;
        b->len[i] = (int32_t)p->count, b->row[i] = (int32_t)l[i]->start, b->key[i] = (int32_t)l[i]->number;
        s = hd_ids_reserve(&b->prompt, p->count, err);
        if (s) break;
        memcpy(b->prompt.at + b->prompt.count, p->at, p->count * sizeof *p->at);
        b->prompt.count += p->count;
    }
    return s;
}

/* A search at one temperature; logp: NULL, or [count, vocab] for what follows the start. */
static hd_status search(const hd_hearing_room *room, hd_listening *const *l, size_t count, float temperature,
                        hd_real *logp, hd_err *err)
{
    const hd_whisper_rules *rules = &room->w->rules;
    const bool draws = temperature > COLD, beam = !draws && room->opt->beam > 1;
    side_by_side b = {0};
    hd_stepper stepper = {0};
    hd_found *found = NULL;
    hd_status s = lay_side(&b, l, count, err);
    hd_whisper_adjust adjust = {rules, b.timestamps, !beam};
    const hd_recall what = {b.memory, count, rules->longest, b.prompt.at, b.len, logp ? b.row : NULL, logp};
    hd_search_opt o = {.kind = draws  ? HD_SEARCH_SAMPLE
                               : beam ? HD_SEARCH_BEAM
                                      : HD_SEARCH_GREEDY,
                       .end = rules->end,
                       .adjust = {hd_whisper_adjust_row, &adjust},
                       .length = {.kind = HD_LENGTH_AVERAGE},
                       .beam = room->opt->beam,
                       .cut_equal = true,
                       .temperature = temperature,
                       .seed = room->opt->seed,
                       .key = b.key};
    if (!s) s = hd_encdec_recall_stepper(&stepper, room->w->model, &what, err);
    if (!s) s = hd_search(&found, room->r, &stepper, &o, err);
    for (size_t i = 0; !s && i < count; i++) {
        l[i]->heard.temperature = (double)temperature;
        if (!hd_found_count(found, i)) s = hd_err_set(err, HD_EARG, "no text was found");
        if (!s) s = keep(&l[i]->heard, hd_found_at(found, i), rules->vocab, err);
    }
    hd_found_free(found);
    hd_stepper_release(&stepper);
    release_side(&b);
    return s;
}

/* Whether a text is to be tried again, and whether somebody speaks at all. */
static void judge(hd_listening *l, const hd_whisper_opt *o)
{
    hd_window_text *heard = &l->heard;
    const bool unsure = heard->logprob < o->least_logprob;
    heard->skip = unsure && heard->no_speech > o->most_no_speech;
    l->poor = !heard->skip && (unsure || heard->compression > o->most_compression);
}

hd_status hd_whisper_hear(const hd_hearing_room *room, hd_listening *const *l, size_t count, hd_err *err)
{
    const hd_whisper_opt *o = room->opt;
    const hd_whisper_rules *rules = &room->w->rules;
    const size_t tries = o->temperatures ? o->temperatures : 1;
    hd_listening **left = hd_mem_array(count, sizeof *left);
    hd_real *logp = rules->no_speech >= 0 ? hd_mem_array(count * rules->vocab, sizeof *logp) : NULL;
    hd_status s = !left || (rules->no_speech >= 0 && !logp)
                      ? hd_err_nomem(err, count * rules->vocab * sizeof *logp)
                      : HD_OK;
    for (size_t i = 0; !s && i < count; i++) left[i] = l[i], l[i]->heard.no_speech = NAN;
    for (size_t n = 0; !s && count && n < tries; n++) {
        s = search(room, left, count, o->temperatures ? o->temperature[n] : COLD, n ? NULL : logp, err);
        size_t poor = 0;
        for (size_t i = 0; !s && i < count; i++) {
            if (logp && !n)
                left[i]->heard.no_speech = exp((double)logp[i * rules->vocab + (size_t)rules->no_speech]);
            judge(left[i], o);
            if (left[i]->poor) left[poor++] = left[i];
        }
        count = poor;
    }
    hd_mem_free(logp);
    hd_mem_free(left);
    return s;
}

static int32_t likeliest(const hd_whisper_rules *rules, const hd_real *logp)
{
    int32_t best = rules->language[0].id;
    for (size_t i = 1; i < rules->languages; i++) {
        int32_t id = rules->language[i].id;
        if (logp[id] > logp[best] || (logp[id] == logp[best] && id < best)) best = id;
    }
    return best;
}

hd_status hd_whisper_detect(const hd_hearing_room *room, hd_listening *const *l, size_t count, hd_err *err)
{
    const hd_whisper_rules *rules = &room->w->rules;
    hd_stepper stepper = {0};
    side_by_side b = {0};
    hd_real *logp = hd_mem_array(count * rules->vocab, sizeof *logp);
    hd_status s = logp ? HD_OK : hd_err_nomem(err, count * rules->vocab * sizeof *logp);
    for (size_t i = 0; !s && i < count; i++) {
        l[i]->prompt.count = 0;
        s = hd_ids_add(&l[i]->prompt, rules->start, err);
    }
    if (!s) s = lay_side(&b, l, count, err);
    const hd_recall what = {.memory = b.memory, .items = count, .prompt = b.prompt.at, .len = b.len};
    if (!s) s = hd_encdec_recall_stepper(&stepper, room->w->model, &what, err);
    if (!s) {
        hd_run_begin(room->r, HD_INFERENCE);
        hd_read_output(room->r, stepper.join(room->r, stepper.context, count), logp);
        s = hd_run_status(room->r, err);
    }
    for (size_t i = 0; !s && i < count; i++) l[i]->language = likeliest(rules, logp + i * rules->vocab);
    hd_stepper_release(&stepper);
    release_side(&b);
    hd_mem_free(logp);
    return s;
}
