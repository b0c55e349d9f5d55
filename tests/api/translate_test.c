/* heed_translate against the functions behind it: what they find is what it shows. */
#include "api/subject.h"
#include "show/attention.h"
#include "task/translate/translate.h"

static const char *const lines[] = {
    "i ate an apple .", "are you tired ?", "", "unheard words , too", "the dog barks ; we are tired .",
    "you ate it"};
static const char *const prefixes[] = {"ich aß", "", "du", NULL, "der Hund", "du aßest ihn ."};
static const char *const whole[] = {"ich aß .", "", "du", "Hund", "der Hund bellt ;", "du aßest ihn ."};
enum { LINES = COUNT_OF(lines) };

/* The same model, opened and run without heed.h. */
typedef struct inner {
    hd_backend *backend;
    hd_run run;
    hd_model_folder translator;
} inner;

static inner inner_of(const subject *s)
{
    hd_err err = {0};
    inner in = {.backend = backend_of("cpu", 2)};
    in.run = run_on(in.backend);
    if (hd_model_folder_open(&in.translator, s->folder, "translate", in.backend, HD_WEIGHTS_BEST, &err))
        fail_msg("%s", err.text);
    return in;
}

static void inner_free(inner *in)
{
    hd_model_folder_release(&in->translator);
    hd_run_release(&in->run);
    hd_backend_free(in->backend);
}

static hd_translations inner_translate(inner *in, const char *const *prefix, const hd_translate_opt *o)
{
    hd_err err = {0};
    hd_translations out = {0};
    hd_line line[LINES], before[LINES];
    for (size_t i = 0; i < LINES; i++) {
        line[i] = (hd_line){lines[i], strlen(lines[i])};
        before[i] = prefix && prefix[i] ? (hd_line){prefix[i], strlen(prefix[i])} : (hd_line){NULL, 0};
    }
    if (hd_translate(&out, &in->run, &in->translator, line, prefix ? before : NULL, LINES, o, &err))
        fail_msg("%s", err.text);
    return out;
}

static void assert_shows(const heed_results *r, const hd_translations *found, const hd_model_folder *t)
{
    assert_int_equal(r->count, found->count);
    for (size_t i = 0; i < r->count; i++) {
        const heed_translation *x = r->translation[i];
        const hd_translation *y = &found->of[i];
        assert_int_equal(x->status, y->status);
        assert_string_equal(x->error, y->why ? y->why : "");
        assert_int_equal(x->cut, y->cut);
        assert_int_equal(x->parts, y->parts);
        assert_int_equal(x->count, y->count);
        assert_string_equal(x->text, y->count ? y->hypothesis[0].text : "");
        assert_int_equal(x->source_length, y->parts ? y->source_end[y->parts - 1] : 0);
        for (size_t k = 0; k < x->parts; k++) assert_int_equal(x->source_end[k], y->source_end[k]);
        for (size_t k = 0; k < x->source_length; k++) {
            assert_int_equal(x->source_id[k], y->source[k]);
            assert_string_equal(x->source_token[k], hd_tokenizer_piece(t->tokenizer[0], y->source[k]));
        }
        for (size_t n = 0; n < x->count; n++) {
            const heed_hypothesis *g = x->hypothesis[n];
            const hd_hypothesis *h = &y->hypothesis[n];
            assert_string_equal(g->text, h->text);
            assert_true(g->score == h->score && g->log_probability == h->sum);
            assert_int_equal(g->finished, h->finished);
            assert_int_equal(g->length, h->length);
            for (size_t k = 0; k < x->parts; k++) assert_int_equal(g->part_end[k], h->end[k]);
            for (size_t k = 0; k < g->length; k++) {
                assert_int_equal(g->id[k], h->ids[k]);
                assert_string_equal(g->token[k], hd_tokenizer_piece(t->tokenizer[1], h->ids[k]));
                assert_true(g->token_log_probability[k] == (float)h->logp[k]);
            }
        }
    }
}

