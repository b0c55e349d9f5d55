/* CTC: forward and backward over the states of an item, all in logarithms. An item is one worker's. Easy to
   get wrong: logarithms of long items leave the digits of a float, so that each frame is kept less its
   largest, and what was taken off is summed in double. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/exponent.h"
#include "backend/ctc.h"

enum { PAD = 2 }; /* places before the first state and behind the last */

typedef struct item { /* one worker's scratch, for the item at hand */
    const hd_alignment *of;
    size_t first, frames, labels, states;
    int32_t *column; /* [states]: of x */
    hd_real *skip;   /* [states + PAD]: 0 where the state before the last one may come directly before */
    hd_real *row[2]; /* [PAD + states + PAD], from the first state on */
    hd_real *say;    /* [states]: log-probability of each state's label in the frame */
} item;

typedef struct job {
    hd_cpu *cpu;
    const hd_alignment *of;
    const hd_ctc_args *forward;   /* or */
    const hd_ctc_back_args *back; /* this */
} job;

static size_t states_most(const hd_alignment *of)
{
    return 2 * of->labels->longest + 1;
}

static size_t room_of(const hd_alignment *of)
{
    size_t each = states_most(of) + 2 * PAD;
    return each * (4 * sizeof(hd_real) + sizeof(int32_t));
}

static item item_of(const job *j, size_t i, int worker)
{
    const hd_alignment *of = j->of;
    size_t each = states_most(of) + 2 * PAD;
    hd_real *at = (hd_real *)(j->cpu->scratch + (size_t)worker * j->cpu->scratch_each);
    item k = {.of = of,
              .first = (size_t)of->seg->begin[i],
              .frames = (size_t)of->seg->len[i],
              .labels = (size_t)of->labels->len[i],
              .skip = at,
              .row = {at + each + PAD, at + 2 * each + PAD},
              .say = at + 3 * each,
              .column = (int32_t *)(at + 4 * each)};
    k.states = 2 * k.labels + 1;
    return k;
}

static bool item_fits(const item *k, const int32_t *label)
{
    return hd_ctc_fits(label, k->labels, k->frames, hd_cols_of(k->of->x), k->of->blank);
}

static void clear_row(const item *k, hd_real *row)
{
    for (size_t s = 0; s < k->states + 2 * PAD; s++) row[(ptrdiff_t)s - PAD] = (hd_real)HD_CTC_NONE;
}

/* The states of the item: what each says, and whether a blank before it may be left out. */
static void lay_states(item *k, const int32_t *label)
{
    for (size_t s = 0; s < k->states; s++) {
        k->column[s] = s % 2 ? label[s / 2] : k->of->blank;
        bool may = s % 2 && (s == 1 || label[s / 2] != label[s / 2 - 1]);
        k->skip[s] = may ? 0 : (hd_real)HD_CTC_NONE;
    }
    k->skip[k->states] = 0, k->skip[k->states + 1] = (hd_real)HD_CTC_NONE; /* the end, behind a last label */
    clear_row(k, k->row[0]), clear_row(k, k->row[1]);
}

static void lay_frame(const item *k, size_t t)
{
    const hd_real *x = hd_row(k->of->x, k->first + t), lse = hd_row(k->of->lse, k->first + t)[0];
    for (size_t s = 0; s < k->states; s++) k->say[s] = x[k->column[s]] - lse;
}

INLINE vec sum_of_logs(vec a, vec b, vec c)
{
    vec m = hd_max(hd_max(a, b), c);
    return m + hd_log(hd_exp(a - m) + hd_exp(b - m) + hd_exp(c - m));
}

static double log_of_two(double a, double b)
{
    double m = a > b ? a : b;
    return m + log(exp(a - m) + exp(b - m));
}

/* Subtracts the largest of states [low, high) and returns it. */
static double take_largest(hd_real *row, size_t low, size_t high)
{
    hd_real top = hd_row_max(row + low, high - low);
    vec m = hd_set(top);
    HD_COLUMNS(high - low, { S(row + low, L(row + low) - m); });
    return (double)top;
}

