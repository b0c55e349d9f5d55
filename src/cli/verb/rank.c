/* heed rank: sorts given translations or texts by their probability under a model. Groups of lines are read,
   scored many at a time and written in the order they came. */
#include <math.h>
#include <string.h>

#include "cli/frame/verb.h"
#include "task/rank.h"

enum { CHUNK = 2048 }; /* lines scored at once, or as many as a group has */

struct rank {
    hd_usual usual;
    const char *source;
    bool moses;
    int first, best;
    hd_rank_opt opt;
};

static const char *const firsts[] = {"auto", "0", "1", NULL};

static const hd_option options[] = {
    {"input", 'i', .gone = "give files after MODEL"},
    {"source", 0, "FILE", NULL,
     "lines are ID ||| HYPOTHESIS ||| ..., and ID counts the lines of this file; a language model needs none",
     HD_FILE_INTO(struct rank, source)},
    {"moses", 0, NULL, NULL, "lines are ID ||| HYPOTHESIS ||| ...; --source implies it",
     HD_FLAG_INTO(struct rank, moses)},
    {"first", 0, "ID", "auto", "ID of the first source: 0 or 1; auto: that of the first line",
     HD_CHOICE_INTO(struct rank, first, firsts)},
    {"best", 'n', "N", "0", "write the N best lines of each group; 0: all",
     HD_INT_INTO(struct rank, best, 0, 1 << 30)},
    {"normalize", 0, NULL, NULL, "score by the mean log-probability of a token instead of the sum",
     HD_FLAG_INTO(struct rank, opt.normalize)},
    {"json", 0, NULL, NULL, "JSON Lines: group, rank, line, source, text, score, logprob and token_count",
     HD_FLAG_INTO(hd_usual, json)},
    {"batch", 0, "N", "0", "hypotheses scored in parallel; 0: 256",
     HD_COUNT_INTO(struct rank, opt.batch, 0, 1000000)},
    HD_ATTENDING_HEADS,
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed rank model pairs.tsv", "lines SOURCE<tab>HYPOTHESIS, the most likely one of each source first"},
    {"heed translate a in.en --n-best 10 | heed rank b --source in.en --best 1",
     "the translation of one model that another finds most likely"},
    {"heed rank lm --normalize --best 1 pairs.tsv", "the most fluent ones, independent of length"},
    {NULL, NULL},
};

typedef struct call {
    hd_command command;
    const struct rank *o;
    hd_lines *sources; /* NULL: they are in the lines, or not needed */
    bool moses;
    size_t group, first; /* the last group, an id or a number from 1; id of the first source */
    bool begun;          /* a line had an id: both are known */
    char why[400];       /* the line read last is refused */
} call;

/* -- reading -- */

/* The field of a line from `from` on, without blanks around it; *next is behind its "|||", or the end. */
static hd_line field(hd_line line, size_t from, size_t *next)
{
    const char *begin = line.text + from, *end = line.text + line.size;
    const char *bar = line.size - from < 3 ? NULL : memmem(begin, line.size - from, "|||", 3);
    *next = bar ? (size_t)(bar + 3 - line.text) : line.size;
    if (bar) end = bar;
    while (begin < end && *begin == ' ') begin++;
    while (begin < end && end[-1] == ' ') end--;
    return (hd_line){begin, (size_t)(end - begin)};
}

static bool is_id(hd_line id, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < id.size; i++) {
        if (id.text[i] < '0' || id.text[i] > '9' || i >= 15) return false;
        n = 10 * n + (size_t)(id.text[i] - '0');
    }
    *out = n;
    return id.size > 0;
}

/* The reason is kept with the line. */
__attribute__((format(printf, 3, 4))) static void refuse(call *c, hd_input_line *h, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    h->why = c->why;
}

/* Goes on to the source of the line's id. */
static hd_status find_source(call *c, hd_input_line *h, hd_err *err)
{
    size_t want = h->group - c->first + 1;
    while (hd_lines_count(c->sources) < want) {
        hd_status s = hd_lines_next(c->sources, &h->source, err);
        if (s) return s;
        if (!h->source.text) break;
    }
    const hd_err *refused = hd_lines_refused(c->sources);
    if (hd_lines_count(c->sources) < want)
        refuse(c, h, "no source %zu: %s has %zu lines, counted from %zu", h->group, hd_lines_name(c->sources),
               hd_lines_count(c->sources), c->first);
    else if (refused)
        refuse(c, h, "%s:%zu: %s", hd_lines_name(c->sources), want, refused->text);
    return HD_OK;
}

/* The parts of a line are not copied yet, and the source is not looked for. A malformed line belongs to the
   group before. */
