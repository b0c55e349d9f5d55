/* heed score --task answers: samples of a language model against the right answers. Lines of one problem
   follow each other; where the next begins its prompt is another, or its samples are counted from 1 again. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/verb/score/score.h"
#include "metric/answers.h"

enum { MOST_PASS = 16 };

typedef struct answers {
    const hd_score_call *call;
    hd_answer_rule *rule;
    size_t k[MOST_PASS], ks;
    hd_lines *file, *ref;
    /* the problem that is read */
    hd_arena memory; /* of a line, and of the answers of a problem */
    hd_arena of_line;
    hd_answer *answer; /* [count] */
    size_t count, room;
    size_t begun, last; /* the line it began in; number of its last sample; 0: not known */
    const char *prompt; /* NULL: none is read */
    /* of all */
    size_t problems, least, most; /* samples of a problem */
    double pass[MOST_PASS], majority;
} answers;

static hd_status read_pass(answers *a, const char *list, hd_err *err)
{
    for (const char *at = list;; at++) {
        double value = 0;
        size_t length = strcspn(at, ",");
        bool whole = hd_real_of(at, length, &value) && value >= 1 && value <= 1e6 && !(fmod(value, 1) > 0);
        if (!whole || a->ks == MOST_PASS)
            return hd_err_set(err, HD_EARG, "--pass: '%s' is not a list of up to %d whole numbers, as in 1,8",
                              list, MOST_PASS);
        a->k[a->ks++] = (size_t)value;
        at += length;
        if (!*at) return HD_OK;
    }
}

/* -- a problem -- */

/* The right answer, and the prompt where the file has it. */
static hd_status next_right(answers *a, hd_line *right, hd_err *err)
{
    hd_status s = hd_lines_next(a->ref, right, err);
    if (s) return s;
    if (!right->text)
        return hd_err_set(err, HD_EFORMAT, "%s has %zu answers, but %s has more problems: that of line %zu",
                          hd_lines_name(a->ref), hd_lines_count(a->ref), hd_lines_name(a->file), a->begun);
    const char *tab = memchr(right->text, '\t', right->size);
    if (tab) {
        hd_line prompt = {right->text, (size_t)(tab - right->text)};
        *right = (hd_line){tab + 1, right->size - prompt.size - 1};
        if (!hd_answer_same(prompt, (hd_line){a->prompt, strlen(a->prompt)}))
            return hd_err_set(err, HD_EFORMAT, "%s:%zu: the prompt is '%.*s', in %s:%zu it is '%s'",
                              hd_lines_name(a->ref), hd_lines_count(a->ref), (int)prompt.size, prompt.text,
                              hd_lines_name(a->file), a->begun, a->prompt);
    }
    *right = hd_answer_trimmed(*right);
    return HD_OK;
}

static hd_status end_problem(answers *a, hd_err *err)
{
    hd_line right = {0};
    size_t n = 0, rights = 0;
    if (!a->prompt) return HD_OK;
    hd_status s = next_right(a, &right, err);
    if (s) return s;
    for (size_t i = 0; i < a->count; i++) {
        n += a->answer[i].count;
        if (hd_answer_same(a->answer[i].text, right)) rights += a->answer[i].count;
    }
    for (size_t i = 0; !s && i < a->ks; i++) {
        double p = hd_pass_at(n, rights, a->k[i]);
        if (isnan(p))
            s = hd_err_set(err, HD_EARG, "--pass %zu: %s:%zu: the problem has %zu samples", a->k[i],
                           hd_lines_name(a->file), a->begun, n);
        a->pass[i] += p;
    }
    a->majority += hd_vote(a->answer, a->count) && hd_answer_same(a->answer->text, right);
    if (!a->problems++ || n < a->least) a->least = n;
    if (n > a->most) a->most = n;
    a->count = a->last = 0, a->prompt = NULL;
    hd_arena_reset(&a->memory);
    return s;
}

/* -- lines -- */

static hd_status wrong_line(const answers *a, hd_err *err)
{
    return hd_err_set(err, HD_EFORMAT,
                      "%s:%zu: not a sample: an object with \"prompt\" and \"text\", as heed generate --json "
                      "writes it",
                      hd_lines_name(a->file), hd_lines_count(a->file));
}

static hd_status add(answers *a, hd_line text, size_t count, const json_t *logp, hd_err *err)
{
    hd_status s = hd_mem_reserve(&a->answer, &a->room, a->count + 1, sizeof *a->answer, err);
    if (s) return s;
    double value = json_is_number(logp) ? json_number_value(logp) : 0;
    const char *copy = hd_arena_copy(&a->memory, text.text ? text.text : "", text.size, err);
    if (!copy) return err->status;
    a->answer[a->count++] = (hd_answer){{text.text ? copy : NULL, text.size}, count, value};
    return HD_OK;
}

/* What heed generate --majority --json says of all samples. */
static hd_status add_counted(answers *a, const json_t *list, hd_err *err)
{
    hd_status s = json_array_size(list) ? HD_OK : wrong_line(a, err);
    for (size_t i = 0; !s && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *text = json_object_get(one, "text");
        json_int_t count = json_integer_value(json_object_get(one, "count"));
        if (!json_is_string(text) || count < 1 || count > 1000000000) return wrong_line(a, err);
        s = add(a, (hd_line){json_string_value(text), json_string_length(text)}, (size_t)count,
                json_object_get(one, "logprob"), err);
    }
    return s;
}

