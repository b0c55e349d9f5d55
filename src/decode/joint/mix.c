/* Weighted sums of steppers, summed on the host: rows are few where a beam is searched. */
#include "decode/joint/mix.h"

#include <math.h>

#include "base/mem.h"

typedef struct mix {
    hd_mix_part part[HD_MIX_PARTS];
    size_t parts, vocab, live;
    int32_t *room; /* [items] */
} mix;

static void mix_free(void *context)
{
    mix *m = context;
    if (!m) return;
    for (size_t k = 0; k < m->parts; k++) hd_stepper_release(&m->part[k].stepper);
    hd_mem_free(m->room);
    hd_mem_free(m);
}

static int32_t name_of(const hd_mix_part *p, size_t token)
{
    return p->token ? p->token[token] : (int32_t)token;
}

static bool add_scores(hd_run *r, const mix *m, const hd_mix_part *p, const hd_tensor *scores, double *sum)
{
    size_t wide = p->stepper.vocab, n = hd_rows_of(scores);
    hd_real *row = hd_host_take(r, (n * wide + 1) * sizeof *row);
    if (!row || !hd_read(r, scores, row)) return false;
    for (size_t i = 0; i < n; i++, row += wide, sum += m->vocab)
        for (size_t v = 0; v < m->vocab; v++) {
            int32_t name = name_of(p, v);
            sum[v] += name < 0 ? -INFINITY : p->weight * (double)row[name];
        }
    return true;
}

/* Asks every part, for n rows; ids NULL: so many items join. */
static hd_tensor *ask(hd_run *r, mix *m, const int32_t *ids, size_t n)
{
    size_t count = n * m->vocab;
    double *sum = hd_host_take(r, (count + 1) * sizeof *sum);
    hd_real *row = hd_host_take(r, (count + 1) * sizeof *row);
    int32_t *names = hd_host_take(r, (n + 1) * sizeof *names);
    if (!sum || !row || !names) return NULL;
    for (size_t k = 0; k < m->parts; k++) {
        const hd_mix_part *p = &m->part[k];
        const hd_stepper *s = &p->stepper;
        if (!(p->weight > 0)) continue;
        for (size_t i = 0; ids && i < n; i++) names[i] = name_of(p, (size_t)ids[i]);
        hd_tensor *scores = ids ? s->step(r, s->context, names, n) : s->join(r, s->context, n);
        if (!scores || !add_scores(r, m, p, scores, sum)) return NULL;
    }
    for (size_t i = 0; i < count; i++) row[i] = (hd_real)sum[i];
    return hd_from(r, n, m->vocab, row);
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    return ask(r, context, NULL, n);
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t seats)
{
    return ask(r, context, ids, seats);
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    mix *m = context;
    hd_status s = HD_OK;
    for (size_t k = 0; !s && k < m->parts; k++)
        if (m->part[k].weight > 0) s = m->part[k].stepper.pick(r, m->part[k].stepper.context, parent, n);
    return s;
}

static hd_status check(const hd_mix_part *part, size_t parts, hd_err *err)
{
    const hd_stepper *first = &part[0].stepper;
    if (!parts || parts > HD_MIX_PARTS) return hd_err_set(err, HD_EARG, "mix: %zu parts", parts);
    for (size_t k = 0; k < parts; k++) {
        const hd_stepper *s = &part[k].stepper;
        if (!(part[k].weight >= 0) || !isfinite(part[k].weight))
            return hd_err_set(err, HD_EARG, "mix: a weight of %g", part[k].weight);
        if (s->items != first->items)
            return hd_err_set(err, HD_EARG, "mix: %zu items and %zu", first->items, s->items);
        for (size_t v = 0; v < first->vocab; v++)
            if (name_of(&part[k], v) >= (int32_t)s->vocab)
                return hd_err_set(err, HD_EARG, "mix: token %zu of %zu is %d of %zu", v, first->vocab,
                                  name_of(&part[k], v), s->vocab);
    }
    return HD_OK;
}

/* The smallest room of each item; NULL where no part has a limit. */
static hd_status least_room(int32_t **out, const hd_mix_part *part, size_t parts, hd_err *err)
{
    size_t items = part[0].stepper.items;
    for (size_t k = 0; k < parts; k++) {
        const int32_t *room = part[k].stepper.room;
        if (!room) continue;
        bool first = !*out;
        if (first && !(*out = hd_mem_array(items + 1, sizeof **out)))
            return hd_err_nomem(err, items * sizeof **out);
        for (size_t i = 0; i < items; i++)
            if (first || room[i] < (*out)[i]) (*out)[i] = room[i];
    }
    return HD_OK;
}

hd_status hd_mix_stepper(hd_stepper *out, const hd_mix_part *part, size_t parts, hd_err *err)
{
    hd_status s = check(part, parts, err);
    if (s) return s;
    mix *m = hd_mem_zero(sizeof *m);
    if (!m) return hd_err_nomem(err, sizeof *m);
    s = least_room(&m->room, part, parts, err);
    if (s) return mix_free(m), s;
    const hd_stepper *first = &part[0].stepper;
    m->vocab = first->vocab;
    *out = (hd_stepper){.vocab = m->vocab,
                        .items = first->items,
                        .source = first->source,
                        .room = m->room,
                        .join = join,
                        .step = step,
                        .pick = pick,
                        .free = mix_free,
                        .context = m};
    for (size_t k = 0; k < parts; k++) m->part[m->parts++] = part[k];
    return HD_OK;
}
