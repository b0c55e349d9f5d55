/* POST /translate of LibreTranslate. A text of several lines is translated line by line, as `heed translate`
   does; of one in HTML the passages are, and a second job puts the tags around the words they belong to. */
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "serve/api/libretranslate.h"
#include "serve/html/translated.h"

typedef struct translation translation;

typedef struct tag_job { /* puts tags into the texts */
    hd_job job;          /* first */
    translation *of;
} tag_job;

struct translation {
    hd_translate_job job; /* the engine's while it runs, as is the other one */
    size_t *first;        /* [texts + 1]: lines of each text, or passages */
    const char **text;    /* [texts] */
    size_t texts;
    bool list; /* the answer is a list, too */
    bool echo; /* what comes back is what was sent */
    size_t alternatives;
    hd_guessed detected; /* language NULL: it was not asked for */
    /* of HTML: */
    hd_html *html; /* [texts]; NULL: the texts are plain */
    tag_job tags;
    hd_text *made; /* [texts] with their tags */
};

static void release(void *own)
{
    translation *t = own;
    hd_translations_release(&t->job.found);
    for (size_t i = 0; t->html && i < t->texts; i++) {
        hd_html_release(&t->html[i]);
        hd_text_release(&t->made[i]);
    }
}

/* -- what is asked: false, or NULL, where that is answered -- */

static bool read_texts(hd_call *c, translation *t)
{
    const json_t *q = json_object_get(c->params, "q");
    t->list = json_is_array(q);
    t->texts = t->list ? json_array_size(q) : 1;
    if (!t->texts || (!t->list && (!json_is_string(q) || !json_string_length(q))))
        return hd_call_fail(c, 400, "Invalid request: missing q parameter"), false;
    if (t->texts > c->desk->most_texts)
        return hd_call_fail(c, 400, "Invalid request: request exceeds text limit (%zu)", c->desk->most_texts),
               false;
    t->text = hd_call_take(c, t->texts, sizeof *t->text);
    for (size_t i = 0; t->text && i < t->texts; i++) {
        t->text[i] = json_string_value(t->list ? json_array_get(q, i) : q);
        if (!t->text[i]) return hd_call_fail(c, 400, "Invalid request: q must hold texts"), false;
    }
    return t->text != NULL;
}

static bool read_format(hd_call *c, bool *html)
{
    const json_t *given = json_object_get(c->params, "format");
    const char *format = json_string_value(given);
    *html = format && !strcmp(format, "html");
    if (!given || json_is_null(given) || *html || (format && (!*format || !strcmp(format, "text"))))
        return true;
    return hd_call_fail(c, 400, "%.40s format is not supported", format ? format : "that"), false;
}

static bool read_alternatives(hd_call *c, translation *t)
{
    long n;
    const size_t most = c->desk->most_best - 1;
    if (!hd_params_whole(c->params, "alternatives", -1000000, (long)most, 0, &n))
        return hd_call_fail(c, 400, "Invalid request: alternatives must be a number of at most %zu", most),
               false;
    t->alternatives = n > 0 ? (size_t)n : 0;
    return true;
}

/* The model for what was asked; NULL, too, where nothing is to be translated. */
static const hd_served *choose(hd_call *c, translation *t)
{
    const hd_models *m = &c->desk->models;
    const char *source = hd_params_text(c->params, "source"), *target = hd_params_text(c->params, "target");
    if (!source || !*source || !target || !*target)
        return hd_call_fail(c, 400, "Invalid request: missing %s parameter",
                            source && *source ? "target" : "source"),
               NULL;
    if (!strcasecmp(source, "auto")) {
        if (!hd_models_detect(m, (hd_line){t->text[0], strlen(t->text[0])}, &t->detected, 1))
            return hd_call_fail(c, 400, "auto is not supported"), NULL;
        source = t->detected.language;
    }
    source = hd_libre_known(m, 0, source), target = hd_libre_known(m, 1, target);
    bool knows_source = hd_models_speak(m, 0, source), knows_target = hd_models_speak(m, 1, target);
    t->echo = !strcasecmp(source, target) && (knows_source || knows_target);
    if (t->echo) return NULL;
    if (!knows_source || !knows_target)
        return hd_call_fail(c, 400, "%.40s is not supported", knows_source ? target : source), NULL;
    const hd_served *s = hd_models_pair(m, source, target);
    hd_libre_name a, b;
    if (!s)
        hd_call_fail(c, 400, "%s (%s) is not available as a target language from %s (%s)",
                     hd_libre_name_of(target, &a), target, hd_libre_name_of(source, &b), source);
    return s;
}

/* -- lines and passages -- */

static hd_line *take_lines(hd_call *c, translation *t, size_t count)
{
    hd_line *line = hd_call_take(c, count + 1, sizeof *line);
    t->first = line ? hd_call_take(c, t->texts + 1, sizeof *t->first) : NULL;
    t->job.line = line, t->job.lines = count;
    return t->first ? line : NULL;
}

static bool cut_lines(hd_call *c, translation *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->texts; i++)
        for (const char *at = t->text[i]; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) count++;
    hd_line *line = take_lines(c, t, count);
    count = 0;
    for (size_t i = 0; line && i < t->texts; i++) {
        for (const char *at = t->text[i], *end; at; at = end ? end + 1 : NULL) {
            end = strchr(at, '\n');
            line[count++] = (hd_line){at, end ? (size_t)(end - at) : strlen(at)};
        }
        t->first[i + 1] = count;
    }
    return line;
}

