/* Drawing texts and taking them down. */
#include "task/reward/rollout.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { TOGETHER = 512 /* texts drawn side by side, about */, JUDGED = 256 };

/* -- groups -- */

hd_status hd_groups_init(hd_groups *g, size_t groups, size_t each, hd_err *err)
{
    size_t n = groups * each;
    *g = (hd_groups){.groups = groups, .each = each};
    g->made = hd_mem_array(n, sizeof *g->made);
    g->reward = hd_mem_array(n, sizeof *g->reward);
    g->right = hd_mem_array(n, sizeof *g->right);
    return g->made && g->reward && g->right ? HD_OK : hd_err_nomem(err, n * sizeof *g->made);
}

void hd_groups_release(hd_groups *g)
{
    for (size_t i = 0; g->made && i < g->groups * g->each; i++) hd_generated_release(&g->made[i]);
    hd_mem_free(g->made);
    hd_mem_free(g->reward);
    hd_mem_free(g->right);
    *g = (hd_groups){0};
}

static hd_status write_texts(hd_groups *g, const hd_author *w, const hd_prompts *prompts, const size_t *which,
                             size_t from, size_t count, const hd_generate_opt *opt, hd_err *err)
{
    size_t most = TOGETHER / g->each ? TOGETHER / g->each : 1;
    hd_line *line = hd_mem_array(most, sizeof *line);
    hd_status s = line ? HD_OK : hd_err_nomem(err, most * sizeof *line);
    for (size_t at = from; !s && at < from + count; at += most) {
        size_t n = from + count - at < most ? from + count - at : most;
        hd_generate_opt now = *opt;
        now.key = (int32_t)at;
        for (size_t i = 0; i < n; i++) line[i] = hd_prompts_text(prompts, which[at + i]);
        for (size_t i = 0; i < n * g->each; i++) hd_generated_release(&g->made[at * g->each + i]);
        s = hd_generate(g->made + at * g->each, w->run, w->folder, line, n, &now, err);
    }
    hd_mem_free(line);
    return s;
}

hd_status hd_groups_draw(hd_groups *g, const hd_author *w, const hd_prompts *prompts, const size_t *which,
                         size_t from, size_t count, uint64_t seed, float temperature, hd_err *err)
{
    const char *const stop[] = {w->stop};
    const hd_generate_opt opt = {.tokens = w->tokens,
                                 .temperature = temperature,
                                 .seed = seed,
                                 .samples = g->each,
                                 .ends = true,
                                 .stop = stop,
                                 .stops = w->stop != NULL};
    size_t first = from * g->each, n = count * g->each;
    hd_sampled *sample = hd_mem_array(n, sizeof *sample);
    hd_status s = sample ? write_texts(g, w, prompts, which, from, count, &opt, err)
                         : hd_err_nomem(err, n * sizeof *sample);
    for (size_t i = 0; !s && i < n; i++) {
        const hd_text *t = &g->made[first + i].text;
        size_t prompt = which[from + i / g->each];
        sample[i] = (hd_sampled){hd_prompts_text(prompts, prompt),
                                 {t->data ? t->data : "", t->size},
                                 hd_prompts_answer(prompts, prompt)};
    }
    if (!s) s = hd_rewards_give(w->rewards, sample, n, g->reward + first, g->right + first, err);
    hd_mem_free(sample);
    return s;
}

/* -- texts as the loss reads them -- */

/* Tokens that models look back at before a text; what they see there is nothing. */
static size_t lead_of(const hd_lm *m)
{
    return m->type->lm.looks_back ? (size_t)m->opt.order - 1 : 0;
}

static hd_status make_room(hd_rollout *o, size_t samples, size_t tokens, hd_err *err)
{
    o->samples = samples;
    o->length = hd_mem_array(samples, sizeof *o->length);
    o->drawn = hd_mem_array(samples, sizeof *o->drawn);
    o->begin = hd_mem_array(samples, sizeof *o->begin);
    o->advantage = hd_mem_array(samples, sizeof *o->advantage);
    if (!o->length || !o->drawn || !o->begin || !o->advantage)
        return hd_err_nomem(err, samples * sizeof *o->begin);
    return hd_ids_reserve(&o->ids, tokens, err);
}

