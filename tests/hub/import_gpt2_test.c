/* Folders of GPT-2 become models that give the logits of transformers and write what it writes, and become
   the same folders again. What holds of every family is here, too. */
#include "check.h"
#include "scratch.h"

#include "model/lm/gpt.h"
#include "task/language/generate.h"
#include "hub/imported.h"
#include "task/label/labeler.h"
#include "task/language/language.h"

/* A prompt behind the token that begins a text, and what follows it by greedy search with a penalty of 1.15.
 */
static void check_repetition(expected *e, hd_run *r, const hd_model_folder *l)
{
    hd_err err = {0};
    hd_generated g = {0};
    hd_text prompt = {0}, text = {0};
    int32_t ids[32], count = next_ids(e, ids);
    assert_int_equal(hd_tokenizer_decode(l->tokenizer[0], ids, (size_t)count, &prompt, &err), HD_OK);
    count = next_ids(e, ids);
    assert_int_equal(hd_tokenizer_decode(l->tokenizer[0], ids, (size_t)count, &text, &err), HD_OK);
    hd_generate_opt o = {.tokens = (size_t)count, .repetition = 1.15f};
    if (hd_generate(&g, r, l, &(hd_line){prompt.data, prompt.size}, 1, &o, &err)) fail_msg("%s", err.text);
    assert_memory_equal(g.text.data, text.data, g.text.size);
    for (const char *c = text.data + g.text.size; *c;
         c += 3) /* half a character at the end waits for the rest */
        assert_memory_equal(c, "\xEF\xBF\xBD", 3);
    hd_generated_release(&g);
    hd_text_release(&prompt);
    hd_text_release(&text);
}

