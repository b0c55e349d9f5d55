/* Music as what a language model learns from: pieces as tokens, and windows of them that are varied anew in
   every epoch. Easy to get wrong: a window begins where a bar does, or positions would not tell the voice. */
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "data/music/set.h"
#include "run/data.h"
#include "task/language/training.h"

enum { BAR = 16 * HD_VOICES }; /* tokens of a chorale */

size_t hd_music_align(hd_music kind)
{
    return kind == HD_MUSIC_CHORALE ? BAR : 1;
}

/* -- pieces -- */

hd_status hd_stream_text_of_music(hd_stream_text *out, hd_music_set *set, hd_err *err)
{
    if (!set->pieces) return hd_err_set(err, HD_EFORMAT, "there is no piece of music");
    *out = (hd_stream_text){.ids = set->ids.at,
                            .count = set->ids.count,
                            .lines = set->pieces,
                            .begin = set->begin,
                            .pieces = set->pieces,
                            .hash = hd_ids_hash(set->ids.at, set->ids.count)};
    *set = (hd_music_set){0};
    return HD_OK;
}

/* The kind of the model that the run goes on with; else that of the files. */
static hd_status choose_kind(hd_music *kind, hd_tokenizer **tokenizer, const hd_session *s,
                             const hd_files *files, hd_err *err)
{
    if (*tokenizer) {
        *kind = hd_music_of(*tokenizer);
        return *kind ? HD_OK
                     : hd_err_set(err, HD_EARG, "%s is a model of texts, not of music", hd_session_folder(s));
    }
    hd_status st = hd_music_file_kind(kind, files->at[0], err);
    return st ? st : hd_music_tokenizer(tokenizer, *kind, err);
}

/* Those of --valid; else a share of the pieces; else the part `valid` of files that have one. */
static hd_status read_valid(hd_music_set *valid, hd_music_set *train, const hd_train_options *o,
                            const hd_files *files, hd_err *err)
{
    hd_files given = {0};
    hd_status s = hd_data_files(&given, &o->valid, err);
    if (!s && given.count) s = hd_music_set_add_files(valid, &given, "valid", err);
    hd_files_release(&given);
    if (s || o->valid.count) return s;
    if (o->valid_fraction > 0) return hd_music_set_split(train, o->valid_fraction, valid, err);
    for (size_t i = 0; !s && i < files->count; i++) {
        hd_music kind;
        bool there = false;
        s = hd_music_file_kind(&kind, files->at[i], err);
        if (!s && kind == HD_MUSIC_CHORALE) s = hd_music_has_part(&there, files->at[i], "valid", err);
        if (!s && there) s = hd_music_set_add(valid, files->at[i], "valid", err);
    }
    return s;
}

hd_status hd_music_read(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer, hd_session *s,
                        hd_err *err)
{
    const hd_train_options *o = s->options;
    hd_music_set set = {0}, held = {0};
    hd_files files = {0};
    hd_status st = hd_data_files(&files, &o->train, err);
    if (!st) st = choose_kind(&set.kind, tokenizer, s, &files, err);
    held.kind = set.kind;
    if (!st) st = hd_music_set_add_files(&set, &files, "train", err);
    if (!st) st = read_valid(&held, &set, o, &files, err);
    if (!st && !held.pieces && o->patience)
        st = hd_err_set(err, HD_EARG,
                        "--patience needs music to validate with: give --valid or --valid-fraction");
    if (!st) st = hd_stream_text_of_music(train, &set, err);
    if (!st && held.pieces) st = hd_stream_text_of_music(valid, &held, err);
    s->train = train->hash, s->valid = valid->hash, s->validates = valid->count > 0;
    hd_music_set_release(&set);
    hd_music_set_release(&held);
    hd_files_release(&files);
    return st;
}

/* -- windows -- */

static size_t piece_tokens(const hd_stream_text *t, size_t i)
{
    return (i + 1 < t->pieces ? t->begin[i + 1] : t->count) - t->begin[i];
}

