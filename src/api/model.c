/* A model that threads share. Easy to get wrong: it must outlive all that point into it, so its users are
   counted. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "task/translate/lexicon.h"

_Static_assert((int)HEED_CHECKPOINT_BEST == (int)HD_WEIGHTS_BEST &&
                   (int)HEED_CHECKPOINT_LAST == (int)HD_WEIGHTS_LAST,
               "heed_checkpoint and hd_weights differ");
_Static_assert((int)HEED_PRECISION_AUTO == (int)HD_PRECISION_AUTO &&
                   (int)HEED_PRECISION_F32 == (int)HD_PRECISION_F32 &&
                   (int)HEED_PRECISION_BF16 == (int)HD_PRECISION_BF16 &&
                   (int)HEED_PRECISION_INT8 == (int)HD_PRECISION_INT8,
               "heed_precision and hd_precision differ");

static const heed_model_options defaults = {.size = sizeof defaults, .device = "cpu"};

void heed_model_options_init(heed_model_options *options, size_t size)
{
    hd_api_defaults(options, size, &defaults, sizeof defaults);
}

/* Contexts read the weights in an order of their own: all must have arrived before. */
static hd_status settle(const heed_model *m, hd_err *err)
{
    hd_backend *b = m->backend;
    hd_real first;
    if (!m->folder.model.params) return HD_OK; /* counts are the host's */
    b->download(b, &first, m->folder.model.params->value, sizeof first);
    return b->error[0] ? hd_err_set(err, HD_EDEVICE, "%s", b->error) : HD_OK;
}

static void note_aside(void *model, hd_level level, const char *text)
{
    heed_model *m = model;
    (void)level;
    snprintf(m->aside, sizeof m->aside, "%s", text);
}

/* What a language model's folder says of how it is asked. */
static hd_status open_writing(heed_model *m, const char *folder, hd_err *err)
{
    const hd_tokenizer *t = m->folder.tokenizer[0];
    hd_status s = HD_OK;
    for (int i = 0; !s && i < 2; i++)
        s = hd_generation_read(&m->generation[i], folder, hd_model_folder_lm(&m->folder)->opt.vocab, err);
    if (s) return s;
    hd_generation_end(&m->generation[1], hd_tokenizer_special(t).end);
    m->chats = !hd_chat_form_open(&m->form, folder, NULL, t, &m->no_chat);
    return m->no_chat.status == HD_ENOMEM ? hd_err_set(err, HD_ENOMEM, "%s", m->no_chat.text) : HD_OK;
}

static hd_status open_model(heed_model *m, const char *folder, const heed_model_options *given, hd_err *err)
{
    heed_model_options o = defaults;
    hd_status s = hd_api_options(&o, sizeof o, given, "heed_model_options", err);
    if (s) return s;
    if ((unsigned)o.checkpoint > HEED_CHECKPOINT_LAST)
        return hd_err_set(err, HD_EARG, "there is no checkpoint %d", (int)o.checkpoint);
    if ((unsigned)o.precision > HEED_PRECISION_INT8)
        return hd_err_set(err, HD_EARG, "there is no precision %d", (int)o.precision);
    hd_log log = {.write = note_aside, .context = m, .most = HD_WARN};
    s = hd_backend_new(&m->backend, o.device ? o.device : defaults.device,
                       &(hd_backend_opt){.threads = 1, .precision = (hd_precision)o.precision, .log = &log},
                       err);
    if (!s && m->backend->dry)
        s = hd_err_set(err, HD_EMISSING, "device '%s' does not compute: use cpu or cuda", m->backend->name);
    if (!s) s = hd_model_folder_open(&m->folder, folder, NULL, m->backend, (hd_weights)o.checkpoint, err);
    if (!s && !strcmp(m->folder.task->verb, "generate")) s = open_writing(m, folder, err);
    if (!s && o.shortlist) s = hd_api_reads(m, "translate", "a shortlist is for translators", err);
    if (!s && o.shortlist && !m->backend->narrow)
        s = hd_err_set(err, HD_EMISSING, "a shortlist needs the CPU, not device '%s'", m->backend->name);
    if (!s && o.shortlist) s = hd_lexicon_open_given(&m->shortlist, o.shortlist, &m->folder, NULL, err);
    return s ? s : settle(m, err);
}

heed_status heed_model_open(heed_model **out, const char *folder, const heed_model_options *options,
                            heed_error *error)
{
    hd_err err = {0};
    hd_status s = HD_OK;
    if (!out || !folder) s = hd_err_set(&err, HD_EARG, "heed_model_open: %s is NULL", out ? "folder" : "out");
    heed_model *m = s ? NULL : hd_mem_zero(sizeof *m);
    if (!s && !m) s = hd_err_nomem(&err, sizeof *m);
    if (!s) {
        atomic_init(&m->users, 1);
        s = open_model(m, folder, options, &err);
    }
    if (s)
        heed_model_free(m);
    else
        *out = m;
    return hd_api_end(error, &err, s);
}

void hd_api_keep(heed_model *m)
{
    atomic_fetch_add_explicit(&m->users, 1, memory_order_relaxed);
}

void heed_model_free(heed_model *model)
{
    /* the last one must see what all the others did */
    if (!model || atomic_fetch_sub_explicit(&model->users, 1, memory_order_acq_rel) > 1) return;
    hd_shortlist_free(model->shortlist);
    for (int i = 0; i < 2; i++) hd_generation_release(&model->generation[i]);
    if (model->chats) hd_chat_form_release(&model->form);
    hd_model_folder_release(&model->folder);
    hd_backend_free(model->backend);
    hd_mem_free(model);
}