static void check_gpt2(const char *folder, const char *file)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(file, "r")};
    assert_non_null(e.file);
    if (folder_open(&l, at("%s", folder), "lm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    int32_t ids[32], count = next_ids(&e, ids);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_seg *seg = hd_seg_of(&r, &count, 1, NULL);
    hd_rows x = hd_model_rows(&r, &l->model, &(hd_items){.seg = seg, .ids = hd_ints(&r, ids, (size_t)count)});
    hd_real *logits = host_copy(&r, hd_gpt_logits(&r, hd_model_folder_lm(l)->model, x));
    check_logits(&e, logits, (size_t)count, hd_model_folder_lm(l)->opt.vocab, 29);
    hd_stepper stepper;
    assert_int_equal(
        hd_model_folder_lm(l)->type->stepper(&stepper, hd_model_folder_lm(l), ids, &count, 1, 0, &err),
        HD_OK);
    if (hd_model_folder_lm(l)->opt.vocab == GPT_VOCAB)
        check_search(&e, &r, &stepper,
                     &(hd_search_opt){.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = 12});
    else
        next(&e), hd_stepper_release(&stepper); /* it does not know which rows have no piece */
    check_repetition(&e, &r, l);
    free(logits);
    fclose(e.file);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

static void gpt2_gives_the_logits_of_transformers(void **state)
{
    (void)state;
    put_gpt2("gpt2");
    pass_well(hd_import, "gpt2", "gpt2.heed");
    check_gpt2("gpt2.heed", PUBLISHED "gpt2.txt");
}

static void change_file(const char *path, const char *from, const char *to)
{
    char *bytes = get_file(path, &(size_t){0}), *found = strstr(bytes, from), text[2048];
    assert_non_null(found);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(found - bytes), bytes, to, found + strlen(from));
    put_file(path, text);
    free(bytes);
}

static void gpt2_may_have_another_epsilon_and_table(void **state)
{
    (void)state;
    put_gpt2_with("untied", true);
    change_file(at("untied/config.json"), "1e-05", "0.01");
    change_file(at("untied/config.json"), "\"pad_token_id\": null",
                "\"tie_word_embeddings\": false, \"resid_pdrop\": 0.2, \"attn_pdrop\": 0.3");
    pass_well(hd_import, "untied", "untied.heed");
    check_gpt2("untied.heed", PUBLISHED "gpt2-apart.txt");
    pass_well(hd_export, "untied.heed", "untied.out");
    pass_well(hd_import, "untied.out", "untied.again");
    check_gpt2("untied.again", PUBLISHED "gpt2-apart.txt");
    char *config = get_file(at("untied.out/config.json"), &(size_t){0});
    static const char *const kept[] = {"\"resid_pdrop\": 0.2,", "\"embd_pdrop\": 0.1,",
                                       "\"attn_pdrop\": 0.3,", "\"layer_norm_epsilon\": 0.01,",
                                       "\"tie_word_embeddings\": false"};
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (!strstr(config, kept[i])) fail_msg("no %s in %s", kept[i], config);
    free(config);
}

/* A table may have more rows than the tokenizer has pieces: the logits of the others are the same, and what
   is generated has none of them. */
static void gpt2_may_be_padded(void **state)
{
    (void)state;
    put_gpt2("padded");
    pad_gpt2("padded", 1000);
    change_file(at("padded/config.json"), "1200", "2200");
    pass_well(hd_import, "padded", "padded.heed");
    check_gpt2("padded.heed", PUBLISHED "gpt2.txt");
    pass_well(hd_export, "padded.heed", "padded.out");
    pass_well(hd_import, "padded.out", "padded.again");
    assert_same_file(at("padded.heed/config.json"), at("padded.again/config.json"));
    assert_same_file(at("padded.heed/model.safetensors"), at("padded.again/model.safetensors"));
}

/* transformers 4.46 loads no untied GPT-2 whose body lacks the prefix. */
static void an_untied_gpt2_has_the_prefix(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_safetensors *f = NULL;
    put_gpt2_with("prefix", true);
    change_file(at("prefix/config.json"), "\"pad_token_id\": null", "\"tie_word_embeddings\": false");
    pass_well(hd_import, "prefix", "prefix.heed");
    pass_well(hd_export, "prefix.heed", "prefix.out");
    if (hd_safetensors_open(&f, at("prefix.out/model.safetensors"), &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < hd_safetensors_count(f); i++) {
        const char *name = hd_safetensors_at(f, i)->name;
        assert_true(!strncmp(name, "transformer.", 12) || !strcmp(name, "lm_head.weight"));
    }
    hd_safetensors_free(f);
}

static void generation_config_goes_along(void **state)
{
    (void)state;
    static const char *const kept[] = {"generation_config.json", "special_tokens_map.json", NULL};
    put_gpt2("along");
    put_file(at("along/generation_config.json"), "{\"bos_token_id\": 0, \"temperature\": 0.7}\n");
    put_file(at("along/special_tokens_map.json"), "{}");
    pass_well(hd_import, "along", "along.heed");
    pass_well(hd_export, "along.heed", "along.out");
    assert_same_files("along", "along.heed", kept);
    assert_same_files("along", "along.out", kept);
}

static void weights_that_are_not_numbers_are_refused(void **state)
{
    (void)state;
    hd_err err = {0};
    store s = {.dtype = HD_F32};
    put_gpt2_but_weights("nan");
    add_gpt2(&s);
    ((float *)s.tensor[7].data)[3] = NAN;
    save(&s, 0, s.count, at("nan/model.safetensors"));
    assert_int_equal(pass(hd_import, "nan", "refused", &err), HD_ENUMBER);
    assert_non_null(strstr(err.text, "model.safetensors"));
    assert_non_null(strstr(err.text, s.named[7].name));
    assert_false(is_there(at("refused")));
    store_release(&s);
}

/* What a head says of ids with nothing around them. */
static void check_labels(const char *folder, bool number)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    hd_backend *b = backend_of("cpu", 1);
    hd_run r = run_on(b);
    expected e = {.file = fopen(PUBLISHED "gpt2-labels.txt", "r")};
    assert_non_null(e.file);
    if (folder_open(&l, at("%s", folder), "classify", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    assert_true(hd_model_folder_classifier(l)->opt.bare);
    assert_int_equal(hd_model_folder_classifier(l)->opt.head == &hd_head_number, number);
    int32_t ids[32], one = 1, count = next_ids(&e, ids);
    if (number) next(&e);
    hd_run_begin(&r, HD_INFERENCE);
    const hd_class_batch batch = {.in.seg = hd_seg_of(&r, &count, 1, NULL),
                                  .items = hd_seg_of(&r, &one, 1, NULL),
                                  .in.ids = hd_ints(&r, ids, (size_t)count)};
    hd_real *logp = host_copy(&r, hd_classifier_logp(&r, hd_model_folder_classifier(l), &batch));
    check_logits(&e, logp, 1, hd_model_folder_classifier(l)->opt.classes, 1);
    assert_int_equal(e.count, number ? 1 : 3);
    free(logp);
    fclose(e.file);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* There and back: the head has the names of transformers, and no bias. */
static void labels_of_gpt2_are_those_of_transformers(void **state)
{
    (void)state;
    for (int number = 0; number < 2; number++) {
        char name[4][16];
        for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], "head%d.%d", number, k);
        put_gpt2_labels(name[0], number ? 1 : 3);
        pass_well(hd_import, name[0], name[1]);
        check_labels(name[1], number);
        pass_well(hd_export, name[1], name[2]);
        pass_well(hd_import, name[2], name[3]);
        check_labels(name[3], number);
        assert_same_file(at("%s/config.json", name[1]), at("%s/config.json", name[3]));
        assert_same_file(at("%s/model.safetensors", name[1]), at("%s/model.safetensors", name[3]));
        assert_same_tensors(at("%s/model.safetensors", name[0]), at("%s/model.safetensors", name[2]));
    }
}

/* heed begins a text behind an end token, so that is what transformers has to begin with. */
static void a_gpt_begins_there_as_here(void **state)
{
    (void)state;
    speaker_folder(at("own"), HD_LM_gpt, HD_TOKENIZER_words);
    pass_well(hd_export, "own", "own.out");
    char *config = get_file(at("own.out/config.json"), &(size_t){0});
    assert_non_null(strstr(config, "\"bos_token_id\": 3,"));
    assert_non_null(strstr(config, "\"eos_token_id\": 3,"));
    assert_non_null(strstr(config, "\"pad_token_id\": 0,"));
    free(config);
}

/* -- there and back -- */

static void what_is_exported_is_what_was_imported(void **state)
{
    (void)state;
    static const char *const files[] = {"vocab.json", "merges.txt", NULL};
    check_round(put_gpt2, files);
}

static void weights_may_be_spread_and_have_a_prefix(void **state)
{
    (void)state;
    store s = {.dtype = HD_F32, .prefix = "transformer."};
    hd_text index = {0};
    put_gpt2_but_weights("parts");
    add_gpt2(&s);
    save(&s, 0, 5, at("parts/a.safetensors"));
    save(&s, 5, s.count, at("parts/b.safetensors"));
    hd_text_put(&index, "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {");
    for (size_t i = 0; i < s.count; i++)
        hd_text_print(&index, "%s\"%s\": \"%c.safetensors\"", i ? ", " : "", s.named[i].name,
                      i < 5 ? 'a' : 'b');
    hd_text_put(&index, "}}");
    put_file(at("parts/model.safetensors.index.json"), index.data);
    hd_text_release(&index);
    store_release(&s);
    pass_well(hd_import, "parts", "parts.heed");
    check_gpt2("parts.heed", PUBLISHED "gpt2.txt");
    put_file(at("parts/model.safetensors.index.json"), "{\"weight_map\": {\"wte.weight\": \"../a\"}}");
    hd_err err = {0};
    assert_int_equal(pass(hd_import, "parts", "parts.two", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "'../a' is not the name of a file beside it"));
}

static void numbers_of_16_bits_are_widened(void **state)
{
    (void)state;
    for (hd_dtype dtype = HD_F16; dtype <= HD_BF16; dtype++) {
        char from[16], to[16];
        hd_err err = {0};
        store s = {.dtype = dtype};
        hd_safetensors *file = NULL;
        float got[GPT_VOCAB * WIDE], wanted[GPT_VOCAB * WIDE];
        const size_t shape[2] = {GPT_VOCAB, WIDE};
        const hd_tensor into = hd_shaped(got, HD_F32, 2, shape);
        snprintf(from, sizeof from, "half%d", dtype), snprintf(to, sizeof to, "half%d.heed", dtype);
        put_gpt2_but_weights(from);
        add_gpt2(&s);
        save(&s, 0, s.count, at("%s/model.safetensors", from));
        hd_convert(wanted, HD_F32, s.tensor[0].data, dtype, COUNT_OF(wanted));
        pass_well(hd_import, from, to);
        if (hd_safetensors_open(&file, at("%s/model.safetensors", to), &err) ||
            hd_safetensors_load(file, "wte.weight", &into, &err))
            fail_msg("%s", err.text);
        assert_memory_equal(got, wanted, sizeof got);
        hd_safetensors_free(file);
        store_release(&s);
    }
}

/* -- what is asked of an imported model -- */

static hd_model_folder *imported_gpt2(hd_backend *b)
{
    hd_err err = {0};
    hd_model_folder *l = NULL;
    if (!is_there(at("gpt2.heed"))) put_gpt2("gpt2"), pass_well(hd_import, "gpt2", "gpt2.heed");
    if (folder_open(&l, at("gpt2.heed"), "lm", b, HD_WEIGHTS_BEST, &err)) fail_msg("%s", err.text);
    return l;
}

/* Blank lines are one piece or several, as the merges say: only the whole text has the right ones. */
static void lines_are_text_to_gpt2(void **state)
{
    (void)state;
    static const char text[] = "the cat\n\n\n  sat on\n";
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *l = imported_gpt2(b);
    hd_plain_text plain = {0};
    hd_stream_text stream = {0};
    hd_ids ids = {0};
    put_file(at("text"), text);
    if (hd_plain_text_read(&plain, at("text"), &err) ||
        hd_stream_text_of(&stream, &plain, l->tokenizer[0], &err) ||
        hd_tokenizer_encode_ids(l->tokenizer[0], text, strlen(text), &ids, &err))
        fail_msg("%s", err.text);
    assert_int_equal(stream.count, ids.count);
    assert_memory_equal(stream.ids, ids.at, ids.count * sizeof *ids.at);
    assert_int_equal(stream.characters, strlen(text));
    hd_ids_release(&ids);
    hd_stream_text_release(&stream);
    hd_plain_text_release(&plain);
    folder_free(l);
    hd_backend_free(b);
}

/* The likeliest token behind <|endoftext|> and the whole prompt, as search finds it. */
static void gpt2_goes_on_from_the_whole_prompt(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder *l = imported_gpt2(b);
    hd_run r = run_on(b);
    hd_generated g = {0};
    hd_ids ids = {0};
    hd_text wanted = {0};
    hd_stepper stepper;
    hd_found *found = NULL;
    int32_t banned[3];
    const hd_line prompt = {"one\n\ntwo", 8};
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = 6};
    assert_int_equal(hd_tokenizer_unwritten(l->tokenizer[0], banned), 0);
    assert_int_equal(hd_ids_reserve(&ids, 1, &err), HD_OK);
    ids.at[ids.count++] = hd_tokenizer_special(l->tokenizer[0]).end;
    assert_int_equal(hd_tokenizer_encode_ids(l->tokenizer[0], prompt.text, prompt.size, &ids, &err), HD_OK);
    int32_t count = (int32_t)ids.count;
    if (hd_generate(&g, &r, l, &prompt, 1, &(hd_generate_opt){.tokens = 6}, &err) ||
        hd_model_folder_lm(l)->type->stepper(&stepper, hd_model_folder_lm(l), ids.at, &count, 1, 0, &err) ||
        hd_search(&found, &r, &stepper, &o, &err) ||
        hd_tokenizer_decode(l->tokenizer[0], hd_found_at(found, 0)->ids, 6, &wanted, &err))
        fail_msg("%s", err.text);
    assert_in_range(g.text.size, 1, wanted.size); /* half a character at the end is held back */
    assert_memory_equal(g.text.data, wanted.data, g.text.size);
    hd_found_free(found);
    hd_stepper_release(&stepper);
    hd_text_release(&wanted);
    hd_ids_release(&ids);
    hd_generated_release(&g);
    folder_free(l);
    hd_run_release(&r);
    hd_backend_free(b);
}

/* -- what is refused -- */

static void what_heed_does_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } bad[] = {
        {"\"gpt2\"", "\"bloom\"",
         "\"model_type\" is \"bloom\"; heed imports bert, roberta, xlm-roberta, distilbert, electra, mpnet, "
         "gpt2, llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3_text, mixtral, olmoe, qwen3_moe, "
         "deepseek_v2, deepseek_v3, marian"},
        {"\"model_type\": \"gpt2\", ", "", "\"model_type\" is missing"},
        {"\"n_layer\": 2", "\"n_layer\": 0", "\"n_layer\" is 0"},
        {"\"n_layer\": 2", "\"n_layer\": 1e9", "\"n_layer\" is not a whole number"},
        {"\"n_layer\": 2", "\"n_layer\": 3", "h.2."},
        {"\"n_layer\": 2", "\"n_layer\": 1", "tensor \"h.1."},
        {"\"n_head\": 4", "\"n_head\": 3", "cannot be split over 3 heads"},
        {"\"n_embd\": 16", "\"n_embd\": 9000000000000000000", "\"n_embd\" is 9000000000000000000"},
        {"\"n_embd\": 16", "\"n_embd\": 32", "wte.weight"},
        {"\"n_embd\": 16", "\"n_embd\": 1048576", "config.json describes a model of"},
        {"\"n_positions\": 24", "\"n_positions\": 25", "wpe.weight"},
        {"1200", "1199", "vocab.json: has 1200 pieces, but \"vocab_size\" in config.json is 1199"},
        {"1200", "2225", "vocab.json: has 1200 pieces, but \"vocab_size\" in config.json is 2225"},
        {"1200", "1201", "wte.weight"},
        {"gelu_new", "swoosh", "there is no activation \"swoosh\""},
        {"1e-05", "2", "\"layer_norm_epsilon\" is 2"},
        {"\"pad_token_id\": null", "\"tie_word_embeddings\": false", "lm_head.weight"},
        {"\"pad_token_id\": null", "\"scale_attn_by_inverse_layer_idx\": true", "is true"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        check_refused((publisher){put_gpt2, gpt2_config}, bad[i].from, bad[i].to, bad[i].why);
}

/* -- pytorch_model.bin, as PyTorch 1.5 wrote it -- */

static void pickled_text(FILE *f, const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    fputc('X', f), fwrite(&size, sizeof size, 1, f), fputs(text, f);
}

static void pickled_int(FILE *f, size_t n)
{
    int32_t value = (int32_t)n;
    fputc('J', f), fwrite(&value, sizeof value, 1, f);
}

static void pickled_tensor(FILE *f, const hd_entry *e)
{
    fputs("ctorch._utils\n_rebuild_tensor_v2\n((", f);
    pickled_text(f, "storage");
    fputs("ctorch\nFloatStorage\n", f);
    pickled_text(f, e->name), pickled_text(f, "cpu"), pickled_int(f, e->count);
    fputs("NtQ", f), pickled_int(f, 0);
    for (int strides = 0; strides < 2; strides++) {
        fputc('(', f);
        for (int i = 0; i < e->rank; i++) {
            size_t n = strides ? 1 : e->shape[i];
            for (int k = i + 1; strides && k < e->rank; k++) n *= e->shape[k];
            pickled_int(f, n);
        }
        fputc('t', f);
    }
    fputs("\x89"
          "ccollections\nOrderedDict\n)RtR",
          f);
}

/* Entries [begin, end) of a safetensors file. */
static void put_pickle(const char *path, const hd_safetensors *s, size_t begin, size_t end)
{
    static const char head[] = "\x80\x02\x8a\x0al\xfc\x9c"
                               "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.\x80\x02";
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(head, 1, sizeof head - 1, f);
    fputs("ccollections\nOrderedDict\n)R(", f);
    for (size_t i = begin; i < end; i++)
        pickled_text(f, hd_safetensors_at(s, i)->name), pickled_tensor(f, hd_safetensors_at(s, i));
    fputs("u.\x80\x02](", f);
    for (size_t i = begin; i < end; i++) pickled_text(f, hd_safetensors_at(s, i)->name);
    fputs("e.", f);
    for (size_t i = begin; i < end; i++) {
        const hd_entry *e = hd_safetensors_at(s, i);
        assert_string_equal(e->type, "F32");
        uint64_t count = e->count;
        fwrite(&count, sizeof count, 1, f), fwrite(e->data, 1, e->bytes, f);
    }
    assert_int_equal(fclose(f), 0);
}

static void pickles_are_read_as_data(void **state)
{
    (void)state;
    hd_err err = {0};
    hd_safetensors *s = NULL;
    put_gpt2("as-safetensors"), put_gpt2_but_weights("as-pickle"), put_gpt2_but_weights("as-two");
    if (hd_safetensors_open(&s, at("as-safetensors/model.safetensors"), &err)) fail_msg("%s", err.text);
    size_t count = hd_safetensors_count(s);
    put_pickle(at("as-pickle/pytorch_model.bin"), s, 0, count);
    put_pickle(at("as-two/one.bin"), s, 0, count / 2);
    put_pickle(at("as-two/two.bin"), s, count / 2, count);
    put_file(at("as-two/pytorch_model.bin.index.json"),
             "{\"weight_map\": {\"a\": \"one.bin\", \"b\": \"two.bin\"}}");
    hd_safetensors_free(s);
    static const char *const names[] = {"as-safetensors", "as-pickle", "as-two"};
    static const char *const files[] = {"config.json", "model.safetensors", NULL};
    for (int i = 0; i < 3; i++) {
        char to[64];
        snprintf(to, sizeof to, "%s.heed", names[i]);
        pass_well(hd_import, names[i], to);
        if (i) assert_same_files("as-safetensors.heed", to, files);
    }
}

static void what_is_no_weights_is_refused(void **state)
{
    (void)state;
    hd_err err = {0}, none = {0}, full = {0}, absent = {0};
    put_gpt2_but_weights("pickle");
    assert_int_equal(pass(hd_import, "pickle", "out", &none), HD_EFILE);
    assert_non_null(strstr(none.text, "no weights"));
    put_file(at("pickle/pytorch_model.bin"), "PK");
    assert_int_equal(pass(hd_import, "pickle", "out", &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "safe_serialization=True"));
    assert_int_equal(pass(hd_import, "nowhere", "out", &absent), HD_EFILE);
    put_gpt2("whole");
    assert_int_equal(pass(hd_import, "whole", "pickle", &full), HD_EFILE);
    assert_non_null(strstr(full.text, "not empty"));
    assert_false(is_there(at("out")));
}

static void export_refuses_what_transformers_lacks(void **state)
{
    (void)state;
    hd_err err = {0};
    speaker_folder(at("lstm"), HD_LM_lstm, HD_TOKENIZER_characters);
    assert_int_equal(pass(hd_export, "lstm", "out", &err), HD_EARG);
    assert_non_null(strstr(err.text, "\"lstm\" is no model that transformers knows"));
    assert_false(is_there(at("out")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2_gives_the_logits_of_transformers),
        cmocka_unit_test(gpt2_may_have_another_epsilon_and_table),
        cmocka_unit_test(gpt2_may_be_padded),
        cmocka_unit_test(an_untied_gpt2_has_the_prefix),
        cmocka_unit_test(generation_config_goes_along),
        cmocka_unit_test(weights_that_are_not_numbers_are_refused),
        cmocka_unit_test(labels_of_gpt2_are_those_of_transformers),
        cmocka_unit_test(a_gpt_begins_there_as_here),
        cmocka_unit_test(what_is_exported_is_what_was_imported),
        cmocka_unit_test(weights_may_be_spread_and_have_a_prefix),
        cmocka_unit_test(numbers_of_16_bits_are_widened),
        cmocka_unit_test(lines_are_text_to_gpt2),
        cmocka_unit_test(gpt2_goes_on_from_the_whole_prompt),
        cmocka_unit_test(what_heed_does_not_have_is_refused),
        cmocka_unit_test(pickles_are_read_as_data),
        cmocka_unit_test(what_is_no_weights_is_refused),
        cmocka_unit_test(export_refuses_what_transformers_lacks),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
