/* The folder of a classifier or tagger, hostile ones too; what is asked of it does not depend on what is
   asked beside it; what it begins with is taken over; and a label that hangs on both neighbors is learned by
   an encoder that sees both. */
#include "check.h"
#include "scratch.h"

#include "base/file/folder.h"
#include "task/label/training.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "task/owned.h"
#include "task/session.h"
#include "train/published.h"
#include "unseal.h"

static hd_backend *backend;
static hd_run run;

enum { GELU = 1 }; /* of --activation */

static hd_train_options small_opt(hd_train_task task, const char *stages, const char *out)
{
    hd_train_options o = plain_options(task, out);
    o.train = one_text(task == HD_TRAIN_TAG ? at("tags") : at("table.tsv"));
    o.valid_fraction = 0.2;
    o.unit = HD_TRAIN_WORD, o.vocab_size = HD_TRAIN_ALL_PIECES;
    o.encoder = stages, o.layers = 1, o.max_length = 32, o.width = 16, o.ffn_size = 32, o.heads = 2;
    o.activation = GELU, o.pool = 1 + HD_POOL_mean;
    o.beta2 = 0.99, o.batch_size = 8, o.seed = 3, o.lr = 0.01, o.warmup = 5;
    o.steps = 20, o.report_every = 10;
    return o;
}

/* Sentences of x and y whose labels say whether both neighbors are x; there is one on either side of all. */
static void put_tags(const char *path, int sentences)
{
    hd_rng rng = hd_rng_make(5, 5);
    FILE *f = fopen(path, "w");
    for (int s = 0; s < sentences; s++) {
        int n = 4 + (int)hd_rng_below(&rng, 5);
        char word[16];
        for (int i = 0; i < n; i++) word[i] = hd_rng_below(&rng, 2) ? 'x' : 'y';
        for (int i = 0; i < n; i++) {
            char left = i ? word[i - 1] : 'x', right = i + 1 < n ? word[i + 1] : 'x';
            fprintf(f, "%c\t%s\n", word[i], left == 'x' && right == 'x' ? "between" : "other");
        }
        fputc('\n', f);
    }
    fclose(f);
}

static int prepare(void **state)
{
    if (scratch_make(state)) return -1;
    backend = backend_of("cpu", 1);
    run = run_on(backend);
    put_tags(at("tags"), 250);
    FILE *f = fopen(at("table.tsv"), "w");
    fputs("label\ttext\n", f);
    for (int i = 0; i < 60; i++)
        fprintf(f, "%s\t%s thing number %d\n", i % 2 ? "good" : "bad", i % 2 ? "fine" : "foul", i);
    fclose(f);
    return 0;
}

static int finish(void **state)
{
    hd_run_release(&run);
    hd_backend_free(backend);
    return scratch_remove(state) || hd_mem_now().blocks;
}

/* -- learning -- */

