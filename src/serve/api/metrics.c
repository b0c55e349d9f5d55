/* /metrics: the load of the engines, in the text format of Prometheus. */
#include <stdio.h>

#include "serve/api/call.h"
#include "view/draw/markup.h"

static const char *const ends[HD_JOB_ENDS] = {
#define X(NAME, name, text) #name,
    HD_JOB_END_LIST(X)
#undef X
};

/* X(name, type, help, value): of hd_engine_load l */
#define METRIC_LIST(X)                                                                   \
    X(queue_jobs, gauge, "jobs that wait", (double)l.waiting)                            \
    X(queue_tokens, gauge, "tokens that wait, about", (double)l.waiting_tokens)          \
    X(running_jobs, gauge, "jobs being computed", (double)l.running)                     \
    X(refused_total, counter, "jobs refused because too much waited", (double)l.refused) \
    X(tokens_total, counter, "tokens of jobs that were done, about", (double)l.tokens)   \
    X(busy_seconds_total, counter, "seconds of computing", l.busy)

/* X(name, least bound, help, histogram): of hd_engine_load l */
#define HISTOGRAM_LIST(X)                                                    \
    X(queue_seconds, HD_SECONDS_LEAST, "seconds that jobs waited", l.waited) \
    X(batch_jobs, 1, "jobs being computed in each turn", l.batch)

static void put_label(hd_text *to, const hd_served *m)
{
    hd_text_put(to, "{model=");
    hd_markup_json(to, m->name, false);
}

static void put_value(hd_text *to, double v)
{
    hd_text_print(to, "} %.17g\n", v);
}

static void put_head(hd_text *to, const char *name, const char *type, const char *help)
{
    hd_text_print(to, "# HELP heed_%s %s\n# TYPE heed_%s %s\n", name, help, name, type);
}

/* labels: `model="m"` */
static void put_histogram(hd_text *to, const char *name, const char *labels, double least,
                          const hd_histogram *h)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < HD_HISTOGRAM_BUCKETS; i++) {
        sum += h->count[i];
        hd_text_print(to, "heed_%s_bucket{%s,le=\"%g\"} %llu\n", name, labels, hd_histogram_bound(least, i),
                      (unsigned long long)sum);
    }
    sum += h->count[HD_HISTOGRAM_BUCKETS];
    hd_text_print(to, "heed_%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels, (unsigned long long)sum);
    hd_text_print(to, "heed_%s_sum{%s} %.17g\n", name, labels, h->sum);
    hd_text_print(to, "heed_%s_count{%s} %llu\n", name, labels, (unsigned long long)sum);
}

static bool has_some(const hd_histogram *h)
{
    for (size_t i = 0; i <= HD_HISTOGRAM_BUCKETS; i++)
        if (h->count[i]) return true;
    return false;
}

/* How long answers took, by route and status. */
static void put_traffic(hd_text *to, const hd_traffic *t)
{
    static const char *const status[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    char labels[160];
    put_head(to, "request_seconds", "histogram", "seconds from a request to the end of its answer");
    for (size_t i = 0; i < HD_ROUTES && t[i].route; i++)
        for (size_t k = 0; k < sizeof status / sizeof *status; k++) {
            if (!has_some(&t[i].seconds[k])) continue;
            snprintf(labels, sizeof labels, "route=\"%s\",method=\"%s\",status=\"%s\"", t[i].route->path,
                     t[i].route->method, status[k]);
            put_histogram(to, "request_seconds", labels, HD_SECONDS_LEAST, &t[i].seconds[k]);
        }
    put_head(to, "first_piece_seconds", "histogram",
             "seconds from a request to the first piece of its stream");
    for (size_t i = 0; i < HD_ROUTES && t[i].route; i++) {
        if (!has_some(&t[i].first)) continue;
        snprintf(labels, sizeof labels, "route=\"%s\"", t[i].route->path);
        put_histogram(to, "first_piece_seconds", labels, HD_SECONDS_LEAST, &t[i].first);
    }
}

static void metrics(hd_call *c)
{
    const hd_models *m = &c->desk->models;
    hd_text out = {0};
#define X(name, type, help, value)                               \
    put_head(&out, #name, #type, help);                          \
    for (size_t i = 0; i < m->count; i++) {                      \
        const hd_engine_load l = hd_engine_now(m->at[i].engine); \
        hd_text_put(&out, "heed_" #name);                        \
        put_label(&out, &m->at[i]);                              \
        put_value(&out, value);                                  \
    }
    METRIC_LIST(X)
#undef X
#define X(NAME, least, help, histogram)                                                 \
    put_head(&out, #NAME, "histogram", help);                                           \
    for (size_t i = 0; i < m->count; i++) {                                             \
        const hd_engine_load l = hd_engine_now(m->at[i].engine);                        \
        hd_text label = {0};                                                            \
        hd_text_put(&label, "model=");                                                  \
        hd_markup_json(&label, m->at[i].name, false);                                   \
        if (!label.missed) put_histogram(&out, #NAME, label.data, least, &(histogram)); \
        hd_text_release(&label);                                                        \
    }
    HISTOGRAM_LIST(X)
#undef X
    put_traffic(&out, c->desk->traffic);
    put_head(&out, "jobs_total", "counter", "jobs that have ended, by how they did");
    for (size_t i = 0; i < m->count; i++) {
        const hd_engine_load l = hd_engine_now(m->at[i].engine);
        for (size_t k = 0; k < HD_JOB_ENDS; k++) {
            hd_text_put(&out, "heed_jobs_total");
            put_label(&out, &m->at[i]);
            hd_text_print(&out, ",end=\"%s\"", ends[k]);
            put_value(&out, (double)l.jobs[k]);
        }
    }
    hd_request_answer(c->request, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}

static void write_error(hd_text *to, int status, const char *text)
{
    (void)status;
    hd_member_begin(to, NULL, '{');
    hd_member_text(to, "error", text);
    hd_text_put(to, "}\n");
}

static const hd_endpoint routes[] = {
    {"GET", "/metrics", metrics, NULL, false},
    {0},
};

const hd_protocol hd_protocol_metrics = {routes, write_error, .no_key = 401, .wrong_key = 401};
