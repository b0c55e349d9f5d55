/* The options of `heed translate`. */
#include "cli/verb/translate_options.h"

#include <math.h>
#include <string.h>

#define OWNER hd_translate_options

static const char *const checkpoints[] = {"best", "last", NULL};
#define SEARCH    .group = "Search"
#define SAMPLING  .group = "Sampling"
#define INPUT     .group = "Input"
#define OUTPUT    .group = "Output"
#define ATTENTION .group = "Attention"

const hd_option hd_translate_table[] = {
    {"beam", 'b', "N", "5", "hypotheses kept side by side; 1: greedy search", SEARCH,
     HD_INT_INTO(OWNER, beam, 1, 1000)},
    {"n-best", 0, "N", "1", "translations to show of each line", SEARCH, HD_INT_INTO(OWNER, n_best, 1, 1000)},
    {"length-penalty", 0, "KIND", "average",
     "the score is the log-probability divided by: none (1), average (the "
     "length) or gnmt",
     SEARCH, HD_CHOICE_INTO(OWNER, length_penalty, hd_length_names)},
    {"alpha", 0, "X", "0.6", "gnmt: ((5 + length) / 6) ^ alpha", SEARCH,
     HD_FLOAT_INTO(OWNER, alpha, -10, 10)},
    {"stop", 0, "WHEN", "proven",
     "end of a beam search: proven (nothing better can follow), full, limit or best", SEARCH,
     HD_CHOICE_INTO(OWNER, stop, hd_stop_names)},
    {"max-length", 0, "N", "0", "most tokens of a translation; 0: as --max-ratio says", SEARCH,
     HD_INT_INTO(OWNER, max_length, 0, 1000000)},
    {"max-ratio", 0, "X", "2", "most tokens, times those of the source, and 10 more", SEARCH,
     HD_FLOAT_INTO(OWNER, max_ratio, 0.1, 1000)},
    {"min-length", 0, "N", "0", "fewest tokens", SEARCH, HD_INT_INTO(OWNER, min_length, 0, 1000000)},
    {"exhaustive", 0, NULL, NULL, "the best of all translations up to --max-length; for tiny vocabularies",
     SEARCH, HD_FLAG_INTO(OWNER, exhaustive)},

    {"sample", 0, NULL, NULL, "draw tokens by their probability", SAMPLING, HD_FLAG_INTO(OWNER, sample)},
    {"temperature", 0, "X", "1", "below 1 more, above 1 less like the likeliest", SAMPLING,
     HD_FLOAT_INTO(OWNER, temperature, 0, 100)},
    {"top-k", 0, "N", "0", "draw among the N likeliest; 0: all", SAMPLING,
     HD_INT_INTO(OWNER, top_k, 0, 1000000)},
    {"top-p", 0, "X", "0", "draw among the likeliest that have this probability together; 0: all", SAMPLING,
     HD_FLOAT_INTO(OWNER, top_p, 0, 1)},
    {"seed", 0, "N", "1", "of the draws", SAMPLING, HD_INT_INTO(OWNER, seed, 0, 2147483647)},

    {"input", 'i', "FILE", "-", "lines to translate, plain or compressed (gzip, xz, zstd); -: standard input",
     INPUT, HD_FILE_INTO(OWNER, input)},
    {"sentences", 0, "WHAT", "auto",
     "a line of several: split translates each by itself, keep as many together as the model was trained "
     "with; auto: split, but keep for a T5, which is told in its text what to do",
     INPUT, HD_CHOICE_INTO(OWNER, sentences, hd_sentences_names)},
    {"long", 0, "WHAT", "split",
     "sentences (lines, if kept) too long for the model: split at commas or spaces, truncate or skip", INPUT,
     HD_CHOICE_INTO(OWNER, too_long, hd_long_names)},
    {"max-source", 0, "N", "0", "tokens of a line that is not too long; 0: as many as the model takes", INPUT,
     HD_INT_INTO(OWNER, max_source, 0, 1000000)},
    {"prefix", 0, NULL, NULL, "lines are SOURCE<tab>BEGINNING: the translation goes on from that beginning",
     INPUT, HD_FLAG_INTO(OWNER, prefix)},
    {"force", 0, NULL, NULL, "lines are SOURCE<tab>TRANSLATION: score that translation, find none", INPUT,
     HD_FLAG_INTO(OWNER, force)},
    {"batch", 0, "N", "0", "hypotheses searched side by side; 0: 256", INPUT,
     HD_INT_INTO(OWNER, batch, 0, 1000000)},

    {"json", 0, NULL, NULL, "JSON Lines: source, tokens and hypotheses with scores and log-probabilities",
     OUTPUT, HD_FLAG_INTO(OWNER, json)},
    {"scores", 0, NULL, NULL, "the score behind a tab", OUTPUT, HD_FLAG_INTO(OWNER, scores)},

    {"attention", 'a', "FILE", NULL,
     "what was attended to, as .json, .html, .svg, .png or .pdf; .svg and .png of several "
     "sentences are numbered",
     ATTENTION, HD_FILE_INTO(OWNER, attention)},
    {"warn-skipped", 0, NULL, NULL,
     "warn of source words that got less than a tenth of one step's attention: they may be missing",
     ATTENTION, HD_FLAG_INTO(OWNER, warn_skipped)},
    {"view", 0, NULL, NULL, "draw the alignment below each translation", ATTENTION,
     HD_FLAG_INTO(OWNER, view)},
    {"kind", 0, "KIND", "auto",
     "encoder, decoder or cross; auto: cross where one is drawn, all in .json and .html", ATTENTION,
     HD_CHOICE_INTO(OWNER, kind, hd_attention_choices)},
    {"layer", 0, "N", "0", "0: the last, or all in .json and .html", ATTENTION,
     HD_INT_INTO(OWNER, layer, 0, 1000)},
    {"head", 0, "N", "0", "0: the mean, or all in .json and .html", ATTENTION,
     HD_INT_INTO(OWNER, head, 0, 1024)},

    {"checkpoint", 0, "WHICH", "best", "weights to use: best (of validation) or last",
     HD_CHOICE_INTO(OWNER, checkpoint, checkpoints)},
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda", HD_TEXT_INTO(OWNER, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32 or bf16; on the CPU auto is f32, bf16 rounds weights and is faster",
     HD_CHOICE_INTO(OWNER, precision, hd_precision_names)},
    {0},
};