static bool read_html(hd_call *c, translation *t)
{
    size_t count = 0;
    hd_err err = {0};
    t->tags.of = t;
    t->made = hd_call_take(c, t->texts, sizeof *t->made);
    t->html = t->made ? hd_call_take(c, t->texts, sizeof *t->html) : NULL;
    for (size_t i = 0; t->html && i < t->texts; i++) {
        if (hd_html_read(&t->html[i], (hd_line){t->text[i], strlen(t->text[i])}, &err))
            return hd_call_fail(c, 503, "%s", err.text), false;
        count += t->html[i].passages;
    }
    hd_line *line = t->html ? take_lines(c, t, count) : NULL;
    count = 0;
    for (size_t i = 0; line && i < t->texts; i++) {
        for (size_t k = 0; k < t->html[i].passages; k++) line[count++] = hd_html_text(&t->html[i], k);
        t->first[i + 1] = count;
    }
    return line;
}

/* -- tags -- */

static bool is_over(void *job)
{
    return hd_job_rests(job);
}

static hd_status put_tags(hd_job *j, hd_run *r, const hd_model_folder *f, hd_err *err)
{
    translation *t = ((tag_job *)j)->of;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < t->texts; i++) {
        const hd_html_translated all = {r, f, t->job.found.of + t->first[i], r ? is_over : NULL, j};
        s = hd_html_write_translated(&t->made[i], &t->html[i], &all, err);
    }
    return s;
}

/* -- the answer -- */

static void put_joined(hd_text *to, const char *key, const translation *t, size_t text, size_t which)
{
    hd_text joined = {0};
    for (size_t i = t->first[text]; i < t->first[text + 1]; i++) {
        const hd_translation *f = &t->job.found.of[i];
        if (i > t->first[text]) hd_text_put(&joined, "\n");
        if (f->count) hd_text_put(&joined, f->hypothesis[which < f->count ? which : 0].text);
    }
    hd_member_bytes(to, key, joined.data ? joined.data : "", joined.size);
    if (joined.missed) to->missed = joined.missed;
    hd_text_release(&joined);
}

static void put_text(hd_text *to, const char *key, const translation *t, size_t text)
{
    if (t->echo)
        hd_member_text(to, key, t->text[text]);
    else if (t->html)
        hd_member_bytes(to, key, t->made[text].data ? t->made[text].data : "", t->made[text].size);
    else
        put_joined(to, key, t, text, 0);
}

/* Further translations of a text: of each line the next one, as long as some line has one; none of HTML. */
static void put_alternatives(hd_text *to, const char *key, const translation *t, size_t text)
{
    size_t most = 0;
    const bool none = t->echo || t->html;
    for (size_t i = none ? 0 : t->first[text]; !none && i < t->first[text + 1]; i++)
        if (t->job.found.of[i].count > most) most = t->job.found.of[i].count;
    hd_member_begin(to, key, '[');
    for (size_t n = 1; n < most && n <= t->alternatives; n++) put_joined(to, NULL, t, text, n);
    hd_member_end(to, ']');
}

/* One thing for each text, in a list where texts were one. */
static void put_each(hd_text *to, const char *key, const translation *t,
                     void (*put)(hd_text *to, const char *key, const translation *t, size_t text))
{
    if (t->list) hd_member_begin(to, key, '[');
    for (size_t i = 0; i < t->texts; i++) put(to, t->list ? NULL : key, t, i);
    if (t->list) hd_member_end(to, ']');
}

static void put_detection(hd_text *to, const char *key, const translation *t, size_t text)
{
    (void)text;
    hd_libre_put_guess(to, key, &t->detected);
}

static void write_translation(hd_call *c, const translation *t)
{
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    if (t->alternatives) put_each(&out, "alternatives", t, put_alternatives);
    if (t->detected.language) put_each(&out, "detectedLanguage", t, put_detection);
    put_each(&out, "translatedText", t, put_text);
    hd_member_end(&out, '}');
    hd_call_answer(c, &out);
}

/* -- the route -- */

void hd_translation_begin(hd_call *c)
{
    bool html;
    translation *t = hd_call_take(c, 1, sizeof *t);
    if (!t) return;
    c->own = t, c->release = release;
    if (!read_texts(c, t) || !read_format(c, &html) || !read_alternatives(c, t)) return;
    const hd_served *s = choose(c, t);
    if (!s) {
        if (t->echo) write_translation(c, t);
        return;
    }
    if (!(html ? read_html(c, t) : cut_lines(c, t))) return;
    t->job.best = html ? 1 : t->alternatives + 1;
    t->job.job.tokens = t->job.lines;
    for (size_t i = 0; i < t->job.lines; i++) t->job.job.tokens += t->job.line[i].size / 3;
    hd_call_submit(c, s->engine, &t->job.job);
}

void hd_translation_finish(hd_call *c)
{
    translation *t = c->own;
    hd_err err = {0};
    bool tagged = false;
    for (size_t i = 0; t->html && i < t->texts; i++) tagged = tagged || hd_html_has_tags(&t->html[i]);
    if (tagged && c->job == &t->job.job) {
        t->tags.job.visit = put_tags, t->tags.job.deadline = t->job.job.deadline;
        hd_call_submit(c, c->engine, &t->tags.job);
        return;
    }
    if (t->html && !tagged && put_tags(&t->tags.job, NULL, NULL, &err))
        hd_call_fail(c, 503, "%s", err.text);
    else
        write_translation(c, t);
}
