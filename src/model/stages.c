/* Stages as text. */
#include "model/stages.h"

#include <stdio.h>
#include <string.h>

#include "model/encoder/encoder.h"

enum { MOST_LAYERS = 1000 };

static const char *const names[] = {
#define X(name, text) #name,
    HD_STAGE_LIST(X)
#undef X
};

/* A whole number from 1 to `most`; 0: it is none. */
static int number(const char *text, size_t size, int most)
{
    int n = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || n > most) return 0;
        n = 10 * n + (text[i] - '0');
    }
    return n <= most ? n : 0;
}

/* Whether `text` is the name of kind k, and its size behind it if it has one. */
static bool is_kind(int k, const char *text, size_t size, int *number_behind)
{
    size_t name = strlen(names[k]);
    *number_behind = 0;
    if (size < name || memcmp(names[k], text, name)) return false;
    if (size == name) return true;
    *number_behind = number(text + name, size - name, MOST_LAYERS);
    return hd_stage_types[k]->size && hd_stage_types[k]->size(*number_behind);
}

/* One of them, of `size` bytes. */
static bool read_stage(hd_stage *out, const char *text, size_t size)
{
    const char *colon = memchr(text, ':', size);
    size_t name = colon ? (size_t)(colon - text) : size;
    *out = (hd_stage){.kind = HD_STAGE_KINDS};
    if (name > 3 && !memcmp(text, "bi-", 3)) out->both_ways = true, text += 3, name -= 3, size -= 3;
    for (int k = 0; k < HD_STAGE_KINDS && out->kind == HD_STAGE_KINDS; k++)
        if (is_kind(k, text, name, &out->size)) out->kind = (hd_stage_kind)k;
    if (out->kind == HD_STAGE_KINDS || (out->both_ways && !hd_stage_recurs(out))) return false;
    if (colon) out->layers = number(colon + 1, size - name - 1, MOST_LAYERS);
    return !colon || (out->layers && out->kind != HD_STAGE_none);
}

#define X(name, text) #name ", "
hd_status hd_stages_read(hd_stages *out, const char *text, hd_err *err)
{
    *out = (hd_stages){0};
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, "+");
        if (out->count == HD_STAGES)
            return hd_err_set(err, HD_EARG, "%.60s: more than %d stages", text, HD_STAGES);
        if (!read_stage(&out->at[out->count], at, size))
            return hd_err_set(err, HD_EARG,
                              "\"%.*s\" is not a stage: " HD_STAGE_LIST(
                                  X) "joined by +; bi- before rnn, gru or lstm "
                                     "makes it bidirectional, :LAYERS after any but none sets their number",
                              (int)(size < 60 ? size : 60), at);
        out->count++;
        at += size;
        if (!*at) break;
    }
    if (out->count > 1 && hd_stages_have(out, HD_STAGE_none))
        return hd_err_set(err, HD_EARG, "%.60s: none stands alone", text);
    return HD_OK;
}
#undef X

const char *hd_stages_text(const hd_stages *s, char to[HD_STAGES_TEXT])
{
    size_t at = 0;
    to[0] = 0;
    for (int i = 0; i < s->count && at < HD_STAGES_TEXT; i++) {
        const hd_stage *x = &s->at[i];
        at += (size_t)snprintf(to + at, HD_STAGES_TEXT - at, "%s%s%s", i ? "+" : "",
                               x->both_ways ? "bi-" : "", names[x->kind]);
        if (x->size && at < HD_STAGES_TEXT)
            at += (size_t)snprintf(to + at, HD_STAGES_TEXT - at, "%d", x->size);
        if (x->layers && at < HD_STAGES_TEXT)
            at += (size_t)snprintf(to + at, HD_STAGES_TEXT - at, ":%d", x->layers);
    }
    return to;
}

hd_stages hd_stages_resolved(const hd_stages *s, int layers)
{
    hd_stages y = *s;
    if (!y.count) y.count = 1;
    for (int i = 0; i < y.count; i++)
        if (!y.at[i].layers && y.at[i].kind != HD_STAGE_none) y.at[i].layers = layers;
    return y;
}

bool hd_stages_have(const hd_stages *s, hd_stage_kind kind)
{
    for (int i = 0; i < s->count; i++)
        if (s->at[i].kind == kind) return true;
    return !s->count && kind == HD_STAGE_transformer;
}

hd_cell hd_stage_cell(const hd_stage *s)
{
    return s->kind == HD_STAGE_gru ? HD_GRU : s->kind == HD_STAGE_lstm ? HD_LSTM : HD_RNN;
}
