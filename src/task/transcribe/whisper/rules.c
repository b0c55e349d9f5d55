/* Reading generation_config.json. It is hostile: every id is checked before it is an index. */
#include "task/transcribe/whisper/rules.h"

#include <string.h>

#include "base/mem.h"
#include "model/config.h"
#include "text/language.h"

enum { ENGLISH_VOCAB = 51864, MOST_ALIGNED = 4096 }; /* as many tokens as published models of English have */

typedef struct reading {
    hd_whisper_rules *to;
    hd_model_config *file;
    const hd_tokenizer *tokenizer;
    const hd_whisper_sizes *sizes;
} reading;

static int32_t id_of(const reading *g, const json_t *value, const char *key)
{
    json_int_t id = json_integer_value(value);
    if (!json_is_integer(value) || id < 0 || (size_t)id >= g->to->vocab) {
        hd_model_config_refuse(g->file, "\"%s\" has no token of a vocabulary of %zu", key, g->to->vocab);
        return 0;
    }
    return (int32_t)id;
}

/* A token that a key says, or that is called so. */
static int32_t token(const reading *g, const char *key, const char *piece, const char *otherwise)
{
    if (key && hd_model_config_has(g->file, key)) return id_of(g, json_object_get(g->file->object, key), key);
    int32_t id = hd_tokenizer_id(g->tokenizer, piece);
    if (id < 0 && otherwise) id = hd_tokenizer_id(g->tokenizer, otherwise);
    return id >= 0 && (size_t)id < g->to->vocab ? id : -1;
}

static int32_t task_token(const reading *g, const char *name, const char *piece)
{
    const json_t *tasks = json_object_get(g->file->object, "task_to_id"), *id = json_object_get(tasks, name);
    return id ? id_of(g, id, "task_to_id") : token(g, NULL, piece, NULL);
}

static void read_list(const reading *g, const char *key, int32_t **list, size_t *count)
{
    const json_t *from = json_object_get(g->file->object, key);
    size_t n = json_array_size(from);
    if (!from || json_is_null(from)) return;
    if (!json_is_array(from)) {
        hd_model_config_refuse(g->file, "\"%s\" is not a list of tokens", key);
        return;
    }
    *list = hd_arena_array(&g->to->memory, n + 1, sizeof **list, g->file->err);
    if (!*list) g->file->status = HD_ENOMEM;
    for (size_t i = 0; !g->file->status && i < n; i++) (*list)[i] = id_of(g, json_array_get(from, i), key);
    if (!g->file->status) *count = n;
}

static void read_alignment(const reading *g)
{
    static const char KEY[] = "alignment_heads";
    const json_t *from = json_object_get(g->file->object, KEY);
    size_t n = json_array_size(from);
    if (g->file->status || !n) return;
    g->to->alignment = hd_arena_array(&g->to->memory, 2 * n, sizeof *g->to->alignment, g->file->err);
    if (!g->to->alignment) g->file->status = HD_ENOMEM;
    for (size_t i = 0; !g->file->status && i < n; i++) {
        const json_t *pair = json_array_get(from, i);
        json_int_t layer = json_integer_value(json_array_get(pair, 0)),
                   head = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || n > MOST_ALIGNED || layer < 0 || head < 0 ||
            layer >= g->sizes->layers || head >= g->sizes->heads)
            hd_model_config_refuse(g->file, "\"%s\" has no layer and head of %d layers with %d heads", KEY,
                                   g->sizes->layers, g->sizes->heads);
        g->to->alignment[2 * i] = (int32_t)layer, g->to->alignment[2 * i + 1] = (int32_t)head;
    }
    if (!g->file->status) g->to->aligned = n;
}

/* -- languages -- */

static void add_language(const reading *g, const char *code, size_t size, int32_t id)
{
    char *copy = hd_arena_copy(&g->to->memory, code, size, g->file->err);
    if (!copy)
        g->file->status = HD_ENOMEM;
    else
        g->to->language[g->to->languages++] = (hd_whisper_language){copy, id};
}

/* {"<|en|>": 50259, ...} */
static void list_languages(const reading *g, const json_t *from)
{
    const char *piece;
    json_t *id;
    json_object_foreach((json_t *)from, piece, id)
    {
        size_t size = strlen(piece);
        if (g->file->status) return;
        if (size < 5 || memcmp(piece, "<|", 2) || memcmp(piece + size - 2, "|>", 2))
            hd_model_config_refuse(g->file, "\"lang_to_id\" has \"%.40s\", which is no token of a language",
                                   piece);
        else
            add_language(g, piece + 2, size - 4, id_of(g, id, "lang_to_id"));
    }
}

static void find_languages(const reading *g)
{
    for (size_t i = 0; !g->file->status && hd_language_codes[i]; i++) {
        char piece[16];
        snprintf(piece, sizeof piece, "<|%s|>", hd_language_codes[i]);
        int32_t id = token(g, NULL, piece, NULL);
        if (id >= 0) add_language(g, hd_language_codes[i], strlen(hd_language_codes[i]), id);
    }
}

