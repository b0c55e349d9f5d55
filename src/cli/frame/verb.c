/* The table of verbs, the options they share, and what is done before and after each. */
#include "cli/frame/verb.h"

#include <errno.h>
#include <stdio_ext.h>
#include <string.h>

#include "backend/ranks.h"
#include "view/plot.h"

const hd_verb hd_verbs[] = {
#define X(name, summary) {#name, summary, &hd_verb_##name},
    HD_VERB_LIST(X)
#undef X
        {0},
};

#define COMMON .group = "Options of every verb"

const hd_option hd_common_options[] = {
    {"threads", 0, "N", "0", "threads to use; 0: all cores", COMMON,
     HD_INT_INTO(hd_common, threads, 0, 1024)},
    {"quiet", 'q', NULL, NULL, "print only errors", COMMON, HD_FLAG_INTO(hd_common, quiet)},
    {"verbose", 'v', NULL, NULL, "print more", COMMON, HD_FLAG_INTO(hd_common, verbose)},
    {"help", 'h', NULL, NULL, "show this help", COMMON, HD_FLAG_INTO(hd_common, help)},
    {0},
};

const hd_verb *hd_verb_find(const char *name, hd_err *err)
{
    hd_spelling best = hd_spelling_of(name);
    for (const hd_verb *v = hd_verbs; v->name; v++) {
        if (!strcmp(v->name, name)) return v;
        hd_spelling_try(&best, v->name);
    }
    if (best.match)
        hd_err_set(err, HD_EARG, "unknown verb '%s', did you mean '%s'?", name, best.match);
    else
        hd_err_set(err, HD_EARG, "unknown verb '%s'", name);
    return NULL;
}

const char *hd_verb_title(const hd_verb *v, char joint, hd_title *buffer)
{
    if (v == &hd_program)
        snprintf(buffer->text, sizeof buffer->text, "heed");
    else
        snprintf(buffer->text, sizeof buffer->text, "heed%c%s", joint, v->name);
    return buffer->text;
}

bool hd_command_given(const hd_command *c, const char *name)
{
    return hd_option_given(hd_option_find(c->set, name).given);
}

hd_status hd_command_put(const hd_command *c, const char *data, size_t size, bool now, hd_err *err)
{
    FILE *f = c->out.file;
    if ((!size || fwrite(data, 1, size, f) == size) && (!now || !fflush(f))) return HD_OK;
    hd_err_set(err, HD_EFILE, "cannot write to standard output: %s", strerror(errno));
    __fpurge(f); /* what is left would fail once more when the program ends */
    clearerr(f);
    return HD_EFILE;
}

hd_status hd_command_put_text(const hd_command *c, hd_text *text, bool now, hd_err *err)
{
    hd_status s = hd_text_status(text, err);
    if (!s) s = hd_command_put(c, text->data, text->size, now, err);
    hd_text_release(text);
    return s;
}

hd_status hd_command_put_page(const hd_command *c, hd_text *page, hd_status s, hd_err *err)
{
    if (!s) return hd_command_put_text(c, page, true, err);
    hd_text_release(page);
    return s;
}

/* Of several processes all fail, and the first says why. */
static bool speaks(const hd_err *err)
{
    hd_err all = *err;
    hd_ranks_agree(all.status, NULL, 0, &all);
    return !hd_rank();
}

int hd_command_fail(const hd_command *c, const hd_err *err)
{
    hd_title title;
    if (speaks(err)) fprintf(stderr, "%s: %s\n", hd_verb_title(c->verb, ' ', &title), err->text);
    return HD_EXIT_FAILURE;
}

int hd_verb_misused(const hd_verb *v, const hd_err *err)
{
    hd_title title;
    const char *topic = v == &hd_program ? "" : v->name;
    if (err->status == HD_ENOMEM) { /* whatever was about to be checked, the user did nothing wrong */
        if (speaks(err)) fprintf(stderr, "%s: %s\n", hd_verb_title(v, ' ', &title), err->text);
        return HD_EXIT_FAILURE;
    }
    if (speaks(err))
        fprintf(stderr, "%s: %s (try 'heed help%s%s')\n", hd_verb_title(v, ' ', &title), err->text,
                *topic ? " " : "", topic);
    return HD_EXIT_USAGE;
}

/* -- a call -- */

static hd_status open_all(hd_command *c, hd_err *err)
{
    const hd_usage *u = c->verb->usage;
    const hd_usual *o = c->usual;
    hd_status s = o && o->plot ? hd_plot_check(o->plot, err) : HD_OK;
    if (!s && u->opens) s = hd_machine_open(&c->machine, c, o ? &o->machine : &hd_machine_cpu, err);
    if (s || !o) return s;
    const hd_weights which = o->weights | (u->gradients ? HD_WEIGHTS_WHOLE : HD_WEIGHTS_BEST);
    s = hd_model_folder_open(&c->model, c->operands.word[0], u->task, c->machine.backend, which, err);
    bool pictures = c->model.pictures && !u->pictures, sounds = c->model.sounds && !u->sounds;
    if (!s) s = hd_attending_scale(c, o->heads, err);
    if (s || !(pictures || sounds)) return s;
    return hd_err_set(err, HD_EARG, "%s reads %s, not texts: `heed %s` answers them", c->operands.word[0],
                      pictures ? "pictures" : "sounds", c->model.task->verb);
}

/* The sum over both tokenizers. */
static hd_unknown unknown_of(hd_tokenizer *const tokenizer[2])
{
    hd_unknown all = tokenizer[0] ? hd_tokenizer_unknown(tokenizer[0]) : (hd_unknown){0};
    if (!tokenizer[1] || tokenizer[1] == tokenizer[0]) return all;
    hd_unknown other = hd_tokenizer_unknown(tokenizer[1]);
    all.tokens += other.tokens, all.unknown += other.unknown;
    for (size_t i = 0; i < other.words && all.words < HD_UNKNOWN_WORDS; i++)
        memcpy(all.word[all.words++], other.word[i], sizeof *other.word);
    return all;
}

/* Says how many tokens of all that the model read are <unk>, and some of the words. */
static void warn_unknown(const hd_command *c)
{
    hd_unknown u = unknown_of(c->model.tokenizer);
    hd_text words = {0};
    for (size_t i = 0; i < u.words; i++) hd_text_print(&words, "%s'%s'", i ? ", " : ": ", u.word[i]);
    if (u.words && u.unknown > u.words) hd_text_put(&words, ", ...");
    if (u.unknown)
        hd_log_say(&c->log, HD_WARN,
                   "%zu of %zu tokens are not in the model's vocabulary and read as <unk>%s", u.unknown,
                   u.tokens, words.data ? words.data : "");
    hd_text_release(&words);
}

int hd_command_run(hd_command *c)
{
    const hd_usage *u = c->verb->usage;
    hd_err err = {0};
    c->usual = u->opens == HD_OPENS_MODEL ? c->options : NULL;
    hd_status s = u->check ? u->check(c, &err) : HD_OK;
    c->misused = s != HD_OK;
    if (!s) s = open_all(c, &err);
    if (!s) s = u->run(c, &err);
    s = hd_attending_close(&c->attending, s, &err);
    if (s) c->exit = c->misused ? hd_verb_misused(c->verb, &err) : hd_command_fail(c, &err);
    if (!s) warn_unknown(c);
    hd_input_close(c);
    if (u->release) u->release(c);
    hd_heads_release(&c->heads);
    hd_model_folder_release(&c->model);
    hd_machine_close(&c->machine);
    return c->exit;
}
