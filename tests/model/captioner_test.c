/* Encoder-decoders that read pictures: what search finds step by step has the probabilities of one forward
   pass over all of it, whoever else is in the batch; a word has a weight for every part of the picture. */
#include "check.h"
#include "data/image/loader.h"
#include "decode/search.h"
#include "model/encdec/encdec.h"
#include "nn/pixels.h"

enum { SIDE = 12, PATCH = 4, CELLS = 9, ITEMS = 3, V = 11, START = 1, END = 2, LONGEST = 7 };

static uint8_t bytes[ITEMS * SIDE * SIDE * 3];
static int32_t begin[ITEMS], size[2 * ITEMS];

static hd_image_batch batch_of(size_t first, size_t items)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((i * 37 + i * i % 101 + i / 432 * 50) % 256);
    for (size_t i = 0; i < ITEMS; i++)
        begin[i] = (int32_t)(i * sizeof bytes / ITEMS), size[2 * i] = size[2 * i + 1] = SIDE;
    return (hd_image_batch){.items = items,
                            .bytes = bytes + begin[first],
                            .byte_count = items * sizeof bytes / ITEMS,
                            .begin = begin,
                            .size = size,
                            .channels = 3};
}

static const struct {
    const char *name, *decoder;
    hd_recurrent_decoder_opt r;
    bool vision, class_token;
    size_t width; /* of the pictures' vectors */
} kinds[] = {
    {"show, attend and tell",
     "lstm:1",
     {.begin = HD_BEGINNING_maps, .read = HD_READING_residual, .gate = true, .penalty = 1},
     false,
     false,
     8},
    {"gru over a context that is fed back",
     "gru:2",
     {.query = HD_QUERY_current, .read = HD_READING_tanh, .begin = HD_BEGINNING_map, .feed_context = true},
     false,
     true,
     12},
    {"transformer", "transformer:2", {0}, false, false, 8},
    {"lstm under blocks", "lstm:1+transformer:1", {.begin = HD_BEGINNING_maps}, false, false, 12},
    {"ViT and GPT-2", "transformer:2", {0}, true, true, 8},
    {"ViT and a narrower GPT-2", "transformer:1", {0}, true, true, 12},
};

static hd_encdec *model_of(hd_backend *b, size_t k)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    bool vision = kinds[k].vision;
    hd_encdec_opt o = {
        .pictures = true,
        .image = {.height = SIDE,
                  .width = SIDE,
                  .channels = 3,
                  .patch = PATCH,
                  .class_token = kinds[k].class_token,
                  .stack = {.layers = 1, .heads = 2, .width = kinds[k].width, .inner = 12}},
        .stack = {.heads = 2, .width = 8, .inner = 12, .eps = 1e-5f, .act = HD_gelu, .pre_norm = vision},
        .target_vocab = V,
        .positions = 16,
        .sinusoid = {.halves = true},
        .unscaled = vision,
        .learned_positions = vision,
        .tied = vision,
        .recurrent = kinds[k].r,
        .names = vision ? &hd_encdec_vision : NULL};
    if (hd_stages_read(&o.decoder, kinds[k].decoder, &err) || hd_encdec_new(&m, b, &o, true, &err) ||
        hd_params_draw(&m->params, 3, &err))
        fail_msg("%s: %s", kinds[k].name, err.text);
    for (size_t i = 0; i < m->params.trainable; i++) m->params.value[i] *= (hd_real)3;
    return m;
}

/* Log-probabilities of ids after a start, of one picture. */
static hd_real *whole(hd_run *r, const hd_encdec *m, const hd_image_batch *b, const int32_t *ids,
                      size_t count)
{
    int32_t input[LONGEST + 1] = {START}, len = (int32_t)count;
    hd_pixels pixels;
    for (size_t i = 1; i < count; i++) input[i] = ids[i - 1];
    hd_run_begin(r, HD_INFERENCE);
    hd_pixels_send(r, &pixels, b, &m->opt.image.prepare);
    hd_encoded memory = hd_encdec_encode(r, m, &(hd_items){.pixels = &pixels});
    hd_rows x = hd_encdec_decode(r, m, hd_ints(r, input, count), hd_seg_of(r, &len, 1, NULL), memory, NULL);
    return host_copy(r, hd_log_softmax(r, hd_encdec_logits(r, m, x)));
}

static hd_found *search(hd_run *r, const hd_encdec *m, const hd_image_batch *b, hd_search_kind kind,
                        size_t seats)
{
    hd_err err = {0};
    hd_stepper s = {0};
    hd_found *f = NULL;
    hd_search_opt o = {.kind = kind, .beam = 3, .best = 1, .end = END, .max_length = LONGEST, .seats = seats};
    if (hd_encdec_picture_stepper(&s, m, b, START, &err) || hd_search(&f, r, &s, &o, &err))
        fail_msg("%s", err.text);
    hd_stepper_release(&s);
    return f;
}

