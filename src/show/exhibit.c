/* Exhibits: their memory, and the function that fills them for each kind of model. */
#include "show/exhibit.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "nn/position.h"
#include "show/exhibit_parts.h"

hd_status hd_exhibit_new(hd_exhibit **out, hd_exhibit_kind kind, const hd_model *of, hd_err *err)
{
    char title[2 * HD_STAGES_TEXT + 8];
    hd_exhibit *x = *out = hd_mem_zero(sizeof *x);
    if (!x) return hd_err_nomem(err, sizeof *x);
    hd_arena_init(&x->memory, hd_allocator_host, 1 << 16);
    x->kind = kind;
    x->model = of ? hd_exhibit_copy(x, of->type->title(of->self, title, sizeof title), err) : "";
    return x->model ? HD_OK : HD_ENOMEM;
}

hd_status hd_exhibit_give(hd_exhibit **out, hd_exhibit *x, hd_status s)
{
    if (s)
        hd_exhibit_free(x);
    else
        *out = x;
    return s;
}

void hd_exhibit_free(hd_exhibit *x)
{
    if (!x) return;
    hd_arena_release(&x->memory);
    hd_mem_free(x->item);
    hd_mem_free(x);
}

static const struct {
    const char *what; /* the name of its input in messages */
    hd_exhibit_fill *fill;
} kinds[] = {[HD_EXHIBIT_TRANSLATOR] = {"sentence", hd_exhibit_translation},
             [HD_EXHIBIT_LANGUAGE] = {"prompt", hd_exhibit_language},
             [HD_EXHIBIT_MASKED] = {"text", hd_exhibit_masked},
             [HD_EXHIBIT_LABELER] = {"text", hd_exhibit_labels}};

static hd_status check(hd_line text, const char *what, hd_err *err)
{
    if (hd_utf8_good(text.text, text.size) < text.size)
        return hd_err_set(err, HD_EARG, "the %s is not UTF-8 text", what);
    if (memchr(text.text, '\n', text.size))
        return hd_err_set(err, HD_EARG, "the %s has more than one line", what);
    return HD_OK;
}

hd_status hd_exhibit_text_of(hd_exhibit **out, hd_run *r, const hd_model_folder *f, hd_line text, size_t step,
                             hd_err *err)
{
    const hd_model_type *can = f->model.type;
    const hd_exhibit_kind kind = can->decode    ? HD_EXHIBIT_TRANSLATOR
                                 : can->stepper ? HD_EXHIBIT_LANGUAGE
                                 : can->fill    ? HD_EXHIBIT_MASKED
                                                : HD_EXHIBIT_LABELER;
    hd_exhibit *x = NULL;
    if (kind == HD_EXHIBIT_LABELER && !can->body)
        return hd_err_set(
            err, HD_EARG,
            "a model of kind %s cannot be explained: use a translator, a language model, a BERT "
            "or a classifier",
            can->name);
    hd_status s = check(text, kinds[kind].what, err);
    if (!s) s = hd_exhibit_new(&x, kind, &f->model, err);
    if (!s && kind == HD_EXHIBIT_TRANSLATOR) x->shown = step;
    if (!s) s = kinds[kind].fill(x, r, f, text, err);
    return hd_exhibit_give(out, x, s);
}

hd_status hd_exhibit_add(hd_exhibit *x, const hd_exhibit_item *item, hd_err *err)
{
    hd_status s = hd_mem_reserve(&x->item, &x->room, x->items + 1, sizeof *x->item, err);
    if (!s) x->item[x->items++] = *item;
    return s;
}

const hd_exhibit_item *hd_exhibit_find(const hd_exhibit *x, const char *name)
{
    for (size_t i = 0; i < x->items; i++)
        if (!strcmp(x->item[i].name, name)) return &x->item[i];
    return NULL;
}

size_t hd_exhibit_heads(const hd_exhibit *x)
{
    size_t most = 0;
    for (size_t i = 0; i < x->items; i++) most = x->item[i].heads > most ? x->item[i].heads : most;
    return most;
}

const char *hd_exhibit_copy(hd_exhibit *x, const char *text, hd_err *err)
{
    return hd_shown_text(&x->memory, (hd_line){text, strlen(text)}, err);
}

hd_status hd_exhibit_tokens(hd_exhibit *x, hd_shown_token **out, const int32_t *ids, size_t count,
                            const hd_tokenizer *pieces, hd_line text, bool masks, hd_err *err)
{
    *out = hd_arena_array(&x->memory, count, sizeof **out, err);
    return *out ? hd_shown_tokens(*out, &x->memory, ids, count, pieces, text, masks, err) : HD_ENOMEM;
}

bool hd_exhibit_has_unknown(const hd_exhibit *x)
{
    bool has = false;
    for (size_t i = 0; x->source && i < x->sources; i++) has = has || x->source[i].word;
    for (size_t i = 0; x->read && i < x->reads; i++) has = has || x->read[i].word;
    return has;
}

/* -- the claim that one matrix shifts all positions -- */

/* y = p M^T, in double: a sum of two products that are not zero. */
static void turn(hd_real *y, const hd_real *p, const hd_real *m, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            double sum = 0;
            for (size_t k = 0; k < cols; k++) sum += (double)p[i * cols + k] * (double)m[j * cols + k];
            y[i * cols + j] = (hd_real)sum;
        }
}

static hd_status fill_shift(hd_exhibit *x, size_t positions, size_t width, size_t by, hd_err *err)
{
    static const char part[] = "Positions that are shifted";
    const hd_sinusoid paper = {0};
    size_t all = positions + by;
    hd_real *p = hd_arena_array(&x->memory, all * width, sizeof *p, err),
            *m = hd_arena_array(&x->memory, width * width, sizeof *m, err),
            *y = hd_arena_array(&x->memory, positions * width, sizeof *y, err);
    x->read = hd_arena_array(&x->memory, all, sizeof *x->read, err);
    if (!p || !m || !y || !x->read) return HD_ENOMEM;
    for (x->reads = 0; x->reads < all; x->reads++) {
        char name[32];
        snprintf(name, sizeof name, "position %zu", x->reads);
        x->read[x->reads] = (hd_shown_token){.id = (int32_t)x->reads, .piece = hd_exhibit_copy(x, name, err)};
        if (!x->read[x->reads].piece) return HD_ENOMEM;
    }
    hd_sinusoid_fill(p, all, width, &paper);
    hd_sinusoid_shift(m, width, (double)by, &paper);
    turn(y, p, m, positions, width);
    const hd_exhibit_item items[] = {
        {"pe", part, "sin and cos of position / 10000^(2i / columns), in turn", HD_EXHIBIT_READ,
         HD_EXHIBIT_CHANNELS, 0, all, width, p, false},
        {"M", part, "every pair of columns turned by its own angle, the same for all positions",
         HD_EXHIBIT_CHANNELS, HD_EXHIBIT_CHANNELS, 0, width, width, m, false},
        {"pe.shifted", part, "pe M^T: each row is the one of pe that lies further on", HD_EXHIBIT_READ,
         HD_EXHIBIT_CHANNELS, 0, positions, width, y, false}};
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < sizeof items / sizeof *items; i++) s = hd_exhibit_add(x, &items[i], err);
    return s;
}

hd_status hd_exhibit_shift(hd_exhibit **out, size_t positions, size_t width, size_t by, hd_err *err)
{
    hd_exhibit *x;
    hd_status s = hd_exhibit_new(&x, HD_EXHIBIT_LANGUAGE, NULL, err);
    if (!s) x->model = "positions", s = fill_shift(x, positions, width, by, err);
    return hd_exhibit_give(out, x, s);
}
