/* The ladder: every kind of language model on one text, by loss, parameters and time. */
#include <math.h>

#include "base/system/clock.h"
#include "lab/language/pupil.h"

enum { SENTENCES = 600, HELD_BACK = 60, WIDTH = 32, UPDATES = 200 };

typedef struct rung {
    double nats[HD_LAB_SEEDS], seconds[HD_LAB_SEEDS];
    size_t size;
} rung;

static const double rates[HD_LM_KINDS] = {[HD_LM_maxent] = 0.1, [HD_LM_ffnn] = 0.01, [HD_LM_rnn] = 0.01,
                                          [HD_LM_gru] = 0.01,   [HD_LM_lstm] = 0.02, [HD_LM_gpt] = 0.01,
                                          [HD_LM_llama] = 0.01, [HD_LM_moe] = 0.01,  [HD_LM_deepseek] = 0.01};

static hd_status climb(rung *to, const hd_lab *lab, hd_lm_kind kind, int number, const hd_story *text,
                       size_t split, hd_err *err)
{
    const hd_lm_opt o = hd_pupil_model(kind, WIDTH, text->vocab);
    hd_pupil p;
    hd_status s = hd_pupil_open(&p, lab->run, &o, lab->seed + (uint64_t)number, err);
    double begun = hd_seconds();
    if (!s) s = hd_pupil_learn(&p, text->ids, split, lab->full ? 8 * UPDATES : UPDATES, rates[kind], err);
    to->seconds[number] = hd_seconds() - begun;
    if (!s)
        s = hd_pupil_judge(&to->nats[number], &p, text->ids + split, text->count - split, HD_PUPIL_WINDOW,
                           err);
    if (!s) to->size = hd_lm_size(p.model);
    hd_pupil_close(&p);
    return s;
}

static void put_rungs(hd_paper *to, const rung *r, const hd_lab *lab)
{
    hd_paper_plot(to,
                  &(hd_series_plot){.title = "Every kind of language model on one text",
                                    .across = "parameters (of the n-grams: counts)",
                                    .upward = "perplexity of text held back (mean and spread of all seeds)",
                                    .log_x = true});
    for (int k = 0; k < HD_LM_KINDS; k++) {
        hd_spread s = hd_spread_of(r[k].nats, (size_t)lab->seeds);
        double x = (double)r[k].size, y = exp(s.mean), low = exp(s.low), high = exp(s.high);
        hd_paper_line(to, hd_lm_names[k],
                      &(hd_series){.x = &x, .y = &y, .low = &low, .high = &high, .count = 1});
    }
    hd_paper_table_of(to, "Loss, size and time", 5, 1);
    hd_paper_cell(to, "model");
    hd_paper_cell(to, "nats a word");
    hd_paper_cell(to, "perplexity");
    hd_paper_cell(to, "parameters");
    hd_paper_cell(to, "seconds of learning");
    for (int k = 0; k < HD_LM_KINDS; k++) {
        hd_spread s = hd_spread_of(r[k].nats, (size_t)lab->seeds);
        hd_paper_cell(to, "%s", hd_lm_names[k]);
        hd_paper_cell(to, "%.2f (%.2f to %.2f)", s.mean, s.low, s.high);
        hd_paper_cell(to, "%.1f", exp(s.mean));
        hd_paper_cell(to, "%zu", r[k].size);
        hd_paper_cell(to, "%.2f", hd_spread_of(r[k].seconds, (size_t)lab->seeds).mean);
    }
}

static void judge(hd_paper *to, const rung *r, const hd_lab *lab, double vocab)
{
    double worst = 0, gain = 1e9;
    int kind = 0;
    for (int k = 0; k < HD_LM_KINDS; k++)
        for (int i = 0; i < lab->seeds; i++)
            if (r[k].nats[i] > worst) worst = r[k].nats[i], kind = k;
    for (int i = 0; i < lab->seeds; i++) gain = fmin(gain, r[HD_LM_ffnn].nats[i] - r[HD_LM_gpt].nats[i]);
    hd_paper_claim(to, "Every one of them learns: all are far better than a guess.",
                   worst < 0.75 * log(vocab),
                   "The worst, %s, has a perplexity of %.1f; a guess among %.0f words has %.0f.",
                   hd_lm_names[kind], exp(worst), vocab, vocab);
    hd_paper_claim(
        to, "A model that sees the whole sentence beats a window of two words.", gain > 0,
        "The gpt has at least %.2f nats a word less than the feed-forward network, with every seed.", gain);
    const double cost = (double)(r[HD_LM_lstm].size - r[HD_LM_rnn].size) / 3;
    hd_paper_claim(to,
                   "An LSTM costs three times more matrix multiplications than a simple recurrent network.",
                   (double)(r[HD_LM_gru].size - r[HD_LM_rnn].size) == 2 * cost,
                   "Beside what both have it has three more gates of %.0f weights each, a GRU two: four "
                   "times the layer, not "
                   "three times.",
                   cost);
    hd_paper_note(
        to, "\"3x more\" is right if it means in addition: the layer of an LSTM is four times as large.");
    hd_paper_claim(to, "A Transformer has more parameters than an LSTM.",
                   r[HD_LM_gpt].size > r[HD_LM_lstm].size, "Of one width the gpt has %zu and the lstm %zu.",
                   r[HD_LM_gpt].size, r[HD_LM_lstm].size);
}

static hd_status run(hd_paper *to, const hd_lab *lab, hd_err *err)
{
    rung r[HD_LM_KINDS] = {0};
    hd_story text = {0};
    hd_status s = hd_story_draw(&text, SENTENCES, lab->seed, err);
    size_t split = text.count, left = HELD_BACK;
    while (!s && split && left) left -= text.ids[--split - 1] == HD_PUPIL_END;
    for (int k = 0; !s && k < HD_LM_KINDS; k++)
        for (int i = 0; !s && i < lab->seeds; i++) {
            s = climb(&r[k], lab, (hd_lm_kind)k, i, &text, split, err);
            if (!s) s = hd_lab_tell(lab, (k + (i + 1.0) / lab->seeds) / HD_LM_KINDS, err);
        }
    if (!s) {
        hd_paper_say(
            to,
            "%zu words of a small English grammar, %zu different ones, of which the last %d sentences are "
            "held back. "
            "Counted models count them once; the others have %d updates of %d windows of %d words, one "
            "layer, and %d "
            "columns. So small a text says nothing about large ones: the order of the kinds depends on it.",
            text.count, text.vocab - HD_PUPIL_FIRST, HELD_BACK, lab->full ? 8 * UPDATES : UPDATES,
            HD_PUPIL_ITEMS, HD_PUPIL_WINDOW, WIDTH);
        put_rungs(to, r, lab);
        judge(to, r, lab, (double)text.vocab);
    }
    hd_story_release(&text);
    return s;
}

const hd_experiment hd_experiment_ladder = {
    .name = "ladder",
    .title = "A ladder of language models",
    .lecture = 0,
    .rows = "1-9, 16-18, 192",
    .claim = "From counts of words in a row to Transformers: each kind of language model on the same text, "
             "by what it "
             "predicts, what it weighs and what it costs.",
    .run = run,
};
