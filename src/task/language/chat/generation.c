/* Reading generation_config.json. It is hostile: every number is checked before it is used. */
#include "task/language/chat/generation.h"

#include <math.h>
#include <unistd.h>

#include "base/json.h"

enum { FILE_MOST = 16 << 20 };

typedef struct reader {
    const json_t *root;
    const char *path;
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

static void read_endings(const reader *r, hd_generation *g, size_t vocab)
{
    const json_t *j = json_object_get(r->root, "eos_token_id");
    size_t n = json_is_array(j) ? json_array_size(j) : j && !json_is_null(j);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(j) ? json_array_get(j, i) : j;
        json_int_t id = json_integer_value(one);
        if (!json_is_integer(one) || id < 0 || (uint64_t)id >= vocab || n > HD_ENDINGS) {
            hd_err_set(r->err, HD_EFORMAT, "%s: \"eos_token_id\" must be up to %d tokens below %zu", r->path,
                       HD_ENDINGS, vocab);
            return;
        }
        hd_generation_end(g, (int32_t)id);
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
    hd_arena arena;
    hd_err own = {0};
    *out = (hd_generation){0};
    hd_status s = hd_path(path, folder, "generation_config.json", err);
    if (s || access(path, F_OK)) return s;
    hd_arena_init(&arena, hd_allocator_host, 0);
    s = hd_json_read(&root, &arena, path, FILE_MOST, err);
    if (!s && !json_is_object(root)) s = hd_err_set(err, HD_EFORMAT, "%s: an object is expected", path);
    reader r = {root, path, &own};
    if (!s && !json_is_true(json_object_get(root, "_from_model_config"))) {
        read_draws(&r, out);
        read_endings(&r, out, vocab);
        if (own.status) s = hd_err_set(err, own.status, "%s", own.text);
    }
    hd_arena_release(&arena);
    return s;
}

void hd_generation_apply(const hd_generation *g, const hd_generation_said *said, hd_generate_opt *o)
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
    if (!said->tokens && g->tokens) o->tokens = g->tokens;
    o->endings = g->ending, o->ending_count = g->endings;
}
