/* ROUGE-L (Lin 2004) of captions: the longest common subsequence of words, best precision and best recall
   over the references, F with recall weighing more; the mean over segments. */
#include "base/mem.h"
#include "metric/corpus/bleu_tokenizer.h"
#include "metric/metric.h"

enum { SCORE, SEGMENTS, STATS };
enum { MOST_WORDS = 16384 }; /* time grows with the square */
static const double beta = 1.2;

struct rouge {
    hd_bleu_words hyp, ref;
    hd_word_book book;
    size_t *row; /* lengths of common subsequences with what begins the hypothesis */
    size_t room;
};

static void release(void *state)
{
    struct rouge *b = state;
    hd_bleu_words_release(&b->hyp);
    hd_bleu_words_release(&b->ref);
    hd_word_book_release(&b->book);
    hd_mem_free(b->row);
}

static hd_status check_words(size_t count, hd_err *err)
{
    return count <= MOST_WORDS ? HD_OK
                               : hd_err_set(err, HD_ELIMIT, "%zu words, the most is %d", count, MOST_WORDS);
}

static size_t common(const struct rouge *b)
{
    const hd_word_list *hyp = &b->hyp.words, *ref = &b->ref.words;
    for (size_t j = 0; j <= hyp->count; j++) b->row[j] = 0;
    for (size_t i = 0; i < ref->count; i++) {
        size_t corner = 0;
        for (size_t j = 0; j < hyp->count; j++) {
            size_t above = b->row[j + 1], left = b->row[j];
            b->row[j + 1] = ref->number[i] == hyp->number[j] ? corner + 1 : above > left ? above : left;
            corner = above;
        }
    }
    return b->row[hyp->count];
}

static hd_status count(void *state, const hd_metric_opt *opt, hd_line hyp, const hd_line *refs, double *stat,
                       hd_err *err)
{
    struct rouge *b = state;
    double precision = 0, recall = 0;
    hd_status s = hd_bleu_tokenize(&b->hyp, HD_BLEU_TOKENIZER_ptb, true, hyp, err);
    if (!s) s = hd_word_number(&b->book, &b->hyp.words, err);
    size_t words = b->hyp.words.count;
    if (!s) s = check_words(words, err);
    if (!s) s = hd_mem_reserve(&b->row, &b->room, words + 1, sizeof *b->row, err);
    for (int r = 0; !s && r < opt->refs; r++) {
        s = hd_bleu_tokenize(&b->ref, HD_BLEU_TOKENIZER_ptb, true, refs[r], err);
        if (!s) s = check_words(b->ref.words.count, err);
        if (!s) s = hd_word_find(&b->book, &b->ref.words, err);
        if (s || !words || !b->ref.words.count) continue;
        double length = (double)common(b), p = length / (double)words,
               q = length / (double)b->ref.words.count;
        if (p > precision) precision = p;
        if (q > recall) recall = q;
    }
    stat[SCORE] =
        precision > 0 ? (1 + beta * beta) * precision * recall / (recall + beta * beta * precision) : 0;
    stat[SEGMENTS] = 1;
    return s;
}

static void sign(hd_text *to, const hd_metric_opt *opt)
{
    (void)opt;
    hd_text_put(to, "|case:lc|tok:ptb|beta:1.2");
}

const hd_metric_class hd_metric_rouge_l = {.name = "ROUGE-L",
                                           .stats = STATS,
                                           .size = sizeof(struct rouge),
                                           .count = count,
                                           .release = release,
                                           .score = hd_metric_mean,
                                           .sign = sign};
