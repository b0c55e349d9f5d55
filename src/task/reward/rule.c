/* Rewards by rule. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/system/child.h"
#include "task/reward/reward.h"

typedef struct rule rule;

/* What it gives each of n texts. */
typedef hd_status give_fn(const hd_rewards *r, const rule *u, const hd_sampled *x, size_t n, double *score,
                          hd_err *err);

struct rule {
    give_fn *give;
    bool compares; /* with the right answer */
    double weight;
    hd_answer_rule *regex;
    const char *command; /* borrowed */
};

struct hd_rewards {
    rule rule[HD_OPTION_MOST];
    int count;
    hd_answer_rule *answer; /* that of --answer */
};

/* -- the rules -- */

static hd_status give_equal(const hd_answer_rule *where, const hd_sampled *x, size_t n, double *score)
{
    for (size_t i = 0; i < n; i++) score[i] = hd_answer_same(hd_answer_find(where, x[i].text), x[i].answer);
    return HD_OK;
}

static hd_status give_exact(const hd_rewards *r, const rule *u, const hd_sampled *x, size_t n, double *score,
                            hd_err *err)
{
    (void)u, (void)err;
    return give_equal(r->answer, x, n, score);
}

static hd_status give_regex(const hd_rewards *r, const rule *u, const hd_sampled *x, size_t n, double *score,
                            hd_err *err)
{
    (void)r, (void)err;
    return give_equal(u->regex, x, n, score);
}

static hd_status give_format(const hd_rewards *r, const rule *u, const hd_sampled *x, size_t n, double *score,
                             hd_err *err)
{
    (void)r, (void)err;
    for (size_t i = 0; i < n; i++) score[i] = hd_answer_matches(u->regex, x[i].text);
    return HD_OK;
}

static hd_status put_samples(hd_text *to, const hd_sampled *x, size_t n, hd_err *err)
{
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < n; i++) {
        hd_json_begin();
        json_t *o = json_object();
        hd_json_set(o, "prompt", hd_json_string(x[i].prompt.text));
        hd_json_set(o, "text", hd_json_string(x[i].text.text));
        hd_json_set(o, "answer", hd_json_string(x[i].answer.text));
        s = hd_json_write(to, o, JSON_COMPACT, err);
        hd_text_put(to, "\n");
    }
    return s ? s : hd_text_status(to, err);
}

/* A number a line, and as many as there are texts. */
static hd_status read_numbers(double *score, size_t n, const hd_text *said, const char *command, hd_err *err)
{
    const char *at = said->data ? said->data : "", *end = at + said->size;
    size_t count = 0;
    for (; at < end; count++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        hd_line line = hd_answer_trimmed((hd_line){at, (size_t)((stop ? stop : end) - at)});
        double value = 0;
        if (!hd_real_of(line.text, line.size, &value) || !isfinite(value))
            return hd_err_set(err, HD_EFORMAT, "--reward: line %zu of what '%s' prints is no number: '%.*s'",
                              count + 1, command, (int)(line.size < 60 ? line.size : 60), line.text);
        if (count < n) score[count] = value;
        at = stop ? stop + 1 : end;
    }
    if (count == n) return HD_OK;
    return hd_err_set(err, HD_EFORMAT,
                      "--reward: '%s' prints %zu numbers for %zu texts: it must print one "
                      "for each line that it reads",
                      command, count, n);
}

static hd_status give_command(const hd_rewards *r, const rule *u, const hd_sampled *x, size_t n,
                              double *score, hd_err *err)
{
    hd_text in = {0}, out = {0};
    hd_err why = {0};
    (void)r;
    hd_status s = put_samples(&in, x, n, err);
    if (!s && (s = hd_child_run(u->command, in.data ? in.data : "", in.size, &out, &why)))
        hd_err_set(err, s, "--reward: %s", why.text);
    if (!s) s = read_numbers(score, n, &out, u->command, err);
    hd_text_release(&in);
    hd_text_release(&out);
    return s;
}

