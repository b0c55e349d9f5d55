/* The options of `heed translate`. */
#include "cli/verb/translate/options.h"

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
    {"beam", 'b', "N", "5", "beam size; 1: greedy search", SEARCH, HD_INT_INTO(OWNER, beam, 1, 1000)},
    {"n-best", 0, "N", "1", "translations to show for each line", SEARCH,
     HD_INT_INTO(OWNER, n_best, 1, 1000)},
    {"length-penalty", 0, "KIND", "average",
     "what the log-probability is divided by: none (1), average (the length) or gnmt", SEARCH,
     HD_CHOICE_INTO(OWNER, length_penalty, hd_length_names)},
    {"alpha", 0, "X", "0.6", "gnmt: ((5 + length) / 6) ^ alpha", SEARCH,
     HD_FLOAT_INTO(OWNER, alpha, -10, 10)},
    {"stop", 0, "WHEN", "proven",
     "when beam search ends: proven (no better translation is possible), full (the beam is finished), limit "
     "or best",
     SEARCH, HD_CHOICE_INTO(OWNER, stop, hd_stop_names)},
    {"max-length", 0, "N", "0", "most tokens of a translation; 0: by --max-ratio", SEARCH,
     HD_INT_INTO(OWNER, max_length, 0, 1000000)},
    {"max-ratio", 0, "X", "2", "most tokens of a translation: X times those of the source, plus 10", SEARCH,
     HD_FLOAT_INTO(OWNER, max_ratio, 0.1, 1000)},
    {"min-length", 0, "N", "0", "fewest tokens of a translation", SEARCH,
     HD_INT_INTO(OWNER, min_length, 0, 1000000)},
    {"exhaustive", 0, NULL, NULL,
     "find the best of all translations up to --max-length; for tiny vocabularies", SEARCH,
     HD_FLAG_INTO(OWNER, exhaustive)},

    {"sample", 0, NULL, NULL, "sample tokens by their probability", SAMPLING, HD_FLAG_INTO(OWNER, sample)},
    {"temperature", 0, "X", "1", "below 1 favors likely tokens, above 1 unlikely ones", SAMPLING,
     HD_FLOAT_INTO(OWNER, temperature, 0, 100)},
    {"top-k", 0, "N", "0", "sample from the N most likely tokens; 0: all", SAMPLING,
     HD_INT_INTO(OWNER, top_k, 0, 1000000)},
    {"top-p", 0, "X", "0", "sample from the most likely tokens whose probabilities add up to X; 0: all",
     SAMPLING, HD_FLOAT_INTO(OWNER, top_p, 0, 1)},
    {"seed", 0, "N", "1", "seed of the sampling", SAMPLING, HD_INT_INTO(OWNER, seed, 0, 2147483647)},

    {"input", 'i', .gone = "give files after MODEL"},
    {"sentences", 0, "WHAT", "auto",
     "lines of several sentences: split (translate each by itself) or keep (as many together as the model "
     "was trained with); auto: split, but keep for a T5, whose text begins with an instruction",
     INPUT, HD_CHOICE_INTO(OWNER, sentences, hd_sentences_names)},
    {"long", 0, "WHAT", "split",
     "sentences (or kept lines) too long for the model: split at commas or spaces, truncate or skip", INPUT,
     HD_CHOICE_INTO(OWNER, too_long, hd_long_names)},
    {"max-source", 0, "N", "0", "tokens from which on a line is too long; 0: what the model takes", INPUT,
     HD_INT_INTO(OWNER, max_source, 0, 1000000)},
    {"prefix", 0, NULL, NULL, "lines are SOURCE<tab>PREFIX: the translation continues that prefix", INPUT,
     HD_FLAG_INTO(OWNER, prefix)},
    {"force", 0, NULL, NULL, "lines are SOURCE<tab>TRANSLATION: score that translation, do not search", INPUT,
     HD_FLAG_INTO(OWNER, force)},
    {"batch", 0, "N", "0", "hypotheses searched in parallel; 0: 256", INPUT,
     HD_INT_INTO(OWNER, batch, 0, 1000000)},

    {"json", 0, NULL, NULL, "JSON Lines: source, tokens and hypotheses with score and logprob", OUTPUT,
     HD_FLAG_INTO(OWNER, json)},
    {"scores", 0, NULL, NULL, "add a tab and the score", OUTPUT, HD_FLAG_INTO(OWNER, scores)},

    {"attention", 'a', "FILE", NULL,
     "write the attention weights as .json, .html, .svg, .png or .pdf; .svg and .png of several "
     "sentences are numbered",
     ATTENTION, HD_FILE_INTO(OWNER, attending.file)},
    {"warn-skipped", 0, NULL, NULL,
     "warn of source words that got less than a tenth of one step's attention: they may be missing",
     ATTENTION, HD_FLAG_INTO(OWNER, warn_skipped)},
    {"view", 0, NULL, NULL, "draw the alignment below each translation", ATTENTION,
     HD_FLAG_INTO(OWNER, attending.view)},
    {"kind", 0, "KIND", "auto", "encoder, decoder or cross; auto: cross in pictures, all in .json and .html",
     ATTENTION, HD_CHOICE_INTO(OWNER, attending.kind, hd_attention_choices)},
    HD_ATTENDING_LAYER(OWNER, attending),
    HD_ATTENDING_HEAD(OWNER, attending),

    {"checkpoint", 0, "WHICH", "best", "weights to use: best (by validation) or last",
     HD_CHOICE_INTO(OWNER, checkpoint, checkpoints)},
    HD_MACHINE_ROWS(OWNER, machine),
    {0},
};

static hd_status check(const hd_translate_options *o, hd_err *err)
{
    if (o->prefix && o->force) return hd_err_set(err, HD_EARG, "--prefix and --force exclude each other");
    if (o->sample && o->exhaustive)
        return hd_err_set(err, HD_EARG, "--sample and --exhaustive exclude each other");
    if (o->exhaustive && !o->max_length)
        return hd_err_set(err, HD_EARG,
                          "--exhaustive needs --max-length, as it tries every translation up to it");
    if (o->force && o->n_best > 1)
        return hd_err_set(err, HD_EARG, "--force scores one given translation: --n-best does not apply");
    if (!o->sample && !o->exhaustive && o->n_best > o->beam)
        return hd_err_set(err, HD_EARG, "--n-best %d is more than --beam %d", o->n_best, o->beam);
    return HD_OK;
}

hd_status hd_translate_read_options(hd_translate_opt *to, const hd_translate_options *o, hd_err *err)
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
