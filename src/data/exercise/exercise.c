/* How exercises are drawn. */
#include "data/exercise/exercise.h"

const char *const hd_exercise_names[HD_EXERCISES + 1] = {
#define X(name, help) #name,
    HD_EXERCISE_LIST(X)
#undef X
};

/* -- words -- */

enum { REPEATS = 3, DIGITS = 10, PLUS = DIGITS, ASK = 0, KINDS = 3 };
enum { FIRST, BACKWARDS, SAME, YES, NO };

/* Words of a task itself; each list ends with NULL. */
static const char *const own[HD_EXERCISES][12] = {
    [HD_EXERCISE_expand] = {"1", "2", "3"},
    [HD_EXERCISE_gap] = {"?"},
    [HD_EXERCISE_sums] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+"},
    [HD_EXERCISE_brackets] = {"(", "[", "{", ")", "]", "}"},
    [HD_EXERCISE_questions] = {"first?", "backwards?", "same?", "yes", "no"},
};
enum { PAIRS = 3 }; /* kinds of brackets */

static int32_t own_count(hd_exercise_kind kind)
{
    int32_t n = 0;
    while (own[kind][n]) n++;
    return n;
}

static bool is_plain(hd_exercise_kind kind)
{
    return kind != HD_EXERCISE_sums && kind != HD_EXERCISE_brackets;
}

int32_t hd_exercise_vocabulary(hd_exercise_kind kind, int32_t plain)
{
    return own_count(kind) + (is_plain(kind) ? plain : 0);
}

const char *hd_exercise_word(hd_exercise_kind kind, int32_t word)
{
    static const char letters[HD_EXERCISE_WORDS][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                                       "j", "k", "l", "m", "n", "o", "p", "q", "r",
                                                       "s", "t", "u", "v", "w", "x", "y", "z"};
    int32_t n = own_count(kind);
    return word < n ? own[kind][word] : letters[(word - n) % HD_EXERCISE_WORDS];
}

/* -- tasks -- */

typedef struct hand {
    hd_exercise *to;
    hd_rng *rng;
    int32_t first, plain, length;
} hand;

static int32_t below(hand *h, int32_t n)
{
    return (int32_t)hd_rng_below(h->rng, (uint32_t)n);
}

static int32_t draw_word(hand *h)
{
    return h->first + below(h, h->plain);
}

static void read(hand *h, int32_t word)
{
    h->to->source[h->to->sources++] = word;
}

static void say(hand *h, int32_t word)
{
    h->to->target[h->to->targets++] = word;
}

static void draw_copy(hand *h)
{
    for (int32_t i = 0; i < h->length; i++) read(h, draw_word(h));
    for (int32_t i = 0; i < h->length; i++) say(h, h->to->source[i]);
}

static void draw_reverse(hand *h)
{
    for (int32_t i = 0; i < h->length; i++) read(h, draw_word(h));
    for (int32_t i = h->length; i-- > 0;) say(h, h->to->source[i]);
}

static void draw_expand(hand *h)
{
    for (int32_t i = 0; i < h->length; i++) {
        int32_t word = draw_word(h), times = below(h, REPEATS);
        read(h, word), read(h, times);
        for (int32_t k = 0; k <= times; k++) say(h, word);
    }
}

static void draw_gap(hand *h)
{
    for (int32_t i = 0; i < h->length; i++) read(h, draw_word(h));
    read(h, ASK);
    say(h, h->to->source[0]);
}

/* Digits from the last to the first, so that a carry is known when it is needed. */
static void draw_sums(hand *h)
{
    int32_t carry = 0;
    for (int32_t i = 0; i < h->length; i++) read(h, below(h, DIGITS));
    read(h, PLUS);
    for (int32_t i = 0; i < h->length; i++) read(h, below(h, DIGITS));
    for (int32_t i = 0; i < h->length; i++) {
        int32_t sum = h->to->source[i] + h->to->source[h->length + 1 + i] + carry;
        say(h, sum % DIGITS), carry = sum / DIGITS;
    }
    if (carry) say(h, carry);
}

/* Opened and closed at random; what is still open is to be closed. At least one is. */
static void draw_brackets(hand *h)
{
    int32_t open[HD_EXERCISE_LONGEST], depth = 0;
    for (int32_t i = 0; i < h->length; i++) {
        bool close = depth > 1 && below(h, 2);
        if (close)
            read(h, PAIRS + open[--depth]);
        else
            read(h, open[depth++] = below(h, PAIRS));
    }
    while (depth) say(h, PAIRS + open[--depth]);
}

static void draw_questions(hand *h)
{
    int32_t kind = below(h, KINDS), *word = h->to->source + 1;
    read(h, kind);
    for (int32_t i = 0; i < h->length; i++) read(h, draw_word(h));
    if (kind == SAME && h->length > 1 && below(h, 2)) word[1] = word[0];
    if (kind == FIRST) say(h, word[0]);
    if (kind == SAME) say(h, h->length > 1 && word[0] == word[1] ? YES : NO);
    for (int32_t i = h->length; kind == BACKWARDS && i-- > 0;) say(h, word[i]);
}

void hd_exercise_draw(hd_exercise *to, hd_exercise_kind kind, int32_t plain, int32_t length, hd_rng *rng)
{
    static void (*const draw[HD_EXERCISES])(hand *) = {
#define X(name, help) draw_##name,
        HD_EXERCISE_LIST(X)
#undef X
    };
    hand h = {to, rng, own_count(kind), plain, length};
    to->sources = to->targets = 0;
    draw[kind](&h);
}

/* -- files -- */

enum { SHARE = 10, TRIES = 10000 }; /* one in so many is for validation, and one for the test */

hd_exercise_split hd_exercise_split_of(const hd_exercise *x)
{
    uint64_t sum = 0x9e3779b97f4a7c15u;
    for (int32_t i = 0; i < x->sources; i++) sum = hd_rng_mix(sum, (uint32_t)x->source[i]) + (sum << 7);
    uint32_t n = hd_rng_mix(sum, (uint32_t)x->sources) % SHARE;
    return n == 0 ? HD_EXERCISE_SPLIT_valid : n == 1 ? HD_EXERCISE_SPLIT_test : HD_EXERCISE_SPLIT_train;
}

static void put_words(hd_text *to, hd_exercise_kind kind, const int32_t *word, int32_t count)
{
    to->size = 0;
    for (int32_t i = 0; i < count; i++) {
        if (i) hd_text_put(to, " ");
        hd_text_put(to, hd_exercise_word(kind, word[i]));
    }
}

hd_status hd_exercise_next(hd_text *source, hd_text *target, const hd_exercise_opt *o,
                           hd_exercise_split split, hd_rng *rng, hd_err *err)
{
    hd_exercise x;
    for (int i = 0; i < TRIES; i++) {
        hd_exercise_draw(&x, o->kind, o->plain,
                         o->shortest + (int32_t)hd_rng_below(rng, (uint32_t)(o->longest - o->shortest + 1)),
                         rng);
        if (hd_exercise_split_of(&x) != split) continue;
        put_words(source, o->kind, x.source, x.sources);
        put_words(target, o->kind, x.target, x.targets);
        hd_status s = hd_text_status(source, err);
        return s ? s : hd_text_status(target, err);
    }
    return hd_err_set(err, HD_ELIMIT,
                      "there are too few exercises of these lengths and words for separate sets");
}
