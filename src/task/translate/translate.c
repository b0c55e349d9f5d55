/* Translating lines. Easy to get wrong: parts are searched by length, and every result must find its way back
   to its line. */
#include "task/translate/translate.h"

#include <string.h>

#include "base/mem.h"
#include "task/translate/parts.h"

const char *const hd_sentences_names[HD_SENTENCES_MODES + 1] = {
#define X(NAME, name, text) #name,
    HD_SENTENCES_LIST(X)
#undef X
};

const char *const hd_long_names[HD_LONGS + 1] = {
#define X(NAME, name, text) #name,
    HD_LONG_LIST(X)
#undef X
};

struct hd_translating {
    const hd_model_folder *model;
    const hd_translate_opt *opt;
    hd_translations out;
    const hd_line *line;
    hd_parts parts;
    size_t *order; /* parts by length */
    hd_found *found;
    size_t *place;                                  /* [parts] where each one's guesses are */
    hd_found **each;                                /* [parts] or NULL: guesses that came part by part */
    int32_t *ids, *len, *key, *prefix, *prefix_len; /* in that order */
};

typedef hd_translating job;

static void *keep(job *j, size_t bytes, hd_status *s, hd_err *err)
{
    void *block = *s ? NULL : hd_arena_take(&j->out.memory, bytes);
    if (!block && !*s) *s = hd_err_nomem(err, bytes);
    return block;
}

/* Longest first: those that are searched side by side are of about the same length, and memory once taken
   serves the rest. Equal lengths stay in order. */
static hd_status sort_parts(job *j, hd_err *err)
{
    size_t longest = 0, *count;
    for (size_t i = 0; i < j->parts.count; i++)
        longest = j->parts.at[i].size > longest ? j->parts.at[i].size : longest;
    count = hd_mem_array(longest + 2, sizeof *count);
    if (!count) return hd_err_nomem(err, longest * sizeof *count);
    for (size_t i = 0; i < j->parts.count; i++) count[longest - j->parts.at[i].size + 1]++;
    for (size_t l = 0; l <= longest; l++) count[l + 1] += count[l];
    for (size_t i = 0; i < j->parts.count; i++) j->order[count[longest - j->parts.at[i].size]++] = i;
    hd_mem_free(count);
    return HD_OK;
}

static hd_status make_room(job *j, hd_err *err)
{
    size_t n = j->parts.count + 1;
    j->order = hd_mem_array(n, sizeof *j->order);
    j->place = hd_mem_array(n, sizeof *j->place);
    j->ids = hd_mem_array(j->parts.ids.count + 1, sizeof *j->ids);
    j->prefix = hd_mem_array(j->parts.forced.count + 1, sizeof *j->prefix);
    j->len = hd_mem_array(3 * n, sizeof *j->len);
    if (!j->order || !j->place || !j->ids || !j->prefix || !j->len)
        return hd_err_nomem(err, n * sizeof *j->order);
    j->key = j->len + n, j->prefix_len = j->key + n;
    return sort_parts(j, err);
}

void hd_translating_free(hd_translating *j)
{
    if (!j) return;
    for (size_t i = 0; j->each && i < j->parts.count; i++) hd_found_free(j->each[i]);
    hd_mem_free(j->each);
    hd_found_free(j->found);
    hd_parts_release(&j->parts);
    hd_mem_free(j->order);
    hd_mem_free(j->place);
    hd_mem_free(j->ids);
    hd_mem_free(j->prefix);
    hd_mem_free(j->len);
    hd_translations_release(&j->out);
    hd_mem_free(j);
}

/* -- search -- */

hd_search_opt hd_translate_search(const hd_model_folder *f, const hd_translate_opt *opt, int32_t banned[3])
{
    hd_search_opt o = opt->search;
    o.end = hd_tokenizer_special(f->tokenizer[1]).end;
    o.banned = banned, o.banned_count = hd_tokenizer_unwritten(f->tokenizer[1], banned);
    o.seats = opt->batch ? opt->batch : HD_TRANSLATE_BATCH;
    return o;
}

