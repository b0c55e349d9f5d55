/* Confusions, counted. */
#include "metric/confusion.h"

#include <math.h>

#include "base/mem.h"

hd_status hd_confusion_init(hd_confusion *c, size_t classes, hd_err *err)
{
    size_t cells = 0;
    *c = (hd_confusion){.classes = classes};
    c->at = hd_size_mul(classes, classes, &cells) ? hd_mem_array(cells, sizeof *c->at) : NULL;
    return c->at ? HD_OK : hd_err_nomem(err, cells * sizeof *c->at);
}

void hd_confusion_release(hd_confusion *c)
{
    hd_mem_free(c->at);
    *c = (hd_confusion){0};
}

void hd_confusion_add(hd_confusion *c, size_t truth, size_t guess)
{
    c->at[truth * c->classes + guess]++;
    c->count++;
    c->right += truth == guess;
}

double hd_confusion_accuracy(const hd_confusion *c)
{
    return c->count ? (double)c->right / (double)c->count : NAN;
}

static double share(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

hd_class_score hd_confusion_class(const hd_confusion *c, size_t k)
{
    hd_class_score s = {.right = c->at[k * c->classes + k]};
    for (size_t i = 0; i < c->classes; i++) {
        s.true_items += c->at[k * c->classes + i];
        s.guessed += c->at[i * c->classes + k];
    }
    s.precision = share(s.right, s.guessed);
    s.recall = share(s.right, s.true_items);
    s.f1 = share(2 * s.right, s.true_items + s.guessed);
    return s;
}

double hd_confusion_macro_f1(const hd_confusion *c)
{
    double sum = 0;
    size_t n = 0;
    for (size_t k = 0; k < c->classes; k++) {
        hd_class_score s = hd_confusion_class(c, k);
        if (!s.true_items && !s.guessed) continue;
        sum += s.f1;
        n++;
    }
    return n ? sum / (double)n : NAN;
}

/* Of all pairs of items: how far sharing a true class and sharing a guessed one go together. */
double hd_confusion_matthews(const hd_confusion *c)
{
    double n = (double)c->count, both = 0, truths = 0, guesses = 0;
    if (!c->count) return NAN;
    for (size_t k = 0; k < c->classes; k++) {
        hd_class_score s = hd_confusion_class(c, k);
        double t = (double)s.true_items, g = (double)s.guessed;
        both += t * g, truths += t * t, guesses += g * g;
    }
    double spread = sqrt(n * n - truths) * sqrt(n * n - guesses);
    return spread > 0 ? ((double)c->right * n - both) / spread : 0;
}
