/* GPT-2: the language model `gpt`, whose tensors have these names already; or with a head that gives labels
   or a number: a classifier with a gpt for its body that looks at its last row. Easy to get wrong: that head
   has no bias there (gpt2_labels.c), and the tokenizer there puts nothing around a text, which heed does in
   training. */
#include "hub/gpt2.h"

#include <string.h>

#include "hub/family.h"
#include "hub/labels.h"
#include "hub/own.h"

#define TITLE  "GPT2"
#define WORDS  "LMHeadModel"
#define LABELS "ForSequenceClassification"

static const char PREFIX[] = "transformer.", OUTPUT[] = "lm_head.weight", SCORE[] = "score.weight",
                  BARE[] = "bare";

/* Masks, which older files hold. */
static const char *const ignored[] = {".attn.bias", ".attn.masked_bias", NULL};

static const hd_key keys[] = {
    HD_KEY(WHOLE, "n_layer", hd_lm_opt, stack.layers, HD_MOST_LAYERS, 12),
    HD_KEY(WHOLE, "n_head", hd_lm_opt, stack.heads, HD_MOST_HEADS, 12),
    HD_KEY(WHOLE, "n_embd", hd_lm_opt, stack.width, HD_MOST_SIZE, 768),
    HD_KEY(WHOLE, "n_inner", hd_lm_opt, stack.inner, 4 * HD_MOST_SIZE, 0),
    HD_KEY(WHOLE, "n_positions", hd_lm_opt, context, HD_MOST_SIZE, 1024),
    HD_KEY(WHOLE, "vocab_size", hd_lm_opt, vocab, 64 * HD_MOST_SIZE, 50257),
    HD_KEY(UNARY, "activation_function", hd_lm_opt, stack.act, 0, HD_gelu_tanh),
    HD_KEY(REAL, "resid_pdrop", hd_lm_opt, stack.dropout, HD_KEY_DROPOUT, 0.1),
    HD_KEY(REAL, "embd_pdrop", hd_lm_opt, embedding_dropout, HD_KEY_DROPOUT, 0.1),
    HD_KEY(REAL, "attn_pdrop", hd_lm_opt, stack.attention_dropout, HD_KEY_DROPOUT, 0.1),
    HD_KEY(REAL, "layer_norm_epsilon", hd_lm_opt, stack.eps, 1, 1e-5),
    HD_KEY(FLAG, "tie_word_embeddings", hd_lm_opt, tied, 0, 1),
    {0}};

/* -- here -- */

static void read_labels(hd_passage *p, hd_model_config *c)
{
    hd_model_config own = hd_family_own(c);
    p->lm.tied = true; /* its words are not predicted */
    p->classifier =
        (hd_classifier_opt){.pool = HD_POOL_last,
                            .body = {.type = &hd_model_gpt, .lm = p->lm, .positions = p->lm.context},
                            .bare = hd_family_switch(&own, BARE, true)};
    hd_family_own_end(c, &own);
    if (p->lm.context < 3) hd_model_config_refuse(c, "\"n_positions\" is less than 3");
    hd_family_labels_read(c, p);
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    const char *kind = hd_family_architecture(c, TITLE);
    bool labels = !strcmp(kind, LABELS);
    if (!labels && strcmp(kind, WORDS) && strcmp(kind, "Model"))
        hd_model_config_refuse(c,
                               "\"architectures\" has \"%.60s\": of GPT-2 heed imports " TITLE WORDS
                               ", " TITLE "Model and " TITLE LABELS,
                               hd_family_architecture(c, ""));
    p->lm = (hd_lm_opt){.stack.pre_norm = true, .kind = HD_LM_gpt, .order = 1};
    p->task = HD_TRAIN_LM, p->make = hd_passage_lm;
    hd_keys_read(c, keys, 0, &p->lm);
    hd_family_insist(c, "scale_attn_weights", true);
    hd_family_insist(c, "scale_attn_by_inverse_layer_idx", false);
    hd_family_insist(c, "add_cross_attention", false);
    hd_family_insist_heads(c, &p->lm.stack);
    hd_family_open_tokenizer(c, p->from, &p->m.tokenizer[0]);
    if (c->status) return;
    hd_family_check_vocab(c, p->lm.vocab, p->m.tokenizer[0], hd_tokenizer_size(p->m.tokenizer[0]));
    hd_special special = hd_tokenizer_special(p->m.tokenizer[0]);
    p->lm.start = special.start, p->lm.end = special.end, p->lm.unk = special.unk;
    if (labels) read_labels(p, c);
}

static bool has_labels(const hd_passage *p)
{
    return p->m.task->id != HD_TRAIN_LM;
}

static void name(hd_passage *p)
{
    if (!has_labels(p)) return;
    hd_classifier *m = hd_model_folder_classifier(&p->m);
    m->out.b->optional = true;
    hd_param_alias(m->params, m->out.w, "%s", SCORE);
}

/* -- and back -- */