/* Every option once away from its default, beside what it means inside. */
static void results_are_those_of_the_functions_behind_it(void **state)
{
    const subject *s = *state;
    const hd_search_opt beam = {.kind = HD_SEARCH_BEAM,
                                .best = 1,
                                .beam = 5,
                                .max_ratio = 2,
                                .max_extra = 10,
                                .stop = HD_STOP_FULL,
                                .length = {HD_LENGTH_AVERAGE, 0.6}};
    enum { CASES = 12 };
    heed_translate_options o[CASES];
    hd_translate_opt in[CASES];
    for (size_t i = 0; i < CASES; i++) o[i] = options_of(), in[i] = (hd_translate_opt){.search = beam};
    o[1].beam = 1, in[1].search.kind = HD_SEARCH_GREEDY;
    o[2].beam = 3, o[2].n_best = 3, o[2].length_penalty = HEED_LENGTH_GNMT, o[2].alpha = 1.5;
    o[2].stop = HEED_STOP_PROVEN, o[2].min_length = 4, o[2].max_length = 7;
    in[2].search.beam = in[2].search.best = 3, in[2].search.length = (hd_length){HD_LENGTH_GNMT, 1.5, 0};
    in[2].search.stop = HD_STOP_PROVEN, in[2].search.min_length = 4;
    in[2].search.max_length = 7, in[2].search.max_ratio = 0;
    o[3].search = HEED_SEARCH_SAMPLE, o[3].n_best = 7, o[3].temperature = 0.7, o[3].top_k = 6;
    o[3].top_p = 0.9, o[3].seed = 12345678901u, o[3].first_line = 40, o[3].max_ratio = 1.5;
    in[3].search.kind = HD_SEARCH_SAMPLE, in[3].search.best = 7, in[3].search.temperature = 0.7f;
    in[3].search.top_k = 6, in[3].search.top_p = 0.9f, in[3].search.seed = 12345678901u;
    in[3].first = 40, in[3].search.max_ratio = 1.5;
    o[4].search = HEED_SEARCH_EXHAUSTIVE, o[4].max_length = 2, o[4].length_penalty = HEED_LENGTH_NONE;
    in[4].search.kind = HD_SEARCH_EXHAUSTIVE, in[4].search.max_length = 2, in[4].search.max_ratio = 0;
    in[4].search.length.kind = HD_LENGTH_NONE;
    o[5].prefix = prefixes;
    o[6].prefix = whole, o[6].force = in[6].force = true;
    o[7].max_source = in[7].longest = 3, o[7].too_long = HEED_LONG_TRUNCATE,
    in[7].too_long = HD_LONG_TRUNCATE;
    o[7].batch = in[7].batch = 7;
    o[8].max_source = in[8].longest = 3, o[8].too_long = HEED_LONG_SKIP, in[8].too_long = HD_LONG_SKIP;
    o[9].min_length = in[9].search.min_length = 12, o[9].max_length = in[9].search.max_length = 15;
    o[9].max_ratio = 0.1, in[9].search.max_ratio = 0; /* max_length alone counts */
    o[10].stop = HEED_STOP_LIMIT, in[10].search.stop = HD_STOP_LIMIT, o[10].n_best = in[10].search.best = 5;
    o[11].sentences = HEED_SENTENCES_KEEP, in[11].sentences = HD_SENTENCES_KEEP;
    inner inside = inner_of(s);
    for (size_t i = 0; i < CASES; i++) {
        hd_translations found = inner_translate(&inside, o[i].prefix, &in[i]);
        heed_results *r = translate(s->context, lines, LINES, &o[i]);
        print_message("case %zu: %s\n", i, r->translation[0]->text);
        assert_shows(r, &found, &inside.translator);
        heed_results_free(r);
        hd_translations_release(&found);
    }
    inner_free(&inside);
}

/* Sentences of a line, and paragraphs within a text, by themselves unless they are to be kept together. */
static void sentences_of_a_line_are_parts(void **state)
{
    const subject *s = *state;
    static const char *const line[] = {"you ate it . you ate it .", "you ate it\n\nyou ate it"};
    heed_translate_options o = options_of();
    heed_results *split = translate(s->context, line, 2, NULL);
    o.sentences = HEED_SENTENCES_KEEP;
    heed_results *kept = translate(s->context, line, 2, &o);
    for (size_t i = 0; i < 2; i++) {
        const heed_translation *t = split->translation[i];
        assert_int_equal(t->parts, 2);
        assert_int_equal(kept->translation[i]->parts, 1);
        const heed_hypothesis *h = t->hypothesis[0];
        assert_int_equal(h->part_end[1], h->length);
        assert_int_equal(h->part_end[0], h->length / 2); /* the same sentence twice */
        assert_memory_equal(h->id, h->id + h->length / 2, h->length / 2 * sizeof *h->id);
        size_t half = (strlen(h->text) - (i ? 2 : 1)) / 2;
        assert_memory_equal(h->text, h->text + strlen(h->text) - half, half);
        assert_memory_equal(h->text + half, i ? "\n\n" : " ", i ? 2 : 1);
    }
    heed_results_free(split);
    heed_results_free(kept);
}

