/* What sentence-transformers keeps beside a BERT says how lines become vectors here, too: in each of the
   forms that its versions write, and what heed does not have is refused. published/sentence.py compares the
   vectors themselves with that program's. */
#include "check.h"
#include "scratch.h"

#include "show/embed.h"
#include "task/masked/masked.h"
#include "hub/imported.h"

static const char six[] = "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": "
                          "\"sentence_transformers.base.modules.transformer.Transformer\"}, {\"idx\": 1, "
                          "\"name\": \"1\", \"path\": \"1_Pooling\", \"type\": "
                          "\"sentence_transformers.sentence_transformer.modules.pooling.Pooling\"}%s]",
                  norm[] = ", {\"idx\": 2, \"name\": \"2\", \"path\": \"2_Normalize\", \"type\": "
                           "\"sentence_transformers.base.modules.normalize.Normalize\"}";

typedef struct files {
    const char *limit;     /* sentence_bert_config.json */
    const char *tokenizer; /* tokenizer_config.json */
    const char *more;      /* behind the first two of modules.json; NULL: there is no such file */
    const char *pooling, *normalize, *whole;
} files;

static void put_or_remove(const char *path, const char *text)
{
    if (text)
        put_file(path, text);
    else
        remove(path);
}

/* All of them in a folder that is there. */
static void put_sentence(const char *folder, files f)
{
    char modules[1024];
    mkdir(at("%s/1_Pooling", folder), 0777), mkdir(at("%s/2_Normalize", folder), 0777);
    snprintf(modules, sizeof modules, six, f.more ? f.more : "");
    put_or_remove(at("%s/sentence_bert_config.json", folder), f.limit);
    put_or_remove(at("%s/tokenizer_config.json", folder), f.tokenizer);
    put_or_remove(at("%s/modules.json", folder), f.more ? modules : NULL);
    put_or_remove(at("%s/1_Pooling/config.json", folder), f.pooling);
    put_or_remove(at("%s/2_Normalize/config.json", folder), f.normalize);
    put_or_remove(at("%s/config_sentence_transformers.json", folder), f.whole);
}

#define MEAN      "{\"embedding_dimension\": 16, \"pooling_mode\": \"mean\", \"include_prompt\": true}"
#define OLD(mode) "{\"word_embedding_dimension\": 16, \"pooling_mode_cls_token\": false, \"" mode "\": true}"