static hd_lm_opt options_of(const hd_passage *p)
{
    if (!has_labels(p)) return hd_model_folder_lm(&p->m)->opt;
    hd_lm_opt o = ((const hd_lm *)hd_model_folder_classifier(&p->m)->body.self)->opt;
    hd_special special = hd_tokenizer_special(p->m.tokenizer[0]);
    o.start = special.start, o.end = special.end;
    return o;
}

static hd_status check_labels(const hd_passage *p, hd_err *err)
{
    const hd_classifier *m = hd_model_folder_classifier(&p->m);
    if (m->opt.pool == HD_POOL_last && !p->m.pairs) return hd_family_gpt2_fold(m, p->from, err);
    return hd_err_set(err, HD_EARG, "%s: %s%s reads the last row of one text; this model %s", p->from, TITLE,
                      LABELS, p->m.pairs ? "takes pairs" : "has another --pool");
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_lm_opt o = options_of(p);
    if (o.kind != HD_LM_gpt)
        return hd_err_set(err, HD_EARG, "%s: \"%s\" is no model that transformers knows; \"gpt\" is", p->from,
                          hd_lm_names[o.kind]);
    if (!o.stack.pre_norm)
        return hd_err_set(err, HD_EARG, "%s: GPT-2 normalizes before each layer; this model behind", p->from);
    if (o.stack.relative_span || o.stack.local_block || o.no_positions || o.position != HD_GPT_LEARNED)
        return hd_err_set(err, HD_EARG, "%s: GPT-2 has positions and attends to all before; this model %s",
                          p->from,
                          o.stack.relative_span ? "has relative attention"
                          : o.no_positions      ? "has no positions"
                          : o.position          ? "has positions that are not learned"
                                                : "attends by local blocks");
    hd_status s = o.stack.act == HD_IDENTITY ? HD_OK : hd_family_check_activation(o.stack.act, p->from, err);
    return s || !has_labels(p) ? s : check_labels(p, err);
}

/* A text of a language model begins behind an end, as every line does that it learned from. */
static hd_text_form reads(const hd_passage *p, const hd_tokenizer *t)
{
    hd_special special = hd_tokenizer_special(t);
    if (!has_labels(p))
        return (hd_text_form){.native = HD_TOKENIZER_bpe,
                              .lead = special.end,
                              .trail = -1,
                              .continues = true,
                              .longest = options_of(p).context};
    const hd_classifier_opt *o = &hd_model_folder_classifier(&p->m)->opt;
    return (hd_text_form){.native = HD_TOKENIZER_bpe,
                          .lead = o->bare ? -1 : special.start,
                          .trail = o->bare ? -1 : special.end,
                          .longest = o->body.positions};
}

static void put(const hd_passage *p, json_t *config, json_t *own)
{
    hd_lm_opt o = options_of(p);
    int32_t pad = hd_tokenizer_special(p->m.tokenizer[0]).pad;
    if (o.stack.act == HD_IDENTITY) o.stack.act = HD_gelu_tanh;
    hd_json_set(config, "architectures", json_pack("[s]", has_labels(p) ? TITLE LABELS : TITLE WORDS));
    hd_keys_set(config, keys, &o);
    /* a text begins behind the end of another, as heed begins one */
    hd_json_join(config, json_pack("{s:I,s:i,s:i}", "n_ctx", (json_int_t)o.context, "bos_token_id", o.end,
                                   "eos_token_id", o.end));
    if (pad >= 0) hd_json_set(config, "pad_token_id", json_integer(pad));
    hd_family_own_tokenizers(own, p->m.tokenizer);
    if (!has_labels(p)) return;
    hd_family_labels_put(config, &p->m);
    if (!hd_model_folder_classifier(&p->m)->opt.bare) hd_json_set(own, BARE, json_false());
}

/* As transformers names the tensors of the body where there are others beside it: older versions load no file
   where only some have the prefix, or none. */
static void put_name(hd_text *to, const char *name_here, const void *context)
{
    const char *head = context;
    hd_text_print(to, "%s%s", strcmp(name_here, head) ? PREFIX : "", name_here);
}

static hd_status rename_tensors(hd_passage *p, hd_err *err)
{
    if (!has_labels(p))
        return options_of(p).tied ? HD_OK : hd_family_rename(p->m.model.params, put_name, OUTPUT, err);
    hd_classifier *m = hd_model_folder_classifier(&p->m);
    hd_status s = hd_family_gpt2_name_head(m, SCORE, err);
    return s ? s : hd_family_rename(m->params, put_name, SCORE, err);
}

static bool has(const hd_family *f, hd_model_config *c)
{
    (void)f;
    return hd_family_says(c, "task", "lm") || hd_family_labels_has(c, "gpt");
}

static const hd_family_form form = {.has = has,
                                    .read = read_folder,
                                    .name = name,
                                    .check = check,
                                    .reads = reads,
                                    .put = put,
                                    .rename = rename_tensors};
const hd_family hd_family_gpt2 = {"gpt2", &form, ignored, NULL};
