/* Files of sentence-transformers. Easy to get wrong: versions differ in where they keep the same thing, and
   what is overlooked gives other vectors without a word. So all that is not known is refused. */
#include "hub/sentence.h"

#include <string.h>

static const char MODULES[] = "modules.json", LIMIT[] = "sentence_bert_config.json",
                  TOKENIZER[] = "tokenizer_config.json", WHOLE[] = "config_sentence_transformers.json",
                  LIMIT_KEY[] = "max_seq_length", TOKENIZER_KEY[] = "model_max_length",
                  VECTOR[] = "sentence_embedding", POOLING[] = "1_Pooling", NORMALIZE[] = "2_Normalize",
                  CONFIG[] = "config.json", INPUT[] = "module_input_name", OUTPUT[] = "module_output_name";

#define REMEDY "; without modules.json the folder is a plain encoder"

/* Its name there, and the key of versions before 6. */
static const struct {
    const char *name, *key;
    hd_pooling pool;
} modes[] = {
    {"cls", "pooling_mode_cls_token", HD_POOLING_CLS},
    {"max", "pooling_mode_max_tokens", HD_POOLING_MAX},
    {"mean", "pooling_mode_mean_tokens", HD_POOLING_MEAN},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", HD_POOLING_SQRT},
    {"weightedmean", "pooling_mode_weightedmean_tokens", HD_POOLING_AUTO}, /* none here */
    {"lasttoken", "pooling_mode_lasttoken", HD_POOLING_LAST},
};

enum { MODES = sizeof modes / sizeof *modes };

/* -- where a text is cut -- */

/* Any number from 3 on, also one far beyond what a model has; 0: the file does not say it. */
static double limit_in(hd_model_config *c, const char *key)
{
    const json_t *v = json_object_get(c->object, key);
    if (!v || json_is_null(v) || c->status) return 0;
    double most = json_number_value(v);
    if (!json_is_number(v) || most < 3)
        hd_model_config_refuse(c, "\"%s\" is not a whole number from 3 on", key);
    return most;
}

static bool folds(const hd_tokenizer *t, hd_status *s, hd_err *err)
{
    static const char text[2][52] = {"A B C D E F G H I J K L M N O P Q R S T U V W X Y Z",
                                     "a b c d e f g h i j k l m n o p q r s t u v w x y z"};
    hd_ids ids[2] = {{0}, {0}};
    for (int i = 0; !*s && i < 2; i++) *s = hd_tokenizer_encode_ids(t, text[i], 51, &ids[i], err);
    bool same = !*s && ids[0].count == ids[1].count &&
                !memcmp(ids[0].at, ids[1].at, ids[0].count * sizeof *ids[0].at);
    hd_ids_release(&ids[0]), hd_ids_release(&ids[1]);
    return same;
}

/* Refuses another text, but not that there is none. */
static void insist_text(hd_model_config *c, const json_t *in, const char *key, const char *text)
{
    const json_t *said = json_object_get(in, key);
    if (said && !json_is_null(said) && (!json_is_string(said) || strcmp(json_string_value(said), text)))
        hd_model_config_refuse(c, "\"%s\" is not \"%s\"" REMEDY, key, text);
}

/* What sentence_bert_config.json says comes before what the tokenizer says. */
static hd_status read_limit(hd_model_folder *m, size_t positions, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_read_file(&c, folder, LIMIT, err);
    double limit = limit_in(&c, LIMIT_KEY);
    if (hd_family_switch(&c, "do_lower_case", false) && !c.status && !folds(m->tokenizer[0], &c.status, err))
        hd_model_config_refuse(&c, "\"do_lower_case\" is true, but the tokenizer keeps upper case");
    insist_text(&c, c.object, "transformer_task", "feature-extraction");
    insist_text(&c, json_object_get(json_object_get(c.object, "modality_config"), "text"),
                "method_output_name", "last_hidden_state");
    hd_model_config_release(&c);
    if (!c.status && !(limit > 0)) {
        hd_model_config_read_file(&c, folder, TOKENIZER, err);
        limit = limit_in(&c, TOKENIZER_KEY);
        hd_model_config_release(&c);
    }
    if (!c.status && limit > 0 && limit < (double)positions) m->longest = (size_t)limit;
    return c.status;
}

