/* What is asked of folders of transformers that become models and folders again, whatever the family: the
   logits that it gives and what it writes, the same folder back, and a refusal of what is wrong. What is
   expected comes from published/make.py, which draws the same weights. Include after check.h and scratch.h.
 */
#ifndef IMPORTED_H
#define IMPORTED_H

#include "decode/search.h"
#include "hub/import.h"
#include "hub/publisher.h"
#include "task/owned.h"
#include "unseal.h"

#define PUBLISHED HEED_SOURCE "/tests/hub/published/"

static hd_status pass(hd_status (*fn)(const char *, const char *, hd_backend *, hd_err *), const char *from,
                      const char *to, hd_err *err)
{
    hd_backend *b = backend_of("cpu", 1);
    hd_status s = fn(at("%s", from), at("%s", to), b, err);
    hd_backend_free(b);
    return s;
}

static void pass_well(hd_status (*fn)(const char *, const char *, hd_backend *, hd_err *), const char *from,
                      const char *to)
{
    hd_err err = {0};
    if (pass(fn, from, to, &err)) fail_msg("%s", err.text);
}

/* -- what transformers gives -- */

typedef struct expected {
    FILE *file;
    int count;
    double value[128];
} expected;

/* The next line: how many, and those. */
static const double *next(expected *e)
{
    assert_int_equal(fscanf(e->file, "%d", &e->count), 1);
    assert_in_range(e->count, 1, (int)COUNT_OF(e->value));
    for (int i = 0; i < e->count; i++) assert_int_equal(fscanf(e->file, "%lf", &e->value[i]), 1);
    return e->value;
}

static int32_t next_ids(expected *e, int32_t ids[32])
{
    next(e);
    for (int i = 0; i < e->count; i++) ids[i] = (int32_t)e->value[i];
    return e->count;
}

/* Every `stride`-th of a row's logits. Both sides compute in float: 1e-4 is some hundred roundings. */
static void check_logits(expected *e, const hd_real *logits, size_t rows, size_t vocab, size_t stride)
{
    for (size_t row = 0; row < rows; row++) {
        next(e);
        for (int i = 0; i < e->count; i++)
            if (!(fabs(e->value[i] - (double)logits[row * vocab + (size_t)i * stride]) < 1e-4))
                fail_msg("row %zu, token %zu: %g, not %g", row, (size_t)i * stride,
                         (double)logits[row * vocab + (size_t)i * stride], e->value[i]);
    }
}

CHECK_UNUSED static void check_search(expected *e, hd_run *r, hd_stepper *stepper, const hd_search_opt *o)
{
    hd_err err = {0};
    hd_found *found = NULL;
    int32_t ids[32], count = next_ids(e, ids);
    if (hd_search(&found, r, stepper, o, &err)) fail_msg("%s", err.text);
    const hd_guess *g = hd_found_at(found, 0);
    assert_int_equal(g->length, count);
    assert_memory_equal(g->ids, ids, (size_t)count * sizeof *ids);
    hd_found_free(found);
    hd_stepper_release(stepper);
}

/* The decoder's rows for a source and a target, then what greedy search and beams find. */
static void check_translation(expected *e, hd_run *r, const hd_model_folder *t, size_t stride)
{
    hd_err err = {0};
    int32_t source[32], target[32], from = next_ids(e, source), to = next_ids(e, target), banned[3];
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded memory = hd_encdec_encode(
        r, hd_model_folder_encdec(t),
        &(hd_items){.seg = hd_seg_of(r, &from, 1, NULL), .ids = hd_ints(r, source, (size_t)from)});
    hd_rows x = hd_encdec_decode(r, hd_model_folder_encdec(t), hd_ints(r, target, (size_t)to),
                                 hd_seg_of(r, &to, 1, NULL), memory, NULL);
    hd_real *logits = host_copy(r, hd_encdec_logits(r, hd_model_folder_encdec(t), x));
    check_logits(e, logits, (size_t)to, hd_model_folder_encdec(t)->opt.target_vocab, stride);
    free(logits);
    hd_special special = hd_tokenizer_special(t->tokenizer[1]);
    hd_search_opt o = {.end = special.end, .max_length = 12, .banned = banned, .beam = 4};
    o.banned_count = hd_tokenizer_unwritten(t->tokenizer[1], banned);
    o.length.kind = HD_LENGTH_AVERAGE;
    for (int i = 0; i < 2; i++) {
        hd_stepper stepper;
        assert_int_equal(
            hd_encdec_stepper(&stepper, hd_model_folder_encdec(t), source, &from, 1, special.start, &err),
            HD_OK);
        o.kind = i ? HD_SEARCH_BEAM : HD_SEARCH_GREEDY;
        check_search(e, r, &stepper, &o);
    }
}

