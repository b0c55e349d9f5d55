/* The folder of a translator: what is saved is what is opened, and everything else is refused with one text
   that names the file. */
#include "task/small.h"
#include "train/published.h"
#include "scratch.h"

#include "model/stepper.h"
#include "nn/weight/form.h"
#include "unseal.h"

static hd_backend *backend;

static void must(hd_status s, const hd_err *err)
{
    if (s) fail_msg("%s", err->text);
}

/* A fresh folder with config, tokenizers and weights. */
static const char *saved(const char *name, const hd_model_folder *t)
{
    static char path[4][128];
    static int turn;
    hd_err err = {0};
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s", at("%s", name));
    assert_int_equal(mkdir(path[turn], 0777), 0);
    must(hd_model_folder_save(t, path[turn], &err), &err);
    must(hd_model_folder_publish(t, path[turn], &err), &err);
    unseal(path[turn]); /* tests change its files */
    return path[turn];
}

static void assert_same_weights(const hd_params *a, const hd_params *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const hd_param *x = a->list[i], *y = b->list[i];
        assert_int_equal(hd_count_of(&x->t), hd_count_of(&y->t));
        assert_memory_equal(x->t.data, y->t.data, hd_count_of(&x->t) * sizeof(hd_real)); /* on the CPU */
    }
}

static void a_folder_gives_the_same_translator_back(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_tokenizer_kind kind;
        bool shared;
        int files;
    } cases[] = {{"words", HD_TOKENIZER_words, true, 3},
                 {"apart", HD_TOKENIZER_words, false, 4},
                 {"characters", HD_TOKENIZER_characters, false, 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_model_folder *a = small_make(backend, cases[i].kind, cases[i].shared, true), *b = NULL;
        const char *folder = saved(cases[i].name, a);
        assert_int_equal(entries_in(folder), cases[i].files);
        must(folder_open(&b, folder, "translate", backend, HD_WEIGHTS_WHOLE, &err), &err);
        assert_int_equal(b->tokenizer[0] == b->tokenizer[1], cases[i].shared);
        assert_int_equal(b->trained, a->trained);
        const hd_encdec_opt *x = &hd_model_folder_encdec(a)->opt, *y = &hd_model_folder_encdec(b)->opt;
        assert_true(x->stack.width == y->stack.width && x->stack.inner == y->stack.inner &&
                    x->stack.heads == y->stack.heads && x->stack.act == y->stack.act);
        assert_true(x->encoder_layers == y->encoder_layers && x->decoder_layers == y->decoder_layers);
        assert_true(x->tied == y->tied && x->stack.pre_norm == y->stack.pre_norm &&
                    x->positions == y->positions);
        assert_true(x->source_vocab == y->source_vocab && x->target_vocab == y->target_vocab &&
                    x->stack.eps == y->stack.eps);
        assert_same_weights(&hd_model_folder_encdec(a)->params, &hd_model_folder_encdec(b)->params);
        must(hd_model_folder_save(b, folder, &err), &err); /* writes the same */
        char *config = get_file(at("%s/config.json", cases[i].name), NULL);
        must(hd_model_folder_save(a, folder, &err), &err);
        char *again = get_file(at("%s/config.json", cases[i].name), NULL);
        assert_string_equal(config, again);
        free(config);
        free(again);
        folder_free(a);
        folder_free(b);
    }
}

/* Values of what products read are there once: packed, or, for whoever asks, as they are beside it. */
static void a_translator_that_answers_has_one_form_of_each_weight(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder *a = small_make(backend, HD_TOKENIZER_words, true, true), *one = NULL, *whole = NULL;
    const char *folder = saved("once", a);
    size_t products = 0;
    must(folder_open(&one, folder, "translate", backend, HD_WEIGHTS_BEST, &err), &err);
    must(folder_open(&whole, folder, "translate", backend, HD_WEIGHTS_WHOLE, &err), &err);
    const hd_params *p = &hd_model_folder_encdec(one)->params;
    for (size_t i = 0; i < p->count; i++) {
        const hd_param *w = p->list[i], *owner = hd_param_owner(p->list[i]);
        bool formed = owner->t.prepared;
        for (const hd_param *part = owner->part; part; part = part->next) formed |= part->t.prepared != NULL;
        if (owner->product != !w->t.data || (owner->product && !formed))
            fail_msg("%s: product %d, values %d, form %d", w->name ? w->name : "a part", owner->product,
                     w->t.data != NULL, formed);
        products += owner->product;
        assert_non_null(hd_model_folder_encdec(whole)->params.list[i]->t.data);
    }
    assert_true(products > 20);
    folder_free(a), folder_free(one), folder_free(whole);
}

