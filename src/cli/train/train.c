/* heed train: from sentence pairs, a text or labeled items to a model folder, in one sitting or in many. */
#include "cli/train/train.h"

#include "backend/ranks.h"
#include "cli/frame/input.h"
#include "cli/frame/signals.h"
#include "cli/train/folder.h"
#include "cli/train/recipe.h"
#include "cli/train/sitting.h"
#include "task/list.h"

static const hd_example examples[] = {
    {"heed train --train pairs.en pairs.de --valid-fraction 0.01 --epochs 30 --out model",
     "the preset tiny on two files"},
    {"heed train --preset base --train a.en.gz a.de.gz --valid b.en.gz b.de.gz --steps 100000 --out model",
     "the model of the paper"},
    {"heed train --preset rnnsearch --train a.en a.de --valid b.en b.de --out model",
     "recurrent networks with attention: sutskever, luong and tutorial are others"},
    {"heed train --encoder bi-gru --decoder gru --decoder-context attention --score additive --train a.en "
     "a.de "
     "--valid-fraction 0.01 --out model",
     "one of one's own"},
    {"heed train --config model.yml --out model", "options from a file"},
    {"heed train --resume --out model", "go on after a stop, whatever stopped it"},
    {"heed train --preset big --train a.en a.de --epochs 1 --dry-run", "what it would take"},
    {"heed train --task lm --model gpt --unit char --train text.txt.gz --valid-fraction 0.1 --out model",
     "a language model"},
    {"heed train --task lm --model ngram --order 6 --smoothing kneser-ney --unit char --train text.txt --out "
     "model",
     "one that counts"},
    {"heed train --task lm --preset gpt2 --tokenizer-model vocab.json merges.txt --train text.gz --out model",
     "a GPT-2 of one's own"},
    {"heed train --task lm --from gpt2 --train text.txt --valid-fraction 0.1 --out tuned",
     "a model that is there goes on learning, from another text"},
    {"heed train --task mlm --preset bert-tiny --train text.gz --valid-fraction 0.05 --out model",
     "a BERT, which fills in blanks"},
    {"heed train --task classify --model rnn --unit char --train-dir names --out model",
     "which class a text is of, from a file for each class"},
    {"heed train --task classify --from bert --train train.tsv --valid dev.tsv --out model",
     "fine-tune a BERT on labeled texts, or pairs of them"},
    {"heed train --task tag --encoder bi-lstm --train tokens.tsv --out model", "a label for every token"},
    {"mpirun -n 2 heed train --preset base --train a.en a.de --out model", "two processes share every batch"},
    {NULL, NULL},
};

const hd_usage hd_verb_train_usage = {
    .about =
        "Learns to translate from sentences and their translations. The vocabulary is learned first, then a "
        "Transformer or, by --preset or --encoder and --decoder, recurrent networks. The model folder holds "
        "config.json, the tokenizer and model.safetensors, the best "
        "model by "
        "validation; below train/ the last checkpoint and the log (log.jsonl, TensorBoard events). "
        "training.yml "
        "keeps every option of the run, as --config reads it.\n"
        "With --task lm it learns to foresee a text, token after token: --model says how. What is not given "
        "fits the model: gpt has 4 layers of width 128 and learns from 2000 batches of 12 windows of 64 "
        "tokens. An ngram only counts, and is done in one sitting.\n"
        "With --from it begins with a model that is there, trained here or imported, and learns from other "
        "data in "
        "a folder of its own.\n"
        "With --task mlm it learns to fill in what is masked in a text, as BERT does: of every window 15 % "
        "of "
        "the tokens are asked for, and both sides of them are seen.\n"
        "With --task classify it learns the label of a text, from a folder with a file for each class or "
        "from "
        "a table; with --task tag a label for every token of a sentence. Items that are there more than once "
        "with the same label count once. A tenth is held back, by which the best model is chosen; it is kept "
        "in train/held-out.tsv. --task regress learns a number in the same way.\n"
        "With --from MODEL classify and regress fine-tune a BERT or a language model that has learned from "
        "plain text: tokenizer and sizes are those of MODEL, its weights are where learning begins.\n"
        "Ctrl-C or SIGTERM saves and ends, with exit status 130 or 143; --resume --out FOLDER goes on bit "
        "for bit. Before the first update there is nothing to save, and it ends at once. One process at a "
        "time trains in a folder.",
    .options = hd_train_table,
    .size = sizeof(hd_train_options),
    .examples = examples,
    .spreads = true,
    .show = hd_train_recipe_rows,
};

