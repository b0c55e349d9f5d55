/* BERT: the masked language model of `heed fill`, whose tensors have these names already; and what is a BERT
   under other names. One without the head that predicts words serves for vectors alone; one that gives labels
   is a classifier. Easy to get wrong: what a model has, its tensors say and not its config.json, and old
   ones have other names. */
#include "hub/bert.h"

#include <string.h>

#include "hub/labels.h"
#include "hub/own.h"
#include "hub/sentence.h"
#include "hub/weights.h"
#include "task/masked/masked.h"

static const char PREFIX[] = "bert.", PAIRS[] = "pairs", POSITIONS[] = "max_position_embeddings";

/* What stands behind the title in "architectures". */
typedef enum head { BARE, WORDS, PRETRAINING, LABELS, TAGS, HEADS } head;
static const char *const kinds[HEADS] = {[BARE] = "Model",
                                         [WORDS] = "ForMaskedLM",
                                         [PRETRAINING] = "ForPreTraining",
                                         [LABELS] = "ForSequenceClassification",
                                         [TAGS] = "ForTokenClassification"};

/* -- config.json -- */

static head head_of(hd_model_config *c, const hd_bert_form *form)
{
    const char *kind = hd_family_architecture(c, form->title);
    hd_text known = {0};
    for (head h = BARE; h < HEADS; h++) {
        if (h == PRETRAINING && form->pretraining == HD_PRETRAINING_NONE) continue;
        if (!strcmp(kinds[h], kind)) {
            hd_text_release(&known);
            if (h != PRETRAINING) return h;
            return form->pretraining == HD_PRETRAINING_WORDS ? WORDS : BARE;
        }
        hd_text_print(&known, "%s%s%s",
                      h == BARE        ? ""
                      : h + 1 == HEADS ? " and "
                                       : ", ",
                      form->title, kinds[h]);
    }
    hd_model_config_refuse(c, "\"architectures\" has \"%.60s\": heed imports %s",
                           hd_family_architecture(c, ""), known.data ? known.data : "others");
    hd_text_release(&known);
    return BARE;
}

static hd_bert_opt read_options(hd_model_config *c, const hd_bert_form *form)
{
    static const char eps[] = "layer_norm_eps", positions[] = "position_embedding_type";
    hd_bert_opt o = form->base;
    hd_keys_read(c, form->keys, 0, &o);
    if (o.offset) o.offset = (size_t)hd_family_whole(c, "pad_token_id", 0, HD_MOST_SIZE, 1) + 1;
    long long before = (long long)o.offset;
    o.positions = (size_t)(hd_family_whole(c, POSITIONS, before + 3, HD_MOST_SIZE, 512) - before);
    if (o.stack.relative.buckets != form->base.stack.relative.buckets)
        hd_model_config_refuse(
            c, "\"relative_attention_num_buckets\" is not %zu, which transformers counts with",
            form->base.stack.relative.buckets);
    if (!(o.stack.eps > 0)) hd_model_config_refuse(c, "\"%s\" is 0, which no model has", eps);
    if (hd_model_config_has(c, positions) && strcmp(hd_model_config_text(c, positions), "absolute"))
        hd_model_config_refuse(c, "\"%s\" is \"%.40s\": heed's bert has \"absolute\"", positions,
                               hd_model_config_text(c, positions));
    hd_family_insist(c, "tie_word_embeddings", true);
    hd_family_insist(c, "is_decoder", false);
    hd_family_insist(c, "add_cross_attention", false);
    hd_family_insist_heads(c, &o.stack);
    return o;
}

/* Whether a head that predicts words is promised; of a sentence model its tensors alone say whether it is
   there. */
static void read_words(hd_passage *p, hd_model_config *c, bool promised)
{
    const hd_bert_form *form = p->family->self;
    hd_bert_opt *o = &p->bert;
    bool found = false;
    p->task = HD_TRAIN_MLM, p->make = hd_passage_bert;
    if (!c->status) c->status = hd_family_sentence_read(&p->m, o, p->from, c->err);
    if (!c->status) c->status = hd_family_weights_have(&o->pooler, p->from, "pooler.dense.weight", c->err);
    if (!c->status) c->status = hd_family_weights_have(&found, p->from, form->predicts, c->err);
    o->headless = !found;
    if (promised && !found && p->m.pool == HD_POOLING_AUTO)
        hd_model_config_refuse(c, "\"architectures\" has \"%.60s\", but no tensor is called \"%s\"",
                               hd_family_architecture(c, ""), form->predicts);
    if (!o->headless && form->gelu && o->stack.act != HD_gelu)
        hd_model_config_refuse(c, "\"hidden_act\" is not \"gelu\", which the head of a %s always has",
                               p->family->type);
}

