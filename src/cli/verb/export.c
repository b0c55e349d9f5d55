/* heed export: a folder that transformers reads, of a model. */
#include "cli/frame/verb.h"
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
        "Writes the model of the folder MODEL as Hugging Face's transformers has it: config.json, "
        "model.safetensors with the weights to the bit, and the tokenizer's files. A language model gpt "
        "becomes a GPT-2; a masked language model a BERT; so do classifiers made of them; a translator "
        "becomes a Pegasus if it is a Transformer with sinusoids and one vocabulary that normalizes before "
        "its "
        "layers, as by default, and a MarianMT if it normalizes behind them (--norm post); what was a T5 "
        "becomes "
        "one again.\n"
        "What was imported gets its tokenizer files back as they were. Those of other tokenizers are "
        "written as heed has them: transformers opens the model but not the tokenizer.\n"
        "HF_FOLDER must not be there, or be empty.",
    .options = options,
    .examples = examples,
};

int hd_verb_export(const hd_command *c)
{
    hd_err err = {0};
    hd_backend *backend = NULL;
    char **word = c->operands.word;
    hd_status s = hd_backend_new(&backend, "cpu", &(hd_backend_opt){.threads = c->common.threads}, &err);
    if (!s) s = hd_export(word[0], word[1], backend, &err);
    hd_backend_free(backend);
    if (s) return hd_command_fail(c, &err);
    hd_log_say(&c->log, HD_INFO, "%s is %s for transformers", word[1], word[0]);
    return HD_EXIT_OK;
}
