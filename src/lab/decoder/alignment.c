/* Alignment: where a decoder looks while it learns, frame by frame. */
#include <stdio.h>

#include "base/mem.h"
#include "lab/decoder/answer.h"

static const uint32_t updates[] = {0, 20, 40, 60, 80, 100, 130, 160, 200, 250, 300};
enum { FRAMES = sizeof updates / sizeof *updates, LENGTH = 7, WORDS = 10, WIDTH = 24, JUDGED = 16 };
enum { CELLS = (LENGTH + 1) * (LENGTH + 1) };

typedef struct frames {
    double share[HD_LAB_SEEDS]
                [FRAMES];         /* percent of words whose largest weight lies on the word that is said */
    double weight[FRAMES][CELLS]; /* of the first pair of the first seed */
    hd_gaze gaze;                 /* ... which this is at last */
} frames;

/* Word t of the target is word n - 1 - t of the source: what is said backwards. */
static size_t hits_of(const hd_gaze *g)
{
    size_t hits = 0, n = g->sources - 1;
    for (size_t t = 0; t < n; t++) {
        const double *w = g->weight + t * g->sources;
        size_t best = 0;
        for (size_t i = 1; i < g->sources; i++)
            if (w[i] > w[best]) best = i;
        hits += best == n - 1 - t;
    }
    return hits;
}

static hd_status look(double *share, hd_gaze *g, hd_learner *l, hd_err *err)
{
    size_t hits = 0;
    hd_status s = HD_OK;
    for (uint64_t i = JUDGED; !s && i-- > 0;) { /* the first pair last, which is kept */
        s = hd_gaze_take(g, l, LENGTH, i, err);
        hits += s ? 0 : hits_of(g);
    }
    *share = 100.0 * (double)hits / (JUDGED * LENGTH);
    return s;
}

static hd_status learn(frames *f, const hd_lab *lab, int number, hd_err *err)
{
    const uint32_t times = hd_lab_times(lab);
    hd_learner_opt o = {.encoder = "bi-gru:1",
                        .decoder = "gru:1",
                        .exercise = HD_EXERCISE_reverse,
                        .plain = WORDS,
                        .shortest = 2,
                        .longest = LENGTH,
                        .seed = lab->seed + (uint64_t)number,
                        .model = hd_learner_model(WIDTH)};
    hd_learner l;
    o.model.recurrent = (hd_recurrent_decoder_opt){.begin = HD_BEGINNING_map, .read = HD_READING_deep};
    hd_status s = hd_learner_open(&l, lab->run, &o, err);
    for (int i = 0; !s && i < FRAMES; i++) {
        if (i)
            s = hd_learner_learn(&l, times * (updates[i] - updates[i - 1]), times * updates[FRAMES - 1], 0.01,
                                 NULL, err);
        if (!s) s = look(&f->share[number][i], &f->gaze, &l, err);
        for (int k = 0; !s && !number && k < CELLS; k++) f->weight[i][k] = f->gaze.weight[k];
    }
    hd_learner_close(&l);
    return s;
}

static const char *word_of(int32_t id)
{
    return id == HD_LEARNER_END ? "end" : hd_exercise_word(HD_EXERCISE_reverse, id - HD_LEARNER_FIRST);
}

static void put_frames(hd_paper *to, const frames *f, const hd_lab *lab)
{
    const char *row[LENGTH + 1], *col[LENGTH + 1], *caption[FRAMES];
    char text[FRAMES][64];
    for (int i = 0; i <= LENGTH; i++)
        row[i] = word_of(f->gaze.target[i]), col[i] = word_of(f->gaze.source[i]);
    for (int i = 0; i < FRAMES; i++) {
        snprintf(text[i], sizeof text[i], "after %u updates", (unsigned)updates[i] * hd_lab_times(lab));
        caption[i] = text[i];
    }
    hd_paper_film(to, &(hd_film){.cells = {.title = "Where the decoder looks",
                                           .across = "words of the source",
                                           .downward = "words it says",
                                           .rows = LENGTH + 1,
                                           .cols = LENGTH + 1,
                                           .row = row,
                                           .col = col,
                                           .full = 1,
                                           .digits = 2},
                                 .value = f->weight[0],
                                 .caption = caption,
                                 .count = FRAMES});
}

static void put_shares(hd_paper *to, const frames *f, const hd_lab *lab)
{
    double x[FRAMES];
    hd_spread share[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        x[i] = updates[i] * hd_lab_times(lab);
        share[i] = hd_spread_across(&f->share[0][i], sizeof *f->share, lab);
    }
    const hd_spread *first = share, *last = &share[FRAMES - 1];
    hd_paper_plot(to, &(hd_series_plot){.title = "How often it looks at the word that it says",
                                        .across = "updates",
                                        .upward = "words whose largest weight lies on the right one, %"});
    hd_spread_line(to, "attention", x, share, FRAMES);
    hd_paper_claim(
        to, "A decoder learns by itself to look at the word that it says.", last->low > 90,
        "After %.0f updates the largest weight lies on the right word for %.0f %% of the words (%.0f to "
        "%.0f).",
        x[FRAMES - 1], last->mean, last->low, last->high);
    hd_paper_claim(to, "Nobody told it where that word stands: before learning it did not know.",
                   first->high < 50,
                   "At first it is %.0f %% (%.0f to %.0f); one place in %d by chance is %.0f %%.",
                   first->mean, first->low, first->high, LENGTH + 1, 100.0 / (LENGTH + 1));
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    frames *f = hd_mem_zero(sizeof *f);
    hd_status s = f ? HD_OK : hd_err_nomem(err, sizeof *f);
    for (int i = lab->seeds; !s && i-- > 0;) { /* the first seed last: its pair is drawn */
        s = learn(f, lab, i, err);
        if (!s) s = hd_lab_tell(lab, 1 - (double)i / lab->seeds, err);
    }
    if (!s) {
        hd_paper_say(
            to,
            "Words are to be said backwards, by a GRU that attends to the states of a GRU that reads both "
            "ways. A row is a word that is said, a column a word of the source, and the shade is how much "
            "attention it gets; a row sums to 1. The right places lie on the diagonal from the top right.");
        put_frames(to, f, lab);
        put_shares(to, f, lab);
    }
    hd_mem_free(f);
    return s;
}

const hd_experiment hd_experiment_alignment = {
    .name = "alignment",
    .title = "Where a decoder looks",
    .lecture = 4,
    .rows = "65, 66",
    .claim = "The weights of attention show which word of the source a word of the target comes from, and "
             "nobody has to tell "
             "the model.",
    .run = run,
};
