/* Cosines of a sum of words with every row of a table, on the host. */
#include "show/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "task/masked/masked.h"

static const char blanks[] = " \t\r\n";

hd_status hd_terms_read(hd_terms *out, const char *text, hd_err *err)
{
    bool minus = false, word_next = true;
    *out = (hd_terms){0};
    for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
        size_t size = strcspn(at, blanks);
        bool sign = size == 1 && (*at == '+' || *at == '-');
        if (sign == word_next)
            return hd_err_set(err, HD_EARG, "'%.*s' is where a %s should be: write 'king - man + woman'",
                              (int)(size < 64 ? size : 64), at, word_next ? "word" : "+ or -");
        if (!sign && out->count == HD_TERMS_MOST)
            return hd_err_set(err, HD_EARG, "more than %d words", HD_TERMS_MOST);
        if (sign)
            minus = *at == '-';
        else
            out->at[out->count++] = (hd_term){{at, size}, minus};
        word_next = sign;
        at += size;
    }
    if (word_next)
        return hd_err_set(err, HD_EARG,
                          out->count ? "there is no word after the last sign" : "there is no word");
    return HD_OK;
}

/* -- words as vectors -- */

typedef struct search {
    const hd_model_folder *by;
    hd_real *table; /* [rows, width] */
    size_t rows, width;
    double *sum; /* [width] */
    hd_ids used; /* pieces of the words */
} search;

/* The pieces of a word inside a text: with a space before it if the tokenizer keeps it; a tagger reads
   single words. */
static hd_status add_pieces(search *s, hd_line word, hd_err *err)
{
    hd_text inside = {0};
    if (hd_tokenizer_kind_of(s->by->tokenizer[0]) == HD_TOKENIZER_bpe && s->by->task->line != HD_LINE_words)
        hd_text_put(&inside, " ");
    hd_text_add(&inside, word.text, word.size);
    hd_status st = hd_text_status(&inside, err);
    if (!st) st = hd_tokenizer_encode_ids(s->by->tokenizer[0], inside.data, inside.size, &s->used, err);
    hd_text_release(&inside);
    return st;
}

static hd_status add_word(search *s, hd_term term, hd_err *err)
{
    int shown = (int)(term.word.size < 64 ? term.word.size : 64);
    size_t from = s->used.count;
    if (hd_utf8_good(term.word.text, term.word.size) < term.word.size)
        return hd_err_set(err, HD_EARG, "a word is not UTF-8");
    hd_status st = add_pieces(s, term.word, err);
    if (st) return st;
    size_t pieces = s->used.count - from;
    if (!pieces) return hd_err_set(err, HD_EARG, "'%.*s' has no pieces", shown, term.word.text);
    for (size_t i = from; i < s->used.count; i++) {
        int32_t id = s->used.at[i];
        if (id == hd_tokenizer_special(s->by->tokenizer[0]).unk || id < 0 || (size_t)id >= s->rows)
            return hd_err_set(err, HD_EARG, "the vocabulary has no pieces for '%.*s'", shown, term.word.text);
        const hd_real *v = s->table + (size_t)id * s->width;
        double by = (term.minus ? -1 : 1) / (double)pieces;
        for (size_t c = 0; c < s->width; c++) s->sum[c] += by * (double)v[c];
    }
    return HD_OK;
}

/* -- neighbors -- */

static int by_cosine(const void *a, const void *b)
{
    const hd_neighbor *x = a, *y = b;
    if (x->cosine != y->cosine) return x->cosine > y->cosine ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool answers(const search *s, int32_t id)
{
    if (!hd_tokenizer_piece(s->by->tokenizer[0], id) || hd_masked_is_special(s->by->tokenizer[0], id))
        return false;
    for (size_t i = 0; i < s->used.count; i++)
        if (s->used.at[i] == id) return false;
    return true;
}

static hd_status rank(hd_neighbors *out, const search *s, size_t top, hd_err *err)
{
    double length = 0;
    for (size_t c = 0; c < s->width; c++) length += s->sum[c] * s->sum[c];
    if (!(length > 0) || !isfinite(length)) return hd_err_set(err, HD_EARG, "the sum points nowhere");
    out->at = hd_mem_array(s->rows, sizeof *out->at);
    if (!out->at) return hd_err_nomem(err, s->rows * sizeof *out->at);
    for (size_t i = 0; i < s->rows; i++) {
        const hd_real *v = s->table + i * s->width;
        double along = 0, own = 0;
        if (!answers(s, (int32_t)i)) continue;
        for (size_t c = 0; c < s->width; c++)
            along += s->sum[c] * (double)v[c], own += (double)v[c] * (double)v[c];
        out->at[out->count++] = (hd_neighbor){(int32_t)i, own > 0 ? along / sqrt(length * own) : 0};
    }
    qsort(out->at, out->count, sizeof *out->at, by_cosine);
    if (out->count > top) out->count = top;
    return HD_OK;
}

hd_status hd_neighbors_find(hd_neighbors *out, const hd_model_folder *m, const hd_terms *of, size_t top,
                            hd_err *err)
{
    search s = {.by = m};
    const hd_model body = hd_model_body(&m->model);
    *out = (hd_neighbors){0};
    hd_status st = hd_embed_check(m, &(hd_embed_opt){.table = true}, err);
    if (st) return st;
    const hd_param *table = body.type->table(body.self);
    s.rows = hd_rows_of(&table->t), s.width = hd_cols_of(&table->t);
    s.table = hd_mem_array(s.rows * s.width, sizeof *s.table);
    s.sum = hd_mem_array(s.width, sizeof *s.sum);
    if (!s.table || !s.sum) st = hd_err_nomem(err, s.rows * s.width * sizeof *s.table);
    if (!st && (st = hd_params_get(body.params, table, &table->t, s.table)))
        hd_err_set(err, st, "the embedding table cannot be read: %s", hd_status_text(st));
    for (size_t i = 0; !st && i < of->count; i++) st = add_word(&s, of->at[i], err);
    if (!st) st = rank(out, &s, top, err);
    hd_mem_free(s.table);
    hd_mem_free(s.sum);
    hd_ids_release(&s.used);
    if (st) hd_neighbors_release(out);
    return st;
}

void hd_neighbors_release(hd_neighbors *n)
{
    hd_mem_free(n->at);
    *n = (hd_neighbors){0};
}
