/* The texts of a run as tokens. A text that is larger than memory is read line by line: once to count its
   characters where a part is held back, once for its vocabulary, once to be encoded. */
#include <string.h>

#include "base/mem.h"
#include "data/ids_encoder.h"
#include "run/data.h"
#include "task/language/chat/dialogues.h"
#include "task/language/documents.h"
#include "task/language/training.h"

/* Bytes of text in memory at once; of a part that is encoded on its own; of one that cannot be cut well. */
enum { PIECE = 1 << 22, PART = 1 << 15, PART_MOST = 1 << 24 };

/* -- lines of files -- */

typedef struct text_lines {
    const hd_files *files;
    size_t next; /* file to open */
    hd_lines *lines;
    hd_line rest; /* of the line that was cut: it is held back */
    size_t left;  /* characters until what is held back */
    bool held;    /* the line given last is */
    bool open;    /* it goes on in what is held back */
} text_lines;

static void rewind_to(text_lines *t, size_t kept)
{
    hd_lines_close(t->lines);
    *t = (text_lines){.files = t->files, .left = kept};
}

static hd_status next_of_files(text_lines *t, hd_line *line, hd_err *err)
{
    *line = (hd_line){0};
    for (hd_status s = HD_OK;;) {
        if (!t->lines && t->next == t->files->count) return HD_OK;
        if (!t->lines)
            s = hd_lines_open(&t->lines, t->files->at[t->next++], &(hd_lines_opt){.utf8 = true}, err);
        if (!s) s = hd_lines_next(t->lines, line, err);
        if (s || line->text) return s;
        hd_lines_close(t->lines);
        t->lines = NULL;
    }
}

/* The next line, or a part of the one where the text is cut in two; text NULL: there is none. */
static hd_status next_line(text_lines *t, hd_line *line, hd_err *err)
{
    t->open = false;
    if (t->rest.text) {
        *line = t->rest, t->rest = (hd_line){0};
        return HD_OK;
    }
    hd_status s = next_of_files(t, line, err);
    if (s || !line->text || t->held || t->left == SIZE_MAX) return s;
    size_t n = hd_line_characters(*line);
    if (n <= t->left) {
        t->left -= n;
        return HD_OK;
    }
    t->held = true;
    if (!t->left) return HD_OK;
    size_t cut = hd_line_bytes(*line, t->left);
    t->rest = (hd_line){line->text + cut, line->size - cut};
    line->size = cut;
    t->open = true;
    return HD_OK;
}

/* -- a vocabulary -- */

typedef struct text_walk {
    text_lines lines;
    double share;
    uint64_t line, taken;
    hd_err err;
} text_walk;

static bool next_to_learn(void *context, hd_line *line)
{
    text_walk *w = context;
    do {
        if (next_line(&w->lines, line, &w->err) || !line->text) return false;
        if (w->lines.held && !w->lines.open) return false;
    } while (!hd_data_sample(w->share, w->line++));
    w->taken++;
    return true;
}

/* -- shards -- */

typedef struct writer {
    hd_session *session;
    text_lines lines;
    size_t kept; /* characters; SIZE_MAX: all */
    const hd_tokenizer *tokenizer;
    hd_team *team;
    hd_ids_encoder encoder;
    hd_sentences piece;
    hd_text part; /* of a text whose ends of lines are text */
    hd_shards_writer *to;
    uint64_t hash, count, line_count, characters;
} writer;

static hd_status put(writer *w, const int32_t *ids, size_t count, hd_err *err)
{
    for (size_t i = 0; i < count; i++) {
        w->hash = (w->hash ^ (uint32_t)ids[i]) * 0x100000001b3u;
        w->hash ^= w->hash >> 29;
    }
    w->count += count;
    return hd_shards_put_stream(w->to, ids, count, err);
}

/* Encodes the piece. Behind every line stands an end, but behind the last where that is cut. */
static hd_status flush(writer *w, bool cut, hd_err *err)
{
    int32_t end = hd_tokenizer_special(w->tokenizer).end;
    bool ends = !hd_tokenizer_keeps_lines(w->tokenizer);
    hd_status s = HD_OK;
    for (size_t at = 0; !s && at < w->piece.count; at += HD_IDS_ENCODER_BLOCK) {
        size_t left = w->piece.count - at, n = left < HD_IDS_ENCODER_BLOCK ? left : HD_IDS_ENCODER_BLOCK;
        s = hd_ids_encoder_run(&w->encoder, &w->piece, at, n, err);
        for (size_t i = 0, len; !s && i < n; i++) {
            const int32_t *ids = hd_ids_encoder_at(&w->encoder, i, 0, &len);
            s = put(w, ids, len, err);
            if (!s && ends && !(cut && at + i + 1 == w->piece.count)) s = put(w, &end, 1, err);
        }
    }
    hd_sentences_clear(&w->piece);
    return s;
}

