/* Listening: many frames, few letters, and a pyramid between them. */
#include <stdio.h>

#include "base/mem.h"
#include "lab/sound/trail.h"
#include "lab/sweep.h"

static const int32_t updates[] = {0, 20, 40, 60, 80, 100};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1, HALF = LAST / 2 };

static const struct {
    const char *name, *encoder;
    int layers; /* that halve the rows */
} kinds[] = {{"a row for each frame (bi-LSTM)", "bi-lstm:1", 0},
             {"pyramid of 2 layers", "pyramid:2", 2},
             {"pyramid of 3 layers", "pyramid:3", 3}};
enum { KINDS = sizeof kinds / sizeof *kinds, FLAT = 0, SHOWN = 1 };

typedef struct heard {
    hd_trail trail[KINDS][HD_LAB_SEEDS];
} heard;

static hd_status learn(double *share, const hd_lab *lab, size_t k, uint64_t seed, void *context, hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    heard *h = context;
    hd_listener l;
    hd_status s = hd_listener_open(&l, lab->run, kinds[k].encoder, seed, err);
    for (int i = 0; !s && i < POINTS; i++) {
        if (i)
            s = hd_listener_learn(&l, times * (uint32_t)(updates[i] - updates[i - 1]),
                                  times * (uint32_t)updates[LAST], 0.01, err);
        if (!s) s = hd_listener_judge(&share[i], &l, err);
    }
    if (!s) s = hd_trail_take(&h->trail[k][seed - lab->seed], &l, kinds[k].layers, err);
    hd_listener_close(&l);
    return s;
}

/* -- what is shown -- */

static void put_weights(hd_paper *to, const hd_trail *t)
{
    const char *row[HD_TRAIL_WORDS], *col[HD_TRAIL_ROOM];
    char name[HD_TRAIL_WORDS][8], at[HD_TRAIL_ROOM][16];
    for (size_t i = 0; i < t->words; i++) {
        snprintf(name[i], sizeof name[i], "%c", 'a' + (t->letter[i] - HD_LISTENER_FIRST));
        row[i] = t->letter[i] == HD_LISTENER_END ? "end" : name[i];
    }
    for (size_t i = 0; i < t->width; i++)
        snprintf(at[i], sizeof at[i], "%zu", i << kinds[SHOWN].layers), col[i] = at[i];
    hd_paper_cells(to, &(hd_cells){.title = "Where the speller looks while it says each letter",
                                   .across = "rows of the pyramid, by their first frame",
                                   .downward = "letters it says",
                                   .value = t->weight,
                                   .rows = t->words,
                                   .cols = t->width,
                                   .row = row,
                                   .col = col,
                                   .full = 1,
                                   .digits = 2});
}

/* Frames and rows of a letter, and whether each layer halves them. */
static void count(hd_paper *to, const heard *h, const hd_lab *lab)
{
    double frames[KINDS], rows[KINDS];
    bool halved = true;
    hd_paper_table_of(to, "Rows that a letter has to be found in", 4, 1);
    hd_paper_row(to, "encoder\tframes a letter\trows a letter\tframes a row");
    for (int k = 0; k < KINDS; k++) {
        const hd_trail *t = h->trail[k];
        const double letters = hd_spread_across(&t->letters, sizeof *t, lab).mean;
        frames[k] = hd_spread_across(&t->frames, sizeof *t, lab).mean / letters;
        rows[k] = hd_spread_across(&t->rows, sizeof *t, lab).mean / letters;
        for (int i = 0; i < lab->seeds; i++) halved = halved && t[i].halved;
        hd_paper_row(to, "%s\t%.1f\t%.1f\t%d", kinds[k].name, frames[k], rows[k], 1 << kinds[k].layers);
    }
    hd_paper_claim(to, "Sound has many more frames than letters; each layer of a pyramid halves them.",
                   halved && frames[FLAT] > 5,
                   "%.1f frames a letter become %.1f rows behind two layers and %.1f behind three.",
                   frames[FLAT], rows[1], rows[2]);
}

static void judge(hd_paper *to, const hd_sweep *w, const hd_trail *t, const hd_lab *lab)
{
    const hd_spread *flat = w->spread[FLAT], *shown = w->spread[SHOWN];
    const hd_spread onward = hd_spread_across(&t->onward, sizeof *t, lab),
                    mass = hd_spread_across(&t->mass, sizeof *t, lab),
                    chance = hd_spread_across(&t->chance, sizeof *t, lab);
    hd_paper_claim(to, "Attention over them learns to spell.", shown[LAST].low > 80,
                   "%.0f %% of the letters are right (%.0f to %.0f).", shown[LAST].mean, shown[LAST].low,
                   shown[LAST].high);
    hd_paper_claim(
        to, "With fewer rows to look through, it learns sooner.", shown[HALF].mean > flat[HALF].mean + 5,
        "After %.0f updates %.0f %% are right behind the pyramid, %.0f %% with a row for each frame.",
        w->x[HALF], shown[HALF].mean, flat[HALF].mean);
    hd_paper_claim(
        to, "It moves on from letter to letter, as the sound does, and nobody said when they were.",
        onward.low > 0.9 && mass.low > 1.5 * chance.high,
        "In %.0f %% of the steps the middle of the weights moves on (%.0f to %.0f); %.0f %% of the attention "
        "lies on the letter that is said, which has %.0f %% of the rows.",
        100 * onward.mean, 100 * onward.low, 100 * onward.high, 100 * mass.mean, 100 * chance.mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    heard *h = hd_mem_zero(sizeof *h);
    hd_status s = h ? hd_sweep_new(&w, kinds, sizeof *kinds, KINDS, updates, POINTS, err)
                    : hd_err_nomem(err, sizeof *h);
    if (!s) {
        hd_sweep_stretch(w, lab);
        w->title = "Letters from sound", w->across = "updates of 32 utterances",
        w->upward = "letters said right, % (mean and spread of all seeds)";
        w->caption = "Letters said right, %, by updates", w->corner = "encoder", w->format = "%.0f",
        w->scale = 100, w->every = 2;
        s = hd_sweep_measure(w, lab, learn, h, err);
    }
    if (!s) {
        hd_paper_say(to,
                     "Each of %d letters is a spectrum of %d numbers that lasts %d to %d frames, under "
                     "noise. A listener of LSTMs reads the frames, and a speller "
                     "that attends to what it makes of them says the %d to %d letters.",
                     HD_LISTENER_LETTERS, HD_LISTENER_BINS, HD_LISTENER_SHORT, HD_LISTENER_LONG,
                     HD_LISTENER_LEAST, HD_LISTENER_MOST);
        hd_sweep_put(to, w, lab), put_weights(to, &h->trail[SHOWN][lab->seeds - 1]);
        count(to, h, lab), judge(to, w, h->trail[SHOWN], lab);
    }
    hd_sweep_free(w);
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
