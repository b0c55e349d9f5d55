/* Generation of some prompts: a writer that has nothing else to do. */
#include "base/mem.h"
#include "decode/history.h"
#include "task/language/writer.h"

static hd_status open_stepper(hd_stepper *out, const hd_model_folder *f, const hd_generate_opt *o,
                              hd_err *err)
{
    const hd_lm *m = hd_model_folder_lm(f);
    return o->talk ? hd_talk_stepper(out, o->talk, o->ids->at, o->ids->count, err)
                   : m->type->stepper(out, m, NULL, NULL, 0, 0, err);
}

hd_status hd_generate(hd_generated *out, hd_run *r, const hd_model_folder *f, const hd_line *prompt,
                      size_t prompts, const hd_generate_opt *opt, hd_err *err)
{
    const hd_history_opt history = {opt->repetition, opt->no_repeat, opt->rules};
    const hd_writer_opt how = {.penalize = hd_history_matters(&history)};
    const hd_writer_ask ask = {.prompt = prompt, .prompts = prompts, .opt = opt, .out = out};
    hd_stepper stepper = {0};
    hd_writer *w = NULL;
    hd_status s = open_stepper(&stepper, f, opt, err);
    if (!s) s = hd_writer_new(&w, r, f, &stepper, &how, err);
    if (!w) hd_stepper_release(&stepper);
    if (!s) s = hd_writer_add(w, &ask, err);
    while (!s && hd_writer_count(w)) s = hd_writer_turn(w, err);
    hd_writer_free(w);
    return s;
}

void hd_generated_release(hd_generated *g)
{
    hd_text_release(&g->text);
    hd_ids_release(&g->ids);
    hd_mem_free(g->said);
    *g = (hd_generated){0};
}

/* A backslash before any other letter is itself. */
void hd_prompt_unescape(hd_text *to, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const char next = text[i] == '\\' && i + 1 < size ? text[i + 1] : 0;
        const char c = next == 'n' ? '\n' : next == 't' ? '\t' : next == '\\' ? '\\' : 0;
        hd_text_add(to, c ? &c : text + i, 1);
        i += c != 0;
    }
}
