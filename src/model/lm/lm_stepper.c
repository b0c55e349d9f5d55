/* What the steppers of models share that look back: features of the windows, made on the host. */
#include "model/lm/lm_parts.h"

const int32_t *hd_lm_before(hd_run *r, const hd_lm *m, const int32_t *window, size_t live)
{
    size_t keep = (size_t)m->opt.order - 1;
    int32_t feature[HD_LM_ORDER_MOST], *all = hd_host_take(r, (live * keep + 1) * sizeof *all);
    for (size_t i = 0; all && i < live; i++) {
        hd_lm_features(m, window + i * keep, keep, keep, feature);
        for (size_t k = 0; k < keep; k++) all[k * live + i] = feature[k];
    }
    return all ? hd_ints(r, all, live * keep) : NULL;
}

hd_status hd_lm_looking_stepper(hd_stepper *out, const hd_lm *m, hd_look_back_fn *logits, const int32_t *ids,
                                const int32_t *len, size_t items, hd_err *err)
{
    hd_look_back how = {m, logits, true, m->opt.vocab, (size_t)m->opt.order - 1, m->opt.start};
    return hd_look_back_stepper(out, &how, ids, len, items, err);
}
