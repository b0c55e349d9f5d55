/* heed train: trains a model of any task, in one call or in several. */
#include "cli/train/train.h"

#include "backend/ranks.h"
#include "run/session.h"
#include "task/list.h"

static const hd_example examples[] = {
    {"heed train --train pairs.en pairs.de --valid-fraction 0.01 --epochs 30 --out model",
     "a Transformer of preset tiny on two files of parallel sentences"},
    {"heed train --preset base --train a.en.gz a.de.gz --valid b.en.gz b.de.gz --steps 100000 --out model",
     "the base model of the Transformer paper"},
    {"heed train --preset rnnsearch --train a.en a.de --valid b.en b.de --out model",
     "a recurrent encoder-decoder with attention; sutskever, luong and tutorial are others"},
    {"heed train --encoder bi-gru --decoder gru --attention-score additive --train a.en a.de "
     "--valid-fraction 0.01 --out model",
     "one of your own"},
    {"heed train --config model.yml --out model", "options from a file"},
    {"heed train --resume --out model", "continue a run that was stopped"},
    {"heed train --preset big --train a.en a.de --epochs 1 --dry-run", "what it would take"},
    {"heed train --task lm --model gpt --unit char --train text.txt.gz --valid-fraction 0.1 --out model",
     "a language model"},
    {"heed train --task lm --model ngram --order 6 --smoothing kneser-ney --unit char --train text.txt --out "
     "model",
     "an n-gram model"},
    {"heed train --task lm --preset gpt2 --tokenizer-model vocab.json merges.txt --train text.gz --out model",
     "a GPT-2"},
    {"heed train --task lm --from gpt2 --train text.txt --valid-fraction 0.1 --out tuned",
     "continue training an existing model on another text"},
    {"heed train --task mlm --preset bert-tiny --train text.gz --valid-fraction 0.05 --out model", "a BERT"},
    {"heed train --task classify --model rnn --unit char --train-dir names --out model",
     "a classifier, from a folder with one file per class"},
    {"heed train --task classify --train-dir photos --out model",
     "a Vision Transformer, from a folder with a subfolder of pictures per class"},
    {"heed train --task classify --from bert --train train.tsv --valid dev.tsv --out model",
     "fine-tune a BERT on labeled texts or pairs of texts"},
    {"heed train --task tag --encoder bi-lstm --train tokens.tsv --out model", "a label for every token"},
    {"heed train --task caption --train captions.txt --images photos --out model", "captions of pictures"},
    {"heed train --task detect --train boxes.csv --images photos --out model", "the objects in pictures"},
    {"heed train --task transcribe --preset las --train list.tsv --out model",
     "a speech recognizer, from a list of sounds and what is said in them"},
    {"heed train --task write --train hand --out model", "handwriting, from what heed strokes makes"},
    {"heed train --task reward --from model --prompts sums/train.tsv --reward exact --tokens 4 --out better",
     "a language model learns from rewards for its answers"},
    {"heed train --task lm --model music --train chorales.json --out model", "music, also from MIDI files"},
    {"mpirun -n 2 heed train --preset base --train a.en a.de --out model", "two processes share every batch"},
    {NULL, NULL},
};

/* -- a sitting -- */

static bool is_stopped(void *context)
{
    (void)context;
    hd_signals_note(); /* who asks will save */
    return hd_signals_noted();
}

/* What is counted has nothing to save until it is done; what learns can be saved from the beginning. */
static hd_status open_folder(void *context, hd_err *err)
{
    const hd_train_options *o = ((const hd_train_progress *)context)->options;
    if (o->task != HD_TRAIN_LM || o->model != HD_LM_ngram) hd_signals_note();
    return hd_train_folder_open(o, err);
}

static void began(void *context, const hd_plan *p)
{
    hd_train_plan_say(((const hd_train_progress *)context)->command, p);
}

