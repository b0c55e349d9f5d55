/* Greedy decoding of CTC, and its prefix scores as a stepper. A seat holds, for every frame, the logarithms
   of the paths that have said its sentence by then and end in a label or in a blank. */
#include "decode/joint/ctc.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

#define NONE  (-1e30) /* logarithm of nothing */
#define LEAST (-1e4)  /* score of what cannot be */

static hd_status check(const hd_ctc_said *s, size_t *rows, hd_err *err)
{
    if (s->blank < 0 || (size_t)s->blank >= s->classes)
        return hd_err_set(err, HD_EARG, "ctc: blank %d of %zu columns", s->blank, s->classes);
    *rows = 0;
    for (size_t i = 0; i < s->items; i++) {
        if (s->frames[i] < 0) return hd_err_set(err, HD_EARG, "ctc: item %zu has %d frames", i, s->frames[i]);
        *rows += (size_t)s->frames[i];
    }
    return HD_OK;
}

/* -- greedy -- */

static int32_t best_of(const hd_real *row, size_t n)
{
    size_t best = 0;
    for (size_t c = 1; c < n; c++)
        if (row[c] > row[best]) best = c;
    return (int32_t)best;
}

static size_t count_tokens(const hd_ctc_said *s, const hd_real *logp, size_t frames)
{
    size_t count = 0;
    int32_t last = s->blank;
    for (size_t t = 0; t < frames; t++) {
        int32_t c = best_of(logp + t * s->classes, s->classes);
        count += c != s->blank && c != last;
        last = c;
    }
    return count;
}

static void write_down(const hd_ctc_said *s, const hd_real *logp, size_t frames, hd_guess *g)
{
    size_t count = 0;
    int32_t last = s->blank;
    for (size_t t = 0; t < frames; t++) {
        const hd_real *row = logp + t * s->classes;
        int32_t c = best_of(row, s->classes);
        if (c != s->blank && c != last) g->ids[count++] = c;
        if (g->length) g->logp[count ? count - 1 : 0] += row[c];
        g->sum += (double)row[c];
        last = c;
    }
    g->score = g->sum, g->finished = true;
}

hd_status hd_ctc_greedy(hd_found **out, const hd_ctc_said *s, hd_err *err)
{
    size_t rows, tokens = 0;
    hd_status st = check(s, &rows, err);
    const hd_real *at = s->logp;
    for (size_t i = 0; !st && i < s->items; at += (size_t)s->frames[i++] * s->classes)
        tokens += count_tokens(s, at, (size_t)s->frames[i]);
    if (!st) st = hd_found_new(out, s->items, s->items, tokens, err);
    at = s->logp;
    for (size_t i = 0; !st && i < s->items; at += (size_t)s->frames[i++] * s->classes) {
        size_t frames = (size_t)s->frames[i];
        write_down(s, at, frames, hd_found_add(*out, count_tokens(s, at, frames)));
        hd_found_close(*out, i);
    }
    return st;
}

/* -- prefixes -- */

typedef struct seat {
    size_t item;
    int32_t last;  /* token; -1: none yet */
    double prefix; /* ln p of all that begins with its sentence */
} seat;

typedef struct prefixes {
    size_t items, classes, most; /* most: frames of the longest item */
    int32_t blank, end;
    int32_t *frames, *room; /* [items] */
    size_t *begin;          /* [items]: first frame */
    hd_real *logp, *p;      /* [frames, classes]: log-probabilities and probabilities */
    seat *seat;             /* [live] */
    double *path;           /* [live, 2, most + 1]: in a label, in a blank, after so many frames */
    size_t live, joined;
} prefixes;

static void prefixes_free(void *context)
{
    prefixes *k = context;
    if (!k) return;
    hd_mem_free(k->frames);
    hd_mem_free(k->room);
    hd_mem_free(k->begin);
    hd_mem_free(k->logp);
    hd_mem_free(k->p);
    hd_mem_free(k->seat);
    hd_mem_free(k->path);
    hd_mem_free(k);
}

static double log_add(double a, double b)
{
    double m = a > b ? a : b;
    return m + log1p(exp((a > b ? b : a) - m));
}

static size_t path_size(const prefixes *k)
{
    return 2 * (k->most + 1);
}

