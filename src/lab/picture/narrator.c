/* Captioners that learn drawn shapes. */
#include "lab/picture/narrator.h"

#include <string.h>

#include "lab/desk.h"
#include "lab/witness.h"

enum {
    WIDTH = 32,
    PICTURES = HD_ALBUM_PICTURES,
    LENGTH = HD_NARRATOR_LENGTH,
    ROOM = LENGTH * HD_NARRATOR_CELLS
};

hd_status hd_narrator_open(hd_narrator *n, hd_run *run, uint64_t seed, hd_err *err)
{
    hd_encdec_opt o = {
        .pictures = true,
        .image = {.kind = HD_IMAGE_resnet,
                  .height = HD_NARRATOR_SIDE,
                  .width = HD_NARRATOR_SIDE,
                  .channels = 3,
                  .resnet = {.stages = 2,
                             .embedding = 8,
                             .hidden = {8, WIDTH},
                             .depths = {1, 1},
                             .stem_small = true}},
        .stack = {.heads = 1, .width = WIDTH, .inner = WIDTH, .eps = 1e-5f, .act = HD_relu},
        .target_vocab = HD_NARRATOR_WORDS,
        .output_bias = true,
        .positions = LENGTH + 1,
        .sinusoid = {.halves = true},
        .recurrent = {.begin = HD_BEGINNING_maps, .read = HD_READING_deep},
    };
    *n = (hd_narrator){.album = {.seed = seed, .side = HD_NARRATOR_SIDE, .most = HD_NARRATOR_MOST}};
    hd_status s = hd_stages_read(&o.decoder, "lstm:1", err);
    if (!s) s = hd_encdec_new(&n->model, run->backend, &o, true, err);
    return s ? s : hd_course_open(&n->course, run, &n->model->params, seed, err);
}

void hd_narrator_close(hd_narrator *n)
{
    hd_course_close(&n->course);
    hd_encdec_free(n->model);
    hd_album_close(&n->album);
    *n = (hd_narrator){0};
}

hd_status hd_narrator_turn(hd_narrator *n, bool fresh, uint64_t page, hd_err *err)
{
    return hd_album_turn(&n->album, 2 * page + fresh, err);
}

size_t hd_narrator_truth(int32_t to[LENGTH], const hd_scene *s)
{
    size_t n = 0;
    for (int i = 0; i < s->count; i++) {
        to[n++] = HD_NARRATOR_COLOR + (int32_t)s->shape[i].color;
        to[n++] = i + 1 < s->count ? HD_NARRATOR_AND : HD_NARRATOR_END;
    }
    return n;
}

const char *hd_narrator_word(int32_t id)
{
    if (id >= HD_NARRATOR_COLOR) return hd_shape_color_name((hd_shape_color)(id - HD_NARRATOR_COLOR));
    return id == HD_NARRATOR_AND ? "and" : "(end)";
}

/* Rows of the decoder over words of some pictures, each after the one before it. */
static hd_rows rows_of(hd_narrator *n, size_t from, size_t count, const int32_t *word, const int32_t *len,
                       size_t words)
{
    hd_run *r = n->course.run;
    int32_t input[PICTURES * LENGTH];
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        for (int32_t k = 0; k < len[i]; k++, at++) input[at] = k ? word[at - 1] : HD_NARRATOR_BEGIN;
    const hd_items in = {.pixels = hd_album_send(r, &n->album, from, count, &n->model->opt.image.prepare)};
    hd_encoded memory = in.pixels ? hd_encdec_encode(r, n->model, &in) : (hd_encoded){0};
    return hd_encdec_decode(r, n->model, hd_ints(r, input, words), hd_seg_of(r, len, count, NULL), memory,
                            NULL);
}

hd_status hd_narrator_learn(hd_narrator *n, uint32_t steps, uint32_t of, double rate, hd_err *err)
{
    hd_course *c = &n->course;
    hd_status s = HD_OK;
    for (uint32_t i = 0; !s && i < steps; i++) {
        int32_t word[PICTURES * LENGTH], len[PICTURES];
        size_t words = 0;
        s = hd_narrator_turn(n, false, c->updates, err);
        if (s) return s;
        for (size_t k = 0; k < PICTURES; words += (size_t)len[k++])
            len[k] = (int32_t)hd_narrator_truth(word + words, &n->album.scene[k]);
        hd_run *r = hd_course_begin(c);
        hd_encdec_loss(r, n->model, rows_of(n, 0, PICTURES, word, len, words), hd_ints(r, word, words),
                       &(hd_loss_opt){.coef = 1});
        s = hd_course_end(c, hd_course_falling(c, rate, of), (double)words, err);
    }
    return s;
}

hd_status hd_narrator_say(int32_t to[PICTURES][LENGTH], hd_narrator *n, hd_err *err)
{
    hd_run *r = n->course.run;
    hd_status s = HD_OK;
    memset(to, 0, PICTURES * sizeof *to);
    for (size_t t = 0; !s && t < LENGTH; t++) {
        int32_t word[PICTURES * LENGTH], len[PICTURES], best[PICTURES * LENGTH];
        const size_t words = PICTURES * (t + 1);
        for (size_t i = 0; i < PICTURES; i++) {
            len[i] = (int32_t)t + 1;
            memcpy(word + i * (t + 1), to[i], (t + 1) * sizeof *word);
        }
        hd_run_begin(r, HD_INFERENCE);
        hd_desk_best(best, r, hd_encdec_logits(r, n->model, rows_of(n, 0, PICTURES, word, len, words)));
        s = hd_run_status(r, err);
        for (size_t i = 0; !s && i < PICTURES; i++) to[i][t] = best[i * (t + 1) + t];
    }
    return s;
}

hd_status hd_narrator_gaze(double to[ROOM], size_t *count, hd_narrator *n, size_t picture, hd_err *err)
{
    hd_witness w = {.to = to, .room = ROOM};
    int32_t word[LENGTH], len = (int32_t)hd_narrator_truth(word, &n->album.scene[picture]);
    hd_run_begin(n->course.run, HD_INFERENCE);
    hd_witness_begin(n->course.run, &w);
    rows_of(n, picture, 1, word, &len, (size_t)len);
    hd_witness_end(n->course.run);
    *count = w.count;
    return hd_run_status(n->course.run, err);
}