/* Every model that is no plain Transformer says all of what it is. */
static void every_shape_comes_back(void **state)
{
    (void)state;
    static const struct {
        const char *encoder, *decoder, *model;
        hd_recurrent_decoder_opt recurrent;
    } cases[] = {
        {"transformer:2", "transformer:3", "transformer", {0}},
        {"bi-gru:2", "gru:1", "encoder-decoder", {.begin = HD_BEGINNING_map, .read = HD_READING_deep}},
        {"lstm:2",
         "lstm:2",
         "encoder-decoder",
         {.query = HD_QUERY_current,
          .read = HD_READING_tanh,
          .score = HD_SCORING_bilinear,
          .feed_context = true,
          .locality = HD_LOCALITY_PREDICTED,
          .window = 3}},
        {"rnn:1",
         "rnn:2",
         "encoder-decoder",
         {.context = HD_CONTEXT_everywhere, .skips = true, .relu = true}},
        {"none",
         "gru:1+transformer:2",
         "encoder-decoder",
         {.begin = HD_BEGINNING_learned, .heads = 2, .project = true, .no_feedback = true}},
        {"transformer:1", "rnn:1", "encoder-decoder", {.begin = HD_BEGINNING_zeros}},
        {"bi-gru:1+transformer:1", "transformer:1", "encoder-decoder", {0}},
        {"transformer:1+transformer:1", "transformer:1", "encoder-decoder", {0}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        char name[16], text[2][HD_STAGES_TEXT], expected[64];
        snprintf(name, sizeof name, "shape%zu", i);
        hd_model_folder *a = small_staged(backend, HD_TOKENIZER_words, true, true, cases[i].encoder,
                                          cases[i].decoder, &cases[i].recurrent),
                        *b = NULL;
        const char *folder = saved(name, a);
        must(folder_open(&b, folder, "translate", backend, HD_WEIGHTS_WHOLE, &err), &err);
        assert_string_equal(hd_stages_text(&hd_model_folder_encdec(b)->opt.encoder, text[0]),
                            cases[i].encoder);
        assert_string_equal(hd_stages_text(&hd_model_folder_encdec(b)->opt.decoder, text[1]),
                            cases[i].decoder);
        if (hd_encdec_recurs(hd_model_folder_encdec(a)))
            assert_memory_equal(&hd_model_folder_encdec(a)->cells.opt, &hd_model_folder_encdec(b)->cells.opt,
                                sizeof hd_model_folder_encdec(a)->cells.opt);
        assert_same_weights(&hd_model_folder_encdec(a)->params, &hd_model_folder_encdec(b)->params);
        char *config = get_file(at("%s/config.json", name), NULL);
        snprintf(expected, sizeof expected, "\"model\": \"%s\"", cases[i].model);
        if (!strstr(config, expected)) fail_msg("%s", config);
        assert_int_equal(!strstr(config, "\"context\""), !strcmp(cases[i].model, "transformer"));
        free(config);
        folder_free(a);
        folder_free(b);
    }
}

static const char *refused(const char *folder, hd_weights which)
{
    static hd_err err;
    hd_model_folder *t = NULL;
    size_t blocks = hd_mem_now().blocks;
    err = (hd_err){0};
    hd_status s = folder_open(&t, folder, "translate", backend, which, &err);
    assert_true(s && s == err.status);
    assert_null(t);
    assert_int_equal(hd_mem_now().blocks, blocks);
    return err.text;
}

#define assert_holds(text, part) \
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part)

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, false, true);
    const char *folder = saved("refused", t);
    assert_holds(refused(at("absent"), HD_WEIGHTS_BEST), "absent: there is no such folder");
    assert_int_equal(mkdir(at("empty"), 0777), 0);
    assert_holds(refused(at("empty"), HD_WEIGHTS_BEST),
                 "empty: holds no model (no config.json): `heed train`");
    assert_holds(refused(folder, HD_WEIGHTS_LAST), "refused/train/current: ");
    size_t size;
    char *model = get_file(at("refused/model.safetensors"), &size);
    const size_t cuts[] = {0, 5, 100, size / 2, size - 1};
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        put_bytes(at("refused/model.safetensors"), model, cuts[i]);
        assert_holds(refused(folder, HD_WEIGHTS_BEST), "refused/model.safetensors: ");
    }
    assert_int_equal(unlink(at("refused/model.safetensors")), 0);
    assert_holds(refused(folder, HD_WEIGHTS_BEST),
                 "model.safetensors: missing: training has not saved a model yet");
    put_bytes(at("refused/model.safetensors"), model, size);
    char *vocabulary = get_file(at("refused/source.txt"), &size);
    put_file(at("refused/source.txt"), "<pad>\n<unk>\n<s>\n</s>\nnothing\n");
    assert_holds(refused(folder, HD_WEIGHTS_BEST),
                 "refused/source.txt: has 5 pieces, but \"source_vocab\" in ");
    put_file(at("refused/source.txt"), "no\nvocabulary\n");
    assert_holds(refused(folder, HD_WEIGHTS_BEST), "refused/source.txt:1: ");
    assert_int_equal(unlink(at("refused/source.txt")), 0);
    assert_holds(refused(folder, HD_WEIGHTS_BEST), "refused/source.txt: ");
    put_bytes(at("refused/source.txt"), vocabulary, size);
    free(model);
    free(vocabulary);
    hd_err err = {0};
    hd_model_folder *whole = NULL;
    must(folder_open(&whole, folder, "translate", backend, HD_WEIGHTS_BEST, &err), &err);
    folder_free(whole);
    folder_free(t);
}