static void read_languages(const reading *g)
{
    const json_t *from = json_object_get(g->file->object, "lang_to_id");
    size_t n = json_object_size(from), most = n;
    if (g->file->status || !g->to->multilingual) return;
    for (size_t i = 0; !n && hd_language_codes[i]; i++) most = i + 1;
    g->to->language = hd_arena_array(&g->to->memory, most + 1, sizeof *g->to->language, g->file->err);
    if (!g->to->language)
        g->file->status = HD_ENOMEM;
    else if (n)
        list_languages(g, from);
    else
        find_languages(g);
    if (!g->file->status && (!g->to->languages || g->to->transcribe < 0))
        hd_model_config_refuse(g->file,
                               "the model is multilingual, but no tokens of languages and tasks are known");
}

/* -- all -- */

static bool is_multilingual(const reading *g)
{
    static const char KEY[] = "is_multilingual";
    return hd_model_config_has(g->file, KEY) ? hd_model_config_switch(g->file, KEY)
                                             : g->sizes->vocab > ENGLISH_VOCAB;
}

static void read_tokens(const reading *g)
{
    hd_whisper_rules *r = g->to;
    r->start = token(g, "decoder_start_token_id", "<|startoftranscript|>", NULL);
    r->end = token(g, "eos_token_id", "<|endoftext|>", NULL);
    r->no_timestamps = token(g, "no_timestamps_token_id", "<|notimestamps|>", NULL);
    r->previous = token(g, "prev_sot_token_id", "<|startofprev|>", NULL);
    r->no_speech = token(g, NULL, "<|nospeech|>", "<|nocaptions|>");
    if (r->no_speech < 0 && r->no_timestamps > 0) r->no_speech = r->no_timestamps - 1;
    r->transcribe = task_token(g, "transcribe", "<|transcribe|>");
    r->translate = task_token(g, "translate", "<|translate|>");
    r->timestamp = r->no_timestamps >= 0 ? r->no_timestamps + 1 : (int32_t)r->vocab;
    if (!g->file->status && (r->start < 0 || r->end < 0))
        hd_model_config_refuse(g->file,
                               "neither this file nor the tokenizer says where a transcript begins and ends");
}

static void read_all(const reading *g)
{
    hd_whisper_rules *r = g->to;
    hd_model_config *c = g->file;
    read_tokens(g);
    r->multilingual = is_multilingual(g);
    r->max_initial = hd_model_config_has(c, "max_initial_timestamp_index")
                         ? (int32_t)hd_model_config_whole(c, "max_initial_timestamp_index", 0, 1 << 20)
                         : -1;
    r->longest = hd_model_config_has(c, "max_length")
                     ? (size_t)hd_model_config_whole(c, "max_length", 1, 1 << 20)
                     : r->positions;
    if (r->longest > r->positions) r->longest = r->positions;
    if (!c->status) read_list(g, "suppress_tokens", &r->suppress, &r->suppressed);
    if (!c->status) read_list(g, "begin_suppress_tokens", &r->begin_suppress, &r->begin_suppressed);
    read_alignment(g);
    read_languages(g);
}

hd_status hd_whisper_rules_read(hd_whisper_rules *out, const char *folder, const hd_tokenizer *t,
                                const hd_whisper_sizes *sizes, hd_err *err)
{
    hd_model_config file;
    hd_whisper_rules r = {.vocab = sizes->vocab, .positions = sizes->positions};
    hd_arena_init(&r.memory, hd_allocator_host, 1 << 12);
    hd_model_config_read_file(&file, folder, HD_GENERATION, err);
    if (file.object && !json_is_object(file.object)) hd_model_config_refuse(&file, "holds no object of keys");
    if (!file.status) read_all(&(reading){&r, &file, t, sizes});
    hd_status s = file.status;
    hd_model_config_release(&file);
    if (s)
        hd_whisper_rules_release(&r);
    else
        *out = r;
    return s;
}

void hd_whisper_rules_release(hd_whisper_rules *r)
{
    if (r->memory.chunks) hd_arena_release(&r->memory);
    *r = (hd_whisper_rules){0};
}

int32_t hd_whisper_language_id(const hd_whisper_rules *r, const char *called, hd_err *err)
{
    const char *code = hd_language_code(called);
    hd_text known = {0};
    for (size_t i = 0; i < r->languages; i++)
        if (!strcmp(r->language[i].code, code ? code : called)) return r->language[i].id;
    for (size_t i = 0; i < r->languages; i++) hd_text_print(&known, i ? ", %s" : "%s", r->language[i].code);
    if (r->languages)
        hd_err_set(err, HD_EARG, "there is no language \"%.40s\" in the model, but %s", called,
                   known.data ? known.data : "others");
    else
        hd_err_set(err, HD_EARG, "the model knows one language and takes no --language");
    hd_text_release(&known);
    return -1;
}

const char *hd_whisper_language_code(const hd_whisper_rules *r, int32_t id)
{
    for (size_t i = 0; i < r->languages; i++)
        if (r->language[i].id == id) return r->language[i].code;
    return NULL;
}

hd_status hd_whisper_prompt(hd_ids *to, const hd_whisper_rules *r, int32_t language, bool translate,
                            bool timestamps, hd_err *err)
{
    hd_status s = hd_ids_add(to, r->start, err);
    if (!s && language >= 0) s = hd_ids_add(to, language, err);
    if (!s && language >= 0) s = hd_ids_add(to, translate ? r->translate : r->transcribe, err);
    if (!s && !timestamps && r->no_timestamps >= 0) s = hd_ids_add(to, r->no_timestamps, err);
    return s;
}
