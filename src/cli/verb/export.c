/* heed export: writes a model as a folder that transformers reads. */
#include "cli/frame/machine.h"
#include "hub/import.h"

static const hd_option options[] = {{0}};

static const hd_example examples[] = {
    {"heed export model hf", "transformers' from_pretrained(\"hf\") opens it"},
    {NULL, NULL},
};

const hd_usage hd_verb_export_usage = {
    .operands = "MODEL HF_FOLDER",
    .least = 2,
    .most = 2,
    .about =
        "Writes the model in the folder MODEL as Hugging Face's transformers saves it: config.json, "
        "model.safetensors with the same weights, bit for bit, and the tokenizer files. A gpt becomes a "
        "GPT-2, a masked language model a BERT, and classifiers fine-tuned from them likewise. A Transformer "
        "translator with sinusoidal positions and one vocabulary becomes a Pegasus if it is pre-norm, the "
        "default, and a MarianMT if it is post-norm (--norm post). An imported T5 becomes a T5.\n"
        "An imported model gets its original tokenizer files. Other tokenizers are written in heed's format: "
        "transformers opens the model but not the tokenizer.\n"
        "HF_FOLDER must not exist, or be empty.",
    .options = options,
    .examples = examples,
};

int hd_verb_export(const hd_command *c)
{
    hd_err err = {0};
    hd_machine machine = {0};
    char **word = c->operands.word;
    hd_status s = hd_machine_open(&machine, c, &hd_machine_cpu, &err);
    if (!s) s = hd_export(word[0], word[1], machine.backend, &err);
    hd_machine_close(&machine);
    if (s) return hd_command_fail(c, &err);
    hd_log_say(&c->log, HD_INFO, "wrote %s: %s for transformers", word[1], word[0]);
    return HD_EXIT_OK;
}
