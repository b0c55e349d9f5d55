/* What `heed translate` writes of a line. */
#include "cli/verb/translate/translate.h"

static void put_tokens(hd_text *to, const hd_tokenizer *t, const int32_t *ids, size_t count)
{
    hd_member_begin(to, "tokens", '[');
    for (size_t i = 0; i < count; i++) hd_member_text(to, NULL, hd_tokenizer_piece(t, ids[i]));
    hd_member_end(to, ']');
}

static void put_span(hd_text *to, const char *key, const char *text, hd_span s)
{
    hd_member_bytes(to, key, text + s.begin, s.end - s.begin);
}

/* The parts of a line that has several. */
static void put_parts(hd_text *to, const hd_hypothesis *h, size_t parts)
{
    hd_member_begin(to, "parts", '[');
    for (size_t i = 0; i < parts; i++) {
        hd_member_begin(to, NULL, '{');
        put_span(to, "text", h->text, h->part[i]);
        hd_member_count(to, "token_count", h->end[i] - (i ? h->end[i - 1] : 0));
        hd_member_number(to, "score", h->scores[i], 17);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_hypothesis(hd_text *to, const hd_model_folder *t, const hd_hypothesis *h, size_t parts)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "text", h->text);
    put_tokens(to, t->tokenizer[1], h->ids, h->length);
    hd_member_number(to, "score", h->score, 17);
    hd_member_number(to, "logprob", h->sum, 17);
    hd_member_begin(to, "token_logprobs", '[');
    for (size_t i = 0; i < h->length; i++) hd_member_number(to, NULL, (double)h->logp[i], 9);
    hd_member_end(to, ']');
    hd_member_flag(to, "finished", h->finished);
    if (parts > 1) put_parts(to, h, parts);
    hd_member_end(to, '}');
}

static void put_sources(hd_text *to, hd_line line, const hd_translation *found)
{
    hd_member_count(to, "parts", found->parts);
    hd_member_begin(to, "part_sources", '[');
    for (size_t i = 0; i < found->parts; i++) put_span(to, NULL, line.text, found->part[i]);
    hd_member_end(to, ']');
}

/* The tokens that are <unk>, and the words of the line they stand for. */
static void put_unknown(hd_text *to, const hd_tokenizer *t, hd_line line, const hd_translation *found)
{
    const int32_t unk = hd_tokenizer_special(t).unk;
    size_t count = found->parts ? found->source_end[found->parts - 1] : 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        if (found->source[i] != unk) continue;
        if (!n++) hd_member_begin(to, "unknown", '[');
        hd_member_begin(to, NULL, '{');
        hd_member_count(to, "token", i);
        put_span(to, "word", line.text, (hd_span){found->piece[i].begin, found->piece[i].end});
        hd_member_end(to, '}');
    }
    if (n) hd_member_end(to, ']');
}

static void put_skipped(hd_text *to, hd_line line, const hd_skipped_list *skipped)
{
    hd_member_begin(to, "skipped", '[');
    for (size_t i = 0; i < skipped->count; i++) {
        hd_member_begin(to, NULL, '{');
        put_span(to, "word", line.text, skipped->at[i].word);
        hd_member_number(to, "coverage", skipped->at[i].coverage, 6);
        hd_member_end(to, '}');
    }
    hd_member_end(to, ']');
}

static void put_object(hd_text *to, const hd_model_folder *t, hd_line line, const hd_translation *found,
                       const hd_skipped_list *skipped, size_t number)
{
    size_t tokens = found->parts ? found->source_end[found->parts - 1] : 0;
    hd_member_begin(to, NULL, '{');
    hd_member_count(to, "line", number);
    if (found->status == HD_EFORMAT)
        hd_member_text(to, "source", NULL);
    else
        hd_member_bytes(to, "source", line.text, line.size);
    put_tokens(to, t->tokenizer[0], found->source, tokens);
    if (found->status) hd_member_text(to, "error", found->why);
    put_unknown(to, t->tokenizer[0], line, found);
    if (found->parts > 1) put_sources(to, line, found);
    if (skipped) put_skipped(to, line, skipped);
    hd_member_begin(to, "hypotheses", '[');
    for (size_t i = 0; i < found->count; i++) put_hypothesis(to, t, &found->hypothesis[i], found->parts);
    hd_text_put(to, "]}\n");
}

/* What could end a line becomes a space. */
static void put_line(hd_text *to, const char *text)
{
    for (; *text; text++) hd_text_add(to, *text == '\n' || *text == '\r' ? " " : text, 1);
}

void hd_translate_write(hd_text *to, const hd_translate_options *o, const hd_model_folder *t, hd_line line,
                        const hd_translation *found, const hd_skipped_list *skipped, size_t number)
{
    if (o->usual.json) {
        put_object(to, t, line, found, o->warn_skipped ? skipped : NULL, number);
        return;
    }
    if (!found->count) hd_text_put(to, "\n");
    for (size_t i = 0; i < found->count; i++) {
        const hd_hypothesis *h = &found->hypothesis[i];
        if (o->opt.search.best > 1) hd_text_print(to, "%zu ||| ", number);
        put_line(to, h->text);
        if (o->opt.search.best > 1)
            hd_text_print(to, " ||| %.6f", h->score);
        else if (o->scores)
            hd_text_print(to, "\t%.6f", h->score);
        hd_text_put(to, "\n");
    }
}
