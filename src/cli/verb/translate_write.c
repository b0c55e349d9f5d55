/* What `heed translate` writes of a line. */
#include <string.h>

#include "cli/verb/translate_options.h"
#include "view/draw/markup.h"

static void put_tokens(hd_text *to, const hd_tokenizer *t, const int32_t *ids, size_t count)
{
    hd_text_put(to, "[");
    for (size_t i = 0; i < count; i++) {
        if (i) hd_text_put(to, ", ");
        hd_put_json(to, hd_tokenizer_piece(t, ids[i]), false);
    }
    hd_text_put(to, "]");
}

/* Bytes of a text as JSON. */
static void put_span(hd_text *to, const char *text, hd_span s)
{
    hd_text part = {0};
    hd_text_add(&part, text + s.begin, s.end - s.begin);
    hd_put_json(to, part.data ? part.data : "", false);
    if (part.missed && !to->missed) to->missed = part.missed;
    hd_text_release(&part);
}

/* Each part of a line that has several: its text, how many of the tokens are its own, its score. */
static void put_parts(hd_text *to, const hd_hypothesis *h, size_t parts)
{
    hd_text_put(to, ", \"parts\": [");
    for (size_t i = 0; i < parts; i++) {
        hd_text_put(to, i ? ", {\"text\": " : "{\"text\": ");
        put_span(to, h->text, h->part[i]);
        hd_text_print(to, ", \"tokens\": %zu, \"score\": ", h->end[i] - (i ? h->end[i - 1] : 0));
        hd_put_number(to, h->scores[i], 17);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "]");
}

static void put_hypothesis(hd_text *to, const hd_translator *t, const hd_hypothesis *h, size_t parts)
{
    hd_text_put(to, "{\"text\": ");
    hd_put_json(to, h->text, false);
    hd_text_put(to, ", \"tokens\": ");
    put_tokens(to, t->tokenizer[1], h->ids, h->length);
    hd_text_put(to, ", \"score\": ");
    hd_put_number(to, h->score, 17);
    hd_text_put(to, ", \"logprob\": ");
    hd_put_number(to, h->sum, 17);
    hd_text_put(to, ", \"token_logprobs\": [");
    for (size_t i = 0; i < h->length; i++) {
        if (i) hd_text_put(to, ", ");
        hd_put_number(to, (double)h->logp[i], 9);
    }
    hd_text_print(to, "], \"finished\": %s", h->finished ? "true" : "false");
    if (parts > 1) put_parts(to, h, parts);
    hd_text_put(to, "}");
}

static void put_sources(hd_text *to, hd_line line, const hd_translation *found)
{
    hd_text_print(to, ", \"parts\": %zu, \"part_sources\": [", found->parts);
    for (size_t i = 0; i < found->parts; i++) {
        if (i) hd_text_put(to, ", ");
        put_span(to, line.text, found->part[i]);
    }
    hd_text_put(to, "]");
}

/* The tokens that are <unk>, and the words of the line they stand for. */
static void put_unknown(hd_text *to, const hd_tokenizer *t, hd_line line, const hd_translation *found)
{
    const int32_t unk = hd_tokenizer_special(t).unk;
    size_t count = found->parts ? found->source_end[found->parts - 1] : 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        if (found->source[i] != unk) continue;
        hd_text_print(to, "%s{\"token\": %zu, \"word\": ", n++ ? ", " : ", \"unknown\": [", i);
        put_span(to, line.text, (hd_span){found->piece[i].begin, found->piece[i].end});
        hd_text_put(to, "}");
    }
    if (n) hd_text_put(to, "]");
}

static void put_skipped(hd_text *to, hd_line line, const hd_skipped_list *skipped)
{
    hd_text_put(to, ", \"skipped\": [");
    for (size_t i = 0; i < skipped->count; i++) {
        hd_text_put(to, i ? ", {\"word\": " : "{\"word\": ");
        put_span(to, line.text, skipped->at[i].word);
        hd_text_put(to, ", \"coverage\": ");
        hd_put_number(to, skipped->at[i].coverage, 6);
        hd_text_put(to, "}");
    }
    hd_text_put(to, "]");
}

static void put_object(hd_text *to, const hd_translator *t, hd_line line, const hd_translation *found,
                       const hd_skipped_list *skipped, size_t number)
{
    hd_text_print(to, "{\"line\": %zu, \"source\": ", number);
    hd_put_json(to, found->status == HD_EFORMAT ? NULL : line.text, false);
    hd_text_put(to, ", \"tokens\": ");
    put_tokens(to, t->tokenizer[0], found->source, found->parts ? found->source_end[found->parts - 1] : 0);
    if (found->status) {
        hd_text_put(to, ", \"error\": ");
        hd_put_json(to, found->why, false);
    }
    put_unknown(to, t->tokenizer[0], line, found);
    if (found->parts > 1) put_sources(to, line, found);
    if (skipped) put_skipped(to, line, skipped);
    hd_text_put(to, ", \"hypotheses\": [");
    for (size_t i = 0; i < found->count; i++) {
        if (i) hd_text_put(to, ", ");
        put_hypothesis(to, t, &found->hypothesis[i], found->parts);
    }
    hd_text_put(to, "]}\n");
}

/* A line is a line: what could end one becomes a space. */
static void put_line(hd_text *to, const char *text)
{
    for (; *text; text++) hd_text_add(to, *text == '\n' || *text == '\r' ? " " : text, 1);
}

void hd_translate_write(hd_text *to, const hd_translate_options *o, const hd_translator *t, hd_line line,
                        const hd_translation *found, const hd_skipped_list *skipped, size_t number)
{
    if (o->json) {
        put_object(to, t, line, found, o->warn_skipped ? skipped : NULL, number);
        return;
    }
    if (!found->count) hd_text_put(to, "\n");
    for (size_t i = 0; i < found->count; i++) {
        const hd_hypothesis *h = &found->hypothesis[i];
        if (o->n_best > 1) hd_text_print(to, "%zu ||| ", number);
        put_line(to, h->text);
        if (o->n_best > 1)
            hd_text_print(to, " ||| %.6f", h->score);
        else if (o->scores)
            hd_text_print(to, "\t%.6f", h->score);
        hd_text_put(to, "\n");
    }
}
