/* Lecture 000: one step of a simple recurrent cell, and the GRU encoder-decoder of the slides' code. */
#include <math.h>
#include <stdio.h>

#include "decode/search.h"
#include "lab/desk.h"
#include "lab/worked/sheet.h"
#include "model/encdec/encdec.h"
#include "model/stepper.h"

hd_status hd_worked_cell(hd_sheet *s, hd_err *err)
{
    enum { WIDTH = 3, IN = 2, WORDS = 4 };
    static const double w[] = {0.1, 0.43, 0.21, 0.09, -0.15, 0.29, -0.12, 0.78, 0.93},
                        u[] = {-0.23, 0.58, 0.06, 0.14, 0.85, -0.86},
                        out[] = {-0.83, -0.96, 0.67, 0.56, 0.74, 0.96, 0.6, -0.08, 0.56, -0.76, 0.28, -0.71},
                        before[] = {0.89, 0.04, -0.17}, word[] = {-0.47, 0.55},
                        h[] = {0.62189516, 0.5183917, 0.24858},
                        p[] = {0.08127228, 0.50049287, 0.30367437, 0.11456049};
    static const char *const row[] = {"step"};
    hd_run *r = s->run;
    hd_sheet_begin(s, "A simple recurrent cell",
                   "h_i = sigmoid(W h_(i-1) + U w_i), and the next word's probabilities softmax(S h_i).");
    hd_sheet_given(s, "cell.W", WIDTH, WIDTH, w);
    hd_sheet_given(s, "cell.U", WIDTH, IN, u);
    hd_sheet_given(s, "cell.S", WORDS, WIDTH, out);
    hd_sheet_given(s, "cell.h_before", 1, WIDTH, before);
    hd_sheet_given(s, "cell.word", 1, IN, word);
    hd_tensor *z =
        hd_linear(r, hd_desk_rows(r, 1, IN, word), hd_desk_rows(r, WIDTH, IN, u), NULL, HD_IDENTITY);
    hd_rows y = hd_recur(r, hd_desk_item(r, z), hd_desk_rows(r, WIDTH, WIDTH, w), NULL,
                         hd_desk_rows(r, 1, WIDTH, before), &(hd_recur_opt){HD_RNN, HD_sigmoid, false}, NULL);
    hd_tensor *q = hd_softmax(r, hd_linear(r, y.t, hd_desk_rows(r, WORDS, WIDTH, out), NULL, HD_IDENTITY));
    hd_sheet_compare_tensor(
        s, &(hd_sheet_matrix){"cell.h", "sigmoid(W h_before + U word)", 1, WIDTH, row, NULL}, y.t, h);
    hd_sheet_compare_tensor(s, &(hd_sheet_matrix){"cell.p", "softmax(S h)", 1, WORDS, row, NULL}, q, p);
    double found[WORDS] = {0};
    if (q) hd_desk_read(found, r, q);
    hd_status status = hd_sheet_end(s, err);
    hd_paper_claim(
        s->to, "A slide: softmax(z)_i = exp(z_i) / sum_j exp(z_i).", fabs(found[1] - 1.0 / WORDS) < 1e-6,
        "As printed each of the %d words would have %.4f, whatever its score; they have %.4f to %.4f.", WORDS,
        1.0 / WORDS, found[0], found[1]);
    hd_paper_note(s->to, "A slip: the sum must be over exp(z_j).");
    return status;
}

/* -- the GRU encoder-decoder -- */

enum { WIDTH = 3, SOURCE = 6, TARGET = 5, ITEMS = 2, STEPS = 3, ROWS = ITEMS * STEPS };

