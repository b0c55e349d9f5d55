/* The text of tokens as they come. Easy to get wrong: a token's text depends on the one before it (the blank
   between words), and a character may be spread over several. */
#include "task/language/draft.h"

#include <string.h>

/* Ends in U+FFFD, which half a character reads as. */
static bool broken(const hd_text *t, size_t from)
{
    return t->size >= from + 3 && !memcmp(t->data + t->size - 3, "\xEF\xBF\xBD", 3);
}

/* Writes down the text of the ids that have none yet; of half a character only where `all` is wanted. */
static hd_status write_down(hd_draft *s, const hd_draft_use *u, bool all, hd_err *err)
{
    const hd_tokenizer *t = u->tokenizer;
    const int32_t *ids = s->ids.at + s->before;
    hd_text *text = u->scratch;
    text->size = 0;
    hd_status st = hd_tokenizer_decode(t, ids, s->known - s->before, text, err);
    size_t old = text->size;
    if (!st) st = hd_tokenizer_decode(t, ids, s->ids.count - s->before, text, err);
    if (!st) st = hd_text_status(text, err);
    size_t from = 2 * old; /* the second text begins as the first one does */
    if (st || text->size <= from || (!all && broken(text, from))) return st;
    if (s->blank && text->data[from] == ' ') from++;
    s->blank = false;
    hd_text_add(&s->out->text, text->data + from, text->size - from);
    s->before = s->known, s->known = s->ids.count;
    return hd_text_status(&s->out->text, err);
}

bool hd_draft_ends(const hd_generate_opt *o, int32_t token)
{
    for (size_t i = 0; i < o->ending_count; i++)
        if (o->endings[i] == token) return true;
    return false;
}

static hd_status write_token(hd_draft *s, const hd_draft_use *u, int32_t token, int32_t end, hd_err *err)
{
    bool ending = hd_draft_ends(u->opt, token);
    hd_status st = (ending || token == end) && s->known < s->ids.count ? write_down(s, u, true, err) : HD_OK;
    if (!st) st = hd_ids_add(&s->ids, token, err);
    if (st) return st;
    if (ending) {
        s->out->stopped = true;
        return HD_OK;
    }
    if (token != end) return write_down(s, u, false, err);
    s->before = s->known = s->ids.count;
    s->blank = false;
    hd_text_put(&s->out->text, "\n");
    return hd_text_status(&s->out->text, err);
}

/* Cuts the text where the first stop stands in what was written from byte `from` on. */
static void look_for_stops(const hd_generate_opt *o, hd_generated *g, size_t from)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < o->stops && g->text.size; i++) {
        size_t size = strlen(o->stop[i]), begin = from < size ? 0 : from - size + 1;
        const char *at = memmem(g->text.data + begin, g->text.size - begin, o->stop[i], size);
        if (at && (size_t)(at - g->text.data) < first) first = (size_t)(at - g->text.data);
    }
    if (first == SIZE_MAX) return;
    g->stopped = true;
    g->text.size = first;
    g->text.data[first] = 0;
}

/* Bytes at the end of a text that a stop could begin with. */
static size_t held(const hd_generate_opt *o, const hd_text *t)
{
    size_t most = 0;
    for (size_t i = 0; i < o->stops; i++) {
        size_t size = strlen(o->stop[i]) - 1;
        if (size > t->size) size = t->size;
        while (size > most && memcmp(t->data + t->size - size, o->stop[i], size)) size--;
        if (size > most) most = size;
    }
    return most;
}

static hd_status tell(const hd_generate_opt *o, hd_draft *s, bool last, hd_err *err)
{
    const hd_text *t = &s->out->text;
    size_t end = t->size - (last ? 0 : held(o, t)), from = s->shown;
    if (!o->tell || end <= from) return HD_OK;
    s->shown = end;
    return o->tell(o->context, s->prompt * (o->samples ? o->samples : 1) + s->number, t->data + from,
                   end - from, err);
}

/* -- prompts -- */

hd_status hd_draft_prompt(const hd_tokenizer *t, hd_line prompt, hd_ids *ids, hd_err *err)
{
    const char *at = prompt.text, *end = at + prompt.size;
    const int32_t lead = hd_tokenizer_lead(t), start = hd_tokenizer_special(t).start;
    for (bool more = true; more;) {
        const char *stop =
            at < end && !hd_tokenizer_keeps_lines(t) ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        more = stop;
        if (!stop) stop = end;
        hd_status s = HD_OK;
        if (lead >= 0 || at == end) s = hd_ids_add(ids, lead >= 0 ? lead : start, err);
        if (!s) s = hd_tokenizer_encode_ids(t, at, (size_t)(stop - at), ids, err);
        if (s) return s;
        at = stop + 1;
    }
    return HD_OK;
}

hd_status hd_draft_begin(hd_draft *s, const hd_draft_use *u, const hd_ids *prompt, hd_line typed, hd_err *err)
{
    const hd_tokenizer *t = u->tokenizer;
    const hd_generate_opt *o = u->opt;
    const int32_t end = hd_tokenizer_special(t).end;
    hd_status st = hd_ids_reserve(&s->ids, prompt->count, err);
    if (st) return st;
    if (prompt->count) memcpy(s->ids.at, prompt->at, prompt->count * sizeof *prompt->at);
    s->ids.count = s->known = s->before = prompt->count;
    s->shown = s->out->text.size;
    s->lead = !o->ids && hd_tokenizer_lead(t) == end;
    size_t length = prompt->count - s->lead, most = o->rules ? o->rules->max_length : 0;
    if (most && length >= most)
        return hd_err_set(err, HD_ELIMIT,
                          "the prompt has %zu tokens, a text at most %zu: shorten it, or give --tokens",
                          length, most);
    s->most = most && most - length < o->tokens ? most - length : o->tokens;
    if (o->ids) return HD_OK; /* an answer is a text of its own */
    while (s->before && s->ids.at[s->before - 1] != end) s->before--;
    u->scratch->size = 0;
    st = hd_tokenizer_decode(t, s->ids.at + s->before, s->known - s->before, u->scratch, err);
    s->blank = typed.size && typed.text[typed.size - 1] == ' ' &&
               !(u->scratch->size && u->scratch->data[u->scratch->size - 1] == ' ');
    return st ? st : hd_text_status(u->scratch, err);
}

hd_status hd_draft_take(hd_draft *s, const hd_draft_use *u, int32_t token, double logp, bool *over,
                        hd_err *err)
{
    const int32_t end = hd_tokenizer_special(u->tokenizer).end;
    hd_generated *g = s->out;
    size_t from = g->text.size;
    g->tokens++, s->drawn++;
    g->logp += logp;
    hd_status st = write_token(s, u, token, end, err);
    if (!st) look_for_stops(u->opt, g, from);
    if (u->opt->ends && token == end) g->stopped = true;
    if (u->opt->halt && *u->opt->halt) g->stopped = true;
    *over = g->stopped || s->drawn == s->most;
    return st ? st : tell(u->opt, s, *over, err);
}