static void no_options_are_the_defaults(void **state)
{
    const subject *s = *state;
    heed_translate_options o = options_of();
    heed_results *a = translate(s->context, lines, LINES, NULL), *b = translate(s->context, lines, LINES, &o);
    assert_same(a, b);
    heed_results_free(a);
    heed_results_free(b);
    a = translate(s->context, NULL, 0, NULL);
    heed_results_free(a);
}

static void sizes_count_where_they_are_given(void **state)
{
    const subject *s = *state;
    size_t size[LINES], prefix_size[LINES];
    char *copy[2 * LINES];
    const char *bare[LINES], *bare_prefix[LINES];
    heed_translate_options o = options_of();
    o.prefix = prefixes;
    heed_results *known = translate(s->context, lines, LINES, &o);
    for (size_t i = 0; i < LINES; i++) { /* exactly so many bytes: a reader of one more is found out */
        size[i] = strlen(lines[i]), prefix_size[i] = prefixes[i] ? strlen(prefixes[i]) : 0;
        bare[i] = copy[2 * i] = malloc(size[i] ? size[i] : 1);
        copy[2 * i + 1] = malloc(prefix_size[i] ? prefix_size[i] : 1);
        bare_prefix[i] = prefixes[i] ? copy[2 * i + 1] : NULL;
        memcpy(copy[2 * i], lines[i], size[i]);
        if (prefixes[i]) memcpy(copy[2 * i + 1], prefixes[i], prefix_size[i]);
    }
    o.prefix = bare_prefix, o.prefix_size = prefix_size, o.line_size = size;
    heed_results *cut = translate(s->context, bare, LINES, &o);
    assert_same(known, cut);
    for (size_t i = 0; i < 2 * LINES; i++) free(copy[i]);
    heed_results_free(known);
    heed_results_free(cut);
}

static void note(void *user, heed_level level, const char *text)
{
    char *log = user;
    assert_int_equal(level, HEED_LOG_WARN);
    strcat(strcat(log, text), "|");
}

static void bad_lines_have_a_status_and_the_others_a_translation(void **state)
{
    const subject *s = *state;
    heed_error error;
    char log[512] = "";
    static const char longer[] =
        "you you you you you you you you you you you you you you you you you you you "
        "you you you you you you you you you you you you you you";
    const char *const line[] = {"you ate it", "broken \xff", "a\0b", longer};
    const size_t size[] = {10, 8, 3, sizeof longer - 1};
    heed_context *c = NULL;
    heed_context_options co;
    heed_context_options_init(&co, sizeof co);
    co.threads = 1, co.log = note, co.log_user = log;
    assert_int_equal(heed_context_new(&c, s->model, &co, &error), HEED_OK);
    heed_translate_options o = options_of();
    o.line_size = size, o.too_long = HEED_LONG_SKIP;
    heed_results *r = translate(c, line, 4, &o);
    static const heed_status expected[] = {HEED_OK, HEED_EFORMAT, HEED_EFORMAT, HEED_ELIMIT};
    for (size_t i = 0; i < 4; i++) {
        const heed_translation *t = r->translation[i];
        assert_int_equal(t->status, expected[i]);
        assert_int_equal(t->count, !t->status);
        assert_true(!*t->error == !t->status);
        assert_true(!*t->text == !!t->status);
    }
    assert_string_equal(log, "line 2 of 4: not UTF-8|line 3 of 4: holds a zero byte|"
                             "line 4 of 4: longer than the model can take|");
    heed_results_free(r);
    *log = 0, o.too_long = HEED_LONG_TRUNCATE;
    r = translate(
        c, line + 3, 1,
        &(heed_translate_options){
            .size = sizeof o, .too_long = HEED_LONG_TRUNCATE, .beam = 2, .n_best = 1, .max_ratio = 1});
    assert_true(r->translation[0]->cut);
    assert_string_equal(log, "line 1 of 1: too long: only its beginning is translated|");
    heed_results_free(r);
    heed_context_free(c);
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_true(f && fputs(text, f) >= 0 && !fclose(f));
}

static void the_checkpoint_is_the_one_asked_for(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_model *last = NULL;
    heed_model_options o;
    heed_model_options_init(&o, sizeof o);
    o.checkpoint = HEED_CHECKPOINT_LAST;
    if (heed_model_open(&last, s->folder, &o, &error)) fail_msg("%s", error.text);
    heed_context *c = context_of(last, 1);
    heed_results *a = translate(c, lines, LINES, NULL), *b = translate(s->context, lines, LINES, NULL);
    assert_true(a->translation[0]->hypothesis[0]->score != b->translation[0]->hypothesis[0]->score);
    heed_results_free(a);
    heed_results_free(b);
    heed_context_free(c);
    heed_model_free(last);
}

