/* heed score: how good translations, captions, transcripts, boxes, labels or answers are. */
#include "cli/verb/score/score.h"

#include <string.h>

#define METRIC_HELP(name, key, help) "; " key ": " help
#define TOKENIZER_HELP(name, help)   "; " #name ": " help
#define METRIC_KEY(name, key, help)  ", " key
#define LENGTH                       .group = "By length"
#define TASK_HELP(name, what, has)   "; " #name ": " what

/* Of a task without --metric. */
#define CAPTIONS    "bleu-1,bleu-2,bleu-3,bleu-4,rouge-l,cider-d"
#define TRANSCRIPTS "wer,cer"

static const char *const tasks[] = {
#define X(name, what, has) #name,
    HD_SCORE_LIST(X)
#undef X
        NULL,
};

static const hd_option options[] = {
    {"task", 0, "TASK", "translate", "what FILE and --ref are" HD_SCORE_LIST(TASK_HELP),
     HD_CHOICE_INTO(hd_score_options, task, tasks)},
    {"ref", 'r', "FILE", NULL,
     "reference translations, captions, transcripts, boxes, labels or answers; repeat it for several "
     "references of "
     "every line",
     HD_FILES_INTO(hd_score_options, ref)},
    {"hyp", .gone = "give the translations as FILE"},
    {"metric", 'm', "LIST", "bleu,chrf,ter",
     "what to compute, separated by commas; chrf means all that begin with it; of captions " CAPTIONS
     ", of transcripts " TRANSCRIPTS " if not given" HD_METRIC_LIST(METRIC_HELP),
     HD_TEXT_INTO(hd_score_options, metric)},
    {"tokenize", 0, "NAME", "13a", "tokenizer of BLEU" HD_BLEU_TOKENIZER_LIST(TOKENIZER_HELP),
     HD_CHOICE_INTO(hd_score_options, tokenize, hd_bleu_tokenizer_names)},
    {"lowercase", 'l', NULL, NULL, "ignore case in BLEU and chrF; TER always does",
     HD_FLAG_INTO(hd_score_options, lowercase)},
    {"sentence", 's', NULL, NULL, "score every line by itself: an output line each, tabs between metrics",
     HD_FLAG_INTO(hd_score_options, sentence)},
    {"bootstrap", 'b', "N", "0",
     "bootstrap resampling with N samples: confidence intervals, and p-values against the first system",
     HD_INT_INTO(hd_score_options, bootstrap, 0, 1000000)},
    {"seed", 0, "N", "12345", "seed of the resampling", HD_INT_INTO(hd_score_options, seed, 0, 2147483647)},
    {"digits", 0, "N", "1", "decimals to show, 0 to 15", HD_INT_INTO(hd_score_options, digits, 0, 15)},
    {"shuffle", 0, NULL, NULL,
     "score each caption against the references of another picture: what captions score that do not depend "
     "on the picture",
     HD_FLAG_INTO(hd_score_options, shuffle)},
    {"images", 0, "FOLDER", NULL, "of boxes: the folder of the pictures; if not given, that of --ref",
     HD_FILE_INTO(hd_score_options, images)},
    {"split", 0, "NAME", NULL, "of boxes in a CSV file with a column split: only rows where it is NAME",
     HD_TEXT_INTO(hd_score_options, split)},
    {"json", 0, NULL, NULL, "write JSON, with every digit", HD_FLAG_INTO(hd_score_options, json)},
    {"pass", 0, "LIST", NULL,
     "of samples: pass@k, the probability that one of k samples is right, for each k of a list, as in 1,8; "
     "implies --task answers",
     HD_TEXT_INTO(hd_score_options, pass)},
    {"majority", 0, NULL, NULL,
     "of samples: whether the answer that most of them give is right (cons@n); the more likely answer breaks "
     "a "
     "tie, then the one given first; implies --task answers",
     HD_FLAG_INTO(hd_score_options, majority)},
    {"answer", 0, "REGEX", NULL,
     "of samples: where the answer stands in a text, as heed generate --answer has it",
     HD_TEXT_INTO(hd_score_options, answer)},

    {"by-length", 0, NULL, NULL,
     "a table with a line for each range of source lengths and a column for each system; of BLEU, unless "
     "--metric is given",
     LENGTH, HD_FLAG_INTO(hd_score_options, by_length)},
    {"source", 0, "FILE", NULL, "the source sentences", LENGTH, HD_FILE_INTO(hd_score_options, source)},
    {"buckets", 0, "LIST", NULL,
     "ranges of words, as in '1-9,10-14,15-19,20-'; default: steps of 5 with enough sentences in each",
     LENGTH, HD_TEXT_INTO(hd_score_options, buckets)},
    {"plot", 0, "FILE", NULL, "a line for each system, as .svg, .png or .pdf", LENGTH,
     HD_FILE_INTO(hd_score_options, plot)},
    {0},
};

