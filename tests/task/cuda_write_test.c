/* Handwriting on the device against the cpu: the loss and gradients of a training step as a run sends it,
   captured steps among them. */
#include "device_steps.h"
#include "task/write/kind.h"

enum { LINES = 3, WIDTH = 32, VOCAB = 9, LONGEST = 150 };

static const size_t points[LINES] = {31, 140, 77}, letters[LINES] = {3, 11, 6};
static const struct {
    const char *name;
    const hd_write_kind *kind;
    int window;
} kinds[] = {
    {"window 0", &hd_write_network, 0}, {"window 4", &hd_write_network, 4}, {"gpt", &hd_write_tokens, 0}};

/* A model with the lines that it learns, which refer to the rest. */
typedef struct writing {
    const hd_write_kind *kind;
    hd_model m;
    hd_strokes strokes;
    size_t first[LINES + 1];
    int32_t id[3 + 11 + 6];
    hd_write_lines lines;
    hd_write_batch sent;
} writing;

static const char *name_of(size_t kind)
{
    return kinds[kind].name;
}

static hd_strokes strokes_of(void)
{
    hd_strokes s = {0};
    hd_err err = {0};
    hd_rng rng = hd_rng_make(8, 1);
    for (size_t i = 0; i < LINES; i++) {
        hd_pen_point p[LONGEST];
        float x = 0, y = 0;
        for (size_t k = 0; k < points[i]; k++) {
            x += (float)(1 + hd_rng_normal(&rng)), y += (float)hd_rng_normal(&rng);
            p[k] = (hd_pen_point){x, y, k % 13 == 12};
        }
        if (hd_strokes_add(&s, (hd_line){"", 0}, p, points[i], &err)) fail_msg("%s", err.text);
    }
    return s;
}

static hd_model model_of(hd_backend *b, size_t kind)
{
    hd_err err = {0};
    hd_model m;
    const hd_pen_scale scale = {{1, 0}, {1, 1}};
    hd_write_sizes o = {.network = {.width = WIDTH,
                                    .vocab = VOCAB,
                                    .layers = 3,
                                    .mixtures = 5,
                                    .window = kinds[kind].window,
                                    .scale = scale}};
    if (kinds[kind].kind == &hd_write_tokens)
        o.tokens = (hd_pen_gpt_opt){.stack = {.layers = 2,
                                              .heads = 2,
                                              .width = WIDTH,
                                              .inner = 2 * WIDTH,
                                              .act = HD_gelu,
                                              .relative_span = 24},
                                    .vocab = VOCAB,
                                    .positions = 200,
                                    .scale = scale,
                                    .bins = {8, 6, 0.2f, 9}};
    if (kinds[kind].kind->make(&m, b, &o, true, &err) || kinds[kind].kind->draw(m.self, 3, 12, &err))
        fail_msg("%s", err.text);
    return m;
}

static void *make(hd_backend *b, size_t kind, hd_params **params)
{
    writing *w = calloc(1, sizeof *w);
    w->kind = kinds[kind].kind, w->m = model_of(b, kind);
    w->strokes = strokes_of();
    for (size_t i = 0; i < LINES; i++) w->first[i + 1] = w->first[i] + letters[i];
    for (size_t i = 0; i < COUNT_OF(w->id); i++) w->id[i] = (int32_t)(i * 5 % VOCAB);
    w->lines = (hd_write_lines){.strokes = &w->strokes, .id = w->id, .first_id = w->first};
    *params = w->m.params;
    return w;
}

static void discard(void *model)
{
    writing *w = model;
    hd_model_free(&w->m);
    hd_strokes_release(&w->strokes);
    free(w);
}

static uint64_t send(hd_run *r, void *model)
{
    const uint32_t which[LINES] = {2, 0, 1};
    writing *w = model;
    return w->kind->send(r, &w->sent, &w->lines, which, LINES, w->m.self);
}

static hd_tensor *loss(hd_run *r, void *model)
{
    const writing *w = model;
    return w->kind->loss(r, w->m.self, &w->sent);
}

static const steps_model handwriting = {.kinds = COUNT_OF(kinds),
                                        .name = name_of,
                                        .make = make,
                                        .free = discard,
                                        .send = send,
                                        .loss = loss,
                                        .cosine = 0.98};

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_has_the_loss_and_gradients_of_the_cpu),
                                       cmocka_unit_test(captured_steps_are_the_same)};
    steps_of = &handwriting;
    if (device_missing()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
