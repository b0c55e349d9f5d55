/* One window: search, and search again with random draws where the result is poor. */
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

/* A search at one temperature; logp: NULL, or [vocab] for what follows the start. */
static hd_status search(hd_window_text *to, const hd_listening *l, float temperature, hd_real *logp,
                        hd_err *err)
{
    const hd_whisper *w = l->w;
    const hd_whisper_rules *rules = &w->rules;
    const int32_t len = (int32_t)l->prompt.count, row = (int32_t)l->start, key = (int32_t)l->number;
    const hd_recall what = {&w->memory, l->prompt.at, &len, logp ? &row : NULL, logp};
    const bool draws = temperature > COLD, beam = !draws && l->opt->beam > 1;
    hd_whisper_adjust adjust = {rules, l->timestamps, !beam};
    hd_search_opt o = {.kind = draws  ? HD_SEARCH_SAMPLE
                               : beam ? HD_SEARCH_BEAM
                                      : HD_SEARCH_GREEDY,
                       .end = rules->end,
                       .max_length = rules->longest > l->prompt.count ? rules->longest - l->prompt.count : 1,
                       .adjust = {hd_whisper_adjust_row, &adjust},
                       .length = {.kind = HD_LENGTH_AVERAGE},
                       .beam = l->opt->beam,
                       .cut_equal = true,
                       .temperature = temperature,
                       .seed = l->opt->seed,
                       .key = &key};
    hd_stepper stepper = {0};
    hd_found *found = NULL;
    hd_status s = hd_encdec_recall_stepper(&stepper, w->model, &what, err);
    if (!s) s = hd_search(&found, l->r, &stepper, &o, err);
    if (!s && !hd_found_count(found, 0)) s = hd_err_set(err, HD_EARG, "no text was found");
    if (!s) s = keep(to, hd_found_at(found, 0), rules->vocab, err);
    to->temperature = (double)temperature;
    hd_found_free(found);
    hd_stepper_release(&stepper);
    return s;
}

hd_status hd_whisper_hear(hd_window_text *out, const hd_listening *l, hd_err *err)
{
    const hd_whisper_opt *o = l->opt;
    const hd_whisper_rules *rules = &l->w->rules;
    const size_t tries = o->temperatures ? o->temperatures : 1;
    hd_real *logp = rules->no_speech >= 0 ? hd_mem_array(rules->vocab, sizeof *logp) : NULL;
    hd_status s = rules->no_speech >= 0 && !logp ? hd_err_nomem(err, rules->vocab * sizeof *logp) : HD_OK;
    out->no_speech = NAN;
    for (size_t i = 0; !s && i < tries; i++) {
        s = search(out, l, o->temperatures ? o->temperature[i] : COLD, i ? NULL : logp, err);
        if (s) break;
        if (logp && !i) out->no_speech = exp((double)logp[rules->no_speech]);
        bool unsure = out->logprob < o->least_logprob;
        out->skip = unsure && out->no_speech > o->most_no_speech;
        if (out->skip || (!unsure && !(out->compression > o->most_compression))) break;
    }
    hd_mem_free(logp);
    return s;
}

hd_status hd_whisper_detect(int32_t *out, hd_whisper *w, hd_run *r, hd_err *err)
{
    const hd_whisper_rules *rules = &w->rules;
    const int32_t len = 1;
    const hd_recall what = {.memory = &w->memory, .prompt = &rules->start, .len = &len};
    hd_stepper stepper = {0};
    hd_real *logp = hd_mem_array(rules->vocab, sizeof *logp);
    hd_status s = logp ? HD_OK : hd_err_nomem(err, rules->vocab * sizeof *logp);
    if (!s) s = hd_encdec_recall_stepper(&stepper, w->model, &what, err);
    if (!s) {
        hd_run_begin(r, HD_INFERENCE);
        hd_read_output(r, stepper.join(r, stepper.context, 1), logp);
        s = hd_run_status(r, err);
    }
    size_t best = 0;
    for (size_t i = 1; !s && i < rules->languages; i++)
        if (logp[rules->language[i].id] > logp[rules->language[best].id] ||
            (logp[rules->language[i].id] == logp[rules->language[best].id] &&
             rules->language[i].id < rules->language[best].id))
            best = i;
    if (!s) *out = rules->language[best].id;
    hd_stepper_release(&stepper);
    hd_mem_free(logp);
    return s;
}