/* The end and one more token are all that the list has. */
static void a_shortlist_has_the_tokens_of_translations(void **state)
{
    const subject *s = *state;
    heed_error error;
    heed_model *narrow = NULL;
    heed_model_options o;
    char path[128], given[160], text[256];
    const heed_results *all = translate(s->context, lines, 1, NULL);
    snprintf(path, sizeof path, "%s/shortlist", s->folder);
    snprintf(given, sizeof given, "%s,1,1", path);
    snprintf(text, sizeof text, "%s\t%s\t1\n", all->translation[0]->hypothesis[0]->token[0],
             all->translation[0]->source_token[0]);
    const int32_t only = all->translation[0]->hypothesis[0]->id[0];
    put_text(path, text);
    heed_model_options_init(&o, sizeof o);
    o.shortlist = given;
    if (heed_model_open(&narrow, s->folder, &o, &error)) fail_msg("%s", error.text);
    heed_context *c = context_of(narrow, 1);
    heed_results *r = translate(c, lines, 1, NULL);
    const heed_hypothesis *h = r->translation[0]->hypothesis[0];
    for (size_t i = 0; i < h->length; i++) {
        bool listed = h->id[i] == only || h->id[i] == HD_END_ID;
        for (size_t j = 0; j < all->translation[0]->source_length; j++) /* where the vocabulary is one */
            listed = listed || h->id[i] == all->translation[0]->source_id[j];
        assert_true(listed);
    }
    assert_true(h->log_probability > all->translation[0]->hypothesis[0]->log_probability);
    o.shortlist = "nowhere";
    assert_int_equal(heed_model_open(&narrow, s->folder, &o, &error), HEED_EFILE);
    heed_results_free(r);
    heed_results_free((heed_results *)all);
    heed_context_free(c);
    heed_model_free(narrow);
    remove(path);
}

/* -- attention -- */

typedef struct watch {
    inner *in;
    size_t calls, last_line, stop_at;
    heed_context *context;
} watch;

static void assert_labels(const char *const *shown, const hd_shown_token *known, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_string_equal(shown[i], hd_shown_plain(&known[i]));
}

static heed_status compare(void *user, const heed_attention *a)
{
    watch *w = user;
    hd_err err = {0};
    hd_attention_maps maps;
    const heed_translation *t = a->translation;
    const hd_model_folder *m = &w->in->translator;
    size_t from = a->part ? t->source_end[a->part - 1] : 0;
    size_t begin = a->part ? t->hypothesis[0]->part_end[a->part - 1] : 0;
    hd_attention_ask ask = {.source = t->source_id + from,
                            .sources = t->source_end[a->part] - from,
                            .start = HD_START_ID,
                            .target = t->hypothesis[0]->id + begin,
                            .targets = t->hypothesis[0]->part_end[a->part] - begin,
                            .source_pieces = m->tokenizer[0],
                            .target_pieces = m->tokenizer[1]};
    assert_int_equal(a->kind, w->calls % 3);
    assert_true(a->line >= w->last_line && a->line < LINES);
    if (hd_attention_collect(&maps, &w->in->run, &m->model, &ask, &err)) fail_msg("%s", err.text);
    const hd_attention_part *p = &maps.part[a->kind];
    assert_int_equal(a->layers, TINY_LAYERS);
    assert_int_equal(a->heads, TINY_HEADS);
    assert_int_equal(a->rows, a->kind == HEED_ATTENTION_ENCODER ? ask.sources : ask.targets);
    assert_int_equal(a->cols, a->kind == HEED_ATTENTION_DECODER ? ask.targets : ask.sources);
    assert_memory_equal(a->weight, p->weight, a->layers * a->heads * a->rows * a->cols * sizeof(float));
    assert_labels(a->row_label,
                  a->kind == HEED_ATTENTION_ENCODER   ? maps.source
                  : a->kind == HEED_ATTENTION_DECODER ? maps.input
                                                      : maps.output,
                  a->rows);
    assert_labels(a->col_label, a->kind == HEED_ATTENTION_DECODER ? maps.input : maps.source, a->cols);
    hd_attention_release(&maps);
    w->last_line = a->line;
    return ++w->calls == w->stop_at ? HEED_ELIMIT : HEED_OK;
}

