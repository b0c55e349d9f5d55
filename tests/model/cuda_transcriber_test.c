/* Encoder-decoders over sound on the device against the cpu: the loss and gradients of a training step,
   captured steps among them, and what greedy search writes. */
#include "model/device_texts.h"
#include "model/sound_toy.h"

enum { WIDTH = 32 };

static st_batch sent;

static const char *name_of(size_t kind)
{
    return st_kinds[kind].name;
}

static void *make(hd_backend *b, size_t kind, hd_params **params)
{
    hd_encdec *m = st_model(b, kind, WIDTH, 1);
    *params = &m->params;
    return m;
}

static uint64_t send(hd_run *r, void *model)
{
    sent = st_send(r, model);
    return sent.shape;
}

static hd_tensor *loss(hd_run *r, void *model)
{
    return st_loss(r, model, &sent);
}

static const steps_model transcriber = {.kinds = COUNT_OF(st_kinds),
                                        .name = name_of,
                                        .make = make,
                                        .free = texts_free,
                                        .send = send,
                                        .loss = loss,
                                        .cosine = 0.98};

static hd_status open(hd_stepper *out, const hd_encdec *m, hd_err *err)
{
    static hd_frames_host in; /* the stepper reads it until it is released */
    in = st_sounds(0, ST_ITEMS);
    return hd_encdec_sound_stepper(out, m, &in, ST_START, err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
                                       cmocka_unit_test(captured_steps_are_the_same),
                                       cmocka_unit_test(texts_are_those_of_the_cpu)};
    steps_of = &transcriber;
    texts.open = open, texts.end = ST_END, texts.items = ST_ITEMS;
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