static void read_moses(call *c, hd_input_line *h)
{
    const hd_line line = h->text;
    size_t at, id;
    hd_line key = field(line, 0, &at);
    if (at == line.size || !is_id(key, &id)) {
        refuse(c, h, "not 'ID ||| HYPOTHESIS' with a number as ID");
    } else if (c->begun && id < c->group) {
        refuse(c, h, "id %zu comes after %zu: ids must not decrease", id, c->group);
    } else {
        if (!c->begun) c->first = c->o->first ? (size_t)c->o->first - 1 : id;
        if (c->sources && (c->first > 1 || id < c->first))
            refuse(c, h, "id %zu: give --first 0 or --first 1, the id of the first source", id);
        else
            c->begun = true, h->group = id, h->target = field(line, at, &at);
    }
}

static void read_tabs(const call *c, hd_input_line *h)
{
    const hd_line line = h->text;
    const char *tab = memchr(line.text, '\t', line.size);
    size_t end = tab ? (size_t)(tab - line.text) : !c->command.model.model.type->decode ? 0 : line.size;
    size_t begin = tab ? end + 1 : end, left = line.size - begin;
    const char *more = memchr(line.text + begin, '\t', left);
    const hd_input *in = &c->command.in;
    const hd_input_line *last = in->held ? &in->chunk[in->held - 1] : NULL;
    bool same = last && last->source.size == end && !memcmp(last->source.text, line.text, end);
    h->group = c->group + !same;
    h->source = (hd_line){line.text, end};
    if (tab || !c->command.model.model.type->decode) /* else there is no text, and the task says so */
        h->target = (hd_line){line.text + begin, more ? (size_t)(more - line.text) - begin : left};
}

/* -- writing -- */

static void put_text(hd_text *to, const char *key, hd_line l)
{
    bool good = l.text && hd_utf8_good(l.text, l.size) == l.size && !memchr(l.text, 0, l.size);
    if (good)
        hd_member_bytes(to, key, l.text, l.size);
    else
        hd_member_text(to, key, NULL);
}

static const char *why_not(const hd_input_line *h, const hd_verdict *v)
{
    return h->why ? h->why : v->status ? v->why : NULL;
}

static void put_object(hd_text *to, const hd_input_line *h, const hd_verdict *v, size_t rank)
{
    const char *why = why_not(h, v);
    hd_member_begin(to, NULL, '{');
    hd_member_count(to, "group", h->group);
    hd_member_count(to, "rank", rank);
    hd_member_count(to, "line", h->number);
    if (h->source.size) put_text(to, "source", h->source);
    put_text(to, "text", h->target);
    hd_member_number(to, "score", v->score, 17);
    hd_member_number(to, "logprob", v->logp, 17);
    hd_member_count(to, "token_count", v->tokens);
    if (why) hd_member_text(to, "error", why);
    hd_text_put(to, "}\n");
}

static void put_line(hd_text *to, const call *c, const hd_input_line *h, const hd_verdict *v)
{
    char score[HD_DECIMAL];
    hd_text_add(to, h->text.text, h->text.size);
    hd_text_print(to, "%s%s\n", c->moses ? " ||| " : "\t", hd_decimal(score, "%.6f", v->score));
}

/* A line that could not be read was scored as an empty one. */
static void warn(call *c, hd_verdict *v)
{
    const hd_input_line *h = &c->command.in.chunk[v->place];
    const char *why = why_not(h, v);
    if (why) hd_input_refuse(&c->command.in, h, why, "ranked last");
    if (h->why) v->score = v->logp = -INFINITY, v->tokens = 0;
}

static void put_group(hd_text *to, call *c, hd_verdict *v, size_t count)
{
    size_t most = c->o->best && (size_t)c->o->best < count ? (size_t)c->o->best : count;
    for (size_t i = 0; i < count; i++) warn(c, &v[i]);
    hd_rank_sort(v, count);
    for (size_t i = 0; i < most; i++) {
        const hd_input_line *h = &c->command.in.chunk[v[i].place];
        if (c->o->usual.json)
            put_object(to, h, &v[i], i + 1);
        else
            put_line(to, c, h, &v[i]);
    }
}

static hd_status put_all(call *c, hd_verdict *v, hd_err *err)
{
    const hd_input *in = &c->command.in;
    hd_text out = {0};
    for (size_t from = 0, to; from < in->held; from = to) {
        for (to = from + 1; to < in->held && in->chunk[to].group == in->chunk[from].group;) to++;
        put_group(&out, c, v + from, to - from);
    }
    return hd_command_put_text(&c->command, &out, true, err);
}

