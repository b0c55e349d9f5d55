/* Reading generation_config.json. It is hostile: every number is checked before it is used. */
#include "task/language/chat/generation.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/json.h"

enum { FILE_MOST = 16 << 20 };

typedef struct reader {
    const json_t *root;
    const char *path;
    size_t vocab;
    hd_arena *arena;
    hd_err *err;
} reader;

/* A number of the file between two bounds; false: it is not there, or null. */
static bool number(const reader *r, const char *name, double low, double high, double *out)
{
    const json_t *j = json_object_get(r->root, name);
    if (!j || json_is_null(j)) return false;
    double x = json_number_value(j);
    if (!json_is_number(j) || !(x >= low && x <= high)) {
        hd_err_set(r->err, HD_EFORMAT, "%s: \"%s\" must be a number from %g to %g", r->path, name, low, high);
        return false;
    }
    *out = x;
    return true;
}

static float real(const reader *r, const char *name, double low, double high, float otherwise)
{
    double x;
    return number(r, name, low, high, &x) ? (float)x : otherwise;
}

static size_t count(const reader *r, const char *name, size_t otherwise)
{
    double x;
    return number(r, name, 0, 1e9, &x) ? (size_t)x : otherwise;
}

void hd_generation_end(hd_generation *g, int32_t token)
{
    for (size_t i = 0; i < g->endings; i++)
        if (g->ending[i] == token) return;
    if (g->endings < HD_ENDINGS && token >= 0) g->ending[g->endings++] = token;
}

static void refuse(const reader *r, const char *name, const char *what)
{
    hd_err_set(r->err, HD_EFORMAT, "%s: \"%s\" must be %s below %zu", r->path, name, what, r->vocab);
}

/* A token, or a list of them. */
static hd_token_set tokens(const reader *r, const char *name, const json_t *j)
{
    size_t n = json_is_array(j) ? json_array_size(j) : j && !json_is_null(j);
    int32_t *at = n ? hd_arena_array(r->arena, n, sizeof *at, r->err) : NULL;
    for (size_t i = 0; at && i < n; i++) {
        const json_t *one = json_is_array(j) ? json_array_get(j, i) : j;
        json_int_t id = json_integer_value(one);
        if (!json_is_integer(one) || id < 0 || (uint64_t)id >= r->vocab)
            return refuse(r, name, "tokens"), (hd_token_set){0};
        at[i] = (int32_t)id;
    }
    return (hd_token_set){at, at ? n : 0};
}

static hd_token_set member_tokens(const reader *r, const char *name)
{
    return tokens(r, name, json_object_get(r->root, name));
}

static void read_endings(const reader *r, hd_generation *g)
{
    hd_token_set ends = member_tokens(r, "eos_token_id");
    if (ends.count > HD_ENDINGS) refuse(r, "eos_token_id", "up to 64 tokens");
    for (size_t i = 0; i < ends.count; i++) hd_generation_end(g, ends.at[i]);
}

static void read_runs(const reader *r, hd_rules *rules)
{
    static const char name[] = "bad_words_ids";
    const json_t *j = json_object_get(r->root, name);
    size_t n = json_array_size(j);
    if (j && !json_is_null(j) && !json_is_array(j)) refuse(r, name, "lists of tokens");
    hd_token_set *runs = n ? hd_arena_array(r->arena, n, sizeof *runs, r->err) : NULL;
    for (size_t i = 0; runs && i < n; i++) {
        const json_t *one = json_array_get(j, i);
        if (!json_array_size(one)) refuse(r, name, "lists of tokens");
        runs[i] = tokens(r, name, one);
    }
    rules->runs = runs, rules->run_count = runs ? n : 0;
}

static void read_rules(const reader *r, hd_generation *g)
{
    g->rules = (hd_rules){.never = member_tokens(r, "suppress_tokens"),
                          .never_first = member_tokens(r, "begin_suppress_tokens"),
                          .min_length = count(r, "min_length", 0),
                          .min_drawn = count(r, "min_new_tokens", 0),
                          .max_length = count(r, "max_length", 0),
                          .first = member_tokens(r, "forced_bos_token_id"),
                          .last = member_tokens(r, "forced_eos_token_id")};
    read_runs(r, &g->rules);
}

/* A text, or a list of them. */
static void read_stops(const reader *r, hd_generation *g)
{
    const json_t *j = json_object_get(r->root, "stop_strings");
    size_t n = json_is_array(j) ? json_array_size(j) : j && !json_is_null(j);
    const char **stop = n ? hd_arena_array(r->arena, n, sizeof *stop, r->err) : NULL;
    for (size_t i = 0; stop && i < n; i++) {
        stop[i] = json_string_value(json_is_array(j) ? json_array_get(j, i) : j);
        if (!stop[i] || !*stop[i]) {
            hd_err_set(r->err, HD_EFORMAT, "%s: \"stop_strings\" must be texts", r->path);
            return;
        }
    }
    g->stop = stop, g->stops = stop ? n : 0;
}

