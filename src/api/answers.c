/* heed_fill and heed_classify: choices, the likeliest first. */
#include <math.h>
#include <string.h>

#include "api/api.h"
#include "base/mem.h"
#include "base/text.h"
#include "task/label/labeler.h"
#include "task/masked/masked.h"

void heed_answers_free(heed_answers *answers)
{
    hd_api_drop(answers);
}

/* -- results on their way -- */

typedef struct made {
    heed_answers *shown;
    hd_api_held *held;
    heed_answer *answer; /* [count] */
} made;

static hd_status begin(made *to, heed_model *m, size_t count, hd_err *err)
{
    to->shown = hd_api_hold(&to->held, sizeof *to->shown, m, err);
    if (!to->shown) return HD_ENOMEM;
    to->answer = hd_api_take(to->held, count, sizeof *to->answer);
    const heed_answer **at = hd_api_take(to->held, count, sizeof *at);
    for (size_t i = 0; at && i < count; i++) at[i] = &to->answer[i], to->answer[i].error = "";
    *to->shown = (heed_answers){count, at};
    return to->held->err.status;
}

/* `count` places in an answer, with `top` choices each, to be filled in. */
static heed_choice *room(made *to, size_t line, size_t count, size_t top)
{
    heed_choice *all = hd_api_take(to->held, count * top, sizeof *all);
    const heed_choice **each = hd_api_take(to->held, count * top, sizeof *each);
    heed_choices *place = hd_api_take(to->held, count, sizeof *place);
    const heed_choices **at = hd_api_take(to->held, count, sizeof *at);
    for (size_t i = 0; at && i < count * top; i++) each[i] = &all[i];
    for (size_t i = 0; at && i < count; i++)
        place[i] = (heed_choices){top, each + i * top}, at[i] = &place[i];
    to->answer[line].count = at ? count : 0, to->answer[line].at = at;
    return at ? all : NULL;
}

static void refuse(made *to, size_t line, const hd_err *why)
{
    to->answer[line].status = (heed_status)why->status;
    to->answer[line].error = hd_api_copy(to->held, why->text, strlen(why->text));
    if (!to->answer[line].error) to->answer[line].error = "";
}

/* -- missing words -- */

/* Lines that cannot be read have a status of their own. */
static hd_status fill_line(made *to, heed_context *c, size_t i, hd_line line, size_t top, hd_err *err)
{
    const hd_tokenizer *t = c->model->folder.tokenizer[0];
    hd_filled found = {0};
    hd_err why = {0};
    hd_status s = hd_masked_fill(&found, &c->run, &c->model->folder, line, top, &why);
    if (s == HD_EARG || s == HD_EFORMAT || s == HD_ELIMIT) return refuse(to, i, &why), HD_OK;
    if (s) return hd_err_set(err, s, "%s", why.text);
    heed_choice *choice = room(to, i, found.masks, found.top);
    for (size_t k = 0; choice && k < found.masks * found.top; k++) {
        const char *piece = hd_masked_piece(t, found.choice[k].id);
        choice[k] = (heed_choice){piece ? piece : "", found.choice[k].id, found.choice[k].p};
    }
    hd_filled_release(&found);
    return HD_OK;
}

static hd_status fill(made *to, heed_context *c, const hd_line *line, size_t count, size_t top, hd_err *err)
{
    hd_status s = hd_masked_fill_check(&c->model->folder, err);
    for (size_t i = 0; !s && i < count; i++) s = fill_line(to, c, i, line[i], top, err);
    return s;
}

/* -- labels -- */

typedef struct hearing {
    hd_real *answer; /* [answers, classes] */
    size_t classes;
} hearing;

static void hear(void *context, size_t i, const hd_real *answer)
{
    hearing *h = context;
    memcpy(h->answer + i * h->classes, answer, h->classes * sizeof *answer);
}

static void put_labels(heed_choice *to, const hd_model_folder *f, const hd_real *answer, size_t classes,
                       size_t top)
{
    const hd_label_kind *kind = hd_labeler_kind(f);
    for (size_t i = 0, last = 0; i < top; i++) {
        last = hd_labeler_next_best(answer, classes, i, last);
        if (last == classes) { /* NaN has no order */
            to[i] = (heed_choice){"", -1, (double)NAN};
            continue;
        }
        const char *label = kind->probability ? hd_vocab_piece(&f->labels, (int32_t)last) : "";
        to[i] = (heed_choice){label ? label : "", (int32_t)last,
                              kind->probability ? kind->probability(answer[last]) : (double)answer[last]};
    }
}