/* clang-format off */
static const struct {
    const char *name, *engine;
    size_t rows, cols;
    double value[27];
} weights[] = {
    {"gru.enc.E", "model.encoder.embed_tokens.weight", 6, 3, {-0.10838763, 0.31513024, 1.10965351,
     0.27565496, -0.68744772, -0.5752442, -0.59188236, 0.61950926, -1.4872951, 1.36268238, 1.96756662,
     -0.04131868, -1.40000313, -0.23675178, 0.20710027, -0.11727393, -0.01743674, -0.24317131}},
    {"gru.enc.W_ih", "model.encoder.rnn.weight_ih_l0", 9, 3, {0.42860175, -0.31180234, 0.24569192,
     -0.06356781, 0.03875213, -0.4031321, 0.18236747, -0.52682811, -0.00074428, -0.06137237, 0.33950138,
     -0.22551336, -0.20695851, 0.24518541, -0.50888307, 0.45255331, -0.51369128, 0.45415341, -0.22207766,
     0.14459619, -0.5364661, -0.48619204, 0.22585327, -0.44075481, -0.05670446, 0.44133513,
     -0.24463597}},
    {"gru.enc.W_hh", "model.encoder.rnn.weight_hh_l0", 9, 3, {-0.45331372, -0.32548245, 0.29476094,
     0.00866724, 0.05190833, -0.43020289, 0.30797386, 0.17477, 0.18364093, -0.47885956, 0.07369696,
     -0.2717429, -0.46142809, 0.30735739, 0.16011339, -0.49637297, 0.48748234, 0.32969432, 0.19167365,
     0.09621465, 0.25501553, -0.12790511, 0.02115924, 0.47503648, 0.17781979, -0.1915346, 0.41039136}},
    {"gru.enc.b_ih", "model.encoder.rnn.bias_ih_l0", 1, 9, {0.31162985, -0.17204597, 0.42499536,
     0.21390432, 0.56631053, -0.30592009, -0.55348172, -0.00279468, -0.48155259}},
    {"gru.enc.b_hh", "model.encoder.rnn.bias_hh_l0", 1, 9, {-0.24918947, 0.10725338, 0.49956322,
     -0.0082043, 0.11287268, -0.25375916, 0.24305021, 0.16245497, -0.33934735}},
    {"gru.dec.E", "model.decoder.embed_tokens.weight", 5, 3, {-0.47668973, 1.69499321, 0.3474516,
     0.58035297, -0.12889565, 1.00629117, 0.53378282, -0.08121379, -0.49508799, 1.93276206, -1.58321405,
     -0.58969173, -0.17502055, 0.35290024, -0.8974748}},
    {"gru.dec.W_ih", "model.decoder.rnn.weight_ih_l0", 9, 3, {0.28308743, 0.48737224, 0.39689916,
     0.21391548, 0.06692201, -0.44864822, 0.15676559, 0.37912482, 0.04854008, 0.26239906, -0.11962124,
     -0.37974909, 0.47829967, -0.13532764, -0.33005773, -0.34061667, 0.55906135, -0.24914939, -0.2387253,
     -0.39319913, -0.12111314, -0.19162309, 0.43123058, 0.56261804, -0.39857186, -0.35963517,
     -0.33014695}},
    {"gru.dec.W_hh", "model.decoder.rnn.weight_hh_l0", 9, 3, {-0.11557517, -0.36671904, -0.210945,
     0.54961771, -0.16197629, -0.32911523, 0.3379624, -0.49364616, 0.41906973, -0.25974173, 0.06609216,
     0.46040369, 0.29541053, -0.23080573, -0.11262265, 0.09652706, 0.27059209, -0.37380913, 0.2369958,
     0.10671714, -0.02830316, -0.42882717, -0.42692332, 0.55753394, -0.16499337, 0.17114712,
     0.04534617}},
    {"gru.dec.b_ih", "model.decoder.rnn.bias_ih_l0", 1, 9, {-0.23685023, -0.57199618, -0.13150037,
     -0.27354503, 0.36722554, 0.40315991, 0.45054324, -0.56927178, -0.52456484}},
    {"gru.dec.b_hh", "model.decoder.rnn.bias_hh_l0", 1, 9, {-0.20999034, -0.32639225, -0.11316233,
     0.17076302, 0.20327754, 0.56473969, 0.56945295, 0.55801344, 0.54043236}},
    {"gru.out.W", "lm_head.weight", 5, 3, {0.55470035, 0.07541547, 0.47347043, -0.48181406, 0.05720624,
     -0.23592481, 0.02878607, -0.34069759, 0.5098466, 0.30818221, -0.39563235, 0.04822328, -0.45548074,
     0.15749987, -0.10223079}},
    {"gru.out.b", "final_logits_bias", 1, 5, {-0.45139188, -0.42235198, -0.12415144, 0.33091968,
     0.23369773}},
};
static const double output[] = {
        0.15493871, 0.12693826, -0.01830683, -0.02225186, 0.04932554, 0.08971431, -0.13128886,
        0.055908, -0.37206041, -0.12996142, 0.16839672, -0.47883365, -0.20897285, 0.15739849,
        -0.61571618, -0.26956334, 0.07783023, -0.73791481},
    forced[] = {
        -2.13493083, -1.83054723, -1.9249863, -1.28553255, -1.20717668, -2.14188904, -1.86963434,
        -1.93342554, -1.18714151, -1.27782312, -2.04223342, -2.00987527, -1.87872641, -1.06861085,
        -1.42717435, -2.29344846, -1.71816982, -2.07250163, -1.29548083, -1.13927406, -2.10294696,
        -1.91613644, -1.96673043, -1.10973185, -1.34258941, -2.02854543, -2.02707309, -1.9151357,
        -1.0320827, -1.4560013},
    forced_hidden[] = {
        0.36478233, -0.11430176, -0.53473583, 0.46182689, -0.1251255, -0.63271391},
    free_running[] = {
        -2.13493083, -1.83054723, -1.9249863, -1.28553255, -1.20717668, -2.00152522, -1.99851587,
        -1.85869117, -1.12742309, -1.38793003, -2.07252094, -1.97752103, -1.89124563, -1.08607344,
        -1.3971653, -2.29344846, -1.71816982, -2.07250163, -1.29548083, -1.13927406, -2.10294696,
        -1.91613644, -1.96673043, -1.10973185, -1.34258941, -2.1338439, -1.93056485, -1.95785372,
        -1.07234849, -1.37362529};
