/* Options of drawing, and generation_config.json. */
#include "cli/verb/chat/drawing.h"

hd_status hd_drawing_set(const hd_command *m, hd_generation *g, hd_generate_opt *o, hd_err *err)
{
    const hd_generation_said said = {.temperature =
                                         hd_command_given(m, "temperature") || hd_command_given(m, "greedy"),
                                     .top_k = hd_command_given(m, "top-k"),
                                     .top_p = hd_command_given(m, "top-p"),
                                     .min_p = hd_command_given(m, "min-p"),
                                     .repetition = hd_command_given(m, "repetition-penalty"),
                                     .no_repeat = hd_command_given(m, "no-repeat"),
                                     .tokens = hd_command_given(m, "tokens")};
    hd_status s = hd_generation_read(g, m->operands.word[0], hd_model_folder_lm(&m->model)->opt.vocab, err);
    if (!s) hd_generation_apply(g, &said, o);
    return s;
}
