/* Listening: many frames, few letters, and a pyramid between them. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "lab/sound/listener.h"
#include "lab/sweep.h"

enum { POINTS = 6, EACH = 20, LAST = POINTS - 1, GAZES = 16, WORDS = HD_LISTENER_MOST + 1 };
enum { ROOM = WORDS * HD_LISTENER_FRAMES };

static const struct {
    const char *name, *encoder;
    int layers; /* that halve the rows */
} kinds[] = {{"a row for each frame (bi-LSTM)", "bi-lstm:1", 0},
             {"pyramid of 2 layers", "pyramid:2", 2},
             {"pyramid of 3 layers", "pyramid:3", 3}};
enum { KINDS = sizeof kinds / sizeof *kinds, FLAT = 0, SHOWN = 1 };

typedef struct heard {
    double frames[KINDS], rows[KINDS], letters[KINDS]; /* of all utterances that were looked at */
    bool halved;                                       /* rows are frames / 2^layers everywhere, rounded up */
    double onward[HD_LAB_SEEDS], mass[HD_LAB_SEEDS], chance[HD_LAB_SEEDS]; /* of the kind that is shown */
    double weight[ROOM];                                                   /* of one utterance */
    size_t words, width; /* of it: letters with the end, rows */
    int32_t letter[WORDS];
} heard;

/* How often the middle of the weights moves on from letter to letter, and what lies on the letter that is
 * said. */
static void follow(heard *h, const hd_listener_lot *b, const double *w, size_t rows, int seed, int layers)
{
    double before = 0, steps = (double)b->words - 2;
    const int32_t frames = 1 << layers;
    for (size_t k = 0; k + 1 < b->words; k++) {
        double middle = 0, on = 0, covered = 0;
        for (size_t i = 0; i < rows; i++) {
            const int32_t from = (int32_t)i * frames;
            middle += (double)i * w[k * rows + i];
            if (from + frames > b->begin[k] && from < b->begin[k + 1]) on += w[k * rows + i], covered++;
        }
        h->mass[seed] += on / (GAZES * (steps + 1)),
            h->chance[seed] += covered / (double)rows / (GAZES * (steps + 1));
        if (k) h->onward[seed] += (middle > before) / (GAZES * steps);
        before = middle;
    }
}

static hd_status look(heard *h, hd_listener *l, size_t k, int seed, hd_err *err)
{
    hd_status s = HD_OK;
    for (uint64_t i = GAZES; !s && i-- > 0;) {
        double w[ROOM];
        const hd_listener_lot *b = l->lot;
        size_t rows = 0;
        s = hd_listener_gaze(w, ROOM, &rows, l, i, err);
        if (s) return s;
        const size_t frames = (size_t)b->frames[0], by = (size_t)1 << kinds[k].layers;
        h->halved = h->halved && rows == (frames + by - 1) / by;
        h->frames[k] += (double)frames, h->rows[k] += (double)rows, h->letters[k] += (double)b->words - 1;
        if (k != SHOWN) continue;
        follow(h, b, w, rows, seed, kinds[k].layers);
        h->words = b->words, h->width = rows;
        for (size_t c = 0; c < b->words * rows; c++) h->weight[c] = w[c];
        for (size_t c = 0; c < b->words; c++) h->letter[c] = b->letter[c];
    }
    return s;
}

static hd_status learn(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t each = lab->full ? 4 * EACH : EACH;
    hd_listener l;
    hd_status s = hd_listener_open(&l, lab->run, kinds[k].encoder, seed, err);
    for (int i = 0; !s && i < POINTS; i++) {
        if (i) s = hd_listener_learn(&l, each, LAST * each, 0.01, err);
        if (!s) s = hd_listener_judge(&share[i], &l, err);
    }
    if (!s) s = look(context, &l, k, (int)(seed - lab->seed), err);
    hd_listener_close(&l);
    return s;
}

/* -- what is shown -- */

static void put_weights(hd_paper *to, const heard *h)
{
    const char *row[WORDS], *col[HD_LISTENER_FRAMES];
    char name[WORDS][8], at[HD_LISTENER_FRAMES][16];
    for (size_t i = 0; i < h->words; i++) {
        snprintf(name[i], sizeof name[i], "%c", 'a' + (h->letter[i] - HD_LISTENER_FIRST));
        row[i] = h->letter[i] == HD_LISTENER_END ? "end" : name[i];
    }
    for (size_t i = 0; i < h->width; i++)
        snprintf(at[i], sizeof at[i], "%zu", i << kinds[SHOWN].layers), col[i] = at[i];
    hd_paper_cells(to, &(hd_cells){.title = "Where the speller looks while it says each letter",
                                   .across = "rows of the pyramid, by their first frame",
                                   .downward = "letters it says",
                                   .value = h->weight,
                                   .rows = h->words,
                                   .cols = h->width,
                                   .row = row,
                                   .col = col,
                                   .full = 1,
                                   .digits = 2});
}