static hd_status add_line(answers *a, hd_line line, hd_err *err)
{
    json_error_t e;
    hd_arena_reset(&a->of_line);
    const json_t *o = hd_json_load(&a->of_line, line.text, line.size, &e);
    if (!o && hd_json_missed()) return hd_err_nomem(err, hd_json_missed());
    const json_t *prompt = json_object_get(o, "prompt"), *text = json_object_get(o, "text"),
                 *all = json_object_get(o, "answers");
    json_int_t number = json_integer_value(json_object_get(o, "sample"));
    if (!json_is_string(prompt) || !(json_is_string(text) || json_is_array(all)) || number < 0)
        return wrong_line(a, err);
    const char *is = json_string_value(prompt);
    bool same = a->prompt && !strcmp(a->prompt, is) && !all && (!number || (size_t)number > a->last);
    hd_status s = same ? HD_OK : end_problem(a, err);
    if (s) return s;
    if (!a->prompt) {
        a->begun = hd_lines_count(a->file);
        a->prompt = hd_arena_copy(&a->memory, is, strlen(is), err);
        if (!a->prompt) return err->status;
    }
    a->last = (size_t)number;
    if (all) return add_counted(a, all, err);
    hd_line found = hd_answer_find(a->rule, (hd_line){json_string_value(text), json_string_length(text)});
    return add(a, found, 1, json_object_get(o, "logprob"), err);
}

static hd_status read_all(answers *a, hd_err *err)
{
    hd_line line;
    hd_status s = HD_OK;
    while (!s && !(s = hd_lines_next(a->file, &line, err)) && line.text) s = add_line(a, line, err);
    if (!s) s = end_problem(a, err);
    if (!s && !a->problems) return hd_err_set(err, HD_EFORMAT, "%s has no lines", hd_lines_name(a->file));
    if (!s) s = hd_lines_next(a->ref, &line, err);
    if (!s && line.text)
        s = hd_err_set(err, HD_EFORMAT, "%s has %zu problems, but %s has more answers",
                       hd_lines_name(a->file), a->problems, hd_lines_name(a->ref));
    return s;
}

/* -- what comes of it -- */

static void put_json(hd_text *to, const answers *a)
{
    char name[32];
    hd_member_begin(to, NULL, '{');
    hd_member_count(to, "problems", a->problems);
    hd_member_count(to, "least_samples", a->least);
    hd_member_count(to, "most_samples", a->most);
    for (size_t i = 0; i < a->ks; i++) {
        snprintf(name, sizeof name, "pass@%zu", a->k[i]);
        hd_member_number(to, name, a->pass[i] / (double)a->problems, 9);
    }
    if (a->call->o->majority) hd_member_number(to, "majority", a->majority / (double)a->problems, 9);
    hd_text_put(to, "}\n");
}

static void put_page(hd_text *to, const answers *a)
{
    char problems[32], least[32], most[32];
    for (size_t i = 0; i < a->ks; i++)
        hd_text_print(to, "pass@%-8zu %6.2f %%\n", a->k[i], 100 * a->pass[i] / (double)a->problems);
    if (a->call->o->majority)
        hd_text_print(to, "majority      %6.2f %%\n", 100 * a->majority / (double)a->problems);
    hd_text_print(to, "%s problem%s, %s", hd_grouped(a->problems, problems), a->problems > 1 ? "s" : "",
                  hd_grouped(a->least, least));
    if (a->most > a->least) hd_text_print(to, " to %s", hd_grouped(a->most, most));
    hd_text_print(to, " sample%s each\n", a->most > 1 ? "s" : "");
}

hd_status hd_score_answers(hd_score_call *j, hd_err *err)
{
    answers a = {.call = j};
    hd_err why = {0};
    hd_text page = {0};
    const hd_score_options *o = j->o;
    hd_arena_init(&a.memory, hd_allocator_host, 1 << 14);
    hd_arena_init(&a.of_line, hd_allocator_host, 1 << 14);
    hd_status s = hd_answer_rule_new(&a.rule, o->answer, &why);
    if (s) hd_err_set(err, s, "--answer: %s", why.text);
    if (!s && (o->pass || !o->majority)) s = read_pass(&a, o->pass ? o->pass : "1", err);
    if (!s && o->ref.count > 1) s = hd_err_set(err, HD_EARG, "--task answers takes one --ref");
    j->command.misused = s == HD_EARG;
    if (!s) s = hd_lines_open(&a.ref, o->ref.text[0], &hd_lines_text, err);
    hd_input_await(&j->command, j->path[0], "samples as JSON Lines");
    if (!s) s = hd_lines_open(&a.file, j->path[0], &hd_lines_text, err);
    if (!s) s = read_all(&a, err);
    if (!s) (o->json ? put_json : put_page)(&page, &a);
    s = hd_command_put_page(&j->command, &page, s, err);
    hd_lines_close(a.ref);
    hd_lines_close(a.file);
    hd_answer_rule_free(a.rule);
    hd_arena_release(&a.memory);
    hd_arena_release(&a.of_line);
    hd_mem_free(a.answer);
    return s;
}
