/* Reading added_tokens.json. Vocabularies move when they grow: they are joined before anything points into
   them. */
#include "text/published/added.h"

#include <string.h>

#include "base/mem.h"

hd_status hd_added_file_read(hd_added_file *a, hd_file_set *files, const char *vocab, hd_arena *arena,
                             hd_err *err)
{
    hd_line text;
    a->root = NULL;
    hd_status s = hd_beside(a->path, vocab, HD_ADDED_FILE, err);
    if (!s) s = hd_file_set_read_beside(files, vocab, HD_ADDED_FILE, &text, err);
    if (!s && text.text) s = hd_file_json(&a->root, arena, text, a->path, err);
    if (!s && a->root && !json_is_object(a->root))
        s = hd_err_set(err, HD_EFORMAT, "%s: not an object of tokens and ids", a->path);
    return s;
}

/* Places a token among the new ones, of which there are at most `most`; one that is known must have its id.
 */
static hd_status place(const hd_added_file *a, const hd_vocab *v, const char *token, const json_t *id,
                       const char **fresh, size_t most, hd_err *err)
{
    int32_t known = hd_vocab_find(v, token, strlen(token));
    json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1, first = (json_int_t)v->count;
    if (known >= 0 && n == known) return HD_OK;
    if (known >= 0 || !*token || n < first || n - first >= (json_int_t)most || fresh[n - first])
        return hd_err_set(err, HD_EFORMAT,
                          "%s: the id of '%.60s' is not one of its own behind those of the vocabulary",
                          a->path, token);
    fresh[n - first] = token;
    return HD_OK;
}

hd_status hd_added_file_join(const hd_added_file *a, hd_vocab *v, hd_err *err)
{
    size_t most = json_object_size(a->root);
    if (!most) return HD_OK;
    const char **fresh = hd_mem_zero(most * sizeof *fresh), *token;
    if (!fresh) return hd_err_nomem(err, most * sizeof *fresh);
    hd_status s = HD_OK;
    json_t *id;
    json_object_foreach(a->root, token, id)
    {
        if (!s) s = place(a, v, token, id, fresh, most, err);
    }
    while (most && !fresh[most - 1]) most--;
    for (size_t i = 0; !s && i < most; i++) {
        s = fresh[i] ? hd_vocab_add(v, fresh[i], strlen(fresh[i]), err)
                     : hd_err_set(err, HD_EFORMAT, "%s: no token has the id %zu", a->path, v->count);
        if (!s) v->seen[v->count - 1] = 0;
    }
    hd_mem_free(fresh);
    return s;
}

static bool is_among(const hd_added *a, size_t count, int32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (a->at[i].id == id) return true;
    return false;
}

hd_status hd_added_file_put(const hd_added_file *a, const hd_vocab *v, hd_added *out, hd_err *err)
{
    hd_status s = HD_OK;
    size_t before = out->count;
    const char *token;
    json_t *id;
    json_object_foreach(a->root, token, id)
    {
        int32_t n = hd_vocab_find(v, token, strlen(token));
        if (s || is_among(out, before, n)) continue;
        s = hd_added_put(
            out,
            (hd_added_token){.text = hd_vocab_piece(v, n), .size = strlen(token), .id = n, .normal = true},
            err);
    }
    hd_added_sort(out);
    return s;
}