static hd_search_opt search_of(const job *j, int32_t banned[3])
{
    hd_search_opt o = hd_translate_search(j->model, j->opt, banned);
    if (j->parts.forced.count) o.prefix = j->prefix, o.prefix_len = j->prefix_len;
    o.key = j->key;
    o.tell = j->opt->tell, o.context = j->opt->context;
    if (j->opt->force) o.kind = HD_SEARCH_GREEDY, o.best = 1, o.max_length = 0, o.max_ratio = 0;
    return o;
}

static hd_status search_all(job *j, hd_run *r, hd_err *err)
{
    hd_special special = hd_tokenizer_special(j->model->tokenizer[1]);
    int32_t banned[3];
    size_t items = j->parts.count, rows = 0, forced = 0;
    hd_stepper stepper = {0};
    for (size_t i = 0; i < items; i++) {
        size_t which = j->order[i];
        const hd_part *p = &j->parts.at[which];
        memcpy(j->ids + rows, j->parts.ids.at + p->begin, p->size * sizeof *j->ids);
        if (p->prefixes)
            memcpy(j->prefix + forced, j->parts.forced.at + p->prefix, p->prefixes * sizeof *j->prefix);
        rows += p->size, forced += p->prefixes;
        j->len[i] = (int32_t)p->size, j->prefix_len[i] = (int32_t)p->prefixes;
        j->key[i] = (int32_t)((uint32_t)(j->opt->first + p->line) + 0x9E3779B1u * (uint32_t)p->index);
        j->place[which] = i;
    }
    hd_search_opt o = search_of(j, banned);
    hd_status s = hd_encdec_stepper(&stepper, hd_model_folder_encdec(j->model), j->ids, j->len, items,
                                    special.start, err);
    if (!s && j->opt->shortlist && !j->opt->force)
        s = hd_encdec_narrow(&stepper, j->opt->shortlist, o.prefix, o.prefix_len, err);
    if (!s) s = hd_search(&j->found, r, &stepper, &o, err);
    hd_stepper_release(&stepper);
    return s;
}

/* -- results -- */

static hd_choices choices_of(const job *j, size_t part)
{
    if (j->each) return (hd_choices){hd_found_at(j->each[part], 0), hd_found_count(j->each[part], 0)};
    return (hd_choices){hd_found_at(j->found, j->place[part]), hd_found_count(j->found, j->place[part])};
}

/* Whether a text ends in a mark of a script that writes no space behind it, as in 来了。 */
static bool ends_wide(const hd_text *text)
{
    static const char *const marks[] = {"。", "！", "？", "｡", "．", "」", "』", "）"};
    const size_t wide = 3;
    if (text->size <= wide || text->data[text->size - wide - 1] == ' ') return false;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!memcmp(text->data + text->size - wide, marks[i], wide)) return true;
    return false;
}

/* What stands between a part and the one before it. */
static void put_joint(const job *j, hd_text *text, size_t part)
{
    const hd_part *p = &j->parts.at[part];
    const char *line = j->line[p->line].text;
    size_t from = p[-1].bytes.end, to = p->bytes.begin, plain = from;
    if (!text->size || ends_wide(text)) return;
    while (plain < to && strchr(" \t\r\n", line[plain])) plain++;
    if (plain > from && plain == to)
        hd_text_add(text, line + from, to - from);
    else
        hd_text_put(text, " ");
}

