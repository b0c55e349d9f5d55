/* Lecture 000: the table of score functions, and Bahdanau's attention as the module of the slides. Lecture
   004: contexts. */
#include <math.h>

#include "lab/attention/glance.h"
#include "lab/worked/sheet.h"

enum { STATES = HD_GLANCE_STATES, D = HD_GLANCE_WIDTH };

static const char *const states[] = {"h1", "h2", "h3", "h4"};

/* A row of the table: scores, weights and context of one function. */
static void compare_row(hd_sheet *s, const struct hd_glance_row *row, const hd_glance *f)
{
    const struct {
        const char *part, *formula;
        size_t cols;
        const double *found, *lecture;
    } part[] = {{"scores", row->formula, STATES, f->score, row->lecture.score},
                {"weights", "softmax(scores)", STATES, f->weight, row->lecture.weight},
                {"context", "weights . h_enc", D, f->context, row->lecture.context}};
    for (int i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "score.%s.%s", row->name, part[i].part);
        hd_sheet_compare(s,
                         &(hd_sheet_matrix){.name = name,
                                            .formula = part[i].formula,
                                            .rows = 1,
                                            .cols = part[i].cols,
                                            .row = (const char *const[]){"h_dec"},
                                            .col = i < 2 ? states : NULL},
                         part[i].found, part[i].lecture);
    }
}

hd_status hd_worked_scores(hd_sheet *s, hd_err *err)
{
    hd_status status = HD_OK;
    hd_sheet_begin(
        s, "The attention score",
        "att_score(h_dec, h_enc) has several options: dot product, bilinear function, MLP, and with "
        "the Transformer the scaled dot product. One state of a decoder looks at four states of an "
        "encoder. (Lecture 004 writes the concatenation the other way round, [h_enc; s], and the "
        "bilinear form as h_enc W s: another order of the same weights.)");
    hd_sheet_given(s, "score.h_dec", 1, D, hd_glance_h_dec);
    hd_sheet_given(s, "score.h_enc", STATES, D, hd_glance_h_enc);
    hd_sheet_given(s, "score.W_a", D, D, hd_glance_w_a);
    hd_sheet_given(s, "score.W_a2", HD_GLANCE_HIDDEN, 2 * D, hd_glance_w_a2);
    hd_sheet_given(s, "score.w_a1", 1, HD_GLANCE_HIDDEN, hd_glance_w_a1);
    for (int k = 0; !status && k < HD_GLANCE_KINDS; k++) {
        hd_glance f;
        status = hd_glance_of(&f, s->run, (hd_glance_kind)k, err);
        if (!status) compare_row(s, &hd_glance_rows[k], &f);
    }
    return status ? status : hd_sheet_end(s, err);
}

/* -- Bahdanau's module -- */

