/* How well a model predicts music, and what the music is like. */
#include <string.h>

#include "cli/verb/music/music.h"
#include "data/music/figures.h"
#include "task/language/training.h"

static const char *const parts[] = {"train", "valid", "test"};
static const char *const voice_names[HD_VOICES] = {"soprano", "alto", "tenor", "bass"};

hd_status hd_music_measures(bool *out, const hd_model_folder *f, const char *path, hd_err *err)
{
    hd_music kind = hd_music_of(f->tokenizer[0]);
    hd_err why = {0};
    *out = false;
    if (!kind || !strcmp(path, "-")) return HD_OK;
    hd_status s = hd_music_file_kind(&kind, path, &why);
    if (s == HD_EFORMAT) return HD_OK; /* words that stand for notes */
    *out = !s;
    return s ? hd_err_set(err, s, "%s", why.text) : HD_OK;
}

typedef struct measured {
    const char *path, *part; /* part NULL: there are none */
    size_t pieces;
    hd_fluency fluency;
    hd_music_figures figures;
    hd_music kind;
} measured;

static double share(const measured *m)
{
    return m->figures.pairs ? (double)m->figures.repeated / (double)m->figures.pairs : 0;
}

static int voices_of(const measured *m)
{
    return m->kind == HD_MUSIC_CHORALE ? HD_VOICES : 1;
}

static void put_line(hd_text *to, const measured *m)
{
    char tokens[32], pieces[32];
    const hd_music_ranges *f = &m->figures.ranges;
    hd_text_print(to, "%s%s%s: %s tokens of %s piece%s, %.4f nats a token; %.2f %% of notes repeated;",
                  m->path, m->part ? " " : "", m->part ? m->part : "", hd_grouped(m->fluency.tokens, tokens),
                  hd_grouped(m->pieces, pieces), m->pieces == 1 ? "" : "s",
                  m->fluency.nats / (double)m->fluency.tokens, 100 * share(m));
    for (int v = 0; v < voices_of(m); v++)
        if (f->low[v] <= f->high[v])
            hd_text_print(to, "%s %s %d-%d", v ? "," : "", voices_of(m) > 1 ? voice_names[v] : "pitches",
                          f->low[v], f->high[v]);
    hd_text_put(to, "\n");
}

static void put_object(hd_text *to, const measured *m)
{
    const hd_music_ranges *f = &m->figures.ranges;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "file", m->path);
    if (m->part) hd_member_text(to, "part", m->part);
    hd_member_count(to, "pieces", m->pieces);
    hd_member_count(to, "token_count", m->fluency.tokens);
    hd_member_number(to, "nats_per_token", m->fluency.nats / (double)m->fluency.tokens, 9);
    hd_member_number(to, "logprob", -m->fluency.nats, 12);
    hd_member_count(to, "notes", m->figures.notes);
    hd_member_number(to, "repeated_notes", share(m), 9);
    hd_member_begin(to, "ranges", '[');
    for (int v = 0; v < voices_of(m); v++) {
        hd_member_begin(to, NULL, '[');
        if (f->low[v] <= f->high[v]) {
            hd_member_number(to, NULL, f->low[v], 9);
            hd_member_number(to, NULL, f->high[v], 9);
        }
        hd_member_end(to, ']');
    }
    hd_member_end(to, ']');
    hd_member_number(to, "seconds", m->fluency.seconds, 6);
    hd_text_put(to, "}\n");
}

static hd_status measure(hd_text *to, hd_command *c, const char *path, const char *part, size_t skip,
                         hd_err *err)
{
    measured m = {.path = path, .part = part, .kind = hd_music_of(c->model.tokenizer[0])};
    hd_music_set set = {.kind = m.kind};
    hd_stream_text text = {0};
    hd_status s = hd_music_set_add(&set, path, part, err);
    hd_music_figures_init(&m.figures);
    m.pieces = set.pieces;
    for (size_t i = 0, count; !s && i < set.pieces; i++) {
        const int32_t *ids = hd_music_set_piece(&set, i, &count);
        hd_music_figures_add(&m.figures, m.kind, ids, count);
    }
    if (!s) s = hd_stream_text_of_music(&text, &set, err);
    text.skip = skip;
    if (!s) s = hd_language_judge(&m.fluency, &c->machine.run, &c->model, &text, err);
    if (!s && !m.fluency.tokens)
        s = hd_err_set(err, HD_EARG, "--skip %zu: no piece of %s is longer", skip, path);
    if (!s) (c->usual->json ? put_object : put_line)(to, &m);
    hd_stream_text_release(&text);
    hd_music_set_release(&set);
    return s;
}

hd_status hd_music_measure(hd_text *to, hd_command *c, const char *path, const hd_music_part *which,
                           hd_err *err)
{
    bool any = false;
    hd_music kind;
    hd_status s = hd_music_file_kind(&kind, path, err);
    if (s || which->part || kind != HD_MUSIC_CHORALE)
        return s ? s : measure(to, c, path, which->part, which->skip, err);
    for (size_t i = 0; !s && i < sizeof parts / sizeof *parts; i++) {
        bool there = false;
        s = hd_music_has_part(&there, path, parts[i], err);
        if (!s && there) s = measure(to, c, path, parts[i], which->skip, err);
        any |= there;
    }
    return s || any ? s : measure(to, c, path, NULL, which->skip, err);
}