static hd_status add(writer *w, hd_line text, bool cut, hd_err *err)
{
    w->piece.sides = 1;
    hd_status s = hd_sentences_add(&w->piece, (const hd_line[2]){text}, 0, err);
    bool full = w->piece.side[0].used >= PIECE || w->piece.count == HD_IDS_ENCODER_BLOCK;
    return !s && (full || cut) ? flush(w, cut, err) : s;
}

static bool is_space(char c)
{
    return memchr(" \t\n\r\v\f", c, 6);
}

/* Where ends of lines are text, it is cut behind one between two letters: there no tokenizer looks across. */
static hd_status add_to_part(writer *w, hd_line line, bool cut, hd_err *err)
{
    hd_text *p = &w->part;
    bool apart = p->size > 1 && !is_space(p->data[p->size - 2]) && line.size && !is_space(line.text[0]);
    hd_status s = HD_OK;
    if ((p->size >= PART && apart) || p->size >= PART_MOST) {
        s = add(w, (hd_line){p->data, p->size}, false, err);
        p->size = 0;
    }
    hd_text_add(p, line.text, line.size);
    if (!cut) hd_text_put(p, "\n");
    return s ? s : hd_text_status(p, err);
}

static hd_status take(writer *w, hd_line line, hd_err *err)
{
    bool cut = w->lines.open;
    w->line_count++, w->characters += hd_line_characters(line) - cut;
    return hd_tokenizer_keeps_lines(w->tokenizer) ? add_to_part(w, line, cut, err) : add(w, line, cut, err);
}

static hd_status write_text(void *context, hd_shards_writer *to, hd_err *err)
{
    writer *w = context;
    const hd_tokenizer *const tokenizer[2] = {w->tokenizer, w->tokenizer};
    hd_line line;
    w->to = to;
    rewind_to(&w->lines, w->kept);
    hd_status s = hd_team_new(&w->team, w->session->hooks->threads, err);
    if (!s) s = hd_ids_encoder_init(&w->encoder, tokenizer, w->team, err);
    while (!s && !(s = next_line(&w->lines, &line, err)) && line.text)
        s = w->lines.held && !w->lines.open ? hd_shards_hold(to, (const hd_line[2]){line}, err)
                                            : take(w, line, err);
    if (!s && w->part.size) s = add(w, (hd_line){w->part.data, w->part.size}, false, err);
    if (!s) s = flush(w, false, err);
    if (!s && !w->count)
        s = hd_err_set(err, HD_EFORMAT, "%s: there is no token to learn from", w->lines.files->at[0]);
    hd_shards_describe(to, w->hash ^ w->count, w->line_count, w->characters);
    hd_lines_close(w->lines.lines);
    hd_ids_encoder_release(&w->encoder);
    hd_team_free(w->team);
    hd_sentences_release(&w->piece);
    hd_text_release(&w->part);
    return s;
}

/* -- both ways -- */

static hd_status count_characters(size_t *out, const hd_files *files, hd_err *err)
{
    text_lines t = {.files = files, .left = SIZE_MAX};
    hd_line line;
    hd_status s = HD_OK;
    *out = 0;
    while (!s && !(s = next_line(&t, &line, err)) && line.text) *out += hd_line_characters(line);
    hd_lines_close(t.lines);
    return s;
}

static hd_status learn(hd_tokenizer **out, const hd_session *s, const hd_files *files, size_t kept,
                       hd_err *err)
{
    text_walk w = {.lines = {.files = files, .left = kept}};
    w.share = hd_data_sampled(hd_train_unit(s->options->unit), hd_files_bytes(files));
    hd_status st = hd_session_tokenizer(s, out, (hd_feed){next_to_learn, &w}, err);
    hd_lines_close(w.lines.lines);
    if (w.err.status) st = hd_err_set(err, w.err.status, "%s", w.err.text);
    if (!st && w.share < 1 && w.taken)
        hd_log_say(&s->hooks->log, HD_INFO,
                   "the vocabulary is learned from %llu lines, drawn with a fixed seed",
                   (unsigned long long)w.taken);
    return st;
}

