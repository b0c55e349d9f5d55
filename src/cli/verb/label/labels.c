/* What `heed classify` and `heed tag` share. */
#include "cli/verb/label/labels.h"

#include <math.h>
#include <string.h>

#include "view/confusion.h"

enum { CHUNK = 512 }; /* lines answered at once */

/* What its body attends to. */
static hd_status open_attending(hd_command *c, hd_err *err)
{
    const hd_usual *o = c->usual;
    const hd_model body = hd_model_body(&c->model.model);
    char title[HD_STAGES_TEXT];
    if (body.type->attention) return hd_attending_open(c, &o->attending, err);
    if (!hd_attending_wanted(&o->attending)) return HD_OK;
    return hd_err_set(err, HD_EARG, "--attention needs a classifier on a bert or gpt; this one is on %s",
                      body.type->title(body.self, title, sizeof title));
}

/* -- evaluation -- */

static hd_status show_confusion(hd_command *c, const hd_confusion *found, hd_err *err)
{
    const hd_terminal *t = &c->out;
    const hd_usual *o = c->usual;
    hd_text out = {0};
    hd_text_pen pen = {.to = &out, .width = t->width, .color = t->color, .utf8 = true};
    const char **label = hd_mem_array(found->classes, sizeof *label);
    if (!label) return hd_err_nomem(err, found->classes * sizeof *label);
    for (size_t i = 0; i < found->classes; i++) label[i] = hd_vocab_piece(&c->model.labels, (int32_t)i);
    hd_confusion_view v = {.of = found, .label = label, .title = "Confusion matrix"};
    hd_status s = o->json ? hd_confusion_json(&out, &v, err) : hd_confusion_text(&pen, &v, err);
    s = hd_command_put_page(c, &out, s, err);
    if (!s && o->plot) s = hd_confusion_save(o->plot, &v, err);
    hd_mem_free(label);
    return s;
}

/* Of what has no confusion matrix. */
static hd_status show_figures(hd_command *c, const hd_judged *j, hd_err *err)
{
    const bool json = c->usual->json;
    const hd_label_kind *kind = hd_labeler_kind(&c->model);
    hd_text out = {0};
    double mean = j->loss / (double)j->count;
    if (json) hd_member_begin(&out, NULL, '{');
    if (json) hd_member_count(&out, "items", j->count);
    for (int k = 0; k < HD_FIGURES && j->figure[k].name; k++)
        if (json)
            hd_member_number(&out, j->figure[k].name, j->figure[k].value, 9);
        else
            hd_figure_put(&out, &j->figure[k], k ? ", " : "");
    if (json && kind->loss) hd_member_number(&out, kind->loss, mean, 9);
    if (!json && kind->loss) hd_text_print(&out, ", %s %.6g", kind->loss_title, mean);
    if (json)
        hd_text_put(&out, "}\n");
    else
        hd_text_print(&out, " over %zu items\n", j->count);
    return hd_command_put_text(c, &out, true, err);
}

static hd_status evaluate(hd_command *c, hd_err *err)
{
    const hd_label_kind *kind = hd_labeler_kind(&c->model);
    const char *path = hd_input_files(c, 1).word[0];
    const bool pictures = c->model.pictures;
    hd_judged found = {0};
    if (kind->top != 1 && c->usual->plot)
        return hd_err_set(err, HD_EARG, "the model predicts %s: --plot is for one label of each text",
                          kind->predicts);
    if (!pictures)
        hd_input_await(c, path,
                       kind->each ? "lines TOKEN<tab>LABEL, an empty line between sentences"
                                  : "a table with labels");
    hd_status s = pictures ? hd_labels_judge_pictures(&found, c, err)
                           : hd_labeler_judge_file(&found, &c->machine.run, &c->model, path, err);
    if (!s)
        s = found.confusion.classes ? show_confusion(c, &found.confusion, err) : show_figures(c, &found, err);
    hd_confusion_release(&found.confusion);
    return s;
}

/* -- lines -- */

typedef struct hearing {
    hd_real *logp; /* [answers, classes] */
    size_t classes;
} hearing;