/* Only heed says whether pairs of texts are asked for; without a word a tab may stand between two. */
static void read_labels(hd_passage *p, hd_model_config *c, bool tags)
{
    hd_model_config own = hd_family_own(c);
    p->classifier = (hd_classifier_opt){
        .pool = tags ? HD_POOL_each : HD_POOL_first,
        .body = {.type = &hd_model_bert, .bert = p->bert, .positions = p->bert.positions}};
    p->m.pairs = !tags && hd_family_switch(&own, PAIRS, true);
    hd_family_own_end(c, &own);
    hd_family_labels_read(c, p);
}

static void read_folder(hd_passage *p, hd_model_config *c)
{
    const hd_bert_form *form = p->family->self;
    head h = head_of(c, form);
    p->bert = read_options(c, form);
    hd_family_open_tokenizer(c, p->from, &p->m.tokenizer[0]);
    if (!c->status)
        hd_family_check_vocab(c, p->bert.vocab, p->m.tokenizer[0], hd_masked_vocab(p->m.tokenizer[0]));
    if (h == LABELS || h == TAGS)
        read_labels(p, c, h == TAGS);
    else
        read_words(p, c, h == WORDS);
}

/* -- names of tensors -- */

typedef struct naming {
    const hd_bert_form *form;
    bool labels, bare; /* bare: as a model without a head is saved */
} naming;

/* Whether the name begins as one of the list does. */
static bool put_beginning(hd_text *to, const hd_renamed *list, const char *name)
{
    for (; list && (*list)[0]; list++) {
        size_t size = strlen((*list)[0]);
        if (strncmp(name, (*list)[0], size)) continue;
        hd_text_print(to, "%s%s", (*list)[1], name + size);
        return true;
    }
    return false;
}

/* Replaces a part of a text where it occurs. */
static void replace(hd_text *in, const hd_renamed part)
{
    char *at = in->missed ? NULL : strstr(in->data, part[0]);
    hd_text rest = {0};
    if (!at) return;
    hd_text_put(&rest, at + strlen(part[0]));
    in->size = (size_t)(at - in->data);
    hd_text_print(in, "%s%s", part[1], rest.data ? rest.data : "");
    if (rest.missed) in->missed = rest.missed;
    hd_text_release(&rest);
}

/* What the family calls a tensor. */
static void put_name(hd_text *to, const char *name, const void *context)
{
    const naming *n = context;
    size_t prefix = sizeof PREFIX - 1;
    if (n->labels && put_beginning(to, n->form->labels, name)) return;
    if (put_beginning(to, n->form->head, name)) return;
    if (strncmp(name, PREFIX, prefix)) {
        hd_text_put(to, name);
        return;
    }
    hd_text_print(to, "%s%s", n->bare ? "" : n->form->prefix, name + prefix);
    for (const hd_renamed *r = n->form->blocks; r && (*r)[0]; r++) replace(to, *r);
}

static void add_alias(hd_params *p, hd_param *of, const hd_text *name)
{
    if (name->missed)
        hd_err_nomem(&p->err, name->missed);
    else if (!hd_params_find(p, name->data))
        hd_param_alias(p, of, "%s", name->data);
}

static head head_here(const hd_passage *p)
{
    const hd_label_kind *kind = hd_labeler_kind(&p->m);
    if (kind) return kind->each ? TAGS : LABELS;
    return hd_model_folder_bert(&p->m)->opt.headless ? BARE : WORDS;
}

static bool has_labels(const hd_passage *p)
{
    return hd_labeler_kind(&p->m);
}

static const hd_bert_opt *options_of(const hd_passage *p)
{
    return has_labels(p) ? &hd_model_folder_classifier(&p->m)->opt.body.bert
                         : &hd_model_folder_bert(&p->m)->opt;
}

/* The family's names, which may have the prefix, and those that norms had in older files. */
static void name_tensors(hd_passage *p)
{
    static const hd_renamed old[] = {{".LayerNorm.weight", ".LayerNorm.gamma"},
                                     {".LayerNorm.bias", ".LayerNorm.beta"}};
    const naming n = {p->family->self, head_here(p) == LABELS, true};
    hd_params *all = p->m.model.params;
    all->prefix = n.form->prefix;
    for (size_t i = 0, count = all->count; i < count; i++) {
        hd_param *one = all->list[i], *of = one->alias ? one->alias : one;
        hd_text name = {0};
        if (!one->name) continue;
        put_name(&name, one->name, &n);
        add_alias(all, of, &name);
        for (int k = 0; k < 2; k++) replace(&name, old[k]);
        add_alias(all, of, &name);
        hd_text_release(&name);
    }
}

