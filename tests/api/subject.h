/* What the tests of heed.h share: the tiny model on disk, open, and one context; what is compared. */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "check.h"
#include "heed.h"
#include "api/tiny.h"

typedef struct subject {
    char folder[64];
    heed_model *model;
    heed_context *context;
} subject;

CHECK_UNUSED static heed_context *context_of(heed_model *model, int threads)
{
    heed_error error;
    heed_context *c = NULL;
    heed_context_options o;
    heed_context_options_init(&o, sizeof o);
    o.threads = threads;
    if (heed_context_new(&c, model, &o, &error)) fail_msg("%s", error.text);
    return c;
}

CHECK_UNUSED static int open_subject(void **state)
{
    static subject s;
    hd_err err = {0};
    heed_error error;
    s = (subject){.folder = "/tmp/heed-api-test-XXXXXX"};
    if (!mkdtemp(s.folder) || tiny_write(s.folder, &err)) return -1;
    if (heed_model_open(&s.model, s.folder, NULL, &error)) return -1;
    s.context = context_of(s.model, 1);
    *state = &s;
    return 0;
}

CHECK_UNUSED static int close_subject(void **state)
{
    subject *s = *state;
    hd_err err = {0};
    heed_context_free(s->context);
    heed_model_free(s->model);
    return hd_folder_remove(s->folder, &err) ? -1 : 0;
}

/* The exit status: cmocka's, which does not count what the end of the group finds. */
CHECK_UNUSED static int finish(int failed)
{
    if (hd_mem_now().blocks) fprintf(stderr, "%zu blocks were left behind\n", hd_mem_now().blocks);
    return failed || hd_mem_now().blocks;
}

CHECK_UNUSED static heed_translate_options options_of(void)
{
    heed_translate_options o;
    heed_translate_options_init(&o, sizeof o);
    return o;
}

CHECK_UNUSED static heed_results *translate(heed_context *c, const char *const *line, size_t count,
                                            const heed_translate_options *o)
{
    heed_error error;
    heed_results *r = NULL;
    if (heed_translate(c, line, count, o, &r, &error)) fail_msg("%s", error.text);
    assert_int_equal(error.status, HEED_OK);
    assert_string_equal(error.text, "");
    assert_int_equal(r->count, count);
    return r;
}

/* To the bit. */
CHECK_UNUSED static void assert_same(const heed_results *a, const heed_results *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const heed_translation *x = a->translation[i], *y = b->translation[i];
        assert_int_equal(x->status, y->status);
        assert_string_equal(x->text, y->text);
        assert_int_equal(x->count, y->count);
        for (size_t n = 0; n < x->count; n++) {
            const heed_hypothesis *g = x->hypothesis[n], *h = y->hypothesis[n];
            assert_string_equal(g->text, h->text);
            assert_int_equal(g->length, h->length);
            assert_memory_equal(&g->score, &h->score, sizeof g->score);
            assert_memory_equal(g->id, h->id, g->length * sizeof *g->id);
            assert_memory_equal(g->token_log_probability, h->token_log_probability,
                                g->length * sizeof(float));
        }
    }
}

#endif
