/* libFuzzer target: any bytes as config.json, preprocessor_config.json or the index of the weights in a
   folder that transformers wrote. The first byte says which, the second which allocation fails (0 to 63:
   none), the rest is the file; all that lies beside it is good. What is refused leaves nothing behind. */
#include <stdio.h>

#include "fuzz.h"
#include "hub/weights.h"
#include "hub/import.h"
#include "model/encoder/classifier.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "train/published.h"

static char from[HD_PATH], to[HD_PATH];
static hd_backend *backend;
static hd_lm *gpt2;

/* Nothing is left where it is refused. */
static hd_status import(hd_err *err)
{
    return hd_import(from, to, backend, err);
}

static hd_status load(hd_err *err)
{
    static const char *const ignored[] = {NULL};
    return hd_family_weights_load(gpt2->params, from, ignored, err);
}

static const struct {
    const char *file;
    hd_status (*read)(hd_err *err);
} readers[] = {{"gpt2/config.json", import},
               {"bert/config.json", import},
               {"marian/config.json", import},
               {"t5/config.json", import},
               {"index/model.safetensors.index.json", load},
               {"vit/config.json", import},
               {"picture/preprocessor_config.json", import},
               {"llama/config.json", import}};

static void publish(const char *where, const hd_params *p)
{
    MUST(!hd_path(path, folder, where, NULL) && !hd_published_save(p, path, NULL));
}

static void write_gpt2(void)
{
    hd_lm_opt opt = {.stack.pre_norm = true,
                     .kind = HD_LM_gpt,
                     .stack.layers = 1,
                     .stack.heads = 1,
                     .stack.width = 4,
                     .context = 4,
                     .vocab = BPE_PIECES,
                     .order = 1,
                     .tied = true,
                     .start = 256,
                     .end = 256};
    MUST(!hd_lm_new(&gpt2, &opt, backend, false, NULL) && !hd_params_draw(gpt2->params, 1, NULL));
    publish("gpt2", gpt2->params);
    publish("index", gpt2->params);
    write_bpe("gpt2/vocab.json");
    write_file("gpt2/merges.txt", "a b\nab c\n", 9);
    MUST(!hd_path(from, folder, "index/model.safetensors", NULL));
    MUST(!hd_path(path, folder, "index/a.safetensors", NULL) && !rename(from, path));
}

static void write_llama(void)
{
    hd_lm_opt opt = {.kind = HD_LM_llama,
                     .stack = {.layers = 1,
                               .heads = 1,
                               .width = 4,
                               .inner = 8,
                               .pre_norm = true,
                               .rms = true,
                               .gated = true,
                               .unbiased = true,
                               .act = HD_silu,
                               .rotary.kind = HD_ROTARY_HALVES},
                     .context = 4,
                     .vocab = BPE_PIECES,
                     .order = 1,
                     .tied = true,
                     .start = 256,
                     .end = 256};
    hd_lm *llama = NULL;
    MUST(!hd_lm_new(&llama, &opt, backend, false, NULL) && !hd_params_draw(llama->params, 1, NULL));
    publish("llama", llama->params);
    hd_lm_free(llama);
    write_bpe("llama/vocab.json");
    write_file("llama/merges.txt", "a b\nab c\n", 9);
}

static void write_bert(void)
{
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##c\nthe\n";
    hd_bert_opt opt = {.stack.layers = 1, .stack.heads = 1, .stack.width = 4, .positions = 4, .vocab = 9};
    hd_bert *bert = NULL;
    MUST(!hd_bert_new(&bert, backend, &opt, false, NULL) && !hd_params_draw(&bert->params, 1, NULL));
    publish("bert", &bert->params);
    hd_bert_free(bert);
    write_file("bert/vocab.txt", words, sizeof words - 1);
}

static void write_vit(void)
{
    static const char config[] =
        "{\"model_type\": \"vit\", \"architectures\": [\"ViTForImageClassification\"], \"hidden_size\": 4, "
        "\"num_hidden_layers\": 1, \"num_attention_heads\": 1, \"intermediate_size\": 8, \"image_size\": 4, "
        "\"patch_size\": 2}";
    hd_classifier_opt opt = {.body = {.type = &hd_model_vit,
                                      .image = {.height = 4,
                                                .width = 4,
                                                .channels = 3,
                                                .patch = 2,
                                                .class_token = true,
                                                .stack = {.layers = 1, .heads = 1, .width = 4, .inner = 8}}},
                             .pool = HD_POOL_first,
                             .classes = 2};
    hd_classifier *m = NULL;
    MUST(!hd_classifier_new(&m, backend, &opt, false, NULL) && !hd_params_draw(m->params, 1, NULL));
    publish("vit", m->params);
    publish("picture", m->params);
    write_file("picture/config.json", config, sizeof config - 1);
    hd_classifier_free(m);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    static const char *const inner[] = {"",      "gpt2", "bert",    "marian", "t5",
                                        "index", "vit",  "picture", "llama"};
    (void)count, (void)words;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) make_folder(inner[i]);
    MUST(!hd_path(to, folder, "made", NULL));
    MUST(!hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = 1}, NULL));
    write_gpt2();
    write_llama();
    write_bert();
    write_vit();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_err err = {0};
    bool empty = false;
    if (size < 2) return 0;
    size_t which = reader_of(data[0], sizeof readers / sizeof *readers),
           fail = data[1] < 64 ? 0 : data[1] - 63u;
    write_file(readers[which].file, data + 2, size - 2);
    memcpy(from, path, sizeof from);
    *strrchr(from, '/') = 0;
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail);
    hd_status s = readers[which].read(&err);
    hd_mem_fail_at(0);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(hd_mem_now().blocks == blocks);
    MUST(s == HD_OK || !hd_folder_empty(to, &empty, NULL));
    MUST(s == HD_OK || empty);
    MUST(!hd_folder_remove(to, NULL));
    return 0;
}
