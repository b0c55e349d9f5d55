/* Writing tokenizer.json. Each kind of tokenizer writes its own part; here are the special tokens and
   their places around a text. Easy to get wrong: tokens that are not among the model's pieces get their ids
   in the order of the list. */
#include "text/published/tokenizer_json_write.h"

#include <string.h>

#include "base/file/file.h"
#include "base/file/folder.h"
#include "base/json.h"

enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(17) };

/* The specials in the order of their ids, each once, then the mask. */
typedef struct tokens {
    struct {
        int32_t id;
        const char *text;
    } at[5];
    size_t count;
} tokens;

static void add_token(tokens *all, const hd_tokenizer *t, int32_t id)
{
    const char *text = hd_tokenizer_piece(t, id);
    if (!text) return;
    size_t i = all->count;
    for (size_t k = 0; k < all->count; k++)
        if (all->at[k].id == id) return;
    for (; i && all->at[i - 1].id > id; i--) all->at[i] = all->at[i - 1];
    all->at[i].id = id, all->at[i].text = text;
    all->count++;
}

static int32_t mask_id(const hd_tokenizer *t)
{
    int32_t own = hd_tokenizer_special(t).mask;
    return own >= 0 ? own : (int32_t)hd_tokenizer_size(t);
}

static tokens tokens_of(const hd_tokenizer *t, const hd_text_form *how)
{
    hd_special s = hd_tokenizer_special(t);
    const int32_t id[] = {s.pad, s.unk, s.start, s.end, s.mask};
    tokens all = {.count = 0};
    for (size_t i = 0; i < sizeof id / sizeof *id; i++)
        if (id[i] >= 0) add_token(&all, t, id[i]);
    if (how->mask && s.mask < 0) {
        all.at[all.count].id = mask_id(t);
        all.at[all.count++].text = how->mask;
    }
    return all;
}

static void put_added(json_t *root, const tokens *all)
{
    json_t *list = json_array();
    for (size_t i = 0; i < all->count; i++)
        hd_json_append(list, json_pack("{s:i,s:s,s:b,s:b,s:b,s:b,s:b}", "id", all->at[i].id, "content",
                                       all->at[i].text, "single_word", 0, "lstrip", 0, "rstrip", 0,
                                       "normalized", 0, "special", 1));
    hd_json_set(root, "added_tokens", list);
}

/* -- special tokens around a text -- */

static void put_special(json_t *list, json_t *names, const hd_tokenizer *t, int32_t id, int type)
{
    if (id < 0) return;
    const char *text = hd_tokenizer_piece(t, id);
    hd_json_append(list, json_pack("{s:{s:s,s:i}}", "SpecialToken", "id", text, "type_id", type));
    hd_json_set(names, text, json_pack("{s:s,s:[i],s:[s]}", "id", text, "ids", id, "tokens", text));
}

static void put_frame(json_t *root, const hd_tokenizer *t, const hd_text_form *how)
{
    json_t *post = json_pack("{s:s}", "type", "TemplateProcessing"), *names = json_object();
    for (int pair = 0; pair < 2; pair++) {
        json_t *list = json_array();
        put_special(list, names, t, how->lead, 0);
        for (int i = 0; i <= pair; i++) {
            int type = how->types ? i : 0;
            hd_json_append(list,
                           json_pack("{s:{s:s,s:i}}", "Sequence", "id", i ? "B" : "A", "type_id", type));
            put_special(list, names, t, how->trail, type);
        }
        hd_json_set(post, pair ? "pair" : "single", list);
    }
    hd_json_set(post, "special_tokens", names);
    hd_json_set(root, "post_processor", post);
}

/* -- the files -- */

static hd_status save_whole(const hd_tokenizer *t, const hd_text_form *how, const char *folder, hd_err *err)
{
    tokens all = tokens_of(t, how);
    hd_json_begin();
    json_t *root = json_pack("{s:s,s:n,s:n}", "version", "1.0", "truncation", "padding");
    put_added(root, &all);
    put_frame(root, t, how);
    hd_status s = t->type->describe(t, root, how->continues, err);
    if (!s) return hd_json_save(root, FLAGS, folder, "tokenizer.json", err);
    json_decref(root);
    return s;
}

static void put_name(json_t *root, const char *key, const hd_tokenizer *t, int32_t id)
{
    if (id >= 0) hd_json_set(root, key, json_string(hd_tokenizer_piece(t, id)));
}

/* A text cannot contain special tokens here, except for the mask. */
static hd_status save_config(const hd_tokenizer *t, const hd_text_form *how, const char *folder, hd_err *err)
{
    hd_special s = hd_tokenizer_special(t);
    hd_json_begin();
    json_t *root = json_pack("{s:s,s:b,s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                             "clean_up_tokenization_spaces", 0, "split_special_tokens", how->mask == NULL);
    put_name(root, "pad_token", t, s.pad);
    put_name(root, "unk_token", t, s.unk);
    put_name(root, "bos_token", t, how->lead >= 0 ? how->lead : s.start);
    put_name(root, "eos_token", t, s.end);
    if (how->lead >= 0 && how->trail >= 0) {
        put_name(root, "cls_token", t, how->lead);
        put_name(root, "sep_token", t, how->trail);
    }
    if (how->mask)
        hd_json_set(root, "mask_token", json_string(s.mask < 0 ? how->mask : hd_tokenizer_piece(t, s.mask)));
    if (how->longest) hd_json_set(root, "model_max_length", json_integer((json_int_t)how->longest));
    json_t *names = json_pack("[s,s]", "input_ids", "attention_mask");
    if (how->types) hd_json_append(names, json_string("token_type_ids"));
    hd_json_set(root, "model_input_names", names);
    return hd_json_save(root, FLAGS, folder, "tokenizer_config.json", err);
}

hd_status hd_tokenizer_json_save(const hd_tokenizer *t, const hd_text_form *how, const char *folder,
                                 hd_err *err)
{
    if ((int)hd_tokenizer_kind_of(t) == how->native) return HD_OK;
    if (!t->type->describe)
        return hd_err_set(err, HD_EARG, "a tokenizer \"%s\" cannot be exported with this kind of model",
                          hd_tokenizer_name(hd_tokenizer_kind_of(t)));
    hd_status s = save_whole(t, how, folder, err);
    return s ? s : save_config(t, how, folder, err);
}