static hd_status check(const hd_translate_options *o, hd_err *err)
{
    if (o->prefix && o->force) return hd_err_set(err, HD_EARG, "--prefix and --force exclude each other");
    if (o->sample && o->exhaustive)
        return hd_err_set(err, HD_EARG, "--sample and --exhaustive exclude each other");
    if (o->exhaustive && !o->max_length)
        return hd_err_set(err, HD_EARG, "--exhaustive needs --max-length: it tries everything");
    if (o->force && o->n_best > 1)
        return hd_err_set(err, HD_EARG, "--force scores one translation of a line: --n-best does not fit");
    if (!o->sample && !o->exhaustive && o->n_best > o->beam)
        return hd_err_set(err, HD_EARG, "--n-best %d is more than --beam %d keeps", o->n_best, o->beam);
    return HD_OK;
}

hd_status hd_translate_meaning(hd_translate_opt *to, const hd_translate_options *o, hd_err *err)
{
    hd_status s = check(o, err);
    if (s) return s;
    hd_search_kind kind = o->sample       ? HD_SEARCH_SAMPLE
                          : o->exhaustive ? HD_SEARCH_EXHAUSTIVE
                          : o->beam > 1   ? HD_SEARCH_BEAM
                                          : HD_SEARCH_GREEDY;
    *to = (hd_translate_opt){.search = {.kind = kind,
                                        .best = (size_t)o->n_best,
                                        .max_length = (size_t)o->max_length,
                                        .max_ratio = o->max_length ? 0 : o->max_ratio,
                                        .max_extra = 10,
                                        .min_length = (size_t)o->min_length,
                                        .length = {(hd_length_kind)o->length_penalty, o->alpha},
                                        .beam = (size_t)o->beam,
                                        .stop = (hd_stop)o->stop,
                                        .temperature = (float)o->temperature,
                                        .top_k = (size_t)o->top_k,
                                        .top_p = (float)o->top_p,
                                        .seed = (uint64_t)o->seed},
                             .sentences = (hd_sentences_mode)o->sentences,
                             .too_long = (hd_long)o->too_long,
                             .longest = (size_t)o->max_source,
                             .batch = (size_t)o->batch,
                             .force = o->force};
    return HD_OK;
}