/* Hypothesis of a line: guess pick[i] of each of its parts, one after the other. */
static hd_status assemble(job *j, hd_hypothesis *to, size_t first, size_t parts, const size_t *pick,
                          hd_err *err)
{
    hd_status s = HD_OK;
    size_t length = 0;
    hd_text text = {0};
    for (size_t i = 0; i < parts; i++) {
        hd_choices c = choices_of(j, first + i);
        length += c.count ? c.at[pick[i]].length : 0;
    }
    int32_t *ids = keep(j, (length + 1) * sizeof *ids, &s, err);
    hd_real *logp = keep(j, (length + 1) * sizeof *logp, &s, err);
    size_t *end = keep(j, parts * sizeof *end, &s, err);
    hd_span *span = keep(j, parts * sizeof *span, &s, err);
    double *scores = keep(j, parts * sizeof *scores, &s, err);
    *to = (hd_hypothesis){
        .ids = ids, .logp = logp, .end = end, .part = span, .scores = scores, .finished = true};
    for (size_t i = 0; !s && i < parts; i++) {
        hd_choices c = choices_of(j, first + i);
        const hd_guess none = {.finished = true}, *g = c.count ? &c.at[pick[i]] : &none;
        if (g->length) memcpy(ids + to->length, g->ids, g->length * sizeof *ids);
        if (g->length) memcpy(logp + to->length, g->logp, g->length * sizeof *logp);
        end[i] = to->length += g->length;
        to->sum += g->sum, to->score += scores[i] = g->score;
        to->finished = to->finished && g->finished;
        if (i) put_joint(j, &text, first + i);
        span[i].begin = text.size;
        s = hd_tokenizer_decode(j->model->tokenizer[1], g->ids, g->length, &text, err);
        span[i].end = text.size;
    }
    if (j->opt->search.length.kind != HD_LENGTH_NONE) to->score /= (double)parts;
    if (!s) s = hd_text_status(&text, err);
    char *copy = keep(j, text.size + 1, &s, err);
    if (copy && text.size) memcpy(copy, text.data, text.size);
    if (copy) copy[text.size] = 0, to->text = copy;
    hd_text_release(&text);
    return s;
}

/* Samples go together as they were drawn; of other searches the best combinations are taken. */
static hd_status combine(job *j, size_t *pick, size_t *count, const hd_choices *part, size_t parts,
                         size_t most, hd_err *err)
{
    const hd_search_opt *o = &j->opt->search;
    bool finished_first = o->kind != HD_SEARCH_BEAM || o->stop != HD_STOP_BEST;
    if (o->kind != HD_SEARCH_SAMPLE) return hd_combine(pick, count, part, parts, most, finished_first, err);
    for (size_t n = 0; n < most; n++)
        for (size_t i = 0; i < parts; i++)
            pick[n * parts + i] = n < part[i].count ? n : part[i].count - (part[i].count > 0);
    *count = most;
    return HD_OK;
}

static hd_status gather_hypotheses(job *j, hd_translation *to, size_t first, size_t parts, hd_err *err)
{
    hd_status s = HD_OK;
    size_t cells = 0, count = 0, most = 0;
    hd_choices *part = hd_mem_array(parts, sizeof *part);
    for (size_t i = 0; part && i < parts; i++) {
        part[i] = choices_of(j, first + i);
        most = part[i].count > most ? part[i].count : most;
    }
    if (parts > 1 && j->opt->search.best > most) most = j->opt->search.best;
    size_t *pick = part && hd_size_mul(parts, most + 1, &cells) ? hd_mem_array(cells, sizeof *pick) : NULL;
    if (!pick) s = hd_err_nomem(err, parts * sizeof *part);
    if (!s && most) s = combine(j, pick, &count, part, parts, most, err);
    to->hypothesis = keep(j, (count + 1) * sizeof *to->hypothesis, &s, err);
    for (size_t n = 0; !s && n < count; n++) {
        s = assemble(j, &to->hypothesis[n], first, parts, pick + n * parts, err);
        to->count += !s;
    }
    hd_mem_free(pick);
    hd_mem_free(part);
    return s;
}

