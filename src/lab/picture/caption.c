/* Captions: where a decoder looks while it says what is on a picture. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "lab/picture/narrator.h"
#include "lab/sweep.h"

enum { POINTS = 6, EACH = 20, LAST = POINTS - 1, PAGES = 2, GAZES = 16, EXAMPLES = 4 };
enum {
    LENGTH = HD_NARRATOR_LENGTH,
    CELLS = HD_NARRATOR_CELLS,
    ACROSS = HD_NARRATOR_ACROSS,
    SIDE = HD_NARRATOR_SIDE
};
enum { RIGHT, MASS, CHANCE, MEASURES };
static const char *const measures[MEASURES] = {
    "captions that are right", "attention on the shape that is named", "cells of that shape, of all: chance"};

typedef struct told {
    hd_sweep sweep;
    size_t weights;              /* of a word */
    double sum;                  /* how far the weights of a word are from adding up to 1, the most */
    double gaze[LENGTH * CELLS]; /* of the picture that is shown, the first with two shapes */
    double shades[SIDE * SIDE];  /* ... itself */
    int32_t word[LENGTH];        /* ... what is true of it */
    char said[EXAMPLES][2][64];  /* what is true and what is said of new pictures */
} told;

static void write_words(char to[64], const int32_t *word)
{
    to[0] = 0;
    for (int i = 0; i < LENGTH && word[i] >= HD_NARRATOR_AND; i++) {
        if (i) strncat(to, " ", 63 - strlen(to));
        strncat(to, hd_narrator_word(word[i]), 63 - strlen(to));
    }
}

/* Captions of new pictures, word by word after its own words. */
static hd_status say(told *t, double *right, hd_narrator *n, hd_err *err)
{
    hd_status s = HD_OK;
    for (uint64_t page = PAGES; !s && page-- > 0;) { /* the first page stays */
        int32_t said[HD_ALBUM_PICTURES][LENGTH], truth[LENGTH];
        s = hd_narrator_turn(n, true, page, err);
        if (!s) s = hd_narrator_say(said, n, err);
        for (size_t i = 0; !s && i < HD_ALBUM_PICTURES; i++) {
            const size_t words = hd_narrator_truth(truth, &n->album.scene[i]);
            *right += memcmp(said[i], truth, words * sizeof *truth) ? 0 : 1.0 / (PAGES * HD_ALBUM_PICTURES);
            if (i >= EXAMPLES) continue;
            for (size_t k = words; k < LENGTH; k++) truth[k] = 0;
            write_words(t->said[i][0], truth), write_words(t->said[i][1], said[i]);
        }
    }
    return s;
}

/* Attention to the cells whose middle lies in the box of the shape that a word names. */
static hd_status look(told *t, double *mass, double *chance, hd_narrator *n, hd_err *err)
{
    hd_status s = HD_OK;
    double looks = 0, on = 0, cells = 0;
    for (size_t i = GAZES; !s && i-- > 0;) {
        const hd_scene *scene = &n->album.scene[i];
        double w[LENGTH * CELLS];
        int32_t word[LENGTH];
        size_t count = 0, words = hd_narrator_truth(word, scene);
        s = hd_narrator_gaze(w, &count, n, i, err);
        t->weights = count / words;
        for (size_t k = 0; !s && t->weights == CELLS && k < words; k++) {
            const hd_box box = hd_scene_box(scene, (int)k / 2, ACROSS);
            double sum = 0;
            for (int c = 0; c < CELLS; c++) {
                const double x = c % ACROSS + 0.5 - (double)box.x,
                             y = (double)(c / ACROSS) + 0.5 - (double)box.y;
                sum += w[k * CELLS + (size_t)c];
                if (k % 2 || x < 0 || y < 0 || x > (double)box.width || y > (double)box.height) continue;
                on += w[k * CELLS + (size_t)c], cells += 1.0 / CELLS;
            }
            looks += k % 2 ? 0 : 1, t->sum = fmax(t->sum, fabs(sum - 1));
        }
        if (words < LENGTH) continue;
        memcpy(t->gaze, w, sizeof w), memcpy(t->word, word, sizeof word);
        hd_album_shades(t->shades, &n->album, i);
    }
    *mass = on / looks, *chance = cells / looks;
    return s;
}

static hd_status learn(told *t, const hd_lab *lab, int number, hd_err *err)
{
    const uint32_t each = lab->full ? 4 * EACH : EACH;
    hd_narrator n;
    hd_status s = hd_narrator_open(&n, lab->run, lab->seed + (uint64_t)number, err);
    for (int i = 0; !s && i < POINTS; i++) {
        double right = 0, mass = 0, chance = 0;
        if (i) s = hd_narrator_learn(&n, each, LAST * each, 0.01, err);
        if (!s) s = say(t, &right, &n, err);
        if (!s) s = look(t, &mass, &chance, &n, err);
        t->sweep.value[RIGHT][number][i] = right, t->sweep.value[MASS][number][i] = mass;
        t->sweep.value[CHANCE][number][i] = chance;
        if (!s) s = hd_lab_tell(lab, (number + (i + 1.0) / POINTS) / lab->seeds, err);
    }
    hd_narrator_close(&n);
    return s;
}

/* -- what is shown -- */

static void put_picture(hd_paper *to, const told *t)
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

static void judge(hd_paper *to, const told *t)
{
    const hd_spread *right = &t->sweep.spread[RIGHT][LAST], *mass = t->sweep.spread[MASS],
                    *chance = &t->sweep.spread[CHANCE][LAST];
    hd_paper_table_of(to, "New pictures and what is said of them", 2, 2);
    hd_paper_cell(to, "there is"), hd_paper_cell(to, "it says");
    for (int i = 0; i < EXAMPLES; i++)
        hd_paper_cell(to, "%s", t->said[i][0]), hd_paper_cell(to, "%s", t->said[i][1]);
    hd_paper_claim(to, "Each place of the grid of the last convolution is one h_i: a word has H' W' weights.",
                   t->weights == CELLS && t->sum < 1e-4,
                   "Convolutions make %d x %d cells of %d x %d pixels, and a word has %zu weights, which add "
                   "up to 1 within %.0e.",
                   ACROSS, ACROSS, SIDE, SIDE, t->weights, t->sum);
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
    double x[POINTS];
    told *t = hd_mem_zero(sizeof *t);
    hd_status s = t ? HD_OK : hd_err_nomem(err, sizeof *t);
    for (int i = lab->seeds; !s && i-- > 0;) s = learn(t, lab, i, err); /* the first seed last: it is shown */
    if (!s) {
        hd_sweep *w = &t->sweep;
        for (int i = 0; i < POINTS; i++) x[i] = i * EACH * (lab->full ? 4.0 : 1);
        w->title = "Captions, and where they come from", w->across = "updates of 32 pictures",
        w->upward = "% (mean and spread of all seeds)";
        w->caption = "Captions and attention, %, by updates", w->corner = "of new pictures",
        w->format = "%.0f", w->scale = 100;
        w->kind = measures, w->kinds = MEASURES, w->x = x, w->points = POINTS, w->every = 2;
        hd_paper_say(to,
                     "Convolutions make %d x %d cells of a picture with one or two shapes; an LSTM attends "
                     "to them and says the colors, the largest shape "
                     "first. It learns from pictures and captions alone.",
                     ACROSS, ACROSS);
        put_picture(to, t), hd_sweep_put(to, w, lab), judge(to, t);
    }
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