static double forward_of(const item *k)
{
    double sum = 0;
    size_t wide = hd_cols_of(k->of->x);
    hd_real *before = k->row[0], *now = k->row[1];
    before[-1] = 0; /* every path begins before the first state: in that one or, by a skip, in the next */
    for (size_t t = 0; t < k->frames; t++) {
        const hd_real *x = hd_row(k->of->x, k->first + t), most = hd_row_max(x, wide);
        hd_row(k->of->lse, k->first + t)[0] =
            (hd_real)((double)most + log((double)hd_row_exp_sum(x, wide, most)));
        lay_frame(k, t);
        size_t low = hd_ctc_low(t, k->frames, k->states), high = hd_ctc_high(t, k->states);
        const hd_real *a = before + low, *skip = k->skip + low, *say = k->say + low;
        hd_real *y = now + low;
        for (size_t s = 0; s < low; s++) now[s] = (hd_real)HD_CTC_NONE;
        HD_COLUMNS(high - low, { S(y, L(say) + sum_of_logs(L(a), L(a - 1), L(a - 2) + L(skip))); });
        sum += take_largest(now, low, high);
        before[-1] = (hd_real)HD_CTC_NONE;
        memcpy(hd_row(k->of->forward, k->first + t), now, k->states * sizeof *now);
        hd_real *other = before;
        before = now, now = other;
    }
    if (!k->frames) return 0;
    return sum + (k->labels ? log_of_two((double)before[k->states - 1], (double)before[k->states - 2])
                            : (double)before[0]);
}

/* The probability of each state in a frame, given that the labels are said: of beginnings and ends. */
static void states_of_frame(const item *k, size_t t, const hd_real *end)
{
    size_t low = hd_ctc_low(t, k->frames, k->states), high = hd_ctc_high(t, k->states);
    hd_real *p = hd_row(k->of->forward, k->first + t);
    for (size_t s = 0; s < low; s++) p[s] = 0;
    for (size_t s = high; s < k->states; s++) p[s] = 0;
    p += low, end += low;
    HD_COLUMNS(high - low, { S(p, L(p) + L(end)); });
    hd_real sum = hd_row_exp(p, p, high - low, hd_row_max(p, high - low));
    hd_row_scale(p, high - low, 1 / sum);
}

static void slope_of_frame(const item *k, size_t t, const hd_tensor *dx_all, hd_real by)
{
    size_t r = k->first + t, wide = hd_cols_of(k->of->x);
    const hd_real *x = hd_row(k->of->x, r), *p = hd_row(k->of->forward, r);
    hd_real *dx = hd_row(dx_all, r);
    vec share = hd_set(by), lse = hd_set(hd_row(k->of->lse, r)[0]);
    HD_COLUMNS(wide, { S(dx, L(dx) + hd_exp(L(x) - lse) * share); });
    for (size_t s = 0; s < k->states; s++) dx[k->column[s]] -= by * p[s];
}

/* after[s] is the logarithm of all that may follow when state s speaks in the frame after this one. */
static void back_of(const item *k, const hd_tensor *dx, hd_real by)
{
    hd_real *after = k->row[0], *end = k->row[1];
    after[k->states] = 0; /* the end follows the last two states */
    for (size_t t = k->frames; t--;) {
        size_t low = hd_ctc_low(t, k->frames, k->states), high = hd_ctc_high(t, k->states);
        const hd_real *a = after + low, *skip = k->skip + low, *say = k->say + low;
        hd_real *y = end + low, *z = after + low;
        HD_COLUMNS(high - low, { S(y, sum_of_logs(L(a), L(a + 1), L(a + 2) + L(skip + 2))); });
        take_largest(end, low, high);
        states_of_frame(k, t, end);
        slope_of_frame(k, t, dx, by);
        lay_frame(k, t);
        clear_row(k, after);
        HD_COLUMNS(high - low, { S(z, L(y) + L(say)); });
    }
}

static void part(void *arg, size_t begin, size_t end, int worker)
{
    const job *j = arg;
    const hd_alignment *of = j->of;
    for (size_t i = begin; i < end; i++) {
        item k = item_of(j, i, worker);
        const int32_t *label = of->label + of->labels->begin[i];
        bool fits = item_fits(&k, label);
        double weight = of->weight ? (double)hd_row(of->weight, i)[0] : 1;
        if (fits) lay_states(&k, label);
        if (j->back) {
            if (fits) back_of(&k, j->back->dx, (hd_real)((double)j->back->coef * weight));
            continue;
        }
        double logp = fits ? forward_of(&k) : -INFINITY;
        hd_row(j->forward->loss, i)[0] = fits ? (hd_real)(-weight * logp) : 0;
        if (j->forward->logp) hd_row(j->forward->logp, i)[0] = (hd_real)logp;
    }
}

static hd_status run(hd_backend *b, job j)
{
    j.cpu = (hd_cpu *)b;
    if (!hd_cpu_scratch(j.cpu, room_of(j.of))) return HD_ENOMEM;
    hd_team_run(j.cpu->team, j.of->seg->items, 1, part, &j);
    return HD_OK;
}

hd_status KERNEL(ctc)(hd_backend *b, const hd_ctc_args *a)
{
    return run(b, (job){.of = &a->of, .forward = a});
}

hd_status KERNEL(ctc_back)(hd_backend *b, const hd_ctc_back_args *a)
{
    return run(b, (job){.of = &a->of, .back = a});
}
