/* heed import and heed export as a user meets them: there and back, and what is said where that cannot be. */
#include "check.h"
#include "cli/shell.h"
#include "cli/translating.h"
#include "task/masked/masked.h"
#include "hub/publisher.h"
#include "task/speaker.h"

/* A gpt with the tokenizer of a GPT-2. */
static void gpt_folder(const char *path)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder l = {0};
    hd_lm *lm = NULL;
    if (hd_tokenizer_open(&l.tokenizer[0], HD_TOKENIZER_bpe,
                          HEED_SOURCE "/tests/text/published/gpt2/vocab.json", &err))
        fail_msg("%s", err.text);
    hd_lm_opt opt = {.stack.pre_norm = true,
                     .kind = HD_LM_gpt,
                     .vocab = hd_tokenizer_size(l.tokenizer[0]),
                     .order = 1,
                     .stack.layers = 1,
                     .stack.heads = 2,
                     .stack.width = 16,
                     .context = 8,
                     .stack.act = HD_gelu_tanh,
                     .tied = true};
    assert_int_equal(mkdir(path, 0777), 0);
    if (hd_lm_new(&lm, &opt, b, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(&l, HD_TRAIN_LM, hd_lm_model(lm));
    if (hd_params_draw(lm->params, 7, &err) || hd_model_folder_write(&l, path, &err))
        fail_msg("%s", err.text);
    hd_model_folder_release(&l);
    hd_backend_free(b);
}

/* A bert without a head, with the tokenizer of a BERT. */
static void bert_folder(const char *path)
{
    hd_err err = {0};
    hd_backend *b = backend_of("cpu", 1);
    hd_model_folder m = {0};
    hd_bert *bert = NULL;
    if (hd_tokenizer_open(&m.tokenizer[0], HD_TOKENIZER_wordpiece,
                          HEED_SOURCE "/tests/text/published/bert/vocab.txt", &err))
        fail_msg("%s", err.text);
    hd_bert_opt opt = {.stack.layers = 1,
                       .stack.heads = 2,
                       .stack.width = 16,
                       .positions = 8,
                       .vocab = hd_masked_vocab(m.tokenizer[0]),
                       .headless = true};
    assert_int_equal(mkdir(path, 0777), 0);
    if (hd_bert_new(&bert, b, &opt, false, &err)) fail_msg("%s", err.text);
    hd_model_folder_take(&m, HD_TRAIN_MLM, hd_bert_model(bert));
    if (hd_params_draw(&bert->params, 7, &err) || hd_model_folder_write(&m, path, &err))
        fail_msg("%s", err.text);
    hd_model_folder_release(&m);
    hd_backend_free(b);
}

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    gpt_folder(at("gpt"));
    bert_folder(at("bert"));
    translating_folder(at("t"));
    speaker_folder(at("ngram"), HD_LM_ngram, HD_TOKENIZER_words);
    put_file(at("text"), "the cat\n\nsat on the mat\n");
    return 0;
}

static void there_and_back(void **state)
{
    (void)state;
    assert_prints("$HEED export -q gpt hf && $HEED import -q hf again", 0, "");
    assert_prints("diff -r gpt again", 0, "");
    assert_prints("cmp hf/model.safetensors gpt/model.safetensors && ls hf", 0,
                  "config.json\nmerges.txt\nmodel.safetensors\nvocab.json\n");
    assert_prints("for m in gpt again; do $HEED perplexity $m --device cpu < text; done | sed 's/ in .*//' | "
                  "uniq | wc -l",
                  0, "1\n");
    must_run("$HEED generate again -p 'the cat\\nsat' -n 20 --device cpu");
    must_run("$HEED embed again --device cpu < text");
    must_run("$HEED generate again -p 'the cat' -n 3 --device cpu --attention maps.html && grep -q "
             "'\"attention\":{\"decoder\"' maps.html");
}

/* What is to be done is said in the text. */
static void a_t5_is_a_translator_as_others(void **state)
{
    (void)state;
    put_t5("published");
    assert_prints("$HEED import -q published t5 && $HEED export -q t5 t5.out && $HEED import -q t5.out t5.in",
                  0, "");
    assert_prints("diff -r t5 t5.in && ls t5.out", 0, "config.json\nmodel.safetensors\nspiece.model\n");
    put_file(at("said"), "translate it: the mail\n");
    put_file(at("pairs"), "it: the mail\tit is\nit: the mail\tthe mask\n");
    must_run("$HEED translate t5 --device cpu < said > greedy");
    must_run("$HEED translate t5 --device cpu --beam 4 --json -a maps.html < said | grep hypotheses");
    must_run("$HEED rank t5 --device cpu < pairs && $HEED embed t5 --device cpu < said");
    must_run("$HEED explain t5 'translate it: the mail' | grep 'for the distance'");
    assert_prints("$HEED info t5 | grep -E 'model|position_kind|tied'", 0,
                  "model                 t5\nposition_kind         relative\ntied                  yes\n");
    assert_prints("$HEED tokenize t5 --ids < said", 0, "3 6 15 150 5 142 28 6 14 3 45 23 32 3 39\n");
    assert_fails("$HEED train --resume --out t5", 1, "t5: there is no checkpoint to resume from");
    must_run("$HEED train -q --task translate --from t5 --train pairs --steps 2 --out tuned --device cpu");
    must_run("$HEED translate tuned --device cpu < said");
}

