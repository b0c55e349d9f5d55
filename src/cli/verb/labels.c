/* What `heed classify` and `heed tag` share. */
#include "cli/verb/labels.h"
#include "cli/verb/unknown.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/frame/input.h"
#include "view/confusion.h"
#include "view/plot.h"
#include "view/draw/markup.h"

enum { CHUNK = 512 }; /* lines */

/* What its body attends to; a body of stages is not asked. */
static hd_status open_attending(hd_labels_call *c, hd_err *err)
{
    hd_attending *a = &c->attending;
    const hd_body *b = &c->labeler->model->body;
    char body[HD_STAGES_TEXT];
    *a = (hd_attending){.command = c->command, .o = c->o->attending, .pieces = c->labeler->tokenizer};
    a->model = (hd_attender){.bert = b->bert, .lm = b->lm};
    if (b->bert || b->lm) return hd_attending_open(a, err);
    return !hd_attending_wanted(a)
               ? HD_OK
               : hd_err_set(err, HD_EARG,
                            "--attention is for a classifier on a bert or a gpt, this one is on %s",
                            hd_body_text(&b->opt, body));
}

hd_status hd_labels_open(hd_labels_call *c, hd_label_task task, hd_err *err)
{
    hd_backend_opt opt = {.threads = c->command->common.threads,
                          .precision = (hd_precision)c->o->precision,
                          .log = &c->command->log};
    hd_status s = c->o->plot ? hd_plot_check(c->o->plot, err) : HD_OK;
    if (!s) s = hd_backend_new(&c->backend, c->o->device, &opt, err);
    if (!s) s = hd_run_init(&c->run, c->backend, err);
    if (!s) s = hd_labeler_open(&c->labeler, c->command->operands.word[0], task, c->backend, err);
    return s ? s : open_attending(c, err);
}

void hd_labels_close(hd_labels_call *c)
{
    hd_unknown_warn(c->command, &(hd_any_model){.labeler = c->labeler});
    hd_labeler_free(c->labeler);
    hd_run_release(&c->run);
    hd_backend_free(c->backend);
}

const char *hd_labels_input(const hd_command *c)
{
    return c->operands.count > 1 ? c->operands.word[1] : "-";
}

/* -- judging -- */

static hd_status show(hd_labels_call *c, const hd_confusion *found, hd_err *err)
{
    const hd_terminal *t = &c->command->out;
    hd_text out = {0};
    hd_pen pen = {.to = &out, .width = t->width, .color = t->color, .utf8 = true};
    const char **label = hd_mem_array(found->classes, sizeof *label);
    if (!label) return hd_err_nomem(err, found->classes * sizeof *label);
    for (size_t i = 0; i < found->classes; i++) label[i] = hd_vocab_piece(&c->labeler->labels, (int32_t)i);
    hd_confusion_view v = {.of = found, .label = label, .title = "What is taken for what"};
    hd_status s = c->o->json ? hd_confusion_json(&out, &v, err) : hd_confusion_text(&pen, &v, err);
    if (!s) s = hd_command_put_text(c->command, &out, true, err);
    hd_text_release(&out);
    if (!s && c->o->plot) s = hd_confusion_save(c->o->plot, &v, err);
    hd_mem_free(label);
    return s;
}

static hd_status show_numbers(hd_labels_call *c, const hd_judged *j, const hd_examples *x, hd_err *err)
{
    hd_text out = {0};
    double mean = j->loss / (double)x->labels;
    if (c->o->json) {
        hd_text_print(&out, "{\"items\": %zu, \"pearson\": ", x->labels);
        hd_put_number(&out, j->pearson, 9);
        hd_text_put(&out, ", \"spearman\": ");
        hd_put_number(&out, j->spearman, 9);
        hd_text_put(&out, ", \"squared_error\": ");
        hd_put_number(&out, mean, 9);
        hd_text_put(&out, "}\n");
    } else {
        hd_text_print(&out, "Pearson %.4f, Spearman %.4f, mean squared error %.6g of %zu items\n", j->pearson,
                      j->spearman, mean, x->labels);
    }
    return hd_command_put_text(c->command, &out, true, err);
}

hd_status hd_labels_judge(hd_labels_call *c, const hd_labeled *items, hd_err *err)
{
    hd_examples_opt e = hd_labeler_examples(&c->labeler->model->opt);
    hd_examples x = {0};
    hd_judged found = {0};
    hd_status s = hd_examples_make(&x, items, c->labeler->tokenizer, &e, err);
    if (!s) s = hd_labeler_judge(&found, &c->run, c->labeler, &x, err);
    if (!s) s = found.confusion.classes ? show(c, &found.confusion, err) : show_numbers(c, &found, &x, err);
    hd_confusion_release(&found.confusion);
    hd_examples_release(&x);
    return s;
}