static const hd_example examples[] = {
    {"heed score --ref ref.de out.de", "all metrics of one system"},
    {"heed score --ref ref.de out.de --metric bleu --sentence", "BLEU of every sentence"},
    {"heed score --ref ref.de a.de b.de --bootstrap 1000", "is b better than a, or could it be chance?"},
    {"heed score --ref ref.de a.de b.de --source src.en --by-length --plot lengths.svg",
     "which system copes with long sentences?"},
    {"heed score --task caption --ref captions.txt out.tsv", "captions of pictures"},
    {"heed score --task transcribe --ref list.tsv out.tsv", "word and character error rate of transcripts"},
    {"heed score --task detect --ref boxes.csv --images DIR --split test found.jsonl",
     "average precision of boxes"},
    {"heed score --task classify --ref labels.tsv found.tsv --plot confusion.svg",
     "accuracy, and which labels are taken for which"},
    {"heed score --pass 1,8 --majority --ref answers.txt < samples.jsonl",
     "how many problems samples of a language model solve"},
    {NULL, NULL},
};

/* ---- what is asked for ---- */

/* Wants every metric called `name`, or else every one whose key begins with it. */
static bool want(hd_score_call *j, const char *name, size_t length)
{
    bool found = false;
    for (int exact = 1; exact >= 0 && !found; exact--)
        for (int k = 0; k < HD_METRICS; k++)
            if (length && !strncmp(hd_metric_keys[k], name, length) && (!exact || !hd_metric_keys[k][length]))
                found = j->wanted[k] = true;
    return found;
}

static hd_status want_all(hd_score_call *j, const char *list, hd_err *err)
{
    for (const char *name = list;; name++) {
        size_t length = strcspn(name, ",");
        if (!want(j, name, length))
            return hd_err_set(err, HD_EARG, "--metric: '%.*s' is not one of chrf" HD_METRIC_LIST(METRIC_KEY),
                              (int)length, name);
        name += length;
        if (!*name) break;
    }
    for (int k = 0; k < HD_METRICS; k++) j->metrics += j->wanted[k];
    return HD_OK;
}

static hd_status name_files(hd_score_call *j, hd_err *err)
{
    const hd_score_options *o = j->o;
    int standard = 0;
    const hd_words hyps = hd_input_files(&j->command, 0);
    for (int i = 0; i < hyps.count; i++) j->path[j->systems++] = hyps.word[i];
    for (int i = 0; i < o->ref.count; i++) j->path[j->systems + j->refs++] = o->ref.text[i];
    j->files = j->systems + j->refs;
    if (o->source) j->path[j->files++] = o->source;
    for (size_t i = 0; i < j->files; i++) standard += !strcmp(j->path[i], "-");
    if (!j->refs)
        return hd_err_set(err, HD_EARG, "--ref is required: the %s",
                          o->task == HD_SCORE_answers ? "right answers" : "reference translations");
    if (!j->metrics && j->systems > 1)
        return hd_err_set(err, HD_EARG, "--task %s scores one file", tasks[o->task]);
    if (standard > 1) return hd_err_set(err, HD_EARG, "standard input can be read only once");
    if (o->sentence && j->systems > 1) return hd_err_set(err, HD_EARG, "--sentence scores one system");
    if (o->sentence && o->bootstrap)
        return hd_err_set(err, HD_EARG, "--sentence and --bootstrap exclude each other");
    return HD_OK;
}

