/* Models with weights as they begin, and what is shown of them as programs read it. Include after check.h. */
#ifndef SHOWN_H
#define SHOWN_H

#include <jansson.h>

#include "base/json.h"
#include "model/toy.h"
#include "show/exhibit.h"
#include "view/explain/exhibit_json.h"

enum { SOURCES = 5, TARGETS = 4 };

static const int32_t shown_source[SOURCES] = {5, 9, 3, 12, TOY_END},
                     shown_target[TARGETS] = {4, 11, 6, TOY_END};

/* An encoder-decoder of these stages, wide enough for two heads. */
CHECK_UNUSED static hd_encdec *shown_model(hd_backend *b, const char *encoder, const char *decoder,
                                           const hd_recurrent_decoder_opt *o, bool pre_norm)
{
    hd_err err = {0};
    hd_encdec_opt opt = toy_opt();
    opt.encoder_layers = opt.decoder_layers = 1, opt.stack.heads = 2, opt.stack.width = 8,
    opt.stack.inner = 12;
    opt.tied = false, opt.stack.pre_norm = pre_norm;
    if (o) opt.recurrent = *o;
    if (hd_stages_read(&opt.encoder, encoder, &err) || hd_stages_read(&opt.decoder, decoder, &err))
        fail_msg("%s", err.text);
    hd_encdec *m = toy_transformer(b, &opt, false);
    stir(&m->params);
    return m;
}

CHECK_UNUSED static hd_exhibit_ask shown_ask(size_t step)
{
    return (hd_exhibit_ask){.source = shown_source,
                            .sources = SOURCES,
                            .target = shown_target,
                            .targets = TARGETS,
                            .start = TOY_BEGIN,
                            .step = step};
}

CHECK_UNUSED static hd_exhibit *shown_of(hd_run *r, const hd_encdec *m, size_t step)
{
    hd_err err = {0};
    hd_exhibit *x = NULL;
    hd_exhibit_ask ask = shown_ask(step);
    if (hd_exhibit_pair(&x, r, (const hd_model[]){hd_encdec_model(m)}, &ask, &err)) fail_msg("%s", err.text);
    return x;
}

CHECK_UNUSED static json_t *shown_json(const hd_exhibit *x)
{
    hd_err err = {0};
    hd_text page = {0};
    json_error_t e;
    if (hd_exhibit_json(&page, x, NULL, &err)) fail_msg("%s", err.text);
    json_t *o = json_loads(page.data, JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s", e.text);
    hd_text_release(&page);
    return o;
}

#endif