/* -- lines -- */

typedef struct hearing {
    hd_real *logp; /* [units, classes] */
    size_t classes;
} hearing;

static void hear(void *context, size_t label, const hd_real *logp)
{
    hearing *h = context;
    memcpy(h->logp + label * h->classes, logp, h->classes * sizeof *logp);
}

/* Of one text for each item; two are named by their tokens. */
static hd_status attend(hd_labels_call *c, const hd_labeled *items, const hd_examples *x, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && hd_attending_wanted(&c->attending) && i < x->count; i++) {
        size_t begin = x->begin[i], rows = x->begin[i + 1] - begin;
        bool pair = x->second[i] < rows;
        hd_attended one = {.ids = x->id + begin,
                           .count = rows,
                           .second = pair ? x->second[i] : 0,
                           .text = hd_labeled_unit(items, items->begin[i]),
                           .score = (double)NAN};
        if (pair) one.second_text = hd_labeled_unit(items, items->begin[i] + 1);
        s = hd_attending_add(&c->attending, &c->run, &one, err);
    }
    return s;
}

static hd_status answer(hd_labels_call *c, const hd_labeled *items, hd_labels_put *put, hd_err *err)
{
    const hd_classifier_opt *m = &c->labeler->model->opt;
    hd_examples_opt e = hd_labeler_examples(m);
    hd_examples x = {0};
    hd_text out = {0};
    hearing h = {hd_mem_array(items->units * m->classes + 1, sizeof *h.logp), m->classes};
    hd_status s = h.logp ? HD_OK : hd_err_nomem(err, items->units * m->classes * sizeof *h.logp);
    if (!s) s = hd_examples_make(&x, items, c->labeler->tokenizer, &e, err);
    if (!s) s = hd_labeler_ask(&c->run, c->labeler, &x, hear, &h, err);
    if (!s) put(&out, c, items, h.logp);
    if (!s) s = hd_command_put_text(c->command, &out, true, err);
    if (!s) s = attend(c, items, &x, err);
    hd_examples_release(&x);
    hd_mem_free(h.logp);
    return s;
}

/* Lines until there are many, whoever writes them pauses, or one is refused: then *why. */
static hd_status read_chunk(hd_labels_call *c, hd_input *in, hd_labeled *items, hd_labels_take *take,
                            const char **why, bool *ended, hd_err *err)
{
    hd_status s = HD_OK;
    do {
        hd_line line;
        s = hd_input_next(in, &line, why, err);
        *ended = s || !line.text;
        if (!*ended && !*why) s = take(c, items, line, err);
    } while (!s && !*ended && !*why && items->count < CHUNK && hd_lines_ready(in->lines));
    return s;
}

static hd_status refuse(hd_labels_call *c, hd_input *in, const char *why, hd_err *err)
{
    hd_text out = {0};
    hd_input_refuse(in, hd_lines_count(in->lines), why, HD_INPUT_EMPTY);
    hd_input_stand_in(&out, c->o->json, why);
    return hd_command_put_text(c->command, &out, true, err);
}

static hd_status answer_lines(hd_labels_call *c, hd_input *in, hd_labels_take *take, hd_labels_put *put,
                              hd_err *err)
{
    hd_status s = HD_OK;
    for (bool ended = false; !s && !ended;) {
        hd_labeled items = {0};
        const char *why = NULL;
        s = read_chunk(c, in, &items, take, &why, &ended, err);
        hd_err later = {0}; /* what was read before a failure is answered first */
        hd_status now = items.count ? answer(c, &items, put, s ? &later : err) : HD_OK;
        if (!s) s = now;
        if (!s && why) s = refuse(c, in, why, err);
        hd_labeled_release(&items);
    }
    return s;
}

int hd_labels_answer(hd_labels_call *c, hd_labels_take *take, hd_labels_put *put, hd_err *err)
{
    hd_input in = {0};
    hd_status s = hd_input_open(&in, c->command, hd_labels_input(c->command), c->awaited, HD_INPUT_TEXT, err);
    if (!s) s = answer_lines(c, &in, take, put, err);
    s = hd_attending_close(&c->attending, s, err);
    return hd_input_close(&in, s ? hd_command_fail(c->command, err) : HD_EXIT_OK, "answered");
}