static void check_masked(const char *folder, hd_pooling pool, bool normalize, size_t longest)
{
    hd_err err = {0};
    hd_model_folder *m = NULL;
    hd_backend *b = backend_of("cpu", 1);
    if (folder_open(&m, at("%s", folder), "mlm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_string_equal(hd_pooling_names[m->pool], hd_pooling_names[pool]);
    assert_int_equal(m->normalize, normalize);
    assert_int_equal(m->longest, longest ? longest : hd_model_folder_bert(m)->opt.positions);
    folder_free(m);
    hd_backend_free(b);
}

/* Read in whichever file it stands, and back again the same. */
static void what_a_sentence_model_says_is_kept(void **state)
{
    (void)state;
    static const struct {
        files f;
        hd_pooling pool;
        bool normalize;
        size_t longest; /* 0: that of the model */
    } cases[] = {
        {{.limit = "{\"max_seq_length\": 12, \"do_lower_case\": false}\n"}, HD_POOLING_AUTO, 0, 12},
        {{.limit = "{\"max_seq_length\": 24}"}, HD_POOLING_AUTO, 0, 0},
        {{.limit = "{\"max_seq_length\": 1000}"}, HD_POOLING_AUTO, 0, 0},
        {{.limit = "{\"max_seq_length\": null}"}, HD_POOLING_AUTO, 0, 0},
        {{.limit = "{}"}, HD_POOLING_AUTO, 0, 0},
        {{.tokenizer = "{\"model_max_length\": 7}"}, HD_POOLING_AUTO, 0, 7},
        {{.tokenizer = "{\"model_max_length\": 7}", .limit = "{\"max_seq_length\": 9}"},
         HD_POOLING_AUTO,
         0,
         9},
        {{.tokenizer = "{\"model_max_length\": 7}", .limit = "{\"max_seq_length\": null}"},
         HD_POOLING_AUTO,
         0,
         7},
        {{.tokenizer = "{\"model_max_length\": 1000000000000000019884624838656}"}, HD_POOLING_AUTO, 0, 0},
        {{.more = norm,
          .pooling = MEAN,
          .tokenizer = "{\"model_max_length\": 11, \"do_lower_case\": true}",
          .normalize = "{\"module_input_name\": \"sentence_embedding\"}",
          .limit =
              "{\"transformer_task\": \"feature-extraction\", \"modality_config\": {\"text\": {\"method\": "
              "\"forward\", \"method_output_name\": \"last_hidden_state\"}}, \"module_output_name\": "
              "\"token_embeddings\"}",
          .whole = "{\"prompts\": {\"query\": \"q: \", \"document\": \"\"}, \"default_prompt_name\": null}"},
         HD_POOLING_MEAN,
         true,
         11},
        {{.more = "", .pooling = "{\"pooling_mode\": \"cls\"}"}, HD_POOLING_CLS, 0, 0},
        {{.more = norm, .pooling = "{\"pooling_mode\": [\"max\"]}"}, HD_POOLING_MAX, true, 0},
        {{.more = "", .pooling = "{\"pooling_mode\": \"lasttoken\"}"}, HD_POOLING_LAST, 0, 0},
        {{.more = "", .pooling = "{\"pooling_mode\": \"mean_sqrt_len_tokens\"}"}, HD_POOLING_SQRT, 0, 0},
        {{.more = "", .pooling = OLD("pooling_mode_lasttoken")}, HD_POOLING_LAST, 0, 0},
        {{.more = norm, .pooling = OLD("pooling_mode_max_tokens")}, HD_POOLING_MAX, true, 0},
        {{.more = "", .pooling = "{\"pooling_mode_cls_token\": true}"}, HD_POOLING_CLS, 0, 0},
        {{.more = "", .pooling = "{\"word_embedding_dimension\": 16}"}, HD_POOLING_MEAN, 0, 0},
        {{.more = "",
          .pooling = MEAN,
          .whole = "{\"prompts\": {\"none\": \"\"}, \"default_prompt_name\": \"none\"}"},
         HD_POOLING_MEAN,
         0,
         0},
        {{.more = "", .pooling = MEAN, .limit = "{\"do_lower_case\": true}"}, HD_POOLING_MEAN, 0, 0},
    };
    put_bare_bert("kept");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char name[3][24];
        for (int k = 0; k < 3; k++) snprintf(name[k], sizeof name[k], "kept%zu.%d", i, k);
        put_sentence("kept", cases[i].f);
        pass_well(hd_import, "kept", name[0]);
        check_masked(name[0], cases[i].pool, cases[i].normalize, cases[i].longest);
        pass_well(hd_export, name[0], name[1]);
        bool pools = cases[i].pool != HD_POOLING_AUTO;
        assert_int_equal(is_there(at("%s/modules.json", name[1])), pools);
        assert_int_equal(is_there(at("%s/1_Pooling/config.json", name[1])), pools);
        assert_int_equal(is_there(at("%s/2_Normalize/config.json", name[1])), cases[i].normalize);
        assert_int_equal(is_there(at("%s/sentence_bert_config.json", name[1])), pools || cases[i].longest);
        if (cases[i].f.whole)
            assert_same_file(at("kept/config_sentence_transformers.json"),
                             at("%s/config_sentence_transformers.json", name[1]));
        pass_well(hd_import, name[1], name[2]);
        assert_same_file(at("%s/config.json", name[0]), at("%s/config.json", name[2]));
    }
}

static void what_is_not_known_is_refused(void **state)
{
    (void)state;
    static const char dense[] = ", {\"path\": \"2_Dense\", \"type\": \"sentence_transformers.models.Dense\"}",
                      far[] = ", {\"path\": \"../x\", \"type\": \"Normalize\"}";
    static const struct {
        files f;
        const char *file, *why;
    } cases[] = {
        {{.limit = "{\"max_seq_length\": 2}"},
         "sentence_bert",
         "\"max_seq_length\" is not a whole number from 3"},
        {{.limit = "{\"max_seq_length\": \"12\"}"},
         "sentence_bert",
         "\"max_seq_length\" is not a whole number"},
        {{.limit = "{"}, "sentence_bert_config.json", ""},
        {{.limit = "{\"transformer_task\": \"fill-mask\"}"}, "sentence_bert", "\"transformer_task\" is not"},
        {{.limit = "{\"modality_config\": {\"text\": {\"method_output_name\": \"pooler_output\"}}}"},
         "sentence_bert",
         "\"method_output_name\" is not \"last_hidden_state\""},
        {{.limit = "{\"do_lower_case\": true}", .tokenizer = "{\"do_lower_case\": false}"},
         "sentence_bert",
         "the tokenizer keeps upper case"},
        {{.tokenizer = "{\"model_max_length\": 0}"},
         "tokenizer_config.json",
         "\"model_max_length\" is not a"},
        {{.more = dense, .pooling = MEAN}, "modules.json", "module 2 is \"Dense\""},
        {{.more = far, .pooling = MEAN}, "modules.json", "\"path\" of a module is no folder"},
        {{.more = ""}, "1_Pooling", "no config.json"},
        {{.more = "", .pooling = "{\"pooling_mode\": \"weightedmean\"}"},
         "1_Pooling/config.json",
         "weightedmean"},
        {{.more = "", .pooling = "{\"pooling_mode\": \"median\"}"}, "1_Pooling/config.json", "median"},
        {{.more = "", .pooling = "{\"pooling_mode\": [\"cls\", \"mean\"]}"},
         "1_Pooling/config.json",
         "several"},
        {{.more = "", .pooling = "{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": true}"},
         "1_Pooling/config.json",
         "several poolings"},
        {{.more = "", .pooling = "{\"embedding_dimension\": 17, \"pooling_mode\": \"mean\"}"},
         "1_Pooling/config.json",
         "\"embedding_dimension\" is not 16"},
        {{.more = norm, .pooling = MEAN, .normalize = "{\"module_input_name\": \"token_embeddings\"}"},
         "2_Normalize/config.json",
         "\"module_input_name\" is not"},
        {{.more = "",
          .pooling = MEAN,
          .whole = "{\"prompts\": {\"query\": \"q: \"}, \"default_prompt_name\": \"query\"}"},
         "config_sentence_transformers.json",
         "\"q: \""},
    };
    put_bare_bert("bad");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        put_sentence("bad", cases[i].f);
        int before = entries_in(scratch);
        assert_int_equal(pass(hd_import, "bad", "refused", &err),
                         strstr(cases[i].why, "no config") ? HD_EFILE : HD_EFORMAT);
        if (!strstr(err.text, cases[i].why) || !strstr(err.text, cases[i].file))
            fail_msg("'%s' does not say '%s' of %s", err.text, cases[i].why, cases[i].file);
        assert_int_equal(entries_in(scratch), before);
    }
    hd_err err = {0};
    put_gpt2("gpt2");
    put_sentence("gpt2", (files){.more = "", .pooling = MEAN});
    assert_int_equal(pass(hd_import, "gpt2", "refused", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "modules.json: heed reads sentence models of encoders alone"));
}