/* -- how rows become a vector -- */

static void take_mode(hd_model_config *c, hd_model_folder *m, const char *name)
{
    int i = 0;
    while (i < MODES && (!name || strcmp(modes[i].name, name))) i++;
    if (i == MODES || modes[i].pool == HD_POOLING_AUTO)
        hd_model_config_refuse(c, "pooling \"%.40s\" is not supported" REMEDY, name ? name : "");
    else if (m->pool != HD_POOLING_AUTO)
        hd_model_config_refuse(c, "several poolings: heed supports one" REMEDY);
    else
        m->pool = modes[i].pool;
}

static void read_modes(hd_model_config *c, hd_model_folder *m)
{
    const json_t *mode = json_object_get(c->object, "pooling_mode");
    for (int i = 0; !mode && i < MODES; i++)
        if (hd_family_switch(c, modes[i].key, false)) take_mode(c, m, modes[i].name);
    for (size_t i = 0; i < json_array_size(mode); i++)
        take_mode(c, m, json_string_value(json_array_get(mode, i)));
    if (mode && !json_is_array(mode)) take_mode(c, m, json_string_value(mode));
    if (m->pool == HD_POOLING_AUTO) m->pool = HD_POOLING_MEAN;
}

static hd_status read_pooling(hd_model_folder *m, size_t width, const char *folder, hd_err *err)
{
    static const char *const dimension[] = {"embedding_dimension", "word_embedding_dimension"};
    hd_model_config c;
    hd_model_config_read(&c, folder, "sentence-transformers", err);
    for (int i = 0; i < 2; i++)
        if (hd_family_whole(&c, dimension[i], 0, INT32_MAX, (long long)width) != (long long)width)
            hd_model_config_refuse(&c, "\"%s\" is not %zu, as of the model", dimension[i], width);
    if (!c.status) read_modes(&c, m);
    hd_model_config_release(&c);
    return c.status;
}

static hd_status read_normalize(hd_model_folder *m, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_read_file(&c, folder, CONFIG, err);
    insist_text(&c, c.object, INPUT, VECTOR);
    insist_text(&c, c.object, OUTPUT, VECTOR);
    m->normalize = true;
    hd_model_config_release(&c);
    return c.status;
}

/* A text that is put before every line unless others are asked for. */
static hd_status check_prompt(const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_read_file(&c, folder, WHOLE, err);
    const char *name = json_string_value(json_object_get(c.object, "default_prompt_name"));
    const char *text =
        name ? json_string_value(json_object_get(json_object_get(c.object, "prompts"), name)) : NULL;
    if (text && *text)
        hd_model_config_refuse(&c,
                               "\"default_prompt_name\" is \"%.40s\": heed puts nothing before a line; set "
                               "it to null, and put \"%.60s\" there yourself",
                               name, text);
    hd_model_config_release(&c);
    return c.status;
}

/* The last word of its type: "sentence_transformers.models.Pooling". */
static const char *name_of(const json_t *module)
{
    const char *type = json_string_value(json_object_get(module, "type")),
               *dot = type ? strrchr(type, '.') : NULL;
    return dot ? dot + 1 : type ? type : "";
}

static hd_status folder_of(char to[HD_PATH], hd_model_config *c, const json_t *module, const char *folder)
{
    const char *path = json_string_value(json_object_get(module, "path"));
    if (!path || *path == '/' || strstr(path, ".."))
        hd_model_config_refuse(c, "\"path\" of a module is no folder beside it");
    if (!c->status) c->status = hd_path(to, folder, path, c->err);
    return c->status;
}