static hd_status gather(job *j, size_t first, size_t parts, hd_err *err)
{
    hd_status s = HD_OK;
    const hd_part *at = &j->parts.at[first];
    hd_translation *to = &j->out.of[at->line];
    size_t ids = 0;
    for (size_t i = 0; i < parts; i++) ids += at[i].size;
    int32_t *source = keep(j, ids * sizeof *source, &s, err);
    hd_piece *piece = keep(j, ids * sizeof *piece, &s, err);
    size_t *end = keep(j, parts * sizeof *end, &s, err);
    hd_span *span = keep(j, parts * sizeof *span, &s, err);
    if (s) return s;
    memcpy(source, j->parts.ids.at + at->begin, ids * sizeof *source);
    memcpy(piece, j->parts.pieces.at + at->begin, ids * sizeof *piece);
    for (size_t i = 0; i < parts; i++) {
        end[i] = (i ? end[i - 1] : 0) + at[i].size;
        span[i] = at[i].bytes;
    }
    to->source = source, to->source_end = end, to->part = span, to->piece = piece;
    return gather_hypotheses(j, to, first, parts, err);
}

static hd_status gather_all(job *j, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t first = 0, parts; !s && first < j->parts.count; first += parts) {
        for (parts = 1;
             first + parts < j->parts.count && j->parts.at[first + parts].line == j->parts.at[first].line;)
            parts++;
        s = gather(j, first, parts, err);
    }
    return s;
}

hd_status hd_translating_new(hd_translating **out, const hd_model_folder *f, const hd_line *line,
                             const hd_line *prefix, size_t count, const hd_translate_opt *opt, hd_err *err)
{
    job *j = hd_mem_zero(sizeof *j);
    hd_status s = HD_OK;
    if (!j) return hd_err_nomem(err, sizeof *j);
    *j = (job){.model = f, .opt = opt, .line = line, .out.count = count};
    hd_arena_init(&j->out.memory, hd_allocator_host, 1 << 16);
    hd_translation *of = j->out.of = keep(j, (count + 1) * sizeof *of, &s, err);
    if (of) memset(of, 0, (count + 1) * sizeof *of);
    for (size_t i = 0; !s && i < count; i++)
        s = hd_parts_add(&j->parts, f, i, line[i], prefix ? &prefix[i] : NULL, opt, &of[i], err);
    if (s)
        hd_translating_free(j);
    else
        *out = j;
    return s;
}

size_t hd_translating_parts(const hd_translating *j)
{
    return j->parts.count;
}

const int32_t *hd_translating_source(const hd_translating *j, size_t part, size_t *size)
{
    *size = j->parts.at[part].size;
    return j->parts.ids.at + j->parts.at[part].begin;
}

const hd_piece *hd_translating_pieces(const hd_translating *j, size_t part)
{
    return j->parts.pieces.at + j->parts.at[part].begin;
}

hd_span hd_translating_span(const hd_translating *j, size_t part)
{
    return j->parts.at[part].bytes;
}

hd_status hd_translating_take(hd_translating *j, size_t part, const hd_found *found, hd_err *err)
{
    if (!j->each) j->each = hd_mem_array(j->parts.count, sizeof *j->each);
    return j->each ? hd_found_copy(&j->each[part], found, err) : hd_err_nomem(err, sizeof *j->each);
}

hd_status hd_translating_end(hd_translations *out, hd_translating *j, hd_err *err)
{
    hd_status s = gather_all(j, err);
    if (s) return s;
    *out = j->out;
    j->out = (hd_translations){0};
    return HD_OK;
}

hd_status hd_translate(hd_translations *out, hd_run *r, const hd_model_folder *f, const hd_line *line,
                       const hd_line *prefix, size_t count, const hd_translate_opt *opt, hd_err *err)
{
    job *j = NULL;
    *out = (hd_translations){0};
    hd_status s = hd_translating_new(&j, f, line, prefix, count, opt, err);
    if (!s) s = make_room(j, err);
    if (!s && j->parts.count) s = search_all(j, r, err);
    if (!s) s = hd_translating_end(out, j, err);
    hd_translating_free(j);
    return s;
}

void hd_translations_release(hd_translations *t)
{
    if (t->memory.chunks) hd_arena_release(&t->memory);
    *t = (hd_translations){0};
}