static hd_status read_shards(hd_stream_text *train, hd_plain_text *held, hd_tokenizer **tokenizer,
                             hd_session *s, const hd_files *files, const char *folder, hd_err *err)
{
    const hd_train_options *o = s->options;
    double fraction = o->valid.count ? 0 : o->valid_fraction;
    hd_shards_opt opt;
    writer w = {.session = s, .lines.files = files, .kept = SIZE_MAX, .hash = 0xcbf29ce484222325u};
    bool needed = !hd_shards_there(folder) || !*tokenizer;
    hd_status st = HD_OK;
    if (fraction > 0 && needed && !s->backend->rank) {
        st = count_characters(&w.kept, files, err);
        if (!st) st = hd_characters_kept(&w.kept, w.kept, fraction, err);
    }
    if (!st && !*tokenizer) st = learn(tokenizer, s, files, w.kept, err);
    w.tokenizer = *tokenizer;
    const hd_tokenizer *const both[2] = {*tokenizer, *tokenizer};
    if (!st) st = hd_data_identity(&opt, 1, files, (uint64_t)(fraction * 0x1p40), both, err);
    if (!st) st = hd_data_shards(&train->shards, s, folder, &opt, write_text, &w, err);
    if (st) return st;
    const hd_shards_head *head = &train->shards->head;
    train->count = (size_t)train->shards->tokens[0], train->lines = (size_t)head->lines;
    train->characters = (size_t)head->characters, train->hash = head->hash ^ HD_SHARDS_ORDER;
    char path[HD_PATH];
    if (!head->held) return HD_OK;
    st = hd_path(path, folder, hd_shards_held(0), err);
    return st ? st : hd_plain_text_read(held, path, err);
}

static hd_status read_memory(hd_stream_text *train, hd_plain_text *held, hd_tokenizer **tokenizer,
                             const hd_session *s, const hd_files *files, hd_err *err)
{
    const hd_train_options *o = s->options;
    hd_plain_text text = {0};
    hd_plain_walk walk = {&text, 0};
    hd_status st = hd_plain_text_read_all(&text, files, err);
    if (!st && !o->valid.count && o->valid_fraction > 0)
        st = hd_plain_text_split(&text, o->valid_fraction, held, err);
    if (!st && !*tokenizer) st = hd_session_tokenizer(s, tokenizer, hd_plain_feed(&walk), err);
    if (!st) st = hd_stream_text_of(train, &text, *tokenizer, err);
    hd_plain_text_release(&text);
    return st;
}

static hd_status read_texts(hd_stream_text *train, hd_stream_text *valid, hd_tokenizer **tokenizer,
                            hd_session *s, bool whole, hd_err *err)
{
    const hd_train_options *o = s->options;
    hd_plain_text held = {0};
    hd_files files = {0}, valid_files = {0};
    char folder[HD_PATH] = "";
    hd_status st = hd_data_files(&files, &o->train, err);
    if (!st) st = hd_data_files(&valid_files, &o->valid, err);
    if (!st && valid_files.count) st = hd_plain_text_read_all(&held, &valid_files, err);
    if (!st && !whole) st = hd_data_place(folder, s, &files, err);
    if (!st)
        st = folder[0] ? read_shards(train, &held, tokenizer, s, &files, folder, err)
                       : read_memory(train, &held, tokenizer, s, &files, err);
    if (!st && held.lines) st = hd_stream_text_of(valid, &held, *tokenizer, err);
    s->train = train->hash, s->valid = valid->hash, s->validates = valid->count > 0;
    hd_plain_text_release(&held);
    hd_files_release(&files);
    hd_files_release(&valid_files);
    return st;
}

/* -- the run -- */

hd_status hd_stream_run_open(hd_stream_run *r, hd_session *s, bool whole, hd_err *err)
{
    const char *folder = hd_session_folder(s);
    hd_status st = HD_OK;
    r->seed = (uint64_t)s->options->seed, r->batch = (size_t)s->options->batch_size;
    if (folder) st = hd_model_folder_describe(&r->begun, folder, hd_train_tasks[s->options->task], err);
    hd_tokenizer **t = r->folder.tokenizer;
    t[0] = r->begun.tokenizer[0], r->begun.tokenizer[0] = r->begun.tokenizer[1] = NULL;
    if (!st && s->options->model == HD_TRAIN_MODEL_MUSIC)
        return hd_music_read(&r->train, &r->valid, t, s, err);
    if (!st && s->options->train.count && hd_is_dialogues(s->options->train.text[0]))
        return hd_dialogues_read(&r->train, &r->valid, t, s, err);
    if (!st && s->options->documents) return hd_documents_read(&r->train, &r->valid, t, s, err);
    return st ? st : read_texts(&r->train, &r->valid, t, s, whole, err);
}

void hd_stream_run_release(hd_stream_run *r)
{
    hd_model_folder_release(&r->folder);
    hd_model_folder_release(&r->begun);
    hd_stream_text_release(&r->train);
    hd_stream_text_release(&r->valid);
}

void hd_stream_run_plan(const hd_stream_run *r, hd_plan *p, size_t vocab)
{
    char a[32];
    hd_plan_add(p, "vocabulary", "%s", hd_grouped(vocab, a));
    hd_plan_add_data(p, "tokens", r->train.count, r->valid.count);
    hd_plan_add(p,
                r->train.documents ? "documents"
                : r->train.learned ? "dialogues"
                : r->train.pieces  ? "pieces"
                                   : "lines",
                "%s", hd_grouped(r->train.lines, a));
}
