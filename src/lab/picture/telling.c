/* Captions of new pictures, and attention on what they name. */
#include "lab/picture/telling.h"

#include <math.h>
#include <string.h>

#include "lab/witness.h"

enum {
    PAGES = 2,
    GAZES = 16, /* pictures that it is watched at */
    LENGTH = HD_NARRATOR_LENGTH,
    CELLS = HD_NARRATOR_CELLS,
    ACROSS = HD_NARRATOR_ACROSS
};

static void write_words(char to[HD_TELLING_TEXT], const int32_t *word)
{
    to[0] = 0;
    for (int i = 0; i < LENGTH && word[i] >= HD_NARRATOR_AND; i++) {
        if (i) strncat(to, " ", HD_TELLING_TEXT - 1 - strlen(to));
        strncat(to, hd_narrator_word(word[i]), HD_TELLING_TEXT - 1 - strlen(to));
    }
}

/* Word by word after its own words. */
static hd_status say(hd_telling *t, hd_narrator *n, hd_err *err)
{
    hd_status s = HD_OK;
    t->right = 0;
    for (uint64_t page = PAGES; !s && page-- > 0;) { /* the first page stays */
        int32_t said[HD_ALBUM_PICTURES][LENGTH];
        s = hd_narrator_turn(n, true, page, err);
        if (!s) s = hd_narrator_say(said, n, err);
        for (size_t i = 0; !s && i < HD_ALBUM_PICTURES; i++) {
            int32_t truth[LENGTH] = {0};
            const size_t words = hd_narrator_truth(truth, &n->album.scene[i]);
            t->right += memcmp(said[i], truth, words * sizeof *truth) ? 0 : 1.0 / (PAGES * HD_ALBUM_PICTURES);
            if (i >= HD_TELLING_EXAMPLES) continue;
            write_words(t->example[i].truth, truth), write_words(t->example[i].said, said[i]);
        }
    }
    return s;
}

/* Cells whose middle lies in a box. */
static void mark(bool named[CELLS], hd_box box)
{
    for (int c = 0; c < CELLS; c++) {
        const double x = c % ACROSS + 0.5 - (double)box.x, y = (double)(c / ACROSS) + 0.5 - (double)box.y;
        named[c] = x >= 0 && y >= 0 && x <= (double)box.width && y <= (double)box.height;
    }
}

/* Every other word names a shape. */
static hd_status look(hd_telling *t, hd_narrator *n, hd_err *err)
{
    hd_status s = HD_OK;
    double looks = 0, mass = 0, chance = 0;
    for (size_t i = GAZES; !s && i-- > 0;) {
        const hd_scene *scene = &n->album.scene[i];
        double w[LENGTH * CELLS];
        int32_t word[LENGTH];
        size_t count = 0, words = hd_narrator_truth(word, scene);
        s = hd_narrator_gaze(w, &count, n, i, err);
        t->weights = count / words;
        for (size_t k = 0; !s && t->weights == CELLS && k < words; k++) {
            bool named[CELLS];
            mark(named, hd_scene_box(scene, (int)k / 2, ACROSS));
            const hd_focus f = hd_focus_of(w + k * CELLS, named, CELLS);
            t->off = fmax(t->off, fabs(f.all - 1));
            if (k % 2 == 0) mass += f.mass, chance += f.chance, looks++;
        }
        if (words < LENGTH) continue;
        memcpy(t->gaze, w, sizeof w), memcpy(t->word, word, sizeof word);
        hd_album_shades(t->shades, &n->album, i);
    }
    t->mass = mass / looks, t->chance = chance / looks;
    return s;
}

hd_status hd_telling_take(hd_telling *t, hd_narrator *n, hd_err *err)
{
    hd_status s = say(t, n, err);
    return s ? s : look(t, n, err);
}
