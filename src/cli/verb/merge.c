/* heed merge: an adapter and its base as one model. */
#include "base/file/staging.h"
#include "cli/frame/verb.h"
#include "task/language/chat/form.h"

static const hd_example examples[] = {
    {"heed train --task lm --from model --lora 16 --train dialogues.jsonl --out adapter && heed merge "
     "adapter "
     "tuned",
     "tuned is a model like any other, without the folder of the first"},
    {NULL, NULL},
};

static hd_status merge(const char *from, const char *to, hd_backend *backend, hd_err *err)
{
    hd_model_folder f = {0};
    hd_staging made;
    hd_status s = hd_model_folder_describe(&f, from, NULL, err);
    if (!s && !f.base) s = hd_err_set(err, HD_EARG, "%s: not an adapter: there is nothing to merge", from);
    hd_model_folder_release(&f);
    if (!s) s = hd_staging_begin(&made, to, err);
    if (s) return s;
    s = hd_model_folder_open(&f, from, NULL, backend, HD_WEIGHTS_WHOLE, err);
    if (!s) s = hd_model_folder_write(&f, made.temp, err);
    if (!s) s = hd_chat_carry(from, made.temp, err);
    hd_model_folder_release(&f);
    return hd_staging_end(&made, s, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    char **word = c->operands.word;
    hd_status s = merge(word[0], word[1], c->machine.backend, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "wrote %s: %s and its model as one", word[1], word[0]);
    return s;
}

const hd_usage hd_verb_merge = {
    .operands = "ADAPTER MODEL",
    .least = 2,
    .most = 2,
    .about =
        "Adds what ADAPTER learned (`heed train --lora`) to the weights of the model that it was learned on, "
        "and writes the result as the model folder MODEL, which needs neither of them. It computes the same "
        "as ADAPTER, to rounding; verbs that are given ADAPTER itself do the same in memory.\n"
        "MODEL must not exist, or be empty.",
    .options = hd_no_options,
    .opens = HD_OPENS_CPU,
    .examples = examples,
    .run = run,
};
