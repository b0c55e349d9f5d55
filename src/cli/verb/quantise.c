/* heed quantise: a model with weights of int8. */
#include "base/file/staging.h"
#include "cli/frame/verb.h"
#include "task/language/chat/form.h"
#include "train/published.h"

static const hd_example examples[] = {
    {"heed quantise model small && heed translate small text.en", "a third of the file, and faster"},
    {"heed import gpt2 gpt2.heed && heed quantise gpt2.heed gpt2.int8", "a published model"},
    {NULL, NULL},
};

static hd_status check(const hd_model_folder *f, const char *from, hd_err *err)
{
    const hd_params *p = f->model.params;
    if (p && p->quantized) return hd_err_set(err, HD_EARG, "%s: its weights are int8 already", from);
    if (hd_model_mark(&f->model)) return HD_OK;
    return hd_err_set(err, HD_EARG, "%s: %s: it has no weights that could be int8", from, f->task->what);
}

static hd_status quantise(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    hd_model_folder f = {0};
    hd_staging made;
    hd_status s = hd_model_folder_open(&f, from, NULL, backend, HD_WEIGHTS_WHOLE, err);
    if (!s) s = check(&f, from, err);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (s) return hd_model_folder_release(&f), s;
    s = hd_model_folder_save(&f, made.temp, err);
    if (!s) s = hd_published_save_int8(f.model.params, made.temp, err);
    if (!s) s = hd_chat_carry(from, made.temp, err);
    hd_model_folder_release(&f);
    return hd_staging_end(&made, s, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    char **word = c->operands.word;
    hd_status s = quantise(word[0], word[1], c->machine.backend, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "wrote %s: %s with weights of int8", word[1], word[0]);
    return s;
}

const hd_usage hd_verb_quantise = {
    .operands = "MODEL MODEL2",
    .least = 2,
    .most = 2,
    .about =
        "Writes the model in the folder MODEL as the model folder MODEL2 with weights of int8: matrices that "
        "only products read become whole numbers of 8 bits (I8) with a scale for each row and column, token "
        "vectors and output layers bf16; all else stays f32. The file is a quarter to a half as large.\n"
        "On the CPU all verbs answer with MODEL2 as with MODEL and `--precision int8`, whose weights are the "
        "same, and never hold its weights in f32; with another --precision, on a CUDA device, and for `heed "
        "export` the numbers become f32 when they are read. MODEL2 cannot be trained further (`heed train "
        "--from`): keep MODEL.\n"
        "MODEL may be an adapter, which becomes a whole model. MODEL2 must not exist, or be empty.",
    .options = hd_no_options,
    .opens = HD_OPENS_CPU,
    .examples = examples,
    .run = run,
};