/* Keys that change what transformers writes and are not obeyed here, with the number that changes nothing. */
static void read_ignored(const reader *r, hd_generation *g)
{
    static const struct {
        const char *name;
        double nothing;
    } known[] = {{"num_beams", 1},         {"num_beam_groups", 1},
                 {"diversity_penalty", 0}, {"penalty_alpha", 0},
                 {"typical_p", 1},         {"epsilon_cutoff", 0},
                 {"eta_cutoff", 0},        {"top_h", 1},
                 {"guidance_scale", 1},    {"exponential_decay_length_penalty", 0},
                 {"sequence_bias", 0},     {"force_words_ids", 0},
                 {"constraints", 0},       {"dola_layers", 0},
                 {"token_healing", 0},     {"watermarking_config", 0},
                 {"max_time", 0},          {"num_return_sequences", 1}};
    size_t size = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const json_t *j = json_object_get(r->root, known[i].name);
        double x = json_number_value(j), off = known[i].nothing;
        if (!j || json_is_null(j) || json_is_false(j) || (json_is_number(j) && !(x < off || x > off)))
            continue;
        if (size < sizeof g->ignored)
            size += (size_t)snprintf(g->ignored + size, sizeof g->ignored - size, "%s%s", size ? ", " : "",
                                     known[i].name);
    }
}

static void read_draws(const reader *r, hd_generation *g)
{
    static const char *const drawing[] = {"do_sample", "temperature", "top_k", "top_p", "min_p"};
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++) {
        const json_t *j = json_object_get(r->root, drawing[i]);
        g->draws = g->draws || (j && !json_is_null(j));
    }
    g->sample = json_is_true(json_object_get(r->root, "do_sample"));
    g->temperature = real(r, "temperature", 0, 100, 1);
    g->top_k = count(r, "top_k", 50);
    g->top_p = real(r, "top_p", 0, 1, 1);
    g->min_p = real(r, "min_p", 0, 1, 0);
    g->repetition = real(r, "repetition_penalty", 0.01, 100, 1);
    g->no_repeat = count(r, "no_repeat_ngram_size", 0);
    g->tokens = count(r, "max_new_tokens", 0);
}

hd_status hd_generation_read(hd_generation *out, const char *folder, size_t vocab, hd_err *err)
{
    char path[HD_PATH];
    json_t *root = NULL;
    hd_err own = {0};
    *out = (hd_generation){0};
    hd_status s = hd_path(path, folder, "generation_config.json", err);
    if (s || access(path, F_OK)) return s;
    hd_arena_init(&out->arena, hd_allocator_host, 0);
    s = hd_json_read(&root, &out->arena, path, FILE_MOST, err);
    if (!s && !json_is_object(root)) s = hd_err_set(err, HD_EFORMAT, "%s: an object is expected", path);
    reader r = {root, path, vocab, &out->arena, &own};
    if (!s && !json_is_true(json_object_get(root, "_from_model_config"))) {
        read_draws(&r, out);
        read_endings(&r, out);
        read_rules(&r, out);
        read_stops(&r, out);
        read_ignored(&r, out);
        if (own.status) s = hd_err_set(err, own.status, "%s", own.text);
    }
    if (s) hd_generation_release(out);
    return s;
}

void hd_generation_release(hd_generation *g)
{
    hd_arena_release(&g->arena);
    *g = (hd_generation){0};
}

void hd_generation_apply(hd_generation *g, const hd_generation_said *said, hd_generate_opt *o)
{
    bool sample = g->sample || said->temperature;
    if (g->draws && sample) {
        if (!said->temperature) o->temperature = g->temperature;
        if (!said->top_k) o->top_k = g->top_k;
        if (!said->top_p) o->top_p = g->top_p;
        if (!said->min_p) o->min_p = g->min_p;
    } else if (g->draws && !said->top_k && !said->top_p && !said->min_p)
        o->temperature = 0;
    if (!said->repetition && g->repetition > 0) o->repetition = g->repetition;
    if (!said->no_repeat) o->no_repeat = g->no_repeat;
    if (said->tokens || g->tokens) g->rules.max_length = 0; /* it counts where nothing else limits texts */
    if (!said->tokens && (g->tokens || g->rules.max_length))
        o->tokens = g->tokens ? g->tokens : g->rules.max_length;
    if (!said->stop && g->stops) o->stop = g->stop, o->stops = g->stops;
    o->endings = g->ending, o->ending_count = g->endings;
    g->rules.ends = (hd_token_set){g->ending, g->endings};
    o->rules = &g->rules;
}
