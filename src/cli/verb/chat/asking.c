/* Messages as prompts. */
#include "cli/verb/chat/asking.h"

hd_status hd_asking_open(hd_asking *a, const hd_command *m, const hd_asking_options *o, hd_err *err)
{
    a->o = o;
    return hd_chat_form_open(&a->form, m->operands.word[0], o->template, m->model.tokenizer[0], err);
}

static void add(json_t *to, const char *role, const char *content)
{
    json_t *m = json_object();
    hd_json_set(m, "role", hd_json_string(role));
    hd_json_set(m, "content", hd_json_string(content));
    hd_json_append(to, m);
}

static hd_status read_one(hd_asking *a, const hd_tokenizer *t, hd_line message, hd_ids *ids, hd_err *err)
{
    hd_text copy = {0};
    hd_marked text = {0};
    hd_text_add(&copy, message.text, message.size);
    hd_json_begin();
    json_t *list = json_array();
    if (a->o->system) add(list, "system", a->o->system);
    add(list, "user", copy.data ? copy.data : "");
    ids->count = 0;
    hd_status s = hd_json_missed() ? hd_err_nomem(err, hd_json_missed()) : hd_text_status(&copy, err);
    if (!s) s = hd_chat_form_text(&a->form, list, true, &text, err);
    if (!s) s = hd_chat_form_ids(t, &text, 0, ids, err);
    if (!s && !ids->count) s = hd_err_set(err, HD_EARG, "the chat template gives no text for a message");
    json_decref(list);
    hd_text_release(&copy);
    hd_marked_release(&text);
    return s;
}

hd_status hd_asking_read(hd_asking *a, const hd_command *m, const hd_line *message, size_t n,
                         hd_generate_opt *opt, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) s = read_one(a, m->model.tokenizer[0], message[i], &a->ids[i], err);
    opt->ids = a->ids;
    return s;
}

void hd_asking_release(hd_asking *a)
{
    hd_chat_form_release(&a->form);
    for (int i = 0; i < HD_ASKING_MOST; i++) hd_ids_release(&a->ids[i]);
}
