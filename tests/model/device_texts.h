/* Encoder-decoders on a device against the cpu: steps as other models take them, and what greedy search
   writes. */
#ifndef DEVICE_TEXTS_H
#define DEVICE_TEXTS_H

#include "device_steps.h"
#include "decode/search.h"
#include "model/encdec/encdec.h"

/* Who writes texts for the items of a program, and how they end; main says it. */
static struct {
    hd_status (*open)(hd_stepper *out, const hd_encdec *m, hd_err *err);
    int32_t end;
    size_t items;
} texts;

CHECK_UNUSED static void texts_free(void *model)
{
    hd_encdec_free(model);
}

/* Takes the backend over. */
static hd_found *texts_of(hd_backend *b, size_t kind)
{
    hd_err err = {0};
    hd_stepper s = {0};
    hd_found *f = NULL;
    hd_params *params;
    hd_encdec *m = steps_of->make(b, kind, &params);
    hd_run r = run_on(b);
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = texts.end, .max_length = 12, .seats = 8};
    if (texts.open(&s, m, &err) || hd_search(&f, &r, &s, &o, &err)) fail_msg("%s", err.text);
    hd_stepper_release(&s);
    hd_run_release(&r);
    hd_encdec_free(m);
    hd_backend_free(b);
    return f;
}

static void texts_are_those_of_the_cpu(void **state)
{
    (void)state;
    for (size_t k = 0; k < steps_of->kinds; k++) {
        hd_found *a = texts_of(backend_of("cpu", 2), k), *b = texts_of(device_new(HD_PRECISION_F32), k);
        for (size_t i = 0; i < texts.items; i++) {
            const hd_guess *x = hd_found_at(a, i), *y = hd_found_at(b, i);
            assert_int_equal(x->length, y->length);
            assert_memory_equal(x->ids, y->ids, x->length * sizeof *x->ids);
        }
        hd_found_free(a), hd_found_free(b);
    }
}

#endif