CHECK_UNUSED static void check_translator(const char *folder, const char *file, size_t stride)
{
    hd_err err = {0};
    hd_model_folder *t = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    char path[256];
    snprintf(path, sizeof path, PUBLISHED "%s", file);
    expected e = {.file = fopen(path, "r")};
    assert_non_null(e.file);
    if (folder_open(&t, at("%s", folder), "translate", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    for (int i = 0; i < 3; i++) check_translation(&e, &r, t, stride);
    fclose(e.file);
    folder_free(t);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- there and back -- */

static void assert_same_files(const char *a, const char *b, const char *const *names)
{
    for (; *names; names++) {
        /* what was carried over has a checksum, too: but that is not what is compared */
        if (!strcmp(*names, "config.json")) unseal(at("%s", a)), unseal(at("%s", b));
        assert_same_file(at("%s/%s", a, *names), at("%s/%s", b, *names));
    }
}

static void assert_same_tensors(const char *a, const char *b)
{
    hd_err err = {0};
    hd_safetensors *x = NULL, *y = NULL;
    if (hd_safetensors_open(&x, a, &err) || hd_safetensors_open(&y, b, &err)) fail_msg("%s", err.text);
    assert_int_equal(hd_safetensors_count(x), hd_safetensors_count(y));
    for (size_t i = 0; i < hd_safetensors_count(x); i++) {
        const hd_entry *p = hd_safetensors_at(x, i), *q = hd_safetensors_at(y, i);
        assert_string_equal(p->name, q->name);
        assert_int_equal(p->bytes, q->bytes);
        assert_memory_equal(p->data, q->data, p->bytes);
    }
    hd_safetensors_free(x);
    hd_safetensors_free(y);
}

/* There and back, twice: the same files, the same tensors. files: those of the tokenizer. */
CHECK_UNUSED static void check_round(void (*put)(const char *), const char *const *files)
{
    static const char *const model[] = {"config.json", "model.safetensors", NULL};
    static int number;
    char name[4][16];
    for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], "round%d.%d", number, k);
    number++;
    put(name[0]);
    pass_well(hd_import, name[0], name[1]);
    pass_well(hd_export, name[1], name[2]);
    pass_well(hd_import, name[2], name[3]);
    assert_same_files(name[0], name[2], files);
    assert_same_files(name[1], name[3], files);
    assert_same_files(name[1], name[3], model);
    assert_same_tensors(at("%s/model.safetensors", name[0]), at("%s/model.safetensors", name[2]));
}

/* -- what is refused -- */

typedef struct publisher {
    void (*put)(const char *folder);
    const char *config;
} publisher;

/* A folder in which `from` of config.json is `to` instead; what is said holds `why`, and nothing is left. */
CHECK_UNUSED static void check_refused(publisher of, const char *from, const char *to, const char *why)
{
    static int number;
    char name[16], config[2048];
    hd_err err = {0};
    const char *all = of.config, *place = strstr(all, from);
    assert_non_null(place);
    snprintf(name, sizeof name, "bad%d", number++);
    of.put(name);
    snprintf(config, sizeof config, "%.*s%s%s", (int)(place - all), all, to, place + strlen(from));
    put_file(at("%s/config.json", name), config);
    int before = entries_in(scratch);
    assert_int_not_equal(pass(hd_import, name, "refused", &err), HD_OK);
    if (!strstr(err.text, why)) fail_msg("'%s' does not say '%s'", err.text, why);
    assert_int_equal(entries_in(scratch), before);
}

/* Some of the many allocations. */
CHECK_UNUSED static void check_memory(void (*put)(const char *), const char *from, const char *to)
{
    put(from);
    hd_backend *b = backend_of("cpu", 1);
    int before = entries_in(scratch);
    size_t used = hd_mem_now().blocks;
    for (size_t n = 1, failed = 1; failed; n += 1 + n / 8) {
        hd_err err = {0};
        hd_mem_fail_at(n);
        hd_status s = hd_import(at("%s", from), at("%s", to), b, &err);
        hd_mem_fail_at(0);
        failed = s != HD_OK;
        if (failed && s != HD_ENOMEM) fail_msg("%s", err.text);
        assert_int_equal(entries_in(scratch), before + !failed);
        assert_int_equal(hd_mem_now().blocks, used);
    }
    hd_backend_free(b);
}

#endif