/* The empty sentence: blanks alone. */
static void begin_seat(const prefixes *k, seat *s, double *in_label, double *in_blank)
{
    const hd_real *logp = k->logp + k->begin[s->item] * k->classes + k->blank;
    s->last = -1, s->prefix = 0;
    in_label[0] = NONE, in_blank[0] = 0;
    for (int32_t t = 0; t < k->frames[s->item]; t++) {
        in_label[t + 1] = NONE;
        in_blank[t + 1] = in_blank[t] + (double)logp[(size_t)t * k->classes];
    }
}

static void extend_seat(const prefixes *k, seat *s, double *in_label, double *in_blank, int32_t token)
{
    const hd_real *logp = k->logp + k->begin[s->item] * k->classes;
    double label = in_label[0], blank = in_blank[0]; /* of the sentence before, a frame earlier */
    in_label[0] = in_blank[0] = s->prefix = NONE;
    for (int32_t t = 0; t < k->frames[s->item]; t++, logp += k->classes) {
        double before = token == s->last ? blank : log_add(blank, label);
        label = in_label[t + 1], blank = in_blank[t + 1];
        s->prefix = log_add(s->prefix, before + (double)logp[token]);
        in_label[t + 1] = log_add(in_label[t], before) + (double)logp[token];
        in_blank[t + 1] = log_add(in_blank[t], in_label[t]) + (double)logp[k->blank];
    }
    s->last = token;
}

static hd_real score_of(double logp, double prefix)
{
    double d = logp - prefix;
    return (hd_real)(d > 0 ? 0 : d > LEAST ? d : LEAST);
}

/* All columns at once: what comes before a token is the same for each, unless it is the last one again. */
static void score_seat(const prefixes *k, const seat *s, const double *in_label, const double *in_blank,
                       double *sum, hd_real *row)
{
    size_t frames = (size_t)k->frames[s->item];
    const hd_real *p = k->p + k->begin[s->item] * k->classes;
    double most = NONE, again = 0;
    for (size_t t = 0; t < frames; t++) most = fmax(most, fmax(in_label[t], in_blank[t]));
    for (size_t c = 0; c < k->classes; c++) sum[c] = 0;
    for (size_t t = 0; t < frames; t++, p += k->classes) {
        double blank = exp(in_blank[t] - most), before = exp(in_label[t] - most) + blank;
        for (size_t c = 0; c < k->classes; c++) sum[c] += before * (double)p[c];
        if (s->last >= 0) again += blank * (double)p[s->last];
    }
    if (s->last >= 0) sum[s->last] = again;
    for (size_t c = 0; c < k->classes; c++)
        row[c] = sum[c] > 0 ? score_of(most + log(sum[c]), s->prefix) : (hd_real)LEAST;
    row[k->blank] = -INFINITY;
    row[k->end] = score_of(log_add(in_label[frames], in_blank[frames]), s->prefix);
}

typedef struct job {
    prefixes *k;
    const int32_t *ids; /* NULL: they begin */
    size_t first;
    hd_real *row;
    double *sum; /* [seats, classes] */
} job;

static void part(void *arg, size_t begin, size_t end, int worker)
{
    job *j = arg;
    prefixes *k = j->k;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        seat *s = &k->seat[j->first + i];
        double *in_label = k->path + (j->first + i) * path_size(k), *in_blank = in_label + k->most + 1;
        if (j->ids)
            extend_seat(k, s, in_label, in_blank, j->ids[i]);
        else
            begin_seat(k, s, in_label, in_blank);
        score_seat(k, s, in_label, in_blank, j->sum + i * k->classes, j->row + i * k->classes);
    }
}

/* Scores of the seats from `first` on, after their tokens. */
static hd_tensor *scores(hd_run *r, prefixes *k, size_t first, const int32_t *ids)
{
    size_t n = k->live - first;
    job j = {.k = k, .ids = ids, .first = first};
    j.row = hd_host_take(r, (n * k->classes + 1) * sizeof *j.row);
    j.sum = hd_host_take(r, (n * k->classes + 1) * sizeof *j.sum);
    if (!j.row || !j.sum) return NULL;
    if (r->backend->team)
        hd_team_run(r->backend->team, n, 1, part, &j);
    else
        part(&j, 0, n, 0);
    return hd_from(r, n, k->classes, j.row);
}