static void say_judged(const hd_command *c, const hd_task *task, const hd_outcome *out)
{
    char a[32];
    hd_text t = {0};
    for (const hd_figure *f = out->figure; f < out->figure + HD_FIGURES && f->name; f++)
        hd_figure_put(&t, f, t.size ? ", " : "");
    hd_log_say(&c->log, HD_INFO, "held out: %s of %s %s", t.data ? t.data : "", hd_grouped(out->judged, a),
               task->judged);
    hd_text_release(&t);
}

static void say_ending(const hd_command *c, const hd_task *task, const hd_outcome *out)
{
    static const char *const why[] = {[HD_ENDED_STEPS] = "finished: reached --steps",
                                      [HD_ENDED_EPOCHS] = "finished: reached --epochs",
                                      [HD_ENDED_MINUTES] = "ended: reached --minutes",
                                      [HD_ENDED_PATIENCE] = "finished: no new best model within --patience",
                                      [HD_ENDED_STOPPED] = "stopped"};
    const hd_progress *p = &out->progress;
    char a[32], b[32];
    hd_log_say(&c->log, HD_INFO, "%s (%s updates, %s %s)%s", why[out->ending], hd_grouped(p->step, a),
               hd_grouped(p->tokens, b), task->unit,
               out->ending != HD_ENDED_STOPPED ? ""
               : p->broken                     ? "; saved up to the last finite gradient"
                                               : "; everything is saved");
}

/* Says why it ended, and what can be done now. */
static void end(hd_command *c, const hd_train_options *o, const hd_task *task, const hd_outcome *out)
{
    bool stopped = !out->counted && out->ending == HD_ENDED_STOPPED;
    char a[32];
    if (out->counted)
        hd_log_say(&c->log, HD_INFO, "%s different n-grams counted in %.2f s", hd_grouped(out->counted, a),
                   out->seconds);
    if (out->judged) say_judged(c, task, out);
    if (!out->counted) say_ending(c, task, out);
    if (stopped)
        hd_log_say(&c->log, HD_INFO, "continue with: heed train --resume --out %s", o->out);
    else
        hd_log_say(&c->log, HD_INFO, "the model is in %s: heed %s %s %s", o->out,
                   hd_task_folders[o->task].verb, o->out, out->with ? out->with : task->with);
    if (stopped) c->exit = hd_signals_status();
}

static hd_status show_plan(const hd_command *c, const hd_train_options *o, const hd_given *given,
                           const hd_session_hooks *hooks, hd_err *err)
{
    hd_plan plan;
    hd_status s = hd_session_plan(&plan, hd_tasks[o->task], o, hooks, err);
    if (!s) s = hd_train_options_show(c, o, given, err);
    if (!s) hd_train_plan_show(c, o, &plan);
    return s;
}

/* From an empty folder or a checkpoint to the end or to a signal; with --dry-run only says what it would be.
 */
static hd_status sit(hd_command *c, const hd_train_options *o, const hd_given *given, hd_err *err)
{
    const hd_task *task = hd_tasks[o->task];
    hd_train_progress progress = {.command = c, .options = o};
    hd_session_hooks hooks = {.threads = c->common.threads,
                              .log = c->log,
                              .open = open_folder,
                              .began = began,
                              .stop = is_stopped,
                              .tell = hd_train_progress_tell,
                              .context = &progress};
    hd_outcome out;
    hd_status s = task->check(o, err);
    c->misused = s != HD_OK;
    if (s) return s;
    if (o->dry_run) return show_plan(c, o, given, &hooks, err);
    if (!o->resume) s = hd_train_folder_check(o, err);
    if (!s) s = hd_session_train(&out, task, o, &hooks, err);
    hd_train_progress_end(&progress);
    if (!s) end(c, o, task, &out);
    return s;
}

/* -- the run -- */

static hd_status train(hd_command *c, hd_train_options *o, hd_given *given, hd_status s, hd_arena *memory,
                       hd_err *err)
{
    if (!s && o->resume) s = hd_train_folder_resume(o, given, memory, err);
    for (int i = 0; !s && i < o->train.count; i++)
        hd_input_await(c, o->train.text[i], "a text to learn from");
    c->misused = s == HD_EARG;
    return s ? s : sit(c, o, given, err);
}

