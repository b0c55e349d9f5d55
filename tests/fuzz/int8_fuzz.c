/* libFuzzer target: any bytes as model.safetensors beside the config.json of a small gpt: I8 tensors and
   their scales, packed as they are and read as f32. As nearly no mutated file keeps a right header length,
   each input is tried as it is and with the length put right. What is opened must answer, or say that its
   numbers are too large. */
#include "op/run.h"
#include "task/rank.h"
#include "fuzz.h"

static const char config[] =
    "{\"format\": 1, \"task\": \"lm\", \"model\": \"gpt\", \"order\": 6, \"buckets\": 0, "
    "\"layers\": 1, \"heads\": 2, \"width\": 8, \"inner\": 12, \"context\": 4, "
    "\"vocabulary\": 7, \"post_norm\": false, \"tied\": true, \"add_k\": 0.1, \"dropout\": 0, "
    "\"embedding_dropout\": 0, \"smoothing\": \"kneser-ney\", \"activation\": \"gelu\", "
    "\"tokenizer\": \"words\"}",
                  words[] = "<pad>\n<unk>\n<s>\n</s>\na\nb\nc\n";

static hd_backend *backend[2]; /* of int8; of f32 */

int LLVMFuzzerInitialize(int *count, char ***given)
{
    hd_err err = {0};
    (void)count, (void)given;
    make_folder("");
    write_file("config.json", config, sizeof config - 1);
    write_file("tokenizer.txt", words, sizeof words - 1);
    for (int i = 0; i < 2; i++) {
        const hd_backend_opt opt = {.threads = 1, .precision = i ? HD_PRECISION_F32 : HD_PRECISION_INT8};
        MUST(!hd_backend_new(&backend[i], "cpu", &opt, &err));
    }
    return 0;
}

static void ask(const hd_model_folder *f, hd_backend *b)
{
    static const hd_line text = {"a b", 3};
    hd_err err = {0};
    hd_verdict v;
    hd_run r;
    MUST(!hd_run_init(&r, b, &err));
    hd_status s = hd_rank_judge(&v, &r, f, NULL, &text, 1, &(hd_rank_opt){0}, &err);
    MUST(!s || (s == HD_ENUMBER && err.text[0]));
    hd_run_release(&r);
}

static void open_model(const void *bytes, size_t size)
{
    write_file("model.safetensors", bytes, size);
    for (int i = 0; i < 2; i++) {
        hd_err err = {0};
        hd_model_folder f;
        size_t blocks = hd_mem_now().blocks;
        hd_status s = hd_model_folder_open(&f, folder, NULL, backend[i], HD_WEIGHTS_BEST, &err);
        MUST(!s || (err.status == s && err.text[0]));
        hd_model_folder_release(&f);
        MUST(hd_mem_now().blocks == blocks);
        if (s || hd_model_folder_open(&f, folder, NULL, backend[i], HD_WEIGHTS_BEST, &err)) continue;
        ask(&f, backend[i]); /* its scratch stays with the backend */
        hd_model_folder_release(&f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    open_model(input, size);
    if (size < 9) return 0;
    uint8_t *copy = malloc(size);
    if (!copy) return 0;
    memcpy(copy, input, size);
    uint64_t length = size - 8;
    while (length && copy[8 + length - 1] != '}') length--;
    memcpy(copy, &length, 8);
    open_model(copy, size);
    free(copy);
    return 0;
}
