/* heed export: writes a model as a folder that transformers reads. */
#include "cli/frame/verb.h"
#include "hub/import.h"

static const hd_example examples[] = {
    {"heed export model hf", "transformers' from_pretrained(\"hf\") opens it"},
    {NULL, NULL},
};

struct export
{
    bool fold;
};

static const hd_option options[] = {
    {"fold", 0, NULL, NULL,
     "move the batch norms of a detector's ResNet into the convolutions before them; what is left of a norm "
     "adds a bias, and the model finds the same",
     HD_FLAG_INTO(struct export, fold)},
    {0},
};

static hd_status run(hd_command *c, hd_err *err)
{
    const struct export *o = c->options;
    char **word = c->operands.word;
    hd_status s = (o->fold ? hd_export_folded : hd_export)(word[0], word[1], c->machine.backend, err);
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
        "HF_FOLDER must not exist, or be empty.",
    .options = options,
    .size = sizeof(struct export),
    .opens = HD_OPENS_CPU,
    .examples = examples,
    .run = run,
};
