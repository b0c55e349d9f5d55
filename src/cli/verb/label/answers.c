/* The answers of classifiers, regressions and taggers, for people and as JSON. */
#include <math.h>
#include <string.h>

#include "cli/verb/label/labels.h"

/* -- of a text -- */

static void put_number(hd_text *to, bool json, double number)
{
    char text[HD_DECIMAL];
    if (json)
        hd_member_number(to, "number", number, 9);
    else
        hd_text_put(to, hd_decimal(text, "%.6g", number));
}

/* Where nothing is said, JSON has all labels of a model that may give any number of them. */
void hd_labels_put_likely(hd_text *to, const hd_command *c, const hd_real *answer)
{
    const hd_labels_options *o = c->options;
    const hd_label_kind *kind = hd_labeler_kind(&c->model);
    size_t classes = hd_model_folder_classifier(&c->model)->opt.classes, last = 0;
    int asked = hd_command_given(c, "top") ? o->top : kind->top;
    size_t top = asked && (size_t)asked < classes ? (size_t)asked : classes;
    double least = hd_command_given(c, "threshold") ? o->threshold : o->usual.json ? 0 : kind->threshold;
    char number[HD_DECIMAL];
    for (size_t i = 0; i < top; i++) {
        last = hd_labeler_next_best(answer, classes, i, last);
        if (last == classes) break; /* NaN has no order */
        const char *label = hd_vocab_piece(&c->model.labels, (int32_t)last);
        double probability = kind->probability(answer[last]);
        if (probability < least) break;
        if (!o->usual.json) {
            hd_text_print(to, "%s%s\t%s", i ? "\t" : "", label, hd_decimal(number, "%.4f", probability));
            continue;
        }
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "label", label);
        hd_member_number(to, "probability", probability, 9);
        hd_member_end(to, '}');
    }
}

static bool is_blank(hd_line line)
{
    for (size_t i = 0; i < line.size; i++)
        if (!memchr(" \t\r", line.text[i], 3)) return false;
    return true;
}

static void put_item(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i,
                     const hd_real *answer)
{
    const bool json = c->usual->json, numbers = !hd_labeler_kind(&c->model)->probability;
    bool empty = true;
    if (json) hd_member_begin(to, NULL, '{');
    for (size_t begin = items->begin[i], k = begin; k < items->begin[i + 1]; k++) {
        hd_line text = hd_labeled_unit(items, k);
        if (json) hd_member_bytes(to, k == begin ? "text" : "text2", text.text, text.size);
        empty = empty && is_blank(text);
    }
    if (json && !numbers) hd_member_begin(to, "labels", '[');
    if (numbers && (json || !empty))
        put_number(to, json, empty ? (double)NAN : (double)answer[i]);
    else if (!empty)
        hd_labels_put_likely(to, c, answer + i * hd_model_folder_classifier(&c->model)->opt.classes);
    if (json && !numbers) hd_member_end(to, ']');
    hd_text_put(to, json ? "}\n" : "\n");
}

/* -- of a sentence -- */

static const char *label_of(const hd_command *c, const hd_real *logp)
{
    size_t best = 0;
    for (size_t k = 1; k < hd_model_folder_classifier(&c->model)->opt.classes; k++)
        if (logp[k] > logp[best]) best = k;
    return hd_vocab_piece(&c->model.labels, (int32_t)best);
}

static void put_token(hd_text *to, bool json, hd_line token, const char *label)
{
    if (!json) {
        hd_text_add(to, token.text, token.size);
        hd_text_print(to, "\t%s\n", label);
        return;
    }
    hd_member_begin(to, NULL, '{');
    hd_member_bytes(to, "token", token.text, token.size);
    hd_member_text(to, "label", label);
    hd_member_end(to, '}');
}

static void put_sentence(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i,
                         const hd_real *logp)
{
    const bool json = c->usual->json;
    size_t classes = hd_model_folder_classifier(&c->model)->opt.classes;
    if (json) hd_text_put(to, "{\"tokens\": [");
    for (size_t u = items->begin[i]; u < items->begin[i + 1]; u++)
        put_token(to, json, hd_labeled_unit(items, u), label_of(c, logp + u * classes));
    hd_text_put(to, json ? "]}\n" : "\n");
}

void hd_labels_put(hd_text *to, const hd_command *c, const hd_labeled *items, size_t i, const hd_real *answer)
{
    (hd_labeler_kind(&c->model)->each ? put_sentence : put_item)(to, c, items, i, answer);
}