/* clang-format on */

static const int32_t source[] = {2, 3, 1, 4, 5, 1}, lengths[] = {STEPS, STEPS}, truth[] = {0, 3, 2, 0, 4, 4};
static const double said[] = {4, 3, 3, 4, 3, 3}; /* ids that it says when it runs freely */

static hd_status build(hd_encdec **out, hd_backend *backend, hd_err *err)
{
    hd_encdec_opt o = {.stack.width = WIDTH,
                       .stack.inner = 1,
                       .source_vocab = SOURCE,
                       .target_vocab = TARGET,
                       .positions = 8,
                       .output_bias = true,
                       .recurrent = {.context = HD_CONTEXT_fixed, .relu = true}};
    hd_status s = hd_stages_read(&o.encoder, "gru:1", err);
    if (!s) s = hd_stages_read(&o.decoder, "gru:1", err);
    if (!s) s = hd_encdec_new(out, backend, &o, false, err);
    for (size_t i = 0; !s && i < sizeof weights / sizeof *weights; i++) {
        hd_real host[27];
        hd_param *p = hd_params_find(&(*out)->params, weights[i].engine);
        for (size_t k = 0; k < weights[i].rows * weights[i].cols; k++) host[k] = (hd_real)weights[i].value[k];
        s = p ? hd_params_set(&(*out)->params, p, host)
              : hd_err_set(err, HD_ESHAPE, "there is no '%s'", weights[i].engine);
    }
    return s;
}

typedef struct decoded {
    hd_tensor *rows, *logp; /* states of the decoder, log-probabilities */
} decoded;

static decoded decode(hd_run *r, const hd_encdec *m, hd_encoded memory, const int32_t *input)
{
    hd_rows y =
        hd_encdec_decode(r, m, hd_ints(r, input, ROWS), hd_seg_of(r, lengths, ITEMS, NULL), memory, NULL);
    return (decoded){y.t, hd_log_softmax(r, hd_encdec_logits(r, m, y))};
}

