/* Measuring a text, and the numbers that follow from it. */
#include "cli/verb/likelihood.h"

#include <math.h>

#include "view/draw/json_members.h"

static const double ln2 = 0.69314718055994530942;

hd_status hd_measure(hd_measured *out, hd_run *r, const hd_model_folder *f, const hd_plain_text *plain,
                     hd_err *err)
{
    hd_stream_text text = {0};
    int32_t unk = hd_tokenizer_special(f->tokenizer[0]).unk;
    *out = (hd_measured){0};
    hd_status s = hd_stream_text_of(&text, plain, f->tokenizer[0], err);
    if (!s) s = hd_language_judge(&out->fluency, r, f, &text, err);
    for (size_t i = 0; !s && i < text.count; i++) out->unknown += text.ids[i] == unk;
    hd_stream_text_release(&text);
    const hd_fluency *found = &out->fluency;
    out->perplexity = exp(found->nats / (double)found->tokens);
    out->bits = found->nats / (double)found->characters / ln2;
    if (!s && isnan(out->perplexity)) {
        hd_fail_number(r);
        s = hd_run_status(r, err);
    }
    return s;
}

void hd_measured_json(hd_text *to, const hd_measured *m)
{
    const hd_fluency *f = &m->fluency;
    hd_member_count(to, "token_count", f->tokens);
    hd_member_number(to, "perplexity", m->perplexity, 9);
    hd_member_number(to, "bits_per_character", m->bits, 9);
    hd_member_count(to, "characters", f->characters);
    hd_member_count(to, "unknown", m->unknown);
    hd_member_number(to, "logprob", -f->nats, 12);
    hd_member_number(to, "seconds", f->seconds, 6);
}

const char *hd_unit_of(const hd_model_folder *f)
{
    hd_tokenizer_kind kind = hd_tokenizer_kind_of(f->tokenizer[0]);
    return kind == HD_TOKENIZER_words ? "word" : kind == HD_TOKENIZER_characters ? "char" : "subword";
}