hd_status hd_music_windows_init(hd_music_windows *m, const hd_stream_text *train, hd_music kind,
                                size_t length, hd_err *err)
{
    size_t n = 0;
    *m = (hd_music_windows){.kind = kind, .train = train, .length = length};
    for (size_t i = 0; i < train->pieces; i++) m->items += (piece_tokens(train, i) + length - 1) / length;
    m->piece = hd_mem_array(m->items, sizeof *m->piece);
    m->order = hd_mem_array(m->items, sizeof *m->order);
    m->range = hd_mem_array(train->pieces, sizeof *m->range);
    m->all = hd_music_no_ranges();
    if (!m->piece || !m->order || !m->range) return hd_err_nomem(err, m->items * sizeof *m->piece);
    for (size_t i = 0; i < train->pieces; i++) {
        m->range[i] = hd_music_no_ranges();
        hd_music_widen(&m->range[i], kind, train->ids + train->begin[i], piece_tokens(train, i));
        hd_music_widen(&m->all, kind, train->ids + train->begin[i], piece_tokens(train, i));
    }
    for (size_t i = 0; i < train->pieces; i++)
        for (size_t k = 0; k < piece_tokens(train, i); k += length) m->piece[n++] = i;
    return HD_OK;
}

void hd_music_windows_release(hd_music_windows *m)
{
    hd_mem_free(m->piece);
    hd_mem_free(m->order);
    hd_mem_free(m->range);
    hd_ids_release(&m->ids);
    *m = (hd_music_windows){0};
}

static void shuffle(hd_music_windows *m, uint64_t seed, uint64_t epoch)
{
    hd_rng rng = hd_rng_make(seed, 0x6d750000u + epoch);
    if (m->shuffled == epoch + 1) return;
    memcpy(m->order, m->piece, m->items * sizeof *m->order);
    for (size_t i = m->items; i > 1; i--) {
        size_t k = hd_rng_below(&rng, (uint32_t)i), other = m->order[k];
        m->order[k] = m->order[i - 1], m->order[i - 1] = other;
    }
    m->shuffled = epoch + 1;
}

/* Where a window of a piece begins: a place that is drawn among the bars from which it reaches the end or is
   full. */
static size_t draw_place(const hd_music_windows *m, size_t tokens, uint64_t seed, uint64_t epoch,
                         uint64_t number)
{
    size_t align = hd_music_align(m->kind);
    hd_rng rng = hd_rng_make(seed ^ 0x77696eu, epoch << 32 ^ number);
    if (tokens <= m->length) return 0;
    return align * hd_rng_below(&rng, (uint32_t)((tokens - m->length + align - 1) / align + 1));
}

/* One window: the token before it, then its own. More tokens are varied than fit, since time may shrink. */
static hd_status draw_window(hd_music_windows *m, hd_window *out, const hd_train_options *o, uint64_t epoch,
                             size_t number, hd_err *err)
{
    size_t which = m->order[number % m->items], tokens = piece_tokens(m->train, which), before = m->ids.count;
    const int32_t *piece = m->train->ids + m->train->begin[which];
    uint64_t seed = (uint64_t)o->seed;
    size_t from = draw_place(m, tokens, seed, epoch, number), left = tokens - from,
           most = m->length + m->length / 4 + 1;
    hd_variation v =
        hd_music_draw(m->kind, &m->range[which], &m->all, o->transpose, o->stretch, seed, epoch, number);
    hd_status s = hd_music_vary(&m->ids, m->kind, piece + from - 1, 1 + (left < most ? left : most), v, err);
    if (s) return s;
    if (m->ids.count > before + 1 + m->length) m->ids.count = before + 1 + m->length;
    *out = (hd_window){before + 1, m->ids.count - before - 1, 0};
    return HD_OK;
}

hd_status hd_music_windows_draw(hd_music_windows *m, hd_window *out, size_t batch, uint64_t at,
                                size_t batches, const hd_train_options *o, hd_err *err)
{
    uint64_t epoch = at / batches;
    hd_status s = HD_OK;
    shuffle(m, (uint64_t)o->seed, epoch);
    m->ids.count = 0;
    for (size_t i = 0; !s && i < batch; i++)
        s = draw_window(m, &out[i], o, epoch, (size_t)(at % batches) * batch + i, err);
    m->text = (hd_stream_text){.ids = m->ids.at, .count = m->ids.count};
    return s;
}