static hd_tensor *join(hd_run *r, void *context, size_t n)
{
    prefixes *k = context;
    size_t first = k->live, all = first + n;
    seat *seats = hd_mem_grow(k->seat, all * sizeof *seats + 1);
    if (seats) k->seat = seats;
    double *path = seats ? hd_mem_grow(k->path, all * path_size(k) * sizeof *path + 1) : NULL;
    if (!path) return hd_err_nomem(&r->err, all * path_size(k) * sizeof *path), NULL;
    k->path = path, k->live = all;
    for (size_t i = first; i < all; i++) seats[i] = (seat){.item = k->joined++};
    return scores(r, k, first, NULL);
}

static hd_tensor *step(hd_run *r, void *context, const int32_t *ids, size_t seats)
{
    prefixes *k = context;
    if (seats != k->live) return hd_fail(r, HD_ESHAPE, "ctc: %zu tokens for %zu hypotheses", seats, k->live);
    for (size_t i = 0; i < seats; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= k->classes)
            return hd_fail(r, HD_EARG, "ctc: token %d of %zu columns", ids[i], k->classes);
    return scores(r, k, 0, ids);
}

static hd_status pick(hd_run *r, void *context, const int32_t *parent, size_t n)
{
    prefixes *k = context;
    size_t each = path_size(k);
    seat *seats = hd_mem_array(n + 1, sizeof *seats);
    double *path = hd_mem_array(n * each + 1, sizeof *path);
    if (!seats || !path) {
        hd_mem_free(seats);
        hd_mem_free(path);
        return hd_err_nomem(&r->err, n * each * sizeof *path);
    }
    for (size_t i = 0; i < n; i++) {
        seats[i] = k->seat[parent[i]];
        memcpy(path + i * each, k->path + (size_t)parent[i] * each, each * sizeof *path);
    }
    hd_mem_free(k->seat);
    hd_mem_free(k->path);
    k->seat = seats, k->path = path, k->live = n;
    return HD_OK;
}

static hd_status fill(prefixes *k, const hd_ctc_said *s, size_t rows, hd_err *err)
{
    size_t count, numbers;
    if (!hd_size_mul(rows, s->classes, &count) || !hd_size_mul(count + 1, sizeof *k->p, &numbers))
        return hd_err_set(err, HD_ELIMIT, "ctc: %zu frames of %zu columns", rows, s->classes);
    *k = (prefixes){.items = s->items,
                    .classes = s->classes,
                    .blank = s->blank,
                    .frames = hd_mem_array(s->items + 1, sizeof *k->frames),
                    .room = hd_mem_array(s->items + 1, sizeof *k->room),
                    .begin = hd_mem_array(s->items + 1, sizeof *k->begin),
                    .logp = hd_mem_array(count + 1, sizeof *k->logp),
                    .p = hd_mem_array(count + 1, sizeof *k->p)};
    if (!k->frames || !k->room || !k->begin || !k->logp || !k->p) return hd_err_nomem(err, 2 * numbers);
    memcpy(k->logp, s->logp, count * sizeof *k->logp);
    for (size_t i = 0; i < count; i++) k->p[i] = (hd_real)exp((double)s->logp[i]);
    for (size_t i = 0, at = 0; i < s->items; at += (size_t)s->frames[i], i++) {
        k->frames[i] = s->frames[i], k->room[i] = s->frames[i] + 1, k->begin[i] = at;
        if ((size_t)s->frames[i] > k->most) k->most = (size_t)s->frames[i];
    }
    return HD_OK;
}

hd_status hd_ctc_stepper(hd_stepper *out, const hd_ctc_said *s, int32_t end, hd_err *err)
{
    size_t rows;
    hd_status st = check(s, &rows, err);
    if (st) return st;
    if (end < 0 || (size_t)end >= s->classes)
        return hd_err_set(err, HD_EARG, "ctc: end token %d of %zu columns", end, s->classes);
    prefixes *k = hd_mem_zero(sizeof *k);
    if (!k) return hd_err_nomem(err, sizeof *k);
    st = fill(k, s, rows, err);
    if (st) return prefixes_free(k), st;
    k->end = end;
    *out = (hd_stepper){.vocab = s->classes,
                        .items = s->items,
                        .source = k->frames,
                        .room = k->room,
                        .join = join,
                        .step = step,
                        .pick = pick,
                        .free = prefixes_free,
                        .context = k};
    return HD_OK;
}