static void hear(void *context, size_t label, const hd_real *logp)
{
    hearing *h = context;
    memcpy(h->logp + label * h->classes, logp, h->classes * sizeof *logp);
}

/* Of one text for each item; two are named by their tokens. */
static hd_status attend(hd_command *c, const hd_labeled *items, const hd_examples *x, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && hd_attending_wanted(&c->attending.o) && i < x->count; i++) {
        size_t begin = x->begin[i], rows = x->begin[i + 1] - begin;
        bool pair = x->second[i] < rows;
        hd_attended one = {.ids = x->id + begin,
                           .count = rows,
                           .second = pair ? x->second[i] : 0,
                           .text = hd_labeled_unit(items, items->begin[i]),
                           .score = (double)NAN};
        if (pair) one.second_text = hd_labeled_unit(items, items->begin[i] + 1);
        s = hd_attending_add(c, &one, err);
    }
    return s;
}

/* An item for each line that could be read. */
static hd_status items_of(hd_labeled *items, const hd_command *c, const hd_input_line *line, size_t count,
                          hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++)
        if (!line[i].why) s = hd_labeler_take(items, &c->model, line[i].text, err);
    return s;
}

static hd_status write_answers(hd_command *c, const hd_input_line *line, size_t count,
                               const hd_labeled *items, const hd_real *logp, hd_err *err)
{
    const bool json = c->usual->json;
    hd_text out = {0};
    for (size_t i = 0, item = 0; i < count; i++)
        if (line[i].why)
            hd_input_stand_in(&c->in, &out, json, &line[i], line[i].why);
        else
            hd_labels_put(&out, c, items, item++, logp);
    return hd_command_put_text(c, &out, true, err);
}

static hd_status answer(hd_command *c, const hd_input_line *line, size_t count, hd_err *err)
{
    const hd_classifier_opt *m = &hd_model_folder_classifier(&c->model)->opt;
    hd_examples_opt e = hd_labeler_examples(m);
    hd_labeled items = {0};
    hd_examples x = {0};
    hd_status s = items_of(&items, c, line, count, err);
    size_t answers = e.each ? items.labels : items.count;
    hearing h = {hd_mem_array(answers * m->classes + 1, sizeof *h.logp), m->classes};
    if (!s && !h.logp) s = hd_err_nomem(err, answers * m->classes * sizeof *h.logp);
    if (!s && items.count) s = hd_examples_make(&x, &items, c->model.tokenizer[0], &e, err);
    if (!s && items.count) s = hd_labeler_ask(&c->machine.run, &c->model, &x, hear, &h, err);
    if (!s) s = write_answers(c, line, count, &items, h.logp, err);
    if (!s) s = attend(c, &items, &x, err);
    hd_examples_release(&x);
    hd_labeled_release(&items);
    hd_mem_free(h.logp);
    return s;
}

/* Whether labeled input is asked for. */
static bool evaluates(const hd_command *c)
{
    return ((const hd_labels_options *)c->options)->confusion || c->usual->plot;
}

hd_status hd_labels_check(hd_command *c, hd_err *err)
{
    const char *shows = hd_command_given(c, "top")         ? "top"
                        : hd_command_given(c, "threshold") ? "threshold"
                        : c->usual->attending.file         ? "attention"
                                                           : NULL;
    if (!evaluates(c)) return HD_OK;
    if (shows) return hd_err_set(err, HD_EARG, "--%s and --confusion exclude each other", shows);
    if (c->operands.count <= 2 || (c->operands.count == 3 && hd_is_idx(c->operands.word[1]))) return HD_OK;
    return hd_err_set(err, HD_EARG, "--confusion reads one file: '%s' is one too many", c->operands.word[2]);
}

hd_status hd_labels_run(hd_command *c, hd_err *err)
{
    const bool each = hd_labeler_kind(&c->model)->each;
    hd_status s = open_attending(c, err);
    if (s || evaluates(c)) return s ? s : evaluate(c, err);
    if (c->model.pictures) return hd_labels_answer_pictures(c, err);
    return hd_input_each(c, each ? "a sentence to tag" : "a line to classify", "answered", CHUNK, answer,
                         err);
}