hd_status hd_rollout_lay(hd_rollout *o, const hd_groups *g, const hd_lm *m, hd_err *err)
{
    size_t n = g->groups * g->each, lead = lead_of(m), tokens = 0, written = 0;
    for (size_t i = 0; i < n; i++) tokens += lead + g->made[i].ids.count, written += g->made[i].tokens;
    hd_status s = make_room(o, n, tokens, err);
    if (s) return s;
    hd_rollout_figures *f = &o->figures;
    *f = (hd_rollout_figures){0};
    for (size_t i = 0; i < n; i++) {
        const hd_generated *text = &g->made[i];
        for (size_t k = 0; k < lead; k++) o->ids.at[o->ids.count++] = m->opt.start;
        o->begin[i] = o->ids.count;
        memcpy(o->ids.at + o->ids.count, text->ids.at, text->ids.count * sizeof *text->ids.at);
        o->ids.count += text->ids.count;
        o->length[i] = (int32_t)text->ids.count, o->drawn[i] = (int32_t)text->tokens;
        f->reward += g->reward[i] / (double)n;
        f->right += (double)g->right[i] / (double)n;
        f->entropy -= text->logp / (double)written;
    }
    f->length = (double)written / (double)n;
    return HD_OK;
}

void hd_rollout_release(hd_rollout *o)
{
    hd_ids_release(&o->ids);
    hd_mem_free(o->length);
    hd_mem_free(o->drawn);
    hd_mem_free(o->begin);
    hd_mem_free(o->advantage);
    hd_mem_free(o->before);
    hd_mem_free(o->reference);
    *o = (hd_rollout){0};
}

hd_window hd_rollout_window(const hd_rollout *o, size_t i)
{
    size_t len = (size_t)o->length[i] - 1;
    return (hd_window){o->begin[i] + 1, len, len - (size_t)o->drawn[i]};
}

hd_stream_text hd_rollout_text(const hd_rollout *o)
{
    return (hd_stream_text){.ids = o->ids.at, .count = o->ids.count};
}

/* -- log-probabilities -- */

static hd_status judge(float *out, const hd_rollout *o, size_t from, size_t items, hd_run *r, const hd_lm *m,
                       hd_err *err)
{
    const hd_stream_text text = hd_rollout_text(o);
    hd_lm_batch batch;
    hd_window w[JUDGED];
    size_t rows = 0, row = 0;
    for (size_t i = 0; i < items; i++) w[i] = hd_rollout_window(o, from + i), rows += w[i].len;
    hd_run_begin(r, HD_INFERENCE);
    hd_windows_send(r, &batch, m, &text, w, NULL, items);
    hd_real *loss = hd_host_take(r, rows * sizeof *loss);
    if (!loss || !hd_read(r, m->type->lm.loss(r, m, &batch, NULL, &(hd_loss_opt){.coef = 1}), loss))
        return hd_err_set(err, r->err.status, "judging texts: %s", r->err.text);
    for (size_t i = 0; i < items; i++)
        for (size_t j = 0; j < w[i].len; j++, row++)
            if (j >= w[i].skip) out[w[i].from + j] = (float)-loss[row];
    return HD_OK;
}

hd_status hd_rollout_logp(float **out, const hd_rollout *o, hd_run *r, const hd_lm *m, hd_err *err)
{
    float *logp = hd_mem_array(o->ids.count, sizeof *logp);
    hd_step before = r->now;
    hd_status s = logp ? HD_OK : hd_err_nomem(err, o->ids.count * sizeof *logp);
    for (size_t at = 0; !s && at < o->samples; at += JUDGED)
        s = judge(logp, o, at, o->samples - at < JUDGED ? o->samples - at : JUDGED, r, m, err);
    r->now = before;
    if (s)
        hd_mem_free(logp);
    else
        *out = logp;
    return s;
}

double hd_rollout_kl(const hd_rollout *o, const float *now, const float *reference)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < o->samples; i++) {
        const hd_window w = hd_rollout_window(o, i);
        for (size_t j = w.from + w.skip; j < w.from + w.len; j++) {
            double d = (double)reference[j] - (double)now[j];
            sum += exp(d) - d - 1, count++;
        }
    }
    return sum / count;
}