static hd_status fill_options(const hd_option_set sets[2], hd_err *err)
{
    const hd_train_options *o = sets[0].into;
    return hd_recipe_fill(hd_tasks[o->task]->recipe, sets, err);
}

hd_status hd_train_same(const hd_train_options *o, const hd_given *given, hd_err *err)
{
    hd_train_options now = *o;
    const hd_option_set sets[2] = {{hd_train_table, &now, (hd_given *)given}, {hd_no_options, NULL, NULL}};
    hd_arena memory;
    hd_arena_init(&memory, hd_allocator_host, 0);
    hd_status s = fill_options(sets, err);
    if (!s) s = hd_train_folder_name(&now, &memory, err);
    if (!s) s = hd_train_folder_same(&now, err);
    hd_arena_release(&memory);
    return s;
}

static int train(const hd_command *c, hd_train_options *o, hd_given *given, hd_status s, hd_arena *memory,
                 hd_err *err)
{
    if (!s && o->resume) s = hd_train_folder_resume(o, given, memory, err);
    for (int i = 0; !s && i < o->train.count; i++)
        hd_input_await(c, o->train.text[i], "a text to learn from");
    return s == HD_EARG ? hd_verb_misused(c->verb, err) : s ? hd_command_fail(c, err) : hd_train_sit(c, o, given);
}

/* Nobody else writes in the folder meanwhile; the first process holds it for all. */
static int train_alone(const hd_command *c, hd_train_options *o, hd_given *given, hd_status s,
                       hd_arena *memory, hd_err *err)
{
    hd_lock lock = {0};
    hd_signals_catch(&lock, &c->log);
    if (!s && !hd_rank()) s = hd_lock_take(&lock, o->out, err);
    s = hd_ranks_agree(s, NULL, 0, err);
    int status = train(c, o, given, s, memory, err);
    hd_lock_release(&lock);
    hd_signals_restore();
    return status;
}

int hd_train_run(const hd_command *c, hd_train_options *o, hd_given *given)
{
    const hd_option_set sets[2] = {{hd_train_table, o, given}, {hd_no_options, NULL, NULL}};
    hd_err err = {0};
    hd_arena memory;
    if (!o->dry_run && (!o->out || !*o->out)) {
        hd_err_set(&err, HD_EARG, "--out is required: the model folder to write");
        return hd_verb_misused(c->verb, &err);
    }
    if (o->resume && (o->overwrite || o->dry_run)) {
        hd_err_set(&err, HD_EARG, "--resume continues a run: --%s does not go with it",
                   o->overwrite ? "overwrite" : "dry-run");
        return hd_verb_misused(c->verb, &err);
    }
    hd_arena_init(&memory, hd_allocator_host, 0);
    hd_status s = o->resume ? hd_train_folder_resumable(o, &err) : fill_options(sets, &err);
    if (!s) s = hd_train_folder_name(o, &memory, &err);
    int status =
        o->dry_run ? train(c, o, given, s, &memory, &err) : train_alone(c, o, given, s, &memory, &err);
    hd_arena_release(&memory);
    return status;
}

int hd_verb_train(const hd_command *c)
{
    hd_train_options o = *(const hd_train_options *)c->options;
    return hd_train_run(c, &o, (hd_given *)c->given);
}