/* X(name, what stands behind a colon, whether that is a regular expression, whether it compares) */
#define RULE_LIST(X)                       \
    X(exact, NULL, false, true)            \
    X(regex, "regex:REGEX", true, true)    \
    X(format, "format:REGEX", true, false) \
    X(command, "command:COMMAND", false, false)

/* -- what is asked for -- */

static hd_status parse(rule *u, const char *text, hd_err *err)
{
    static const struct {
        const char *name, *form;
        bool is_regex, compares;
        give_fn *give;
    } rules[] = {
#define X(name, form, is_regex, compares) {#name, form, is_regex, compares, give_##name},
        RULE_LIST(X)
#undef X
    };
    const char *star = strchr(text, '*'), *colon = strchr(text, ':'), *at = text;
    hd_err why = {0};
    u->weight = 1;
    if (star && (!colon || star < colon) && hd_real_of(text, (size_t)(star - text), &u->weight))
        at = star + 1;
    if (!isfinite(u->weight)) return hd_err_set(err, HD_EARG, "--reward: '%s' has no finite weight", text);
    size_t length = strcspn(at, ":");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strlen(rules[i].name) != length || memcmp(rules[i].name, at, length)) continue;
        const char *rest = at[length] ? at + length + 1 : NULL;
        if (!rules[i].form != !rest || (rest && !*rest)) break;
        u->give = rules[i].give, u->compares = rules[i].compares, u->command = rest;
        if (!rules[i].is_regex) return HD_OK;
        hd_status s = hd_answer_rule_new(&u->regex, rest, &why);
        return s ? hd_err_set(err, s, "--reward: %s", why.text) : HD_OK;
    }
    return hd_err_set(err, HD_EARG,
                      "--reward: '%s' is not exact, regex:REGEX, format:REGEX or command:COMMAND", text);
}

hd_status hd_rewards_new(hd_rewards **out, const hd_texts *asked, const char *answer, hd_err *err)
{
    hd_rewards *r = hd_mem_zero(sizeof *r);
    hd_err why = {0};
    if (!r) return hd_err_nomem(err, sizeof *r);
    hd_status s = hd_answer_rule_new(&r->answer, answer, &why);
    if (s) hd_err_set(err, s, "--answer: %s", why.text);
    if (!s && !asked->count)
        s = hd_err_set(err, HD_EARG,
                       "--reward is required: what a text is rewarded for, as in --reward exact");
    for (; !s && r->count < asked->count; r->count += !s)
        s = parse(&r->rule[r->count], asked->text[r->count], err);
    if (s)
        hd_rewards_free(r);
    else
        *out = r;
    return s;
}

void hd_rewards_free(hd_rewards *r)
{
    if (!r) return;
    for (int i = 0; i < HD_OPTION_MOST; i++) hd_answer_rule_free(r->rule[i].regex);
    hd_answer_rule_free(r->answer);
    hd_mem_free(r);
}

bool hd_rewards_compare(const hd_rewards *r)
{
    bool compares = false;
    for (int i = 0; i < r->count; i++) compares = compares || r->rule[i].compares;
    return compares;
}

hd_line hd_rewards_answer(const hd_rewards *r, hd_line text)
{
    return hd_answer_find(r->answer, text);
}

hd_status hd_rewards_give(const hd_rewards *r, const hd_sampled *x, size_t n, double *reward, bool *right,
                          hd_err *err)
{
    double *score = hd_mem_array(n, sizeof *score);
    hd_status s = score ? HD_OK : hd_err_nomem(err, n * sizeof *score);
    for (size_t i = 0; i < n; i++) reward[i] = 0;
    for (int k = 0; !s && k < r->count; k++) {
        s = r->rule[k].give(r, &r->rule[k], x, n, score, err);
        for (size_t i = 0; !s && i < n; i++) {
            reward[i] += r->rule[k].weight * score[i];
            if (!k) right[i] = score[i] >= 1;
        }
    }
    hd_mem_free(score);
    return s;
}