static hd_status rename_tensors(hd_passage *p, hd_err *err)
{
    const naming n = {p->family->self, head_here(p) == LABELS, head_here(p) == BARE};
    return hd_family_rename(p->m.model.params, put_name, &n, err);
}

/* -- and back -- */

static bool has(const hd_family *f, hd_model_config *c)
{
    const char *own = hd_model_config_has(c, HD_BERT_FAMILY)   ? hd_model_config_text(c, HD_BERT_FAMILY)
                      : hd_model_config_has(c, HD_BERT_OFFSET) ? "roberta"
                                                               : "bert";
    return (hd_family_says(c, "task", "mlm") || hd_family_labels_has(c, "bert")) && !strcmp(own, f->type);
}

static hd_status check(const hd_passage *p, hd_err *err)
{
    const hd_bert_form *form = p->family->self;
    const hd_classifier *m = head_here(p) == LABELS ? hd_model_folder_classifier(&p->m) : NULL;
    if (m && m->opt.pool != HD_POOL_first)
        return hd_err_set(err, HD_EARG, "%s: %s%s reads the first row; this model \"%s\"", p->from,
                          form->title, kinds[LABELS], hd_pool_names[m->opt.pool]);
    return hd_family_check_activation(options_of(p)->stack.act, p->from, err);
}

static hd_text_form reads(const hd_passage *p, const hd_tokenizer *t)
{
    const hd_bert_form *form = p->family->self;
    hd_special special = hd_tokenizer_special(t);
    return (hd_text_form){.native = (int)form->native,
                          .lead = special.start,
                          .trail = special.end,
                          .mask = HD_MASK_TEXT,
                          .types = !form->base.no_types,
                          .longest = has_labels(p) ? options_of(p)->positions : p->m.longest};
}

static void put(const hd_passage *p, json_t *config, json_t *own)
{
    const hd_bert_form *form = p->family->self;
    hd_bert_opt o = *options_of(p);
    head h = head_here(p);
    int32_t pad = o.offset ? (int32_t)o.offset - 1 : hd_tokenizer_special(p->m.tokenizer[0]).pad;
    if (!o.embedding) o.embedding = o.stack.width;
    hd_json_set(config, "architectures", json_pack("[s+]", form->title, kinds[h]));
    hd_keys_set(config, form->keys, &o);
    hd_json_set(config, POSITIONS, json_integer((json_int_t)(o.positions + o.offset)));
    if (pad >= 0) hd_json_set(config, "pad_token_id", json_integer(pad));
    hd_json_join(config,
                 json_pack("{s:s,s:b}", "position_embedding_type", "absolute", "tie_word_embeddings", 1));
    if (has_labels(p)) hd_family_labels_put(config, &p->m);
    hd_family_own_tokenizers(own, p->m.tokenizer);
    if (h == LABELS && !p->m.pairs) hd_json_set(own, PAIRS, json_false());
}

const hd_family_form hd_bert_family_form = {.sentences = true,
                                            .has = has,
                                            .read = read_folder,
                                            .name = name_tensors,
                                            .check = check,
                                            .reads = reads,
                                            .put = put,
                                            .rename = rename_tensors};

/* -- the family that has given its name -- */

/* Whether one sentence follows another, nothing here asks. */
static const char *const ignored[] = {HD_BERT_IGNORED,
                                      "bert.pooler.dense.weight",
                                      "bert.pooler.dense.bias",
                                      "cls.seq_relationship.weight",
                                      "cls.seq_relationship.bias",
                                      NULL};
static const hd_key keys[] = {HD_BERT_KEYS(12, 12, 768, 3072), HD_BERT_VOCAB(30522), HD_BERT_TYPES, {0}};
static const hd_bert_form bert = {.title = "Bert",
                                  .pretraining = HD_PRETRAINING_WORDS,
                                  .prefix = PREFIX,
                                  .keys = keys,
                                  .predicts = "cls.predictions.transform.dense.weight",
                                  .native = HD_TOKENIZER_wordpiece};
const hd_family hd_family_bert = {"bert", &hd_bert_family_form, ignored, &bert};
