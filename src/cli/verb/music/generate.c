/* Music that a model writes, and what it begins with. */
#include <string.h>

#include "cli/verb/music/music.h"
#include "data/music/chorale.h"
#include "data/music/performance.h"

hd_status hd_music_allows(hd_command *c, hd_music kind, bool harmonise, const char *out, hd_err *err)
{
    if (kind || (!harmonise && !out)) return HD_OK;
    c->misused = true;
    if (harmonise) return hd_err_set(err, HD_EARG, "--harmonise needs a model of music");
    return hd_err_set(err, HD_EARG, "--out needs a model of music: texts go to standard output");
}

/* The melody is every fourth token. */
static hd_status force_melody(hd_ids *out, const hd_midi *m, const char *path, hd_err *err)
{
    hd_ids melody = {0};
    hd_status s = hd_chorale_melody(&melody, m, path, err);
    for (size_t i = 0; !s && i < HD_VOICES * melody.count; i++)
        s = hd_ids_add(out, i % HD_VOICES ? -1 : melody.at[i / HD_VOICES], err);
    hd_ids_release(&melody);
    return s;
}

static hd_status put_words(hd_text *to, const hd_model_folder *f, hd_music kind, const hd_midi *m,
                           const char *path, hd_err *err)
{
    hd_ids ids = {0};
    hd_status s = (kind == HD_MUSIC_CHORALE ? hd_chorale_tokens : hd_performance_tokens)(&ids, m, path, err);
    if (!s) s = hd_tokenizer_decode(f->tokenizer[0], ids.at, ids.count, to, err);
    hd_ids_release(&ids);
    return s ? s : hd_text_status(to, err);
}

hd_status hd_music_prompt_read(hd_music_prompt *out, const hd_model_folder *f, const char *path, bool melody,
                               hd_err *err)
{
    hd_music kind = hd_music_of(f->tokenizer[0]);
    hd_midi m = {0};
    if (melody && kind != HD_MUSIC_CHORALE)
        return hd_err_set(err, HD_EARG, "--harmonise needs a model of chorales: this one is of %ss",
                          hd_music_names[kind]);
    hd_status s = hd_midi_read(&m, path, err);
    if (!s)
        s = melody ? force_melody(&out->forced, &m, path, err)
                   : put_words(&out->text, f, kind, &m, path, err);
    hd_midi_release(&m);
    return s;
}

void hd_music_prompt_release(hd_music_prompt *p)
{
    hd_text_release(&p->text);
    hd_ids_release(&p->forced);
}

/* "piece.mid" as "piece-3.mid". */
static hd_status numbered(hd_text *to, const char *path, size_t number, bool several, hd_err *err)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && (!slash || dot > slash + 1) && dot > path ? (size_t)(dot - path) : strlen(path);
    hd_text_add(to, path, stem);
    if (several) hd_text_print(to, "-%zu", number + 1);
    hd_text_put(to, path + stem);
    return hd_text_status(to, err);
}

hd_status hd_music_write(const hd_command *c, hd_music kind, const hd_generated *g, const char *path,
                         size_t number, bool several, hd_err *err)
{
    hd_text name = {0};
    hd_status s = numbered(&name, path, number, several, err);
    if (!s) s = hd_music_save(kind, g->ids.at, g->ids.count, name.data, err);
    if (!s)
        hd_log_say(&c->log, HD_INFO, "%s: %zu tokens, %.4f nats each", name.data, g->tokens,
                   g->tokens ? -g->logp / (double)g->tokens : 0.0);
    hd_text_release(&name);
    return s;
}
