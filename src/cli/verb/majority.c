/* A majority, written down. */
#include "cli/verb/majority.h"

hd_status hd_majority_init(hd_majority *m, const char *regex, size_t samples, hd_err *err)
{
    hd_err why = {0};
    hd_status s = hd_answer_rule_new(&m->rule, regex, &why);
    if (s) return hd_err_set(err, s, "--answer: %s", why.text);
    m->answer = hd_mem_array(samples, sizeof *m->answer);
    m->samples = samples;
    return m->answer ? HD_OK : hd_err_nomem(err, samples * sizeof *m->answer);
}

void hd_majority_release(hd_majority *m)
{
    hd_answer_rule_free(m->rule);
    hd_mem_free(m->answer);
    *m = (hd_majority){0};
}

/* As escapes are read, so that an answer is a line. */
static void put_escaped(hd_text *to, hd_line text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.text[i];
        const char *as = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : NULL;
        hd_text_add(to, as ? as : &c, as ? 2 : 1);
    }
}

static void put_answers(hd_text *to, const hd_text *prompt, const hd_answer *a, size_t count, double share)
{
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "prompt", prompt->data ? prompt->data : "");
    hd_member_bytes(to, "answer", a->text.text, a->text.size);
    hd_member_number(to, "share", share, 9);
    hd_member_begin(to, "answers", '[');
    for (size_t i = 0; i < count; i++) {
        hd_member_begin(to, NULL, '{');
        hd_member_bytes(to, "text", a[i].text.text, a[i].text.size);
        hd_member_count(to, "count", a[i].count);
        hd_member_number(to, "logprob", a[i].logp, 9);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "]}\n");
}

void hd_majority_put(hd_majority *m, hd_text *to, const hd_text *prompt, const hd_generated *made, bool json)
{
    for (size_t i = 0; i < m->samples; i++) {
        const hd_text *t = &made[i].text;
        hd_line text = hd_answer_find(m->rule, (hd_line){t->data ? t->data : "", t->size});
        m->answer[i] = (hd_answer){text, 1, made[i].logp};
    }
    size_t count = hd_vote(m->answer, m->samples);
    if (!count) m->answer[0] = (hd_answer){.text = {"", 0}}; /* no sample has one */
    double share = (double)m->answer->count / (double)m->samples;
    if (json) {
        put_answers(to, prompt, m->answer, count, share);
        return;
    }
    put_escaped(to, m->answer->text);
    hd_text_put(to, "\t");
    hd_markup_number(to, share, 4);
    hd_text_put(to, "\n");
}