/* A tokenizer of the wrong size is named, of each side; a folder of an older heed does not say the size. */
static void a_tokenizer_that_does_not_fit_is_named(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, false, true), *old = NULL;
    const char *folder = saved("misfit", t);
    size_t size;
    char *pieces = get_file(at("misfit/target.txt"), &size), longer[2048], says[200];
    snprintf(longer, sizeof longer, "%.*sanother\n", (int)size, pieces);
    put_file(at("misfit/target.txt"), longer);
    snprintf(says, sizeof says,
             "misfit/target.txt: has %zu pieces, but \"target_vocab\" in config.json is %zu: the tokenizer "
             "belongs to another model, or was cut short",
             hd_model_folder_encdec(t)->opt.target_vocab + 1, hd_model_folder_encdec(t)->opt.target_vocab);
    assert_holds(refused(folder, HD_WEIGHTS_BEST), says);
    put_bytes(at("misfit/target.txt"), pieces, size);
    char *config = get_file(at("misfit/config.json"), NULL);
    for (char *key = config; (key = strstr(key, "_vocab\""));) memcpy(key, "_other", 6);
    put_file(at("misfit/config.json"), config);
    must(folder_open(&old, folder, "translate", backend, HD_WEIGHTS_BEST, &err), &err);
    assert_int_equal(hd_model_folder_encdec(old)->opt.target_vocab,
                     hd_model_folder_encdec(t)->opt.target_vocab);
    folder_free(old);
    folder_free(t);
    free(pieces), free(config);
}

/* Each case replaces a part of a good config, after which the folder is refused with a text. */
static void assert_refused(const char *name, const hd_model_folder *t, const char *const (*cases)[3],
                           size_t count)
{
    const char *folder = saved(name, t);
    char *good = get_file(at("%s/config.json", name), NULL), *bad = malloc(strlen(good) + 128);
    for (size_t i = 0; i < count; i++) {
        const char *place = strstr(good, cases[i][0]);
        if (!place) fail_msg("%s", cases[i][0]);
        sprintf(bad, "%.*s%s%s", (int)(place - good), good, cases[i][1], place + strlen(cases[i][0]));
        put_file(at("%s/config.json", name), bad);
        const char *text = refused(folder, HD_WEIGHTS_BEST);
        assert_holds(text, cases[i][2]);
    }
    put_file(at("%s/config.json", name), good);
    free(good);
    free(bad);
}