/* What it says when it reads what it said itself: ids of greedy search. */
static hd_status run_freely(int32_t *ids, hd_run *r, const hd_encdec *m, hd_err *err)
{
    const hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = STEPS, .best = 1};
    hd_stepper st = {0};
    hd_found *f = NULL;
    hd_status s = hd_encdec_stepper(&st, m, source, lengths, ITEMS, 0, err);
    if (!s) s = hd_search(&f, r, &st, &o, err);
    for (size_t i = 0; !s && i < ROWS; i++) ids[i] = hd_found_at(f, i / STEPS)->ids[i % STEPS];
    hd_found_free(f);
    hd_stepper_release(&st);
    return s;
}

static void compare(hd_sheet *s, const hd_encdec *m, const int32_t *ids)
{
    static const char *const step[] = {"1: step 1", "1: step 2", "1: step 3",
                                       "2: step 1", "2: step 2", "2: step 3"},
                             *const item[] = {"sentence 1", "sentence 2"}, *const log[] = {"1", "2"};
    hd_run *r = s->run;
    double id[ROWS];
    int32_t own[ROWS];
    const int32_t last[] = {STEPS - 1, ROWS - 1};
    for (int i = 0; i < ROWS; i++) id[i] = ids[i], own[i] = i % STEPS ? ids[i - 1] : 0;
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded e = hd_encdec_encode(
        r, m, &(hd_items){.seg = hd_seg_of(r, lengths, ITEMS, NULL), .ids = hd_ints(r, source, ROWS)});
    const decoded f = decode(r, m, e, truth), g = decode(r, m, e, own);
    const hd_sheet_matrix hidden = {"gru.enc.hidden", "last row of each sentence", ITEMS, WIDTH, item, NULL},
                          state = {
                              "gru.forced.hidden", "last state of the decoder", ITEMS, WIDTH, item, NULL};
    double ends[ITEMS * WIDTH];
    for (int i = 0; i < ITEMS * WIDTH; i++) ends[i] = output[last[i / WIDTH] * WIDTH + i % WIDTH];
    hd_sheet_compare_tensor(
        s, &(hd_sheet_matrix){"gru.enc.output", "GRU(E[source])", ROWS, WIDTH, step, NULL}, e.rows.t, output);
    hd_sheet_compare_tensor(s, &hidden, hd_gather(r, e.rows.t, hd_ints(r, last, ITEMS), ITEMS, 1), ends);
    hd_sheet_compare_tensor(s,
                            &(hd_sheet_matrix){"gru.forced.log_probs",
                                               "log_softmax(out(GRU(relu(E[target]), hidden)))", ROWS, TARGET,
                                               step, NULL},
                            f.logp, forced);
    hd_sheet_compare_tensor(s, &state, hd_gather(r, f.rows, hd_ints(r, last, ITEMS), ITEMS, 1),
                            forced_hidden);
    hd_sheet_compare_tensor(
        s,
        &(hd_sheet_matrix){"gru.free.log_probs", "the same, reading its own words", ROWS, TARGET, step, NULL},
        g.logp, free_running);
    hd_sheet_compare(s, &(hd_sheet_matrix){"gru.free.ids", "argmax of each step", ITEMS, STEPS, log, NULL},
                     id, said);
}

hd_status hd_worked_gru(hd_sheet *s, hd_err *err)
{
    hd_encdec *m = NULL;
    int32_t ids[ROWS] = {0};
    hd_sheet_begin(
        s, "The GRU encoder-decoder",
        "EncoderRNN and DecoderRNN of the slides, dropout off, with the sources 2 3 1 and 4 5 1: the "
        "encoder's last state is the decoder's first. With teacher forcing the decoder reads <SOS> "
        "and the target (3 2 and 4 4); running freely it reads its own likeliest word. Gates stand in "
        "PyTorch's order r, z, n.");
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        hd_sheet_given(s, weights[i].name, weights[i].rows, weights[i].cols, weights[i].value);
    hd_status status = build(&m, s->run->backend, err);
    if (!status) status = run_freely(ids, s->run, m, err);
    if (!status) compare(s, m, ids), status = hd_sheet_end(s, err);
    hd_encdec_free(m);
    return status;
}
