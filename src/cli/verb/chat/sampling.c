/* Options of drawing, and generation_config.json. */
#include "cli/verb/chat/sampling.h"

#include <string.h>

static hd_status read_stops(hd_sampling *s, const hd_texts *given, hd_err *err)
{
    hd_status st = HD_OK;
    for (int i = 0; !st && i < given->count; i++) {
        hd_text stop = {0};
        hd_prompt_unescape(&stop, given->text[i], strlen(given->text[i]));
        st = stop.size || stop.missed ? hd_text_status(&stop, err)
                                      : hd_err_set(err, HD_EARG, "--stop is empty");
        s->stop[i] = stop.data;
    }
    s->opt.stop = (const char *const *)s->stop, s->opt.stops = (size_t)given->count;
    return st;
}

hd_status hd_sampling_check(hd_sampling *s, const hd_command *m, const hd_sampling_options *o, hd_err *err)
{
    if (o->greedy && hd_command_given(m, "temperature"))
        return hd_err_set(err, HD_EARG, "--greedy and --temperature exclude each other");
    s->opt = o->opt;
    if (o->greedy) s->opt.temperature = 0;
    return read_stops(s, &o->stop, err);
}

hd_status hd_sampling_open(hd_sampling *s, hd_command *m, bool answers, hd_err *err)
{
    hd_generation *g = &s->generation;
    const hd_generation_said said = {.temperature =
                                         hd_command_given(m, "temperature") || hd_command_given(m, "greedy"),
                                     .top_k = hd_command_given(m, "top-k"),
                                     .top_p = hd_command_given(m, "top-p"),
                                     .min_p = hd_command_given(m, "min-p"),
                                     .repetition = hd_command_given(m, "repetition-penalty"),
                                     .no_repeat = hd_command_given(m, "no-repeat"),
                                     .tokens = hd_command_given(m, "tokens"),
                                     .stop = s->opt.stops > 0};
    hd_status st = hd_generation_read(g, m->operands.word[0], hd_model_folder_lm(&m->model)->opt.vocab, err);
    if (st) return st;
    if (g->ignored[0])
        hd_log_say(&m->log, HD_WARN, "generation_config.json of %s has what heed does not do: %s",
                   m->operands.word[0], g->ignored);
    if (answers) hd_generation_end(g, hd_tokenizer_special(m->model.tokenizer[0]).end);
    hd_generation_apply(g, &said, &s->opt);
    return HD_OK;
}

void hd_sampling_release(hd_sampling *s)
{
    for (int i = 0; i < HD_OPTION_MOST; i++) hd_mem_free(s->stop[i]);
    hd_generation_release(&s->generation);
}