/* Nobody else writes in the folder meanwhile; the first process holds it for all. */
static hd_status train_alone(hd_command *c, hd_train_options *o, hd_given *given, hd_status s,
                             hd_arena *memory, hd_err *err)
{
    hd_lock lock = {0};
    hd_signals_catch(&lock, &c->log);
    if (!s && !hd_rank()) s = hd_lock_take(&lock, o->out, err);
    s = hd_ranks_agree(s, NULL, 0, err);
    s = train(c, o, given, s, memory, err);
    hd_lock_release(&lock);
    hd_signals_restore();
    return s;
}

hd_status hd_train_run(hd_command *c, hd_train_options *o, hd_given *given, hd_err *err)
{
    const hd_option_set set = {hd_train_table, o, given, NULL};
    hd_arena memory;
    c->misused = true;
    if (!o->dry_run && (!o->out || !*o->out))
        return hd_err_set(err, HD_EARG, "--out is required: the model folder to write");
    if (o->resume && (o->overwrite || o->dry_run))
        return hd_err_set(err, HD_EARG, "--resume continues a run: --%s does not go with it",
                          o->overwrite ? "overwrite" : "dry-run");
    hd_arena_init(&memory, hd_allocator_host, 0);
    hd_status s =
        o->resume ? hd_train_folder_resumable(o, err) : hd_recipe_fill(hd_tasks[o->task]->recipe, &set, err);
    if (!s) s = hd_train_folder_name(o, &memory, err);
    s = (o->dry_run ? train : train_alone)(c, o, given, s, &memory, err);
    hd_arena_release(&memory);
    return s;
}

static hd_status run(hd_command *c, hd_err *err)
{
    hd_train_options o = *(const hd_train_options *)c->options;
    return hd_train_run(c, &o, c->set->given, err);
}

const hd_usage hd_verb_train = {
    .about =
        "Trains a model. 'heed help train --task TASK' shows the options of one task with its defaults, and "
        "with further options (--preset, --model) what they change; --dry-run prints all values of a run.\n"
        "The model folder holds config.json, the tokenizer and model.safetensors, the best model by "
        "validation; train/ the last checkpoint and the log (log.jsonl, TensorBoard events); training.yml "
        "the options of the run, as --config reads them.\n"
        "translate: learns a vocabulary from parallel sentences, then a Transformer or, by --preset or "
        "--encoder and --decoder, a recurrent encoder-decoder.\n"
        "lm: predicts the next token of a text; --model selects the kind. An ngram counts in one pass; music "
        "learns from chorales or MIDI files.\n"
        "mlm: predicts masked tokens from both sides, as BERT does: 15 % of the tokens of every window.\n"
        "classify, regress, tag and other tasks with labels: predict them for each text or each token, and "
        "classify for each picture. Duplicate texts are dropped. Without --valid a tenth (of pictures a "
        "twentieth) is held out for validation and kept in train/held-out.tsv.\n"
        "caption and detect: describe pictures, or find the objects in them.\n"
        "transcribe: writes down what is said in sounds; --preset las, las-small, speech-tiny or "
        "speech-ctc.\n"
        "write and read: write text by hand, as strokes of a pen, and read such strokes.\n"
        "reward: a language model answers prompts, rules reward what it writes, and better texts become more "
        "likely (GRPO).\n"
        "--from starts from an existing model: translate, lm, mlm, caption, detect and transcribe continue "
        "training it on other data (3 epochs at a low learning rate unless options say otherwise); tasks "
        "with labels fine-tune it.\n"
        "Ctrl-C or SIGTERM saves and exits with status 130 or 143; --resume --out FOLDER continues bit for "
        "bit. Before the first update there is nothing to save. One process at a time trains in a folder.",
    .options = hd_train_table,
    .size = sizeof(hd_train_options),
    .examples = examples,
    .spreads = true,
    .show = hd_train_help_rows,
    .run = run,
};