static void steps_have_the_probabilities_of_a_whole_pass(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        hd_backend *b = backend_of("cpu", 2);
        hd_run r = run_on(b);
        hd_encdec *m = model_of(b, k);
        for (int kind = 0; kind < 2; kind++) {
            const hd_image_batch all = batch_of(0, ITEMS);
            /* two seats: some pictures wait until others are done */
            hd_found *f = search(&r, m, &all, kind ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY, kind ? 6 : 2);
            for (size_t i = 0; i < ITEMS; i++) {
                const hd_image_batch one = batch_of(i, 1);
                const hd_guess *g = hd_found_at(f, i);
                hd_real *logp = whole(&r, m, &one, g->ids, g->length);
                for (size_t t = 0; t < g->length; t++)
                    if (g->logp[t] != logp[t * V + (size_t)g->ids[t]])
                        fail_msg("%s: token %zu of picture %zu is off by %g", kinds[k].name, t, i,
                                 (double)(g->logp[t] - logp[t * V + (size_t)g->ids[t]]));
                free(logp);
            }
            hd_found_free(f);
        }
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

/* Pictures matter: another one gives other probabilities. */
static void captions_depend_on_the_picture(void **state)
{
    (void)state;
    static const int32_t ids[] = {4, 5, 6};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        hd_encdec *m = model_of(b, k);
        const hd_image_batch one = batch_of(0, 1), other = batch_of(2, 1);
        hd_real *x = whole(&r, m, &one, ids, 3), *y = whole(&r, m, &other, ids, 3);
        double apart = 0;
        for (size_t i = 0; i < 3 * V; i++) apart = fmax(apart, fabs((double)(x[i] - y[i])));
        if (!(apart > 1e-3)) fail_msg("%s: pictures differ by %g", kinds[k].name, apart);
        free(x), free(y);
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

typedef struct counted {
    size_t offers, weights;
    double least, most; /* sum of a word's */
} counted;

static void count_weights(void *context, hd_run *r, const hd_offer *offer)
{
    counted *c = context;
    if (!offer->keys || strcmp(offer->name, "dec.0.cross.softmax")) return;
    size_t n = hd_rows_of(offer->t), heads = hd_cols_of(offer->t);
    hd_real *x = hd_host_take(r, n * heads * sizeof *x);
    assert_true(hd_read(r, offer->t, x));
    c->offers++, c->weights = n;
    for (size_t h = 0; h < heads; h++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)x[i * heads + h];
        sum /= heads > 1 ? 3 : 1; /* blocks offer all three words at once */
        c->least = fmin(c->least, sum), c->most = fmax(c->most, sum);
    }
}

static void a_word_has_a_weight_for_every_part_of_the_picture(void **state)
{
    (void)state;
    static const int32_t ids[] = {4, 5, 6};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        counted c = {.least = 2};
        hd_probe probe = {.take = count_weights, .context = &c};
        hd_backend *b = backend_of("cpu", 1);
        hd_run r = run_on(b);
        hd_encdec *m = model_of(b, k);
        const hd_image_batch one = batch_of(0, 1);
        bool blocks = !hd_encdec_recurs(m);
        r.probe = &probe;
        free(whole(&r, m, &one, ids, 3));
        r.probe = NULL;
        assert_int_equal(hd_encdec_length(m), CELLS + kinds[k].class_token);
        if (strcmp(kinds[k].decoder, "lstm:1+transformer:1")) {
            assert_int_equal(c.weights, (blocks ? 3 : 1) * (CELLS + kinds[k].class_token));
            assert_int_equal(c.offers, blocks ? 1 : 3);
            assert_float_equal((float)c.least, 1, 1e-4f);
            assert_float_equal((float)c.most, 1, 1e-4f);
        }
        hd_encdec_free(m);
        hd_run_release(&r);
        hd_backend_free(b);
    }
}

static void tokens_and_pictures_are_told_apart(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_stepper s = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_encdec *m = model_of(b, 0);
    assert_int_equal(hd_encdec_stepper(&s, m, (int32_t[]){1}, (int32_t[]){1}, 1, START, &err), HD_EARG);
    assert_non_null(strstr(err.text, "reads pictures"));
    hd_encdec_free(m);
    hd_backend_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_have_the_probabilities_of_a_whole_pass),
                                       cmocka_unit_test(captions_depend_on_the_picture),
                                       cmocka_unit_test(a_word_has_a_weight_for_every_part_of_the_picture),
                                       cmocka_unit_test(tokens_and_pictures_are_told_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
