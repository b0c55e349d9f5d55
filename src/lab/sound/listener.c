/* Listeners that learn made sound. */
#include "lab/sound/listener.h"

#include "base/mem.h"
#include "lab/desk.h"
#include "lab/witness.h"

enum { WIDTH = 24, ITEMS = HD_LISTENER_ITEMS, BINS = HD_LISTENER_BINS, JUDGED = 2 };

hd_status hd_listener_open(hd_listener *l, hd_run *run, const char *encoder, uint64_t seed, hd_err *err)
{
    hd_encdec_opt o = {
        .sounds = true,
        .sound =
            {.features = {.kind = HD_FEATURES_LOG_MEL, .rate = 8000, .window = 200, .hop = 80, .mels = BINS},
             .stack = 1,
             .positions = HD_LISTENER_FRAMES},
        .stack = {.heads = 1, .width = WIDTH, .inner = WIDTH, .eps = 1e-5f, .act = HD_relu},
        .target_vocab = HD_LISTENER_FIRST + HD_LISTENER_LETTERS,
        .output_bias = true,
        .positions = HD_LISTENER_MOST + 2,
        .sinusoid = {.halves = true},
        .recurrent = {.begin = HD_BEGINNING_maps, .read = HD_READING_deep},
    };
    *l = (hd_listener){0};
    hd_status s = hd_stages_read(&o.encoder, encoder, err);
    if (!s) s = hd_stages_read(&o.decoder, "lstm:1", err);
    if (!s && !(l->lot = hd_mem_new(sizeof *l->lot))) s = hd_err_nomem(err, sizeof *l->lot);
    if (!s) s = hd_encdec_new(&l->model, run->backend, &o, true, err);
    return s ? s : hd_course_open(&l->course, run, &l->model->params, seed, err);
}

void hd_listener_close(hd_listener *l)
{
    hd_course_close(&l->course);
    hd_encdec_free(l->model);
    hd_mem_free(l->lot);
    *l = (hd_listener){0};
}

/* Spectra of letters are drawn by the seed, utterances by their number. */
static void draw(hd_listener_lot *to, uint64_t seed, uint64_t number, size_t items)
{
    hd_rng rng = hd_rng_make(seed, 1 + number), spectra = hd_rng_make(seed, 0);
    double spectrum[HD_LISTENER_LETTERS][BINS];
    for (int i = 0; i < HD_LISTENER_LETTERS * BINS; i++)
        spectrum[i / BINS][i % BINS] = hd_rng_normal(&spectra);
    to->items = items, to->words = to->rows = 0;
    for (size_t i = 0; i < items; i++) {
        const uint32_t letters =
            HD_LISTENER_LEAST + hd_rng_below(&rng, HD_LISTENER_MOST - HD_LISTENER_LEAST + 1);
        to->len[i] = (int32_t)letters + 1, to->frames[i] = 0;
        for (uint32_t k = 0; k <= letters; k++, to->words++) {
            const uint32_t letter = hd_rng_below(&rng, HD_LISTENER_LETTERS);
            int32_t frames =
                HD_LISTENER_SHORT + (int32_t)hd_rng_below(&rng, HD_LISTENER_LONG - HD_LISTENER_SHORT + 1);
            if (k == letters) frames = 0;
            to->letter[to->words] = k < letters ? HD_LISTENER_FIRST + (int32_t)letter : HD_LISTENER_END;
            to->begin[to->words] = to->frames[i], to->frames[i] += frames;
            for (; frames > 0; frames--, to->rows++)
                for (int b = 0; b < BINS; b++)
                    to->value[to->rows * BINS + (size_t)b] =
                        (float)(spectrum[letter][b] + 0.5 * hd_rng_normal(&rng));
        }
    }
}

/* Rows of the decoder over the letters of the lot, in a step that was begun. */
static hd_rows rows_of(hd_listener *l, hd_encoded *memory)
{
    hd_run *r = l->course.run;
    const hd_listener_lot *b = l->lot;
    int32_t input[ITEMS * (HD_LISTENER_MOST + 1)];
    size_t at = 0;
    for (size_t i = 0; i < b->items; i++)
        for (int32_t k = 0; k < b->len[i]; k++, at++) input[at] = k ? b->letter[at - 1] : HD_LISTENER_BEGIN;
    hd_frames frames = {0};
    hd_frames_send(
        r, &frames,
        &(hd_frames_host){.value = b->value, .frames = b->frames, .items = b->items, .bins = BINS});
    *memory = hd_encdec_encode(r, l->model, &(hd_items){.frames = &frames});
    return hd_encdec_decode(r, l->model, hd_ints(r, input, at), hd_seg_of(r, b->len, b->items, NULL), *memory,
                            NULL);
}

hd_status hd_listener_learn(hd_listener *l, uint32_t steps, uint32_t of, double rate, hd_err *err)
{
    hd_course *c = &l->course;
    hd_status s = HD_OK;
    for (uint32_t i = 0; !s && i < steps; i++) {
        hd_encoded memory;
        draw(l->lot, c->seed, 2 * c->updates, ITEMS);
        hd_run *r = hd_course_begin(c);
        hd_encdec_loss(r, l->model, rows_of(l, &memory), hd_ints(r, l->lot->letter, l->lot->words),
                       &(hd_loss_opt){.coef = 1});
        s = hd_course_end(c, hd_course_falling(c, rate, of), (double)l->lot->words, err);
    }
    return s;
}

hd_status hd_listener_judge(double *share, hd_listener *l, hd_err *err)
{
    hd_run *r = l->course.run;
    const hd_listener_lot *b = l->lot;
    size_t right = 0, all = 0;
    hd_status s = HD_OK;
    for (uint64_t k = 0; !s && k < JUDGED; k++) {
        int32_t said[ITEMS * (HD_LISTENER_MOST + 1)];
        hd_encoded memory;
        draw(l->lot, l->course.seed, 2 * k + 1, ITEMS);
        hd_run_begin(r, HD_INFERENCE);
        hd_desk_best(said, r, hd_encdec_logits(r, l->model, rows_of(l, &memory)));
        s = hd_run_status(r, err);
        for (size_t i = 0; !s && i < b->words; i++)
            if (b->letter[i] != HD_LISTENER_END) all++, right += said[i] == b->letter[i];
    }
    *share = (double)right / (double)all;
    return s;
}

hd_status hd_listener_gaze(double *to, size_t room, size_t *rows, hd_listener *l, uint64_t number,
                           hd_err *err)
{
    hd_witness w = {.to = to, .room = room};
    hd_encoded memory;
    draw(l->lot, l->course.seed, 2 * (JUDGED + number) + 1, 1);
    hd_run_begin(l->course.run, HD_INFERENCE);
    hd_witness_begin(l->course.run, &w);
    rows_of(l, &memory);
    hd_witness_end(l->course.run);
    *rows = w.count / l->lot->words;
    return hd_run_status(l->course.run, err);
}
