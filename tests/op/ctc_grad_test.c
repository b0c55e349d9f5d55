/* Gradients of CTC: items of all lengths, with repeated labels, weights, and items that are left out. */
#include "op/gradient.h"

enum { CLASSES = 5, FRAMES = 19, LABELS = 9 };

typedef struct shape {
    int32_t frames[4], count[4], label[LABELS], blank;
    size_t items;
    bool gaps, weight; /* weights are the last leaf */
} shape;

static hd_tensor *ctc(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    const shape *s = c->opt;
    int32_t begin[4];
    for (size_t i = 0, at = 0; i < s->items; at += (size_t)s->frames[i] + s->gaps, i++)
        begin[i] = (int32_t)at;
    const hd_seg *seg = s->gaps ? seg_at(r, begin, s->frames, s->items, hd_rows_of(x[0]), false)
                                : hd_seg_of(r, s->frames, s->items, NULL);
    hd_loss_opt o = {.coef = (float)c->coef, .weight = s->weight ? x[1] : NULL};
    return hd_ctc(r, (hd_rows){x[0], seg}, hd_ints(r, s->label, LABELS),
                  hd_seg_of(r, s->count, s->items, NULL), s->blank, &o);
}

/* Below a layer, where another loss is as well. */
static hd_tensor *joint(hd_run *r, hd_tensor *const *x, const gradient_case *c)
{
    hd_tensor *logits = hd_linear(r, x[0], x[1], NULL, HD_IDENTITY), *none[] = {logits, NULL};
    hd_tensor *a = ctc(r, none, c), *b = hd_sum_loss(r, hd_mul(r, logits, logits), (float)c->coef);
    return a && b ? hd_concat_rows(r, (hd_tensor *const[]){a, b}, 2) : NULL;
}

#define SHAPE(...)        \
    .opt = &(const shape) \
    {                     \
        __VA_ARGS__       \
    }
#define LOGITS(rows) LEAF("logits", rows, CLASSES)
#define WEIGHT(rows) LEAF("weight", rows, 1, .fill = POSITIVE, .fixed = true)

static const gradient_case cases[] = {
    CASE("two labels", ctc, LEAVES_OF(LOGITS(6)), .coef = 1,
         SHAPE(.items = 1, .frames = {6}, .count = {2}, .label = {1, 2})),
    CASE("repeated labels", ctc, LEAVES_OF(LOGITS(9)), .coef = 1,
         SHAPE(.items = 1, .frames = {9}, .count = {4}, .label = {3, 3, 1, 3})),
    CASE("as few frames as can be", ctc, LEAVES_OF(LOGITS(6)), .coef = 1,
         SHAPE(.items = 1, .frames = {6}, .count = {4}, .label = {2, 2, 4, 4})),
    CASE("no label", ctc, LEAVES_OF(LOGITS(4)), .coef = 1, SHAPE(.items = 1, .frames = {4})),
    CASE("one frame", ctc, LEAVES_OF(LOGITS(1)), .coef = 1,
         SHAPE(.items = 1, .frames = {1}, .count = {1}, .label = {4})),
    CASE("blank is the last column", ctc, LEAVES_OF(LOGITS(7)), .coef = -0.75,
         SHAPE(.items = 1, .frames = {7}, .count = {3}, .label = {0, 1, 0}, .blank = CLASSES - 1)),
    CASE("items", ctc, LEAVES_OF(LOGITS(FRAMES)), .coef = 1,
         SHAPE(.items = 4, .frames = {7, 0, 4, 8}, .count = {3, 0, 1, 5},
               .label = {1, 1, 2, 3, 4, 2, 4, 1, 1})),
    CASE("items with weights, one left out", ctc, LEAVES_OF(LOGITS(FRAMES), WEIGHT(4)), .coef = 0.5,
         SHAPE(.items = 4, .frames = {7, 3, 1, 8}, .count = {3, 3, 1, 2},
               .label = {1, 1, 2, 3, 3, 2, 4, 1, 1}, .weight = true)),
    CASE("rows of no item", ctc, LEAVES_OF(LOGITS(FRAMES), WEIGHT(3)), .coef = 2,
         SHAPE(.items = 3, .frames = {5, 6, 4}, .count = {2, 3, 2}, .label = {1, 2, 3, 3, 2, 4, 1},
               .weight = true, .gaps = true)),
    CASE("two losses on the logits", joint, LEAVES_OF(LEAF("x", 8, 3), LEAF("w", CLASSES, 3)), .coef = 0.25,
         SHAPE(.items = 2, .frames = {5, 3}, .count = {2, 1}, .label = {1, 2, 3})),
};

static void ctc_follows_differences(void **state)
{
    (void)state;
    check_gradients(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctc_follows_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
