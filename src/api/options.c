/* What the options of heed_translate mean to a search. The defaults and limits are those of the program. */
#include "api/api.h"

#define X(NAME, name, text) \
    _Static_assert((int)HEED_STOP_##NAME == (int)HD_STOP_##NAME, "heed_stop and hd_stop differ");
HD_STOP_LIST(X)
#undef X
#define X(NAME, name, text) \
    _Static_assert((int)HEED_LENGTH_##NAME == (int)HD_LENGTH_##NAME, "heed_length_penalty differs");
HD_LENGTH_LIST(X)
#undef X
#define X(NAME, name, text) \
    _Static_assert((int)HEED_LONG_##NAME == (int)HD_LONG_##NAME, "heed_long and hd_long differ");
HD_LONG_LIST(X)
#undef X
#define X(NAME, name, text)                                                \
    _Static_assert((int)HEED_SENTENCES_##NAME == (int)HD_SENTENCES_##NAME, \
                   "heed_sentences and hd_sentences_mode differ");
HD_SENTENCES_LIST(X)
#undef X

enum { MOST_BEAM = 1000, MOST = 1000000, EXTRA = 10 };

static const heed_translate_options defaults = {.size = sizeof defaults,
                                                .beam = 5,
                                                .n_best = 1,
                                                .length_penalty = HEED_LENGTH_AVERAGE,
                                                .alpha = 0.6,
                                                .stop = HEED_STOP_FULL,
                                                .max_ratio = 2,
                                                .temperature = 1,
                                                .seed = 1};

void heed_translate_options_init(heed_translate_options *options, size_t size)
{
    hd_api_defaults(options, size, &defaults, sizeof defaults);
}

static hd_status check_numbers(const heed_translate_options *o, hd_err *err)
{
    const hd_api_size size[] = {{"search", (unsigned)o->search, 0, HEED_SEARCH_EXHAUSTIVE},
                                {"length_penalty", (unsigned)o->length_penalty, 0, HD_LENGTHS - 1},
                                {"stop", (unsigned)o->stop, 0, HD_STOPS - 1},
                                {"too_long", (unsigned)o->too_long, 0, HD_LONGS - 1},
                                {"sentences", (unsigned)o->sentences, 0, HD_SENTENCES_MODES - 1},
                                {"beam", o->beam, 1, MOST_BEAM},
                                {"n_best", o->n_best, 1, MOST_BEAM},
                                {"max_length", o->max_length, 0, MOST},
                                {"min_length", o->min_length, 0, MOST},
                                {"top_k", o->top_k, 0, MOST},
                                {"max_source", o->max_source, 0, MOST},
                                {"batch", o->batch, 0, MOST},
                                {0}};
    const hd_api_real real[] = {{"alpha", o->alpha, -10, 10},
                                {"max_ratio", o->max_ratio, 0.1, 1000},
                                {"temperature", o->temperature, 0, 100},
                                {"top_p", o->top_p, 0, 1},
                                {0}};
    return hd_api_ranges(size, real, err);
}

static hd_status check(const heed_translate_options *o, hd_err *err)
{
    hd_status s = check_numbers(o, err);
    if (s) return s;
    if (o->search == HEED_SEARCH_EXHAUSTIVE && !o->max_length)
        return hd_err_set(err, HD_EARG,
                          "an exhaustive search needs max_length, as it tries every translation up to it");
    if (o->force && !o->prefix)
        return hd_err_set(err, HD_EARG, "force needs prefix: the translation to score");
    if (o->force && o->n_best > 1)
        return hd_err_set(err, HD_EARG, "force scores one given translation: n_best %zu does not apply",
                          o->n_best);
    if (o->search == HEED_SEARCH_BEAM && o->n_best > o->beam)
        return hd_err_set(err, HD_EARG, "n_best %zu is more than beam %zu", o->n_best, o->beam);
    return HD_OK;
}

hd_status hd_api_read_options(hd_translate_opt *to, heed_translate_options *o,
                              const heed_translate_options *given, hd_err *err)
{
    *o = defaults;
    hd_status s = hd_api_options(o, sizeof *o, given, "heed_translate_options", err);
    if (!s) s = check(o, err);
    if (s) return s;
    hd_search_kind kind = o->search == HEED_SEARCH_SAMPLE       ? HD_SEARCH_SAMPLE
                          : o->search == HEED_SEARCH_EXHAUSTIVE ? HD_SEARCH_EXHAUSTIVE
                          : o->beam > 1                         ? HD_SEARCH_BEAM
                                                                : HD_SEARCH_GREEDY;
    *to = (hd_translate_opt){
        .search = {.kind = kind,
                   .best = o->n_best,
                   .max_length = o->max_length,
                   .max_ratio = o->max_length ? 0 : o->max_ratio,
                   .max_extra = EXTRA,
                   .min_length = o->min_length,
                   .length = {.kind = (hd_length_kind)o->length_penalty, .alpha = o->alpha},
                   .beam = o->beam,
                   .stop = (hd_stop)o->stop,
                   .temperature = (float)o->temperature,
                   .top_k = o->top_k,
                   .top_p = (float)o->top_p,
                   .seed = o->seed},
        .sentences = (hd_sentences_mode)o->sentences,
        .too_long = (hd_long)o->too_long,
        .longest = o->max_source,
        .batch = o->batch,
        .first = (size_t)o->first_line,
        .force = o->force};
    return HD_OK;
}