static void a_wrong_shape_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"\"encoder\": \"bi-gru:1\"", "\"encoder\": 1", "config.json: \"encoder\" is not a text"},
        {"\"encoder\": \"bi-gru:1\",", "", "config.json: \"encoder\" is missing"},
        {"\"bi-gru:1\"", "\"bi-gru:99999999999\"", "config.json: \"encoder\": \"bi-gru:99999999999\" is no"},
        {"\"bi-gru:1\"", "\"bi-gru:17\"", "config.json: "},
        {"\"bi-gru:1\"", "\"\"", "config.json: \"encoder\": "},
        {"\"bi-gru:1\"", "\"gru+gru+gru+gru+gru\"", "more than 4 stages"},
        {"\"bi-gru:1\"", "\"gru:1\"", "model.safetensors: tensor 'model."},
        {"\"decoder\": \"gru:1\"", "\"decoder\": \"bi-gru:1\"", "config.json: "},
        {"\"decoder\": \"gru:1\"", "\"decoder\": \"none\"", "config.json: "},
        {"\"context\": \"attention\"", "\"context\": \"all\"", "config.json: there is no context \"all\""},
        {"\"context\": \"attention\",", "", "config.json: \"context\" is missing"},
        {"\"score\": \"additive\"", "\"score\": \"dot\"", "config.json: "},
        {"\"score\": \"additive\"", "\"score\": true", "config.json: \"score\" is not a text"},
        {"\"attention\": \"global\"", "\"attention\": \"local\"", "there is no attention \"local\""},
        {"\"query\": \"previous\"", "\"query\": \"next\"", "there is no query \"next\""},
        {"\"begin\": \"map\"", "\"begin\": \"end\"", "there is no begin \"end\""},
        {"\"begin\": \"map\"", "\"begin\": \"mean\"", "config.json: "},
        {"\"read\": \"state\"", "\"read\": \"all\"", "there is no read \"all\""},
        {"\"window\": 0", "\"window\": -1", "config.json: \"window\" is -1"},
        {"\"attention_heads\": 0", "\"attention_heads\": 1048577", "\"attention_heads\" is 1048577"},
        {"\"attention_heads\": 0", "\"attention_heads\": 3", "config.json: "},
        {"\"feed_context\": false", "\"feed_context\": true", "config.json: "},
        {"\"reverse_source\": false", "\"reverse_source\": 0", "\"reverse_source\" is not true or false"},
        {"\"model\": \"encoder-decoder\"", "\"model\": \"transformer\"", "\"encoder_layers\" is missing"},
    };
    hd_model_folder *t = small_staged(backend, HD_TOKENIZER_words, true, true, "bi-gru:1", "gru:1",
                                      &(hd_recurrent_decoder_opt){.begin = HD_BEGINNING_map});
    assert_refused("shape", t, cases, COUNT_OF(cases));
    folder_free(t);
}

