/* Captions: where a decoder looks while it says what is on a picture. */
#include "base/mem.h"
#include "lab/picture/telling.h"
#include "lab/sweep.h"

static const int32_t updates[] = {0, 20, 40, 60, 80, 100};
enum { POINTS = sizeof updates / sizeof *updates, LAST = POINTS - 1 };
enum {
    LENGTH = HD_NARRATOR_LENGTH,
    CELLS = HD_NARRATOR_CELLS,
    ACROSS = HD_NARRATOR_ACROSS,
    SIDE = HD_NARRATOR_SIDE
};
enum { RIGHT, MASS, CHANCE, MEASURES };
static const char *const measures[MEASURES] = {
    "captions that are right", "attention on the shape that is named", "cells of that shape, of all: chance"};

static hd_status learn(hd_sweep *w, hd_telling *t, const hd_lab *lab, int number, hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    hd_narrator n;
    hd_status s = hd_narrator_open(&n, lab->run, lab->seed + (uint64_t)number, err);
    for (int i = 0; !s && i < POINTS; i++) {
        if (i)
            s = hd_narrator_learn(&n, times * (uint32_t)(updates[i] - updates[i - 1]),
                                  times * (uint32_t)updates[LAST], 0.01, err);
        if (!s) s = hd_telling_take(t, &n, err);
        w->value[RIGHT][number][i] = t->right, w->value[MASS][number][i] = t->mass;
        w->value[CHANCE][number][i] = t->chance;
        if (!s) s = hd_lab_tell(lab, (number + (i + 1.0) / POINTS) / lab->seeds, err);
    }
    hd_narrator_close(&n);
    return s;
}

/* -- what is shown -- */

static void put_picture(hd_paper *to, const hd_telling *t)
{
    const char *caption[LENGTH];
    for (int i = 0; i < LENGTH; i++) caption[i] = hd_narrator_word(t->word[i]);
    hd_album_put(to, "A new picture: how far pixels are from the background", t->shades, SIDE);
    hd_paper_film(to, &(hd_film){.cells = {.title = "Where it looks while it says each word",
                                           .across = "cells of the convolutions",
                                           .downward = "cells",
                                           .rows = ACROSS,
                                           .cols = ACROSS,
                                           .full = 0.3,
                                           .digits = -1},
                                 .value = t->gaze,
                                 .caption = caption,
                                 .count = LENGTH});
}

static void judge(hd_paper *to, const hd_sweep *w, const hd_telling *t)
{
    const hd_spread *right = &w->spread[RIGHT][LAST], *mass = w->spread[MASS],
                    *chance = &w->spread[CHANCE][LAST];
    hd_paper_table_of(to, "New pictures and what is said of them", 2, 2);
    hd_paper_row(to, "there is\tit says");
    for (int i = 0; i < HD_TELLING_EXAMPLES; i++)
        hd_paper_row(to, "%s\t%s", t->example[i].truth, t->example[i].said);
    hd_paper_claim(to, "Each place of the grid of the last convolution is one h_i: a word has H' W' weights.",
                   t->weights == CELLS && t->off < 1e-4,
                   "Convolutions make %d x %d cells of %d x %d pixels, and a word has %zu weights, which add "
                   "up to 1 within %.0e.",
                   ACROSS, ACROSS, SIDE, SIDE, t->weights, t->off);
    hd_paper_claim(
        to, "A decoder that attends to them learns to say what is on a picture.", right->low > 70,
        "%.0f %% of the captions of new pictures are right from the first word to the last (%.0f to %.0f).",
        right->mean, right->low, right->high);
    hd_paper_claim(to, "While it names a shape it looks at it, though nobody said where it is.",
                   mass[LAST].low > 2 * chance->high,
                   "%.0f %% of the attention lies on the shape whose color is said (%.0f to %.0f), on %.0f "
                   "%% of the cells; before learning %.0f %% did.",
                   mass[LAST].mean, mass[LAST].low, mass[LAST].high, chance->mean, mass[0].mean);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    hd_sweep *w = NULL;
    hd_telling *t = hd_mem_zero(sizeof *t);
    hd_status s = t ? hd_sweep_new(&w, measures, sizeof *measures, MEASURES, updates, POINTS, err)
                    : hd_err_nomem(err, sizeof *t);
    for (int i = lab->seeds; !s && i-- > 0;)
        s = learn(w, t, lab, i, err); /* the first seed last: it is shown */
    if (!s) {
        hd_sweep_stretch(w, lab);
        w->title = "Captions, and where they come from", w->across = "updates of 32 pictures",
        w->upward = "% (mean and spread of all seeds)";
        w->caption = "Captions and attention, %, by updates", w->corner = "of new pictures",
        w->format = "%.0f", w->scale = 100, w->every = 2;
        hd_paper_say(to,
                     "Convolutions make %d x %d cells of a picture with one or two shapes; an LSTM attends "
                     "to them and says the colors, the largest shape "
                     "first. It learns from pictures and captions alone.",
                     ACROSS, ACROSS);
        put_picture(to, t), hd_sweep_put(to, w, lab), judge(to, w, t);
    }
    hd_sweep_free(w);
    hd_mem_free(t);
    return s;
}

const hd_experiment hd_experiment_caption = {
    .name = "caption",
    .title = "Show, attend and tell",
    .lecture = 4,
    .rows = "71",
    .claim = "A decoder that attends to the cells of a network of convolutions describes pictures, and looks "
             "at what it names.",
    .run = run,
};