/* Options of other tasks. */
static hd_status check_task(hd_score_call *j, hd_err *err)
{
    static const char *const has[] = {
#define X(name, what, options) options,
        HD_SCORE_LIST(X)
#undef X
    };
    for (const hd_option *row = options; row->name; row++) {
        const char *at = strstr(has[j->o->task], row->name), *end = at ? at + strlen(row->name) : NULL;
        bool known = at && (!*end || *end == ' ') && (at == has[j->o->task] || at[-1] == ' ');
        if (!known && strcmp(row->name, "task") && hd_command_given(&j->command, row->name))
            return hd_err_set(err, HD_EARG, "--%s does not go with --task %s", row->name, tasks[j->o->task]);
    }
    for (int k = 0; j->o->sentence && k < HD_METRICS; k++)
        if (j->wanted[k] && hd_metric_waits((hd_metric_kind)k))
            return hd_err_set(err, HD_EARG, "--sentence: %s weighs words by all references",
                              hd_metric_keys[k]);
    return HD_OK;
}

static hd_status check_lengths(hd_score_call *j, hd_err *err)
{
    const hd_score_options *o = j->o;
    for (const hd_option *row = options; row->name; row++)
        if (o->task == HD_SCORE_translate && !o->by_length && row->group && row->argument &&
            hd_command_given(&j->command, row->name))
            return hd_err_set(err, HD_EARG, "--%s needs --by-length", row->name);
    if (!o->by_length) return HD_OK;
    if (!o->source) return hd_err_set(err, HD_EARG, "--by-length needs --source: the source sentences");
    if (o->sentence || o->bootstrap)
        return hd_err_set(err, HD_EARG, "--by-length and --%s exclude each other",
                          o->sentence ? "sentence" : "bootstrap");
    if (o->plot && j->metrics > 1)
        return hd_err_set(err, HD_EARG, "--plot draws one metric: choose it with --metric");
    hd_err why = {0};
    if (o->buckets && hd_lengths_read(&j->lengths, o->buckets, &why))
        return hd_err_set(err, HD_EARG, "--buckets: %s", why.text);
    return HD_OK;
}

hd_status hd_score_begin(hd_score_call *j, hd_err *err)
{
    const hd_metric_opt opt = {.refs = (int)j->refs,
                               .lowercase = j->o->lowercase,
                               .sentence = j->o->sentence,
                               .keep = j->o->bootstrap > 0 || j->o->by_length,
                               .tokenizer = (hd_bleu_tokenizer)j->o->tokenize};
    hd_metric **next = j->metric;
    hd_status s = HD_OK;
    for (size_t i = 0; i < j->systems; i++)
        for (int k = 0; !s && k < HD_METRICS; k++)
            if (j->wanted[k]) s = hd_metric_new(next++, (hd_metric_kind)k, &opt, err);
    return s;
}

/* ---- scores ---- */

static hd_status resample(hd_score_call *j, hd_metric_trials trials, hd_err *err)
{
    size_t cells = j->systems * j->metrics, samples = (size_t)trials.samples;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < cells; i++) {
        j->sample[i] = hd_mem_array(samples, sizeof *j->sample[i]);
        if (!j->sample[i]) s = hd_err_nomem(err, samples * sizeof *j->sample[i]);
    }
    if (!s) s = hd_bootstrap((const hd_metric *const *)j->metric, cells, trials, j->sample, err);
    for (size_t i = 0; !s && i < cells; i++) {
        hd_score_report_cell *cell = &j->cell[i], *first = &j->cell[i % j->metrics];
        s = hd_bootstrap_interval(&cell->interval, j->sample[i], samples, err);
        if (!s)
            s = hd_bootstrap_compare(&cell->first, j->sample[i % j->metrics], j->sample[i], samples,
                                     cell->score - first->score, err);
    }
    return s;
}