/* Scores and writes what is held, and forgets it. */
static hd_status settle(call *c, hd_err *err)
{
    hd_input *in = &c->command.in;
    size_t n = in->held;
    hd_verdict *v = hd_mem_array(n, sizeof *v);
    hd_line *line = hd_mem_array(2 * n, sizeof *line);
    hd_status s = v && line ? HD_OK : hd_err_nomem(err, n * sizeof *v);
    for (size_t i = 0; !s && i < n; i++) line[i] = in->chunk[i].source, line[n + i] = in->chunk[i].target;
    if (!s)
        s = hd_rank_judge(v, &c->command.machine.run, &c->command.model, line, line + n, n, &c->o->opt, err);
    if (!s) s = put_all(c, v, err);
    hd_mem_free(v);
    hd_mem_free(line);
    hd_input_drop(in);
    return s;
}

/* -- the verb -- */

/* The source that a group of ids begins with; those behind it share it. */
static hd_status share_source(call *c, hd_input_line *h, bool begins, hd_err *err)
{
    hd_input *in = &c->command.in;
    hd_status s = begins && c->sources && !h->why ? find_source(c, h, err) : HD_OK;
    if (!begins)
        h->source = in->chunk[in->held - 1].source;
    else if (!s && c->sources && h->source.text)
        h->source.text = hd_input_copy(in, h->source, err);
    if (!h->source.text) h->source = (hd_line){"", 0};
    return s ? s : err->status;
}

/* A full chunk is settled where a new group begins. */
static hd_status take(call *c, hd_input_line line, hd_err *err)
{
    const size_t held = c->command.in.held;
    line.group = c->group;
    if (line.why)
        line.group += !c->moses && !held;
    else if (c->moses)
        read_moses(c, &line);
    else
        read_tabs(c, &line);
    bool begins = !held || line.group != c->group;
    hd_status s = begins && held >= CHUNK ? settle(c, err) : HD_OK;
    if (!s) s = share_source(c, &line, begins, err);
    c->group = line.group;
    return s ? s : hd_input_hold(&c->command.in, line, err);
}

/* Whether the model gives probabilities of what the lines hold. */
static hd_status open_lines(call *c, hd_err *err)
{
    const hd_model_type *can = c->command.model.model.type;
    if (!can->stepper)
        return hd_err_set(
            err, HD_EARG, "%s: a %s gives no probability of a text: use a translator or a language model",
            c->command.operands.word[0], can->fill ? "masked language model" : "classifier or tagger");
    if (can->decode && c->moses && !c->o->source)
        return hd_err_set(err, HD_EARG, "a translator needs --source: the file whose lines the ids count");
    const hd_lines_opt goes_on = {.goes_on = true};
    hd_status s =
        can->decode && c->o->source ? hd_lines_open(&c->sources, c->o->source, &goes_on, err) : HD_OK;
    const char *what = c->moses      ? "lines ID ||| HYPOTHESIS"
                       : can->decode ? "lines SOURCE<tab>HYPOTHESIS"
                                     : "lines to rank";
    return s ? s : hd_input_open(&c->command, what, "scored", HD_INPUT_BYTES, err);
}

static hd_status run(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    hd_status s = open_lines(c, err);
    for (hd_input_line line; !s;) {
        s = hd_input_next(&command->in, &line, err);
        if (s || !line.text.text) break;
        s = take(c, line, err);
    }
    hd_err later = {0}; /* what was read before a failure is written first */
    hd_status now = command->in.held && s != HD_ENOMEM ? settle(c, s ? &later : err) : HD_OK;
    return s ? s : now;
}

static void release(hd_command *c)
{
    hd_lines_close(((call *)c)->sources);
}

static hd_status check(hd_command *command, hd_err *err)
{
    call *c = (call *)command;
    const hd_words files = hd_input_files(command, 1);
    c->o = command->options;
    c->moses = c->o->moses || c->o->source;
    for (int i = 0; c->o->source && !strcmp(c->o->source, "-") && i < files.count; i++)
        if (!strcmp(files.word[i], "-"))
            return hd_err_set(err, HD_EARG, "standard input can be read only once");
    return HD_OK;
}

const hd_usage hd_verb_rank = {
    HD_INPUT_OPERANDS,
    .about =
        "Sorts hypotheses by their log-probability under the model in the folder MODEL: a translator scores "
        "each as a translation of its source, a language model as a text of one line. " HD_INPUT_FILES "\n"
        "Lines are 'SOURCE<tab>HYPOTHESIS', optionally with more columns, and consecutive lines with the "
        "same source form a group. With --source or --moses they are 'ID ||| HYPOTHESIS', optionally with "
        "more fields, and a group has one id. A language model also takes lines without a tab, which form "
        "one group.\n"
        "Each group is written best first, ties in input order, with the score as the last column. A line "
        "that cannot be read or scored comes last in its group with the score -inf, with --json an object "
        "with \"error\", and gives a warning; the exit status is then 1. A line has at "
        "most " HD_LINE_LONGEST_TEXT ".",
    .options = options,
    .size = sizeof(struct rank),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