static void labels_that_hang_on_both_neighbors_need_both_directions(void **state)
{
    (void)state;
    static const struct {
        const char *stages;
        double least, most;
    } cases[] = {{"none", 0.5, 0.75}, {"gru", 0.65, 0.88}, {"bi-gru", 0.97, 1}, {"bi-lstm", 0.97, 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_train_options o = small_opt(HD_TRAIN_TAG, cases[i].stages, at("tagger-%zu", i));
        o.steps = 350;
        hd_outcome r = session_train(&o);
        print_message("%-8s %.3f\n", cases[i].stages, r.figure[0].value);
        if (!(r.figure[0].value >= cases[i].least && r.figure[0].value <= cases[i].most))
            fail_msg("%s: accuracy %g", cases[i].stages, r.figure[0].value);
    }
}

static void every_encoder_learns_a_class(void **state)
{
    (void)state;
    static const char *const stages[] = {"rnn", "gru", "bi-lstm", "transformer", "none"};
    for (size_t i = 0; i < COUNT_OF(stages); i++) {
        hd_train_options o = small_opt(HD_TRAIN_CLASSIFY, stages[i], at("class-%zu", i));
        o.steps = 60;
        hd_outcome r = session_train(&o);
        if (!(r.figure[0].value > 0.95 && r.figure[1].value > 0.95))
            fail_msg("%s: accuracy %g", stages[i], r.figure[0].value);
        assert_int_equal(r.judged, 12);
    }
}

/* -- folders -- */

static void assert_refused(const char *folder, const char *from, const char *to, const char *says)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    unseal(at("%s", folder));
    char *text = get_file(at("%s/config.json", folder), NULL), changed[4096];
    char *place = strstr(text, from);
    if (!place) fail_msg("there is no %s in %s", from, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
    put_file(at("%s/config.json", folder), changed);
    hd_train_task task = strstr(to, "tag") ? HD_TRAIN_TAG : HD_TRAIN_CLASSIFY;
    hd_status s =
        folder_open(&l, at("%s", folder), hd_task_folders[task].name, backend, HD_WEIGHTS_BEST, &err);
    put_file(at("%s/config.json", folder), text);
    free(text);
    if (!s || !strstr(err.text, says)) fail_msg("%s -> %s: '%s' does not say '%s'", from, to, err.text, says);
}

static void hostile_folders_are_refused(void **state)
{
    (void)state;
    hd_train_options o = small_opt(HD_TRAIN_CLASSIFY, "transformer", at("m"));
    session_train(&o);
    hd_err err = {0};
    hd_model_folder *l = NULL;
    if (folder_open(&l, at("m"), "classify", backend, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_string_equal(hd_vocab_piece(&l->labels, 0), "bad");
    folder_free(l);
    assert_int_equal(folder_open(&l, at("m"), "tag", backend, HD_WEIGHTS_BEST, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "this is a classifier, which `heed classify` reads"));
    assert_refused("m", "\"classify\"", "\"lm\"", "this is a language model, which `heed generate` reads");
    assert_refused("m", "\"classify\"", "\"dance\"", "\"task\" is \"dance\"");
    assert_refused("m", "\"classify\"", "\"tag\"", "\"pool\" is \"mean\"");
    assert_refused("m", "\"format\": 1", "\"format\": 2", "newer heed");
    assert_refused("m", "\"transformer:1\"", "\"transformer\"", "without its layers");
    assert_refused("m", "\"transformer:1\"", "\"elman\"", "\"elman\" is not a stage");
    assert_refused("m", "\"transformer:1\"", "\"rnn:999\"", "recurrent layers");
    assert_refused("m", "\"mean\"", "\"median\"", "there is no pool \"median\"");
    assert_refused("m", "\"heads\": 2", "\"heads\": 3", "split over 3 heads");
    assert_refused("m", "\"heads\": 2", "\"heads\": \"2\"", "\"heads\" is not a whole number");
    assert_refused("m", "\"width\": 16", "\"wide\": 16", "\"width\" is missing");
    assert_refused("m", "\"width\": 16", "\"width\": 99999999", "which no model has");
    assert_refused("m", "\"classes\": 2", "\"classes\": 3", "labels.txt has 2");
    assert_refused("m", "\"gelu\"", "\"gulp\"", "there is no activation");
    assert_refused("m", "\"words\"", "\"letters\"", "there is no tokenizer");
    assert_refused("m", "\"dropout\": 0", "\"dropout\": -1", "\"dropout\" is -1");
    put_bytes(at("m/labels.txt"), "bad\ngo\0od\n", 10);
    assert_refused("m", "\"width\"", "\"width\"", "labels.txt:2: a zero byte at offset 2");
    put_file(at("m/labels.txt"), "bad\nbad\n");
    assert_refused("m", "\"width\"", "\"width\"", "labels.txt:2");
    put_file(at("m/labels.txt"), "bad\ngood\n");
    assert_int_equal(unlink(at("m/model.safetensors")), 0);
    assert_refused("m", "\"width\"", "\"width\"", "training has not saved a model yet");
}

static void a_new_run_leaves_nothing_of_another(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_train_options o = small_opt(HD_TRAIN_CLASSIFY, "gru", at("gone"));
    session_train(&o);
    assert_true(is_there(at("gone/labels.txt")) && is_there(at("gone/" HD_HELD_OUT)));
    if (hd_model_folder_remove(at("gone"), &err)) fail_msg("%s", err.text);
    assert_int_equal(entries_in(at("gone")), 0);
}

/* -- what it begins with -- */

static hd_tokenizer *tokenizer_of_table(void)
{
    hd_err err = {0};
    hd_vocab labels = {0};
    hd_labeled x = {0};
    hd_tokenizer *t = NULL;
    hd_labeled_walk walk = {&x, 0};
    if (hd_labeled_table(&x, &labels, at("table.tsv"), hd_labeled_name, &err) ||
        hd_tokenizer_train(&t, HD_TOKENIZER_words, hd_labeled_feed(&walk), &(hd_tokenizer_opt){0}, &err))
        fail_msg("%s", err.text);
    hd_labeled_release(&x);
    hd_vocab_release(&labels);
    return t;
}

/* The folder of a model whose weights are drawn. */
static void put_origin(const char *model, const char *folder)
{
    hd_err err = {0};
    hd_tokenizer *t = tokenizer_of_table();
    hd_lm_kind kind = 0;
    while (kind < HD_LM_KINDS && strcmp(hd_lm_names[kind], model)) kind++;
    hd_bert_opt b = {.stack.layers = 2,
                     .stack.heads = 2,
                     .stack.width = 16,
                     .stack.inner = 24,
                     .vocab = hd_masked_vocab(t),
                     .positions = 20,
                     .stack.dropout = 0.1f};
    hd_lm_opt o = {.stack.pre_norm = true,
                   .kind = kind,
                   .tied = kind == HD_LM_gpt,
                   .stack.layers = 2,
                   .stack.heads = 2,
                   .stack.width = 16,
                   .stack.inner = 24,
                   .order = 3,
                   .context = 20,
                   .vocab = hd_tokenizer_size(t),
                   .stack.dropout = 0.1f};
    hd_model_folder f = {.tokenizer = {t, t}};
    hd_bert *m = NULL;
    hd_lm *l = NULL;
    hd_status s = hd_folder_make(folder, NULL, &err);
    if (!s && kind == HD_LM_KINDS) {
        s = hd_bert_new(&m, backend, &b, false, &err);
        if (!s) hd_model_folder_take(&f, HD_TRAIN_MLM, hd_bert_model(m));
    } else if (!s) {
        s = hd_lm_new(&l, &o, backend, false, &err);
        if (!s) hd_model_folder_take(&f, HD_TRAIN_LM, hd_lm_model(l));
    }
    if (!s) s = hd_params_draw(f.model.params, 9, &err);
    if (!s) s = hd_model_folder_write(&f, folder, &err);
    if (s) fail_msg("%s", err.text);
    hd_model_folder_release(&f);
}

static hd_train_options tuned(const char *from, hd_pool_kind pool, const char *out)
{
    hd_train_options o = small_opt(HD_TRAIN_CLASSIFY, NULL, out);
    o.from = from;
    o.max_length = 20, o.dropout = 0.1, o.pool = 1 + (int)pool, o.steps = 3;
    return o;
}

static hd_model_folder *opened(const char *folder)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    if (folder_open(&l, folder, "classify", backend, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    return l;
}

/* Tensors of both files that begin so, and how many of them are the same. */
static size_t same_tensors(const char *a, const char *b, const char *begins, size_t *all)
{
    hd_err err = {0};
    hd_safetensors *file[2] = {NULL, NULL};
    hd_model_folder *l = opened(at("%s", b));
    size_t same = 0;
    if (hd_safetensors_open(&file[0], at("%s/model.safetensors", a), &err) ||
        hd_safetensors_open(&file[1], at("%s/model.safetensors", b), &err))
        fail_msg("%s", err.text);
    *all = 0;
    for (size_t i = 0; i < hd_model_folder_classifier(l)->params->count; i++) {
        const hd_param *p = hd_model_folder_classifier(l)->params->list[i];
        if (!p->name || p->alias || strncmp(p->name, begins, strlen(begins)) ||
            !hd_safetensors_find(file[0], p->name))
            continue;
        size_t n = hd_count_of(&p->t);
        hd_real *x = malloc(2 * n * sizeof *x);
        for (int k = 0; k < 2; k++) {
            hd_tensor to = hd_shaped(x + (size_t)k * n, HD_REAL, p->t.rank, p->t.shape);
            if (p->transposed) to.shape[0] = p->t.shape[1], to.shape[1] = p->t.shape[0];
            if (p->transposed) to = hd_shaped(x + (size_t)k * n, HD_REAL, 2, to.shape);
            if (hd_safetensors_load(file[k], p->name, &to, &err)) fail_msg("%s", err.text);
        }
        same += !memcmp(x, x + n, n * sizeof *x);
        ++*all;
        free(x);
    }
    hd_safetensors_free(file[0]);
    hd_safetensors_free(file[1]);
    folder_free(l);
    return same;
}

static void every_body_is_taken_over(void **state)
{
    (void)state;
    static const struct {
        const char *model, *begins;
        hd_pool_kind pool;
        size_t tensors;
    } cases[] = {{"bert", "bert.", HD_POOL_first, 5 + 2 * 16},
                 {"bert", "bert.", HD_POOL_mean, 5 + 2 * 16},
                 {"gpt", "", HD_POOL_last, 2 + 2 * 12 + 2},
                 {"lstm", "", HD_POOL_last, 3 + 2 * 4},
                 {"rnn", "", HD_POOL_max, 3 + 2 * 4}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t all, same;
        char from[32], out[32];
        snprintf(from, sizeof from, "from-%zu", i), snprintf(out, sizeof out, "tuned-%zu", i);
        put_origin(cases[i].model, at("%s", from));
        hd_train_options o = tuned(at("%s", from), cases[i].pool, at("%s", out));
        o.lr = 0; /* what it begins with is what it ends with */
        session_train(&o);
        same = same_tensors(from, out, cases[i].begins, &all);
        if (all != cases[i].tensors || same != all)
            fail_msg("%s: %zu of %zu tensors are the same, not all %zu", cases[i].model, same, all,
                     cases[i].tensors);
        o.scratch = true;
        session_train(&o);
        same = same_tensors(from, out, cases[i].begins, &all);
        if (same >= all) fail_msg("%s: scratch takes all %zu tensors", cases[i].model, all);
    }
}

static void what_is_frozen_stays(void **state)
{
    (void)state;
    static const char *const pattern[] = {"bert.embeddings.*", "bert.encoder.layer.0.*"};
    size_t all;
    put_origin("bert", at("ice"));
    hd_train_options o = tuned(at("ice"), HD_POOL_first, at("frozen"));
    o.freeze = (hd_texts){.text = {pattern[0], pattern[1]}, .count = 2};
    session_train(&o);
    assert_int_equal(same_tensors("ice", "frozen", "bert.embeddings.", &all), 5);
    assert_int_equal(all, 5);
    assert_int_equal(same_tensors("ice", "frozen", "bert.encoder.layer.0.", &all), 16);
    assert_true(same_tensors("ice", "frozen", "bert.encoder.layer.1.", &all) < 2);
}

typedef struct heard {
    hd_real logp[200];
} heard;

static void keep(void *context, size_t label, const hd_real *logp)
{
    memcpy(((heard *)context)->logp + 2 * label, logp, 2 * sizeof *logp);
}

/* One text after the other, and all of them at once. */
static void answers_do_not_hang_on_what_is_asked_beside(void **state)
{
    (void)state;
    static const char *const models[] = {"bert", "gpt", "lstm"};
    static const char *const texts[] = {"fine thing number 3", "foul", "fine fine fine thing",
                                        "number thing"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        hd_err err = {0};
        heard one = {0}, all = {0};
        put_origin(models[i], at("beside"));
        hd_train_options o = tuned(at("beside"), i ? HD_POOL_last : HD_POOL_first, at("asked-beside"));
        session_train(&o);
        hd_model_folder *l = opened(at("asked-beside"));
        hd_examples_opt e = hd_labeler_examples(&hd_model_folder_classifier(l)->opt);
        for (size_t k = 0; k <= COUNT_OF(texts); k++) {
            hd_labeled x = {0};
            hd_examples ids = {0};
            heard now = {0};
            size_t from = k < COUNT_OF(texts) ? k : 0, to = k < COUNT_OF(texts) ? k + 1 : k;
            for (size_t j = from; j < to; j++) {
                hd_labeled_add(&x, (hd_line){texts[j], strlen(texts[j])}, &err);
                hd_labeled_mark(&x, -1, NAN, &err);
                hd_labeled_end(&x, &err);
            }
            if (hd_examples_make(&ids, &x, l->tokenizer[0], &e, &err) ||
                hd_labeler_ask(&run, l, &ids, keep, &now, &err))
                fail_msg("%s", err.text);
            memcpy(to - from > 1 ? all.logp : one.logp + 2 * from, now.logp,
                   2 * (to - from) * sizeof *now.logp);
            hd_examples_release(&ids);
            hd_labeled_release(&x);
        }
        for (size_t k = 0; k < 2 * COUNT_OF(texts); k++) /* sums of float32 in another order */
            if (!(fabs((double)(one.logp[k] - all.logp[k])) < 1e-5)) fail_msg("%s: %zu", models[i], k);
        folder_free(l);
    }
}

/* Ids 5 6 and 7, and 8 alone: <s> 5 6 </s> 7 </s>, <s> 8 </s>. */
static void a_batch_has_types_numbers_and_words_to_come(void **state)
{
    (void)state;
    int32_t id[] = {HD_START_ID, 5, 6, HD_END_ID, 7, HD_END_ID, HD_START_ID, 8, HD_END_ID};
    int32_t label[] = {-1, -1}, row[] = {0, 0};
    size_t begin[] = {0, 6, 9}, first[] = {0, 1, 2}, second[] = {4, 3};
    double value[] = {2.5, -1};
    const hd_examples x = {.count = 2,
                           .rows = 9,
                           .labels = 2,
                           .id = id,
                           .begin = begin,
                           .second = second,
                           .label = label,
                           .value = value,
                           .row = row,
                           .first = first};
    static const uint32_t which[] = {1, 0};
    static const int32_t type[] = {0, 0, 0, 0, 0, 0, 0, 1, 1};
    static const int32_t next[] = {8, HD_END_ID, -1, 5, 6, HD_END_ID, 7, HD_END_ID, -1};
    static const double share[] = {0.25, 0.25, 0, 0.1, 0.1, 0.1, 0.1, 0.1, 0};
    hd_classifier m = {
        .opt = {.body = {.type = &hd_model_bert, .bert.types = 2}, .head = &hd_head_number, .classes = 1}};
    const hd_model_folder f = {.task = &hd_task_folders[HD_TRAIN_REGRESS], .model.self = &m};
    hd_class_batch b;
    hd_run_begin(&run, HD_TRAIN);
    hd_labeler_send(&run, &b, &f, &x, which, 2, &(hd_train_options){.lm_loss = 0.5});
    assert_run_ok(&run);
    assert_memory_equal(b.in.type, type, sizeof type);
    assert_memory_equal(b.next, next, sizeof next);
    for (size_t i = 0; i < 9; i++)
        assert_true(fabs((double)((const hd_real *)b.share->data)[i] - share[i]) < 1e-7);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fabs((double)((const hd_real *)b.value->data)[i] - value[1 - i]) < 1e-7);
        assert_true(fabs((double)((const hd_real *)b.weight->data)[i] - 1) < 1e-7);
        assert_int_equal(b.items->key[i], which[i]); /* draws of a text are its own, wherever it stands */
    }
    hd_run_begin(&run, HD_INFERENCE);
    hd_labeler_send(&run, &b, &f, &x, which, 2, NULL);
    assert_null(b.next);
}

static void hostile_bodies_are_refused(void **state)
{
    (void)state;
    put_origin("bert", at("h-bert"));
    put_origin("gpt", at("h-gpt"));
    hd_train_options o = tuned(at("h-bert"), HD_POOL_first, at("hb"));
    session_train(&o);
    assert_refused("hb", "\"bert\"", "\"bart\"", "there is no model \"bart\"");
    assert_refused("hb", "\"bert\"", "7", "\"model\" is not a text");
    assert_refused("hb", "\"positions\": 20", "\"positions\": 21", "the bert has 20 positions");
    assert_refused("hb", "\"positions\": 20", "\"positions\": 0", "which no model has");
    assert_refused("hb", "\"heads\": 2", "\"heads\": 3", "split over 3 heads");
    assert_refused("hb", "\"layers\": 2", "\"layers\": 3", "layer.2");
    assert_refused("hb", "\"pairs\": false", "\"pairs\": 1", "\"pairs\" is not true or false");
    assert_refused("hb", "\"classify\"", "\"regress\"", "\"classes\" is 2");
    assert_refused("hb", "\"model\": \"bert\"", "\"model\": \"gpt\"", "is missing");
    o = tuned(at("h-gpt"), HD_POOL_last, at("hg"));
    session_train(&o);
    assert_refused("hg", "\"gpt\"", "\"ngram\"", "has no hidden states");
    assert_refused("hg", "\"positions\": 20", "\"positions\": 21", "the gpt has 20 positions");
    assert_refused("hg", "\"vocabulary\": ", "\"vocabulary\": 1", "tokenizer.txt: has ");
}

/* -- memory -- */

static hd_status ask_all(hd_err *err)
{
    hd_model_folder *l = NULL;
    hd_labeled x = {0};
    hd_examples e = {0};
    hd_judged j = {0};
    hd_run r = {0};
    hd_backend *b = NULL; /* of its own: one keeps what it needed once */
    hd_status s = hd_backend_new(&b, "cpu", &(hd_backend_opt){.threads = 1}, err);
    if (!s) s = folder_open(&l, at("asked"), "classify", b, HD_WEIGHTS_BEST, err);
    if (!s) s = hd_run_init(&r, b, err);
    if (!s) s = hd_labeled_table(&x, &l->labels, at("table.tsv"), hd_labeled_name, err);
    hd_examples_opt o = s ? (hd_examples_opt){0} : hd_labeler_examples(&hd_model_folder_classifier(l)->opt);
    if (!s) s = hd_examples_make(&e, &x, l->tokenizer[0], &o, err);
    if (!s) s = hd_labeler_judge(&j, &r, l, &e, err);
    hd_confusion_release(&j.confusion);
    hd_examples_release(&e);
    hd_labeled_release(&x);
    hd_run_release(&r);
    folder_free(l);
    hd_backend_free(b);
    return s;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    hd_train_options o = small_opt(HD_TRAIN_CLASSIFY, "bi-rnn", at("asked"));
    o.steps = 2;
    session_train(&o);
    size_t blocks = hd_mem_now().blocks, n = 1;
    for (hd_status s = HD_ENOMEM; s; n++) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        s = ask_all(&err);
        hd_mem_fail_at(0);
        assert_int_equal(s, err.status);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 30, 2000);
}

static void lack_memory(const hd_train_options *o)
{
    size_t blocks = hd_mem_now().blocks;
    hd_err made = {0};
    hd_folder_make(o->out, NULL, &made);
    size_t n = 1;
    for (hd_status s = HD_ENOMEM; s; n += n < 60 ? 1 : 13) { /* every one would take a while */
        hd_err err = {0};
        hd_outcome r;
        hd_mem_fail_at(n);
        s = session_try(&r, o, &err);
        hd_mem_fail_at(0);
        if (s && !err.status) fail_msg("%zu: nothing is said", n);
        assert_int_equal(hd_mem_now().blocks, blocks);
    }
    assert_in_range(n, 60, 20000);
}

static void a_run_that_lacks_memory_says_so_and_leaves_none(void **state)
{
    (void)state;
    hd_train_options o = small_opt(HD_TRAIN_CLASSIFY, "gru", at("poor"));
    o.steps = 2;
    lack_memory(&o);
    put_origin("bert", at("rich"));
    o = tuned(at("rich"), HD_POOL_first, at("poor-tuned"));
    o.steps = 2;
    lack_memory(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_that_hang_on_both_neighbors_need_both_directions),
        cmocka_unit_test(every_encoder_learns_a_class),
        cmocka_unit_test(hostile_folders_are_refused),
        cmocka_unit_test(a_new_run_leaves_nothing_of_another),
        cmocka_unit_test(every_body_is_taken_over),
        cmocka_unit_test(what_is_frozen_stays),
        cmocka_unit_test(answers_do_not_hang_on_what_is_asked_beside),
        cmocka_unit_test(a_batch_has_types_numbers_and_words_to_come),
        cmocka_unit_test(hostile_bodies_are_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(a_run_that_lacks_memory_says_so_and_leaves_none),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