hd_status hd_score_settle(hd_score_call *j, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < j->systems * j->metrics; i++) s = hd_metric_settle(j->metric[i], err);
    return s;
}

hd_status hd_score_show(hd_score_call *j, hd_err *err)
{
    const hd_metric_trials trials = {j->o->bootstrap, j->o->seed};
    const hd_score_report report = {j->name, j->systems, j->metrics, j->cell, trials};
    hd_status s = hd_score_settle(j, err);
    for (size_t i = 0; !s && i < j->systems * j->metrics; i++) {
        j->cell[i].metric = j->metric[i];
        s = hd_metric_finish(j->metric[i], &j->cell[i].score, err);
    }
    if (!s && trials.samples) s = resample(j, trials, err);
    if (s) return s;
    hd_text page = {0};
    if (j->o->json)
        s = hd_score_report_json(&page, &report, err);
    else
        hd_score_report_text(&page, &report, j->o->digits);
    return hd_command_put_page(&j->command, &page, s, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    hd_score_call *j = (hd_score_call *)c;
    static hd_status (*const score[])(hd_score_call *, hd_err *) = {
        [HD_SCORE_translate] = hd_score_translations, [HD_SCORE_caption] = hd_score_named,
        [HD_SCORE_transcribe] = hd_score_named,       [HD_SCORE_detect] = hd_score_detections,
        [HD_SCORE_classify] = hd_score_labels,        [HD_SCORE_answers] = hd_score_answers,
    };
    return score[j->o->task](j, err);
}

static void release(hd_command *c)
{
    hd_score_call *j = (hd_score_call *)c;
    hd_lengths_release(&j->lengths);
    for (size_t i = 0; i < HD_SCORE_FILES; i++) hd_lines_close(j->file[i]);
    for (size_t i = 0; i < HD_OPTION_MOST * HD_METRICS; i++) {
        hd_metric_free(j->metric[i]);
        hd_mem_free(j->sample[i]);
    }
}

static hd_status check(hd_command *c, hd_err *err)
{
    hd_score_call *j = (hd_score_call *)c;
    j->own = *(const hd_score_options *)c->options;
    if ((j->own.pass || j->own.majority) && !hd_command_given(c, "task")) j->own.task = HD_SCORE_answers;
    j->o = &j->own;
    const bool given = hd_command_given(c, "metric"), texts = j->o->task <= HD_SCORE_transcribe;
    const char *const of_task[] = {j->o->by_length ? "bleu" : j->o->metric, CAPTIONS, TRANSCRIPTS};
    hd_status s = texts ? want_all(j, given ? j->o->metric : of_task[j->o->task], err) : HD_OK;
    if (!s) s = check_task(j, err);
    if (!s) s = name_files(j, err);
    return s ? s : check_lengths(j, err);
}

const hd_usage hd_verb_score = {
    .operands = "[FILE...]",
    .most = HD_OPTION_MOST,
    .about =
        "Scores translations against one or more references with BLEU, chrF2, chrF2++ and TER. Numbers "
        "and signatures are those of sacreBLEU 2.6.0. Each FILE is the output of a system, without any "
        "standard input; several are compared with the first. --task tells of what else the files are: "
        "captions of pictures get BLEU-1 to 4, ROUGE-L and CIDEr-D, transcripts word and character error "
        "rate, boxes average precision as COCO computes it, labels accuracy and a confusion matrix, samples "
        "of "
        "a language model pass@k and the majority vote.\n"
        "Files are UTF-8, one segment a line, plain or compressed (gzip, xz, zstd); '-' is standard "
        "input. The text must not be tokenized.",
    .options = options,
    .size = sizeof(hd_score_options),
    .examples = examples,
    .call = sizeof(hd_score_call),
    .check = check,
    .run = run,
    .release = release,
};