static void attention_is_that_of_the_functions_behind_it(void **state)
{
    const subject *s = *state;
    inner inside = inner_of(s);
    watch w = {.in = &inside};
    heed_translate_options o = options_of();
    o.attention = compare, o.attention_user = &w;
    heed_results *r = translate(s->context, lines, LINES, &o);
    assert_int_equal(w.calls, 3 * (LINES - 1)); /* one line is empty */
    heed_results_free(r);
    const char *const two = "the dog barks . the dog barks . the dog barks . the dog barks .";
    w = (watch){.in = &inside};
    r = translate(s->context, &two, 1, &o);
    assert_true(r->translation[0]->parts > 1);
    assert_int_equal(w.calls, 3 * r->translation[0]->parts);
    heed_results_free(r);
    inner_free(&inside);
}

static void the_attention_function_can_end_the_call(void **state)
{
    const subject *s = *state;
    inner inside = inner_of(s);
    watch w = {.in = &inside, .stop_at = 2};
    heed_error error;
    heed_results *r = NULL;
    heed_translate_options o = options_of();
    o.attention = compare, o.attention_user = &w;
    assert_int_equal(heed_translate(s->context, lines, LINES, &o, &r, &error), HEED_ELIMIT);
    assert_string_equal(error.text, "stopped by the attention function: limit exceeded");
    assert_int_equal(error.status, HEED_ELIMIT);
    assert_null(r);
    assert_int_equal(w.calls, 2);
    inner_free(&inside);
}

/* -- recurrent models -- */

static heed_status count_cross(void *user, const heed_attention *a)
{
    size_t *calls = user;
    assert_int_equal(a->kind, HEED_ATTENTION_CROSS);
    assert_true(a->layers == 1 && a->heads == 1);
    for (size_t i = 0; i < a->rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < a->cols; j++) sum += (double)a->weight[i * a->cols + j];
        assert_true(fabs(sum - 1) < 1e-6);
    }
    ++*calls;
    return HEED_OK;
}

static void recurrent_models_translate_alike(void **state)
{
    const subject *s = *state;
    hd_err err = {0};
    heed_error error;
    heed_model *model = NULL;
    char folder[80];
    size_t calls = 0;
    heed_translate_options o = options_of();
    snprintf(folder, sizeof folder, "%s/recurrent", s->folder);
    if (hd_folder_make(folder, NULL, &err) || tiny_write_stages(folder, "gru", "gru", &err))
        fail_msg("%s", err.text);
    if (heed_model_open(&model, folder, NULL, &error)) fail_msg("%s", error.text);
    heed_context *one = context_of(model, 1), *two = context_of(model, 2);
    o.attention = count_cross, o.attention_user = &calls;
    heed_results *a = translate(one, lines, LINES, &o), *b = translate(two, lines, LINES, NULL);
    assert_same(a, b);
    assert_int_equal(calls, LINES - 1); /* one line is empty */
    heed_results_free(a);
    heed_results_free(b);
    heed_context_free(one);
    heed_context_free(two);
    heed_model_free(model);
}

static heed_status use_again(void *user, const heed_attention *a)
{
    watch *w = user;
    heed_error error;
    heed_results *r = NULL;
    assert_int_equal(heed_translate(w->context, &a->row_label[0], 1, NULL, &r, &error), HEED_EARG);
    assert_non_null(strstr(error.text, "in use"));
    w->calls++;
    return HEED_OK;
}

static void a_context_in_use_is_refused(void **state)
{
    const subject *s = *state;
    watch w = {.context = s->context};
    heed_translate_options o = options_of();
    o.attention = use_again, o.attention_user = &w;
    heed_results_free(translate(s->context, lines, 1, &o));
    assert_int_equal(w.calls, 3);
    heed_results_free(translate(s->context, lines, 1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_functions_behind_it),
        cmocka_unit_test(sentences_of_a_line_are_parts),
        cmocka_unit_test(no_options_are_the_defaults),
        cmocka_unit_test(sizes_count_where_they_are_given),
        cmocka_unit_test(bad_lines_have_a_status_and_the_others_a_translation),
        cmocka_unit_test(the_checkpoint_is_the_one_asked_for),
        cmocka_unit_test(a_shortlist_has_the_tokens_of_translations),
        cmocka_unit_test(attention_is_that_of_the_functions_behind_it),
        cmocka_unit_test(the_attention_function_can_end_the_call),
        cmocka_unit_test(recurrent_models_translate_alike),
        cmocka_unit_test(a_context_in_use_is_refused),
    };
    return finish(cmocka_run_group_tests(tests, open_subject, close_subject));
}
