/* heed export: writes a model as a folder that transformers reads. */
#include "cli/frame/verb.h"
#include "hub/decoder/adapter.h"
#include "hub/import.h"

static const hd_example examples[] = {
    {"heed export model hf", "transformers' from_pretrained(\"hf\") opens it"},
    {NULL, NULL},
};

struct export
{
    bool fold;
    const char *base, *precision;
};

static const hd_option options[] = {
    {"fold", 0, NULL, NULL,
     "move the batch norms of a detector's ResNet into the convolutions before them; what is left of a norm "
     "adds a bias, and the model finds the same",
     HD_FLAG_INTO(struct export, fold)},
    {"base", 0, "NAME", NULL,
     "of an adapter: the name or folder that peft is to find its model by; without it the folder here",
     HD_TEXT_INTO(struct export, base)},
    {"precision", 0, "KIND", .hidden = true, HD_TEXT_INTO(struct export, precision)},
    {0},
};

/* transformers has no such weights of int8, so that whoever asks for them here means those of heed. */
static hd_status check(hd_command *c, hd_err *err)
{
    const struct export *o = c->options;
    if (!o->precision) return HD_OK;
    return hd_err_set(err, HD_EARG,
                      "--precision %s: an export has the weights that MODEL has: for weights of int8, which "
                      "heed alone reads, use `heed quantise MODEL MODEL2`",
                      o->precision);
}

/* An adapter becomes one of peft, a model one of transformers. */
static hd_status write(const char *from, const char *to, const struct export *o, hd_backend *backend,
                       hd_err *err)
{
    bool adapter = false;
    hd_status s = hd_adapter_is(&adapter, from, err);
    if (!s && adapter && !o->fold) return hd_adapter_export(from, o->base, to, backend, err);
    if (!s && o->base && !adapter)
        return hd_err_set(err, HD_EARG, "--base is for adapters: %s is none", from);
    return s ? s : (o->fold ? hd_export_folded : hd_export)(from, to, backend, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct export *o = c->options;
    char **word = c->operands.word;
    hd_status s = write(word[0], word[1], o, c->machine.backend, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "wrote %s: %s for transformers", word[1], word[0]);
    return s;
}

const hd_usage hd_verb_export = {
    .operands = "MODEL HF_FOLDER",
    .least = 2,
    .most = 2,
    .about =
        "Writes the model in the folder MODEL as Hugging Face's transformers saves it: config.json, "
        "model.safetensors with the same weights, bit for bit, and the tokenizer files. A gpt becomes a "
        "GPT-2, a masked language model a BERT, and classifiers fine-tuned from them likewise. A Transformer "
        "translator with sinusoidal positions and one vocabulary becomes a Pegasus if it is pre-norm, the "
        "default, and a MarianMT if it is post-norm (--norm post). An imported T5, RoBERTa, XLM-R, "
        "DistilBERT, "
        "ELECTRA or MPNet, and what was fine-tuned from it, becomes one of its family again. A classifier of "
        "pictures that looks at its class token (--pool first) "
        "becomes a ViT, with its preprocessor_config.json.\n"
        "An imported model gets its original tokenizer files. Other tokenizers are written twice: as heed "
        "reads them, and as a tokenizer.json that gives the same ids.\n"
        "An adapter (`heed train --lora`) becomes one of the package peft: adapter_config.json and "
        "adapter_model.safetensors.\n"
        "Weights are written in f32; `heed quantise MODEL MODEL2` stores them in int8, for heed.\n"
        "HF_FOLDER must not exist, or be empty.",
    .options = options,
    .size = sizeof(struct export),
    .check = check,
    .opens = HD_OPENS_CPU,
    .examples = examples,
    .run = run,
};
