/* Language models that are told a task. */
#include "lab/pretrained/told.h"

#include <math.h>

#include "base/rng.h"
#include "lab/language/pupil.h"

enum { NUMBERS = 8, WIDTH = 32, STREAM = 3000, UPDATES = 150, WINDOW = HD_PUPIL_WINDOW, JUDGED = 20 };

static void draw(int32_t *ids, uint64_t seed, bool told)
{
    hd_rng rng = hd_rng_make(seed, 31);
    for (int i = 0; i < STREAM; i += 3) {
        int32_t task = (int32_t)hd_rng_below(&rng, HD_TOLD_TASKS), x = (int32_t)hd_rng_below(&rng, NUMBERS);
        ids[i] = HD_PUPIL_FIRST + (told ? task : 0), ids[i + 1] = HD_PUPIL_FIRST + HD_TOLD_TASKS + x;
        ids[i + 2] = HD_PUPIL_FIRST + HD_TOLD_TASKS + (x + task + 1) % NUMBERS;
    }
}

hd_status hd_told_measure(hd_told *to, const hd_lab *lab, uint64_t seed, bool told, hd_err *err)
{
    hd_lm_opt o = hd_pupil_model(HD_LM_gpt, WIDTH, HD_PUPIL_FIRST + HD_TOLD_TASKS + NUMBERS);
    int32_t ids[STREAM];
    double nats[WINDOW], changed[WINDOW];
    size_t right = 0;
    hd_pupil p;
    *to = (hd_told){0};
    o.stack.relative_span = 4, o.no_positions = true; /* the task stands one word before, wherever that is */
    draw(ids, seed, told);
    hd_status s = hd_pupil_open(&p, lab->run, &o, seed, err);
    if (!s) s = hd_pupil_learn(&p, ids, STREAM - JUDGED * WINDOW, hd_lab_times(lab) * UPDATES, 0.01, err);
    for (int k = 0; !s && k < JUDGED; k++) {
        int32_t *from = ids + STREAM - (k + 1) * WINDOW;
        s = hd_pupil_words(nats, &p, from, WINDOW, err);
        from[WINDOW - 2] = HD_PUPIL_FIRST;
        if (!s) s = hd_pupil_words(changed, &p, from, WINDOW, err);
        for (int i = 2; !s && i < WINDOW; i += 3) right += nats[i] < log(2);
        for (int i = 0; !s && i < WINDOW - 2; i++) to->leak = fmax(to->leak, fabs(nats[i] - changed[i]));
    }
    to->right = (double)right / (JUDGED * WINDOW / 3);
    hd_pupil_close(&p);
    return s;
}