static void a_wrong_config_is_refused(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"\"format\": 1", "\"format\": 2", "\"format\" is of a newer heed"},
        {"\"format\": 1", "\"format\": \"1\"", "\"format\" is not a whole number"},
        {"\"format\": 1,", "", "\"format\" is missing"},
        {"\"task\": \"translate\"", "\"task\": \"sing\"", "\"task\" is \"sing\", not \"translate\""},
        {"\"model\": \"transformer\"", "\"model\": \"rnn\"", "\"model\" is \"rnn\""},
        {"\"width\": 16", "\"width\": -16", "\"width\" is -16, which no model has"},
        {"\"width\": 16", "\"width\": 1048577", "\"width\" is 1048577, which no model has"},
        {"\"width\": 16", "\"width\": 18446744073709551616", "config.json:"},
        {"\"width\": 16", "\"width\": 15", "a width of 15 cannot be split over 2 heads"},
        {"\"width\": 16", "\"width\": 16.0", "\"width\" is not a whole number"},
        {"\"width\": 16", "\"width\": 16, \"width\": 16", "config.json:"},
        {"\"heads\": 2", "\"heads\": 0", "\"heads\" is 0"},
        {"\"inner\": 24", "\"inner\": 32", "fc1"},
        {"\"encoder_layers\": 1", "\"encoder_layers\": 1001", "more than 1000 layers"},
        {"\"decoder_layers\": 1", "\"decoder_layers\": 2", "model.decoder.layers.1."},
        {"\"positions\": 16", "\"positions\": 1", "\"positions\" is 1"},
        {"\"activation\": \"relu\"", "\"activation\": \"rela\"", "there is no activation \"rela\""},
        {"\"target_vocab\": ", "\"target_vocab\": 9", "tokenizer.txt: has "},
        {"\"source_vocab\": ", "\"source_vocab\": -", "which no model has"},
        {"\"eps\":", "\"epsilon\":", "\"eps\" is missing: a number"},
        {"\"eps\": ", "\"eps\": -", "\"eps\" is -1e-05, which no model has"},
        {"\"tied\": true", "\"tied\": \"yes\"", "\"tied\" is not true or false"},
        {"\"longest\": 8", "\"longest\": 0", "\"longest\" is 0"},
        {"\"source_tokenizer\": \"words\"", "\"source_tokenizer\": \"w\"", "there is no tokenizer \"w\""},
        {"\"shared_tokenizer\": true", "\"shared_tokenizer\": false", "source.txt: "},
        {"{\"format\"", "[{\"format\"", "config.json:"},
        {"}", "", "config.json:"},
    };
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, true, true);
    assert_refused("config", t, cases, COUNT_OF(cases));
    const char *folder = at("config");
    put_file(at("config/config.json"), "");
    assert_holds(refused(folder, HD_WEIGHTS_BEST), "config.json:");
    char *huge = calloc(1, (1 << 20) + 2);
    memset(huge, ' ', (1 << 20) + 1);
    put_file(at("config/config.json"), huge);
    assert_holds(refused(folder, HD_WEIGHTS_BEST), "config.json: too large: more than 1048576 bytes");
    free(huge);
    folder_free(t);
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, false, true), *opened = NULL;
    const char *folder = saved("starved", t);
    hd_status (*const save[])(const hd_model_folder *, const char *, hd_err *) = {hd_model_folder_save,
                                                                                  hd_model_folder_publish};
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        s = folder_open(&opened, folder, "translate", backend, HD_WEIGHTS_BEST, &err);
        hd_mem_fail_at(0);
        if (!s) break;
        assert_int_equal(s, HD_ENOMEM);
        assert_int_equal(err.status, HD_ENOMEM);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 20, 10000);
    folder_free(opened);
    assert_int_equal(hd_mem_now().blocks, blocks);
    for (size_t i = 0; i < COUNT_OF(save); i++) {
        size_t k = 1;
        for (hd_status s = HD_ENOMEM; s; k++) {
            hd_err err = {0};
            hd_mem_fail_at(k);
            s = save[i](t, folder, &err);
            hd_mem_fail_at(0);
            assert_int_equal(hd_mem_now().blocks, blocks);
            assert_int_equal(entries_in(folder), 4);
        }
        assert_in_range(k, 2, 1000);
    }
    folder_free(t);
}

static void what_is_kept_is_put_back_once(void **state)
{
    (void)state;
    hd_model_folder *t = small_make(backend, HD_TOKENIZER_words, true, true);
    hd_err err = {0};
    const char *folder = saved("kept", t);
    char *first = get_file(at("kept/model.safetensors"), NULL);
    must(hd_published_restore(folder, &err), &err); /* nothing is kept */
    must(hd_published_keep(folder, &err), &err);
    must(hd_published_keep(folder, &err), &err); /* again: as after a kill in between */
    must(hd_params_draw(&hd_model_folder_encdec(t)->params, 12, &err), &err);
    must(hd_model_folder_publish(t, folder, &err), &err);
    char *second = get_file(at("kept/model.safetensors"), NULL);
    size_t size;
    char *kept = get_file(at("kept/train/best.safetensors"), &size);
    assert_memory_equal(first, kept, size);
    assert_memory_not_equal(first, second, size);
    must(hd_published_restore(folder, &err), &err);
    must(hd_published_restore(folder, &err), &err);
    char *back = get_file(at("kept/model.safetensors"), &size);
    assert_memory_equal(first, back, size);
    assert_false(is_there(at("kept/train/best.safetensors")));
    free(first);
    free(second);
    free(kept);
    free(back);
    assert_int_equal(hd_published_keep(at("empty"), &err), HD_EFILE);
    assert_holds(err.text, "cannot be kept as");
    folder_free(t);
}

static int open_backend(void **state)
{
    backend = backend_of("cpu", 1);
    return scratch_make(state);
}

static int close_backend(void **state)
{
    hd_backend_free(backend);
    return scratch_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_gives_the_same_translator_back),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(a_translator_that_answers_has_one_form_of_each_weight),
        cmocka_unit_test(every_shape_comes_back),
        cmocka_unit_test(a_wrong_shape_is_refused),
        cmocka_unit_test(a_tokenizer_that_does_not_fit_is_named),
        cmocka_unit_test(a_wrong_config_is_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(what_is_kept_is_put_back_once),
    };
    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
