/* heed import: makes a model folder from one that transformers wrote, or from a GGUF file. */
#include "hub/decoder/adapter.h"
#include "hub/import.h"
#include "cli/frame/verb.h"

static const hd_example examples[] = {
    {"heed import gpt2 gpt2.heed", "a GPT-2 becomes a language model"},
    {"heed import SmolLM2-135M-Instruct.Q4_1.gguf smollm2", "a GGUF file of a Llama"},
    {"heed import lora-adapter tuned --base smollm2", "a LoRA adapter of peft, onto a model that is here"},
    {"heed import all-MiniLM-L6-v2 minilm && heed embed minilm --normalize text",
     "a BERT, and its sentence vectors"},
    {"heed import sentiment model && heed classify model text", "a BERT classifier"},
    {"heed import opus-mt-en-de en-de && heed translate en-de text.en", "a MarianMT translator"},
    {"heed import vit-base-patch16-224 vit && heed classify vit a.png b.jpg", "a classifier of pictures"},
    {"echo 'translate English to German: It is cold.' | heed translate t5",
     "the text tells an imported T5 what to do"},
    {NULL, NULL},
};

struct import {
    const char *base;
};

static const hd_option options[] = {
    {"base", 0, "FOLDER", NULL,
     "of an adapter of peft: the folder of the model that it belongs to, imported before",
     HD_FILE_INTO(struct import, base)},
    {0},
};

static hd_status run(hd_command *c, hd_err *err)
{
    char **word = c->operands.word;
    const struct import *o = c->options;
    hd_status s = HD_OK;
    if (hd_adapter_published(word[0]))
        s = hd_adapter_import(word[0], o->base, word[1], c->machine.backend, err);
    else if (o->base)
        s = hd_err_set(err, HD_EARG, "--base is for adapters of peft: %s is none (no adapter_config.json)",
                       word[0]);
    else
        s = hd_import(word[0], word[1], c->machine.backend, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "wrote %s, the model of %s", word[1], word[0]);
    return s;
}

const hd_usage hd_verb_import = {
    .operands = "HF_FOLDER|FILE.gguf MODEL",
    .least = 2,
    .most = 2,
    .about =
        "Makes the model folder MODEL from HF_FOLDER, a checkpoint saved by Hugging Face's transformers: "
        "config.json with \"model_type\" bert, roberta, xlm-roberta, distilbert, electra, mpnet, gpt2, "
        "llama, "
        "mistral, qwen2, qwen3, gemma, gemma2, gemma3_text, mixtral, olmoe, qwen3_moe, marian, pegasus, t5, "
        "mt5, vit or deit; "
        "model.safetensors or pytorch_model.bin (or the parts that "
        "model.safetensors.index.json or pytorch_model.bin.index.json names; f32, f16 or bf16); and the "
        "tokenizer: tokenizer.json, vocab.json with merges.txt of a gpt2 or roberta, vocab.txt of a bert, "
        "distilbert, electra or mpnet, sentencepiece.bpe.model of an xlm-roberta, source.spm, target.spm and "
        "vocab.json of a marian, spiece.model of a t5 (a vit or deit has preprocessor_config.json instead); "
        "or what `heed export` wrote. Or from a GGUF file of a llama, qwen2 or qwen3, with F32, F16, BF16, "
        "Q4_0, "
        "Q4_1, Q8_0, Q4_K and Q6_K numbers and its tokenizer inside.\n"
        "Or from the folder of a LoRA adapter that the package peft saved (adapter_config.json and "
        "adapter_model.safetensors), with --base.\n"
        "MODEL must not exist, or be empty. If config.json asks for something heed does not support, or a "
        "tensor is missing or unknown, the error names it and nothing is written.",
    .options = options,
    .size = sizeof(struct import),
    .opens = HD_OPENS_CPU,
    .examples = examples,
    .run = run,
};