hd_status hd_worked_bahdanau(hd_sheet *s, hd_err *err)
{
    enum { ITEMS = 2 };
    static const double wa[] = {0.54277045, 0.23996971,  -0.04690054, 0.48583758, 0.16745943,
                                0.33618863, -0.37111362, -0.17192611, 0.0939244},
                        ba[] = {-0.24452413, -0.05442237, -0.37319976},
                        ua[] = {-0.16712355, 0.14076406, -0.02095966, -0.0683577, -0.10706202,
                                -0.34013021, 0.19056967, 0.32894405,  -0.33443999},
                        bu[] = {0.20408076, -0.45063891, 0.02742652},
                        va[] = {-0.31636462, 0.06725331, 0.10106974}, bv[] = {0.21009278},
                        query[] = {-0.02087947, -0.71848004, 0.51863675, -1.31252196, 0.19199507, 0.54277135},
                        keys[] = {-0.00944628, -1.21768778, -1.26546531, -1.11953518, 1.16648572,
                                  0.92623246,  0.79701002,  0.21166418,  -0.07441945, 0.86538971,
                                  0.99455293,  0.11494421,  0.14466901,  1.07417172,  -1.12879864,
                                  -0.09376858, 0.05837477,  -1.001669,   0.83514757,  -0.29286147,
                                  -0.57874361, -3.47963524, 0.74948833,  -0.56055521},
                        weights[] = {0.26730198, 0.21624604, 0.26011084, 0.25634114,
                                     0.26195309, 0.26190847, 0.26827262, 0.20786582},
                        context[] = {0.18452587,  0.23675854, -0.12785966,
                                     -0.48591229, 0.37389774, -0.82981922};
    static const struct {
        const char *name;
        size_t rows, cols;
        const double *value;
    } given[] = {{"bahdanau.Wa", D, D, wa},           {"bahdanau.Wa.bias", 1, D, ba},
                 {"bahdanau.Ua", D, D, ua},           {"bahdanau.Ua.bias", 1, D, bu},
                 {"bahdanau.Va", 1, D, va},           {"bahdanau.Va.bias", 1, 1, bv},
                 {"bahdanau.query", ITEMS, D, query}, {"bahdanau.keys", ITEMS * STATES, D, keys}};
    static const char *const items[] = {"sentence 1", "sentence 2"};
    hd_run *r = s->run;
    hd_sheet_begin(
        s, "Bahdanau's attention module",
        "scores = Va(tanh(Wa(query) + Ua(keys))), weights = softmax(scores), context = weights . "
        "keys, for two sentences of four states each. Va's bias moves all scores of a query alike, so "
        "softmax does not see it. The slides' DecoderRNN does not call this module: its forward_step "
        "has the GRU alone.");
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        hd_sheet_given(s, given[i].name, given[i].rows, given[i].cols, given[i].value);
    double found[ITEMS][STATES] = {0};
    hd_tensor *q = hd_linear(r, hd_desk_rows(r, ITEMS, D, query), hd_desk_rows(r, D, D, wa),
                             hd_desk_rows(r, 1, D, ba), HD_IDENTITY),
              *k = hd_desk_rows(r, ITEMS * STATES, D, keys),
              *z = hd_linear(r, k, hd_desk_rows(r, D, D, ua), hd_desk_rows(r, 1, D, bu), HD_IDENTITY),
              *c[ITEMS];
    const hd_attend_opt o = {.heads = 1, .score = HD_ADDITIVE, .additive = hd_desk_rows(r, 1, D, va)};
    for (size_t i = 0; i < ITEMS; i++)
        c[i] = hd_desk_attend(r, hd_slice_rows(r, q, i, 1), hd_slice_rows(r, z, i * STATES, STATES),
                              hd_slice_rows(r, k, i * STATES, STATES), &o, "softmax", found[i]);
    hd_sheet_compare(s,
                     &(hd_sheet_matrix){"bahdanau.weights", "softmax(Va tanh(Wa query + Ua keys))", ITEMS,
                                        STATES, items, states},
                     found[0], weights);
    for (size_t i = 0; i < ITEMS; i++)
        hd_sheet_compare_tensor(s,
                                &(hd_sheet_matrix){i ? "bahdanau.context.2" : "bahdanau.context.1",
                                                   "weights . keys", 1, D, items + i, NULL},
                                c[i], context + i * D);
    return hd_sheet_end(s, err);
}

/* -- lecture 004: contexts -- */

static double largest(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

hd_status hd_worked_contexts(hd_sheet *s, hd_err *err)
{
    static const double none[D] = {0}, mean[D] = {0.3325, 0.33, -0.3775};
    static const char *const row[] = {"c_0"};
    double weight[STATES] = {0}, plain[D] = {0}, own[STATES * STATES] = {0};
    hd_run *r = s->run;
    hd_sheet_begin(
        s, "The first context",
        "The pseudocode begins with a query of zeros. All scores are then 0, all weights are 1/N, and "
        "the first context is the plain mean of the encoder's states.");
    hd_sheet_given(s, "context.h_enc", STATES, D, hd_glance_h_enc);
    hd_tensor *h = hd_desk_rows(r, STATES, D, hd_glance_h_enc);
    const hd_attend_opt o = {.heads = 1, .scale = 1}, masked = {.heads = 1, .mask = HD_CAUSAL};
    hd_tensor *c = hd_desk_attend(r, hd_desk_rows(r, 1, D, none), h, h, &o, "softmax", weight);
    hd_sheet_compare_tensor(
        s, &(hd_sheet_matrix){"context.first", "softmax(0 . h_enc) . h_enc", 1, D, row, NULL}, c, mean);
    hd_desk_read(plain, r, c);
    hd_desk_attend(r, h, h, h, &masked, "softmax", own);
    hd_status status = hd_sheet_end(s, err);
    double sum = 0;
    for (int i = 0; i < STATES; i++) sum += weight[i];
    hd_paper_claim(s->to, "A slide: c_t = 1/N sum_i w_i(t) h_i.", fabs(sum - 1) > 1e-6,
                   "The weights already add up to %.6f; with 1/N the context would shrink from %.4f to %.4f.",
                   sum, largest(plain, D), largest(plain, D) / STATES);
    hd_paper_note(s->to, "A slip: the pseudocode and the other lectures have no 1/N.");
    hd_paper_claim(s->to, "A slide: masked attention of position i sums over j = 0 .. i-1.",
                   own[0] < 1 - 1e-6,
                   "The first position gives itself %.4f of its weight, the last one %.4f.", own[0],
                   own[STATES * STATES - 1]);
    hd_paper_note(s->to, "A slip: the softmax above it goes to i, and the first position would see nothing.");
    return status;
}