/* The lines that are items; the others have their status. which [count]: whether a line is one. */
static hd_status items_of(hd_labeled *items, bool *which, made *to, heed_context *c, const hd_line *line,
                          size_t count, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        hd_err why = {0};
        s = hd_labeler_take(items, &c->model->folder, line[i], &why);
        which[i] = !s;
        if (s && s != HD_ENOMEM)
            refuse(to, i, &why), s = HD_OK;
        else if (s)
            hd_err_set(err, s, "%s", why.text);
    }
    return s;
}

static hd_status ask(hearing *h, heed_context *c, const hd_labeled *items, hd_err *err)
{
    const hd_classifier_opt *m = &hd_model_folder_classifier(&c->model->folder)->opt;
    const hd_examples_opt e = hd_labeler_examples(m);
    const size_t answers = e.each ? items->labels : items->count;
    hd_examples x = {0};
    h->classes = m->classes;
    h->answer = hd_mem_array(answers * m->classes + 1, sizeof *h->answer);
    hd_status s = h->answer ? HD_OK : hd_err_nomem(err, answers * m->classes * sizeof *h->answer);
    if (!s && items->count) s = hd_examples_make(&x, items, c->model->folder.tokenizer[0], &e, err);
    if (!s && items->count) s = hd_labeler_ask(&c->run, &c->model->folder, &x, hear, h, err);
    hd_examples_release(&x);
    return s;
}

static hd_status classify(made *to, heed_context *c, const hd_line *line, size_t count, size_t top,
                          hd_err *err)
{
    const hd_model_folder *f = &c->model->folder;
    const bool each = hd_labeler_kind(f)->each;
    hd_labeled items = {0};
    hearing h = {0};
    bool *which = hd_mem_array(count, sizeof *which);
    hd_status s = which ? HD_OK : hd_err_nomem(err, count);
    if (!s && f->pictures)
        s = hd_err_set(err, HD_EARG, "heed_classify: the model reads pictures, not lines of text");
    if (!s) s = items_of(&items, which, to, c, line, count, err);
    if (!s) s = ask(&h, c, &items, err);
    if (!top || top > h.classes) top = h.classes;
    for (size_t i = 0, item = 0, at = 0; !s && i < count; i++) {
        if (!which[i]) continue;
        size_t answers = each ? items.begin[item + 1] - items.begin[item] : 1;
        heed_choice *choice = room(to, i, answers, top);
        for (size_t k = 0; choice && k < answers; k++)
            put_labels(choice + k * top, f, h.answer + (at + k) * h.classes, h.classes, top);
        at += answers, item++;
    }
    hd_mem_free(h.answer);
    hd_labeled_release(&items);
    hd_mem_free(which);
    return s;
}

/* -- the calls -- */

typedef hd_status answering(made *to, heed_context *c, const hd_line *line, size_t count, size_t top,
                            hd_err *err);

static hd_status answer(heed_answers **out, heed_context *c, const char *const *text, size_t count,
                        size_t top, answering *how, hd_err *err)
{
    made m = {0};
    hd_line *line = hd_mem_array(count, sizeof *line);
    hd_status s = line ? HD_OK : hd_err_nomem(err, count * sizeof *line);
    if (!s) s = hd_api_lines(line, text, NULL, count, "line", false, err);
    if (!s) s = begin(&m, c->model, count, err);
    if (!s) s = how(&m, c, line, count, top, err);
    if (m.shown) s = hd_api_give(out, m.shown, m.held, s, err);
    hd_mem_free(line);
    return s;
}

heed_status heed_fill(heed_context *context, const char *const *lines, size_t count, size_t top,
                      heed_answers **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !lines && count ? "lines" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_fill", missing, &err);
    const bool entered = !s;
    if (!s && !top) s = hd_err_set(&err, HD_EARG, "heed_fill: top is 0: how many words are asked for?");
    if (!s) s = hd_api_reads(context->model, "fill", "heed_fill", &err);
    if (!s) s = answer(out, context, lines, count, top, fill, &err);
    return hd_api_leave(context, entered, error, &err, s);
}

heed_status heed_classify(heed_context *context, const char *const *lines, size_t count, size_t top,
                          heed_answers **out, heed_error *error)
{
    hd_err err = {0};
    const char *missing = !context ? "context" : !lines && count ? "lines" : !out ? "out" : NULL;
    hd_status s = hd_api_enter(context, "heed_classify", missing, &err);
    const bool entered = !s;
    if (!s && !hd_labeler_kind(&context->model->folder))
        s = hd_api_reads(context->model, "classify", "heed_classify", &err);
    if (!s) s = answer(out, context, lines, count, top, classify, &err);
    return hd_api_leave(context, entered, error, &err, s);
}
