/* heed compare of translators. */
#include "cli/verb/compare/compare.h"

#include <stdio.h>

#include "base/system/clock.h"
#include "task/translate/judge.h"
#include "task/translate/trial.h"
#include "train/duration.h"
#include "view/draw/table.h"

typedef struct row {
    const char *folder;
    char body[2 * HD_STAGES_TEXT + 4]; /* "bi-gru:1, gru:1" */
    size_t parameters, pairs;
    double flops;   /* of the products of an average pair, forward */
    double trained; /* seconds; NaN: not known */
    double bleu, nats;
    double seconds; /* to translate all */
} row;

static void describe(row *w, const hd_encdec *m)
{
    char encoder[HD_STAGES_TEXT], decoder[HD_STAGES_TEXT];
    snprintf(w->body, sizeof w->body, "%s, %s", hd_stages_text(&m->opt.encoder, encoder),
             hd_stages_text(&m->opt.decoder, decoder));
}

static hd_status measure(row *w, const hd_command *c, hd_run *r, const hd_texts *files, hd_err *err)
{
    hd_model_folder f;
    hd_trial t = {0};
    double nats, tokens;
    hd_status s = hd_model_folder_open(&f, w->folder, "translate", r->backend, HD_WEIGHTS_BEST, err);
    if (s) return s;
    const hd_encdec *m = hd_model_folder_encdec(&f);
    describe(w, m);
    w->parameters = hd_params_size(f.model.params);
    w->trained = hd_duration_load(w->folder).seconds;
    s = hd_trial_open(&t, &f, files, r->backend->team, &c->log, err);
    if (!s && !t.corpus.count) s = hd_err_set(err, HD_EARG, "%s: there are no pairs", files->text[0]);
    if (!s) s = hd_translate_judge(&nats, &tokens, r, m, t.batches, err);
    double begun = hd_seconds();
    if (!s) s = hd_translate_bleu(&w->bleu, r, &f, &t.text, t.text.count, err);
    if (!s) {
        double n = (double)t.corpus.count, source = 0, target = 0;
        for (size_t i = 0; i < t.corpus.count; i++)
            source += (double)hd_corpus_len(&t.corpus, 0, i) + 1,
                target += (double)hd_corpus_len(&t.corpus, 1, i) + 1;
        w->seconds = hd_seconds() - begun;
        w->pairs = t.text.count, w->nats = nats / tokens;
        w->flops = hd_encdec_flops(m, n, source / n, target / n) / n;
    }
    hd_trial_release(&t);
    hd_model_folder_release(&f);
    return s;
}

static void put_table(hd_text *to, const row *rows, size_t n)
{
    static const char *const heads[] = {"model",   "encoder, decoder", "parameters", "FLOPs/pair",
                                        "trained", "nats/token",       "BLEU",       "pairs/s"};
    char number[HD_DECIMAL];
    hd_table t = {.columns = sizeof heads / sizeof *heads, .left = 2};
    for (size_t k = 0; k < t.columns; k++) hd_table_add(&t, heads[k]);
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_table_add(&t, w->folder);
        hd_table_add(&t, w->body);
        hd_table_add(&t, hd_grouped(w->parameters, number));
        hd_table_add(&t, hd_decimal(number, "%.2e", w->flops));
        hd_table_add(&t, hd_compare_time(w->trained, number));
        hd_table_add(&t, hd_decimal(number, "%.4f", w->nats));
        hd_table_add(&t, hd_decimal(number, "%.1f", w->bleu));
        hd_table_add(&t, hd_decimal(number, "%.0f", (double)w->pairs / w->seconds));
    }
    hd_table_write(to, &t);
}

static void put_object(hd_text *to, const hd_texts *files, const row *rows, size_t n)
{
    hd_member_begin(to, NULL, '{');
    hd_member_begin(to, "files", '[');
    for (int i = 0; i < files->count; i++) hd_member_text(to, NULL, files->text[i]);
    hd_member_end(to, ']');
    hd_member_count(to, "pairs", rows->pairs);
    hd_member_begin(to, "models", '[');
    for (size_t i = 0; i < n; i++) {
        const row *w = &rows[i];
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "model", w->folder);
        hd_member_text(to, "body", w->body);
        hd_member_count(to, "parameters", w->parameters);
        hd_member_number(to, "flops_per_pair", w->flops, 6);
        hd_member_number(to, "training_seconds", w->trained, 9);
        hd_member_number(to, "nats_per_token", w->nats, 9);
        hd_member_number(to, "bleu", w->bleu, 9);
        hd_member_number(to, "seconds", w->seconds, 6);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "]}\n");
}

static hd_status compare(hd_command *c, char *const *folder, size_t n, const hd_texts *files, bool json,
                         hd_err *err)
{
    hd_text out = {0};
    row *rows = hd_mem_array(n, sizeof *rows);
    hd_status s = rows ? HD_OK : hd_err_nomem(err, n * sizeof *rows);
    for (size_t i = 0; !s && i < n; i++) {
        rows[i].folder = folder[i];
        s = measure(&rows[i], c, &c->machine.run, files, err);
    }
    if (!s && json) put_object(&out, files, rows, n);
    if (!s && !json) put_table(&out, rows, n);
    if (!s) s = hd_command_put_text(c, &out, true, err);
    hd_mem_free(rows);
    return s;
}

/* One or two files are the last operands. */
hd_status hd_compare_translators(hd_command *c, const hd_usual *o, hd_err *err)
{
    const int words = c->operands.count;
    hd_texts files = {.count = 0};
    while (files.count < 2 && files.count + 1 < words &&
           !hd_is_folder(c->operands.word[words - 1 - files.count]))
        files.count++;
    for (int i = 0; i < files.count; i++) files.text[i] = c->operands.word[words - files.count + i];
    c->misused = o->plot || !files.count;
    if (o->plot)
        return hd_err_set(err, HD_EARG, "--plot is for language models, %s is a translator",
                          c->operands.word[0]);
    if (!files.count)
        return hd_err_set(err, HD_EARG,
                          "pairs are required behind the models: a file for each side, or one "
                          "with both, separated by a tab");
    hd_status s = hd_machine_open(&c->machine, c, &o->machine, err);
    return s ? s : compare(c, c->operands.word, (size_t)(words - files.count), &files, o->json, err);
}