static hd_embeddings embed(const char *folder, hd_embed_opt opt)
{
    static const char text[] = "the cat sat on the mat, and the mat sat on the cat";
    const hd_line line = {text, sizeof text - 1};
    hd_err err = {0};
    hd_embeddings e = {0};
    hd_model_folder m;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    if (hd_model_folder_open(&m, at("%s", folder), NULL, b, HD_WEIGHTS_BEST, &err) ||
        hd_embed_lines(&e, &r, &m, &line, 1, &opt, &err))
        fail_msg("%s", err.text);
    hd_model_folder_release(&m);
    hd_run_release(&r);
    hd_backend_free(b);
    return e;
}

/* Without a word from whoever asks, and not where they say otherwise. */
static void vectors_are_made_as_the_model_says(void **state)
{
    (void)state;
    static const struct {
        const char *pooling, *more;
        hd_embed_opt same;
    } cases[] = {
        {"{\"pooling_mode\": \"cls\"}", "", {.pool = HD_POOLING_FIRST, .cut = true}},
        {"{\"pooling_mode\": \"mean\"}", norm, {.pool = HD_POOLING_MEAN, .cut = true, .normalize = true}},
        {"{\"pooling_mode\": \"max\"}", norm, {.pool = HD_POOLING_MAX, .cut = true, .normalize = true}},
    };
    put_bare_bert("made");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char to[16];
        snprintf(to, sizeof to, "made%zu", i);
        put_sentence("made", (files){.more = cases[i].more,
                                     .pooling = cases[i].pooling,
                                     .tokenizer = "{\"model_max_length\": 9}"});
        pass_well(hd_import, "made", to);
        hd_embeddings own = embed(to, (hd_embed_opt){.cut = true}), same = embed(to, cases[i].same),
                      mean = embed(to, (hd_embed_opt){.pool = HD_POOLING_MEAN, .cut = true}),
                      error = embed(to, (hd_embed_opt){0});
        assert_int_equal(own.of[0].tokens, 9);
        assert_memory_equal(own.of[0].vector, same.of[0].vector, WIDE * sizeof(hd_real));
        assert_memory_not_equal(own.of[0].vector, mean.of[0].vector, WIDE * sizeof(hd_real));
        assert_int_equal(error.of[0].status, HD_ELIMIT);
        hd_embeddings_release(&own), hd_embeddings_release(&same);
        hd_embeddings_release(&mean), hd_embeddings_release(&error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sentence_model_says_is_kept),
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(vectors_are_made_as_the_model_says),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
