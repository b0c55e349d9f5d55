/* Attention of a translation. */
#include "show/attention_parts.h"

static hd_line text_of(const char *text, hd_span s)
{
    return (hd_line){text + s.begin, s.end - s.begin};
}

static hd_attention_ask ask_part(const hd_attention_of *of, size_t part)
{
    const hd_translation *found = of->found;
    const hd_hypothesis *h = &found->hypothesis[0];
    size_t source = part ? found->source_end[part - 1] : 0, target = part ? h->end[part - 1] : 0;
    hd_attention_ask ask = {.source = found->source + source,
                            .sources = found->source_end[part] - source,
                            .start = hd_tokenizer_special(of->by->tokenizer[1]).start,
                            .target = h->ids + target,
                            .targets = h->end[part] - target,
                            .source_pieces = of->by->tokenizer[0],
                            .target_pieces = of->by->tokenizer[1],
                            .score = h->scores[part],
                            .place = {of->number, part + 1, found->parts}};
    if (!of->line.text) return ask;
    ask.sentence = ask.source_text[0] = text_of(of->line.text, found->part[part]);
    ask.translation = text_of(h->text, h->part[part]);
    ask.target_text = of->prefix;
    return ask;
}

hd_status hd_attention_parts(hd_run *r, const hd_attention_of *of, hd_attention_take *take, void *context,
                             hd_err *err)
{
    const hd_model model = hd_encdec_model(of->by->model);
    hd_status s = HD_OK;
    for (size_t part = 0; !s && of->found->count && part < of->found->parts; part++) {
        hd_attention_maps maps;
        const hd_attention_ask ask = ask_part(of, part);
        if (!ask.targets) continue;
        s = hd_attention_collect(&maps, r, &model, &ask, err);
        if (!s) s = take(context, part, &maps, err);
        hd_attention_release(&maps);
    }
    return s;
}
