/* What tokens listen to. */
#include "cli/verb/transcribe/looks.h"

#include "show/sound/monotone.h"

bool hd_speech_looks_wanted(const hd_speech_looks *l)
{
    return l->monotone || hd_attending_wanted(&l->command->usual->attending);
}

hd_status hd_speech_looks_open(hd_speech_looks *l, hd_command *c, bool monotone, hd_err *err)
{
    *l = (hd_speech_looks){.command = c, .monotone = monotone};
    hd_status s = hd_attending_open(c, &c->usual->attending, err);
    if (s || !monotone) return s;
    return hd_attention_check(&c->model.model, &(hd_attention_pick){.kind = 1 + HD_ATTENTION_CROSS}, err);
}

static hd_status measure(hd_speech_looks *l, const hd_attention_maps *maps, hd_err *err)
{
    const hd_attending_options *o = &l->command->usual->attending;
    hd_attention_map map = {0};
    hd_monotone m = {0};
    hd_status s =
        hd_attention_map_of(&map, maps, &(hd_attention_pick){1 + HD_ATTENTION_CROSS, o->layer, o->head}, err);
    if (!s) s = hd_monotone_of(&m, map.weight, map.rows, map.cols, err);
    if (!s) l->in_order += m.in_order, l->tokens += m.rows, l->span += m.span, l->looked++;
    hd_monotone_release(&m);
    hd_attention_map_release(&map);
    return s;
}

hd_status hd_speech_look(hd_speech_looks *l, const hd_attention_ask *ask, hd_text *drawn, hd_err *err)
{
    hd_attention_maps maps;
    hd_status s = hd_attention_collect(&maps, &l->command->machine.run, &l->command->model.model, ask, err);
    if (!s) s = hd_attending_put(l->command, &maps, drawn, err);
    if (!s && l->monotone) s = measure(l, &maps, err);
    hd_attention_release(&maps);
    return s;
}

void hd_speech_looks_tell(const hd_speech_looks *l)
{
    if (!l->tokens) return;
    hd_log_say(&l->command->log, HD_INFO,
               "attention in order: %.1f %% of %zu tokens, over %.0f %% of the time",
               100 * (double)l->in_order / (double)l->tokens, l->tokens, 100 * l->span / (double)l->looked);
}