/* What transformers needs to read texts as a model that was trained here. */
static void tokenizers_of_ones_own_are_written_for_others(void **state)
{
    (void)state;
    must_run("printf 'a man sleeps\\ta b\\nthe man eats\\tc d\\n' > own.pairs");
    must_run(
        "$HEED train -q --norm post --tokenizer words --train own.pairs --steps 1 --out own.t --device cpu");
    must_run(
        "$HEED train -q --norm post --tokenizer words --separate-vocab --untied --train own.pairs --steps 1 "
        "--out own.two --device cpu");
    must_run("cut -f 1 own.pairs | $HEED train -q --task lm --model gpt --unit word --train - --steps 1 "
             "--out own.g "
             "--width 8 --layers 1 --heads 2 --device cpu");
    must_run("for m in t two g; do $HEED export -q own.$m own.$m.hf; done");
    assert_prints("ls own.t.hf", 0,
                  "config.json\nmodel.safetensors\ntokenizer.json\ntokenizer.txt\ntokenizer_config.json\n");
    assert_prints("ls own.two.hf/source own.two.hf/target", 0,
                  "own.two.hf/source:\ntokenizer.json\ntokenizer_config.json\n\nown.two.hf/target:\n"
                  "tokenizer.json\ntokenizer_config.json\n");
    assert_prints(
        "grep -o '\"single\":[^]]*]' own.t.hf/tokenizer.json", 0,
        "\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"</s>\","
        "\"type_id\":0}}]\n");
    assert_prints(
        "grep -o '\"single\":[^]]*]' own.g.hf/tokenizer.json", 0,
        "\"single\":[{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\","
        "\"type_id\":0}}]\n");
    assert_prints("tr -d ' \\n' < own.t.hf/config.json | grep -o '\"bad_words_ids\":[][0-9,]*'", 0,
                  "\"bad_words_ids\":[[0],[1],[2]],\n"); /* as heed writes none of them */
}

static void a_bert_without_a_head_makes_vectors_alone(void **state)
{
    (void)state;
    assert_prints("$HEED export -q bert bare && $HEED import -q bare bert2 && diff -r bert bert2 && ls bare",
                  0, "config.json\nmodel.safetensors\nvocab.txt\n");
    assert_prints("grep -c '\"bert\\.' bare/model.safetensors; grep -o '\"BertModel\"' bare/config.json", 0,
                  "0\n\"BertModel\"\n");
    assert_prints("$HEED embed bert2 --device cpu < text | awk '{ print NF }'", 0, "16\n0\n16\n");
    assert_prints("yes the | head -50 | xargs | $HEED embed bert2 --long cut --device cpu | wc -w", 0,
                  "16\n");
    must_run("$HEED embed bert2 --device cpu --attention maps.svg < text && grep -q '>text<' maps-1.svg");
    must_run("$HEED explain bert2 'the [MASK]' | grep '^enc.sum .*the vector of the token.s type'");
    assert_prints("$HEED info bert2 | grep predicts", 0, "predicts_words        no\n");
    assert_fails("$HEED fill bert2 'the [MASK]'", 1, "heed fill: the model has no head that predicts words");
    assert_fails("$HEED fill bert2 < text", 1, "heed fill: the model has no head that predicts words");
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    assert_fails("$HEED import", 2, "heed import: ");
    assert_fails("$HEED import hf", 2, "heed import: ");
    assert_fails("$HEED export gpt", 2, "heed export: ");
    assert_fails("$HEED import nowhere out", 1, "nowhere: there is no such folder");
    assert_fails("$HEED import gpt out", 1, "gpt/config.json|\"model_type\" is missing");
    assert_fails("$HEED export ngram out", 1, "\"ngram\" is no model that transformers knows");
    assert_fails("$HEED export gpt t", 1, "t: exists already and is not empty");
    assert_fails("$HEED export gpt no/such/folder", 1, "no/such/folder");
    assert_false(is_there(at("out")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(a_t5_is_a_translator_as_others),
        cmocka_unit_test(tokenizers_of_ones_own_are_written_for_others),
        cmocka_unit_test(a_bert_without_a_head_makes_vectors_alone),
        cmocka_unit_test(what_cannot_be_is_said),
    };
    return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