static void judge(hd_paper *to, const hd_sweep *w, const heard *h, const hd_lab *lab)
{
    const hd_spread *flat = w->spread[FLAT], *shown = w->spread[SHOWN];
    const hd_spread onward = hd_spread_of(h->onward, (size_t)lab->seeds),
                    mass = hd_spread_of(h->mass, (size_t)lab->seeds),
                    chance = hd_spread_of(h->chance, (size_t)lab->seeds);
    hd_paper_table_of(to, "Rows that a letter has to be found in", 4, 1);
    hd_paper_cell(to, "encoder"), hd_paper_cell(to, "frames a letter"), hd_paper_cell(to, "rows a letter"),
        hd_paper_cell(to, "frames a row");
    for (int k = 0; k < KINDS; k++) {
        hd_paper_cell(to, "%s", kinds[k].name), hd_paper_cell(to, "%.1f", h->frames[k] / h->letters[k]);
        hd_paper_cell(to, "%.1f", h->rows[k] / h->letters[k]), hd_paper_cell(to, "%d", 1 << kinds[k].layers);
    }
    hd_paper_claim(to, "Sound has many more frames than letters; each layer of a pyramid halves them.",
                   h->halved && h->frames[FLAT] > 5 * h->letters[FLAT],
                   "%.1f frames a letter become %.1f rows behind two layers and %.1f behind three.",
                   h->frames[FLAT] / h->letters[FLAT], h->rows[1] / h->letters[1],
                   h->rows[2] / h->letters[2]);
    hd_paper_claim(to, "Attention over them learns to spell.", shown[LAST].low > 80,
                   "%.0f %% of the letters are right (%.0f to %.0f).", shown[LAST].mean, shown[LAST].low,
                   shown[LAST].high);
    hd_paper_claim(
        to, "With fewer rows to look through, it learns sooner.",
        shown[LAST / 2].mean > flat[LAST / 2].mean + 5,
        "After %.0f updates %.0f %% are right behind the pyramid, %.0f %% with a row for each frame.",
        w->x[LAST / 2], shown[LAST / 2].mean, flat[LAST / 2].mean);
    hd_paper_claim(
        to, "It moves on from letter to letter, as the sound does, and nobody said when they were.",
        onward.low > 0.9 && mass.low > 1.5 * chance.high,
        "In %.0f %% of the steps the middle of the weights moves on (%.0f to %.0f); %.0f %% of the attention "
        "lies on the letter that is said, which has %.0f %% of the rows.",
        100 * onward.mean, 100 * onward.low, 100 * onward.high, 100 * mass.mean, 100 * chance.mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    const char *names[KINDS];
    double x[POINTS];
    hd_sweep *w = hd_mem_zero(sizeof *w);
    heard *h = hd_mem_zero(sizeof *h);
    hd_status s = w && h ? HD_OK : hd_err_nomem(err, sizeof *w);
    for (int k = 0; k < KINDS; k++) names[k] = kinds[k].name;
    for (int i = 0; i < POINTS; i++) x[i] = i * EACH * (lab->full ? 4.0 : 1);
    if (!s) {
        h->halved = true;
        w->title = "Letters from sound", w->across = "updates of 32 utterances",
        w->upward = "letters said right, % (mean and spread of all seeds)";
        w->caption = "Letters said right, %, by updates", w->corner = "encoder", w->format = "%.0f",
        w->scale = 100;
        w->kind = names, w->kinds = KINDS, w->x = x, w->points = POINTS, w->every = 2;
        s = hd_sweep_measure(w, lab, learn, h, err);
    }
    if (!s) {
        hd_paper_say(to,
                     "Each of %d letters is a spectrum of %d numbers that lasts %d to %d frames, under "
                     "noise. A listener of LSTMs reads the frames, and a speller "
                     "that attends to what it makes of them says the %d to %d letters.",
                     HD_LISTENER_LETTERS, HD_LISTENER_BINS, HD_LISTENER_SHORT, HD_LISTENER_LONG,
                     HD_LISTENER_LEAST, HD_LISTENER_MOST);
        hd_sweep_put(to, w, lab), put_weights(to, h), judge(to, w, h, lab);
    }
    hd_mem_free(w);
    hd_mem_free(h);
    return s;
}

const hd_experiment hd_experiment_listen = {
    .name = "listen",
    .title = "Listen, attend and spell",
    .lecture = 4,
    .rows = "72",
    .claim = "Attention recognizes speech, once a pyramid has made its many frames fewer: it looks at them "
             "one after the other.",
    .run = run,
};