static void read_modules(hd_model_config *c, hd_model_folder *m, size_t width, const char *folder)
{
    static const char *const known[] = {"Transformer", "Pooling", "Normalize"};
    char path[HD_PATH];
    size_t count = json_array_size(c->object);
    for (size_t i = 0; !c->status && i < count; i++) {
        const json_t *module = json_array_get(c->object, i);
        const char *name = name_of(module);
        if (i > 2 || strcmp(name, known[i]))
            hd_model_config_refuse(
                c,
                "module %zu is \"%.60s\": heed knows Transformer, Pooling and Normalize in "
                "this order" REMEDY,
                i, name);
        else if (i && !folder_of(path, c, module, folder))
            c->status = i == 1 ? read_pooling(m, width, path, c->err) : read_normalize(m, path, c->err);
    }
    if (count < 2) hd_model_config_refuse(c, "there is no module \"Pooling\"" REMEDY);
}

hd_status hd_family_sentence_read(hd_model_folder *m, const hd_bert_opt *o, const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_status s = read_limit(m, o->positions, folder, err);
    if (s) return s;
    hd_model_config_read_file(&c, folder, MODULES, err);
    if (c.object) read_modules(&c, m, o->stack.width, folder);
    s = c.status;
    if (!s && c.object) s = check_prompt(folder, err);
    hd_model_config_release(&c);
    return s;
}

hd_status hd_family_sentence_refuse(const char *folder, hd_err *err)
{
    hd_model_config c;
    hd_model_config_read_file(&c, folder, MODULES, err);
    if (json_array_size(c.object) > 1)
        hd_model_config_refuse(&c,
                               "heed reads sentence models of encoders alone; without the file the model is "
                               "imported for all else");
    hd_model_config_release(&c);
    return c.status;
}

/* -- and back -- */

/* A file in a folder of the folder, "" for the folder itself. */
static hd_status save(json_t *root, const char *folder, const char *in, const char *name, hd_err *err)
{
    char path[HD_PATH];
    hd_status s = hd_path(path, folder, in, err);
    if (!s && *in) s = hd_folder_make(path, NULL, err);
    if (!s) return hd_json_save(root, JSON_INDENT(1), path, name, err);
    json_decref(root);
    return s;
}

/* As versions before 6 have it, which later ones read, too. */
static json_t *pooling_of(const hd_model_folder *m)
{
    json_int_t width = (json_int_t)hd_model_folder_bert(m)->opt.stack.width;
    json_t *root = json_pack("{s:I}", "word_embedding_dimension", width);
    for (int i = 0; i < MODES; i++)
        if (modes[i].pool != HD_POOLING_AUTO)
            hd_json_set(root, modes[i].key, json_boolean(modes[i].pool == m->pool));
    return root;
}

static json_t *modules_of(const hd_model_folder *m)
{
    static const char *const path[] = {"", POOLING, NORMALIZE}, *const names[] = {"Transformer", "Pooling",
                                                                                  "Normalize"};
    json_t *root = json_array();
    for (int i = 0; i < 2 + m->normalize; i++) {
        const char number[] = {(char)('0' + i), 0};
        hd_json_append(root, json_pack("{s:i,s:s,s:s,s:s+}", "idx", i, "name", number, "path", path[i],
                                       "type", "sentence_transformers.models.", names[i]));
    }
    return root;
}

hd_status hd_family_sentence_save(const hd_model_folder *m, const char *folder, hd_err *err)
{
    bool cut = m->longest < hd_model_folder_bert(m)->opt.positions, pools = m->pool != HD_POOLING_AUTO;
    hd_status s = HD_OK;
    hd_json_begin();
    if (cut || pools) {
        json_t *root = json_pack("{s:b}", "do_lower_case", 0);
        if (cut) hd_json_set(root, LIMIT_KEY, json_integer((json_int_t)m->longest));
        s = save(root, folder, "", LIMIT, err);
    }
    if (!s && pools) s = save(modules_of(m), folder, "", MODULES, err);
    if (!s && pools) s = save(pooling_of(m), folder, POOLING, CONFIG, err);
    if (s || !pools || !m->normalize) return s;
    return save(json_pack("{s:s,s:s}", INPUT, VECTOR, OUTPUT, VECTOR), folder, NORMALIZE, CONFIG, err);
}
