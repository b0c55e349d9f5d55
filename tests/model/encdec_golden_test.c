/* Encoder-decoders against numbers from elsewhere: the lectures' GRU encoder-decoder, and PyTorch for a
   decoder with Bahdanau's attention, one of Luong's and one that looks around a predicted place. */
#include "check.h"
#include "decode/search.h"
#include "model/encdec/encdec.h"
#include "model/golden.h"
#include "model/stepper.h"

/* Weights and numbers have 8 or 9 digits; what is computed is float. */
#define TOLERANCE 2e-6

enum { ITEMS = 2, ASKED = 3, MOST = 128 };

static hd_encdec *model_of(golden *g, const char *encoder, const char *decoder, hd_encdec_opt o)
{
    hd_err err = {0};
    hd_encdec *m = NULL;
    o.stack.inner = 1, o.positions = 8, o.output_bias = true;
    if (hd_stages_read(&o.encoder, encoder, &err) || hd_stages_read(&o.decoder, decoder, &err) ||
        hd_encdec_new(&m, g->backend, &o, false, &err))
        fail_msg("%s", err.text);
    return m;
}

static void set(hd_encdec *m, const char *name, const double *x)
{
    hd_real host[MOST];
    for (size_t i = 0; i < m->params.count; i++) {
        hd_param *p = m->params.list[i];
        if (!p->name || strcmp(p->name, name)) continue;
        size_t count = hd_count_of(&p->t);
        assert_true(count <= MOST);
        for (size_t k = 0; k < count; k++) host[k] = (hd_real)x[k];
        assert_int_equal(hd_params_set(&m->params, p, host), HD_OK);
        return;
    }
    fail_msg("there is no %s", name);
}

/* Log-probabilities after every token of `input`, ASKED of each item. */
static hd_tensor *log_probs(hd_run *r, const hd_encdec *m, const int32_t *source, const int32_t *len,
                            const int32_t *input)
{
    static const int32_t asked[ITEMS] = {ASKED, ASKED};
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded memory = hd_encdec_encode(r, m,
                                         &(hd_items){.seg = hd_seg_of(r, len, ITEMS, NULL),
                                                     .ids = hd_ints(r, source, (size_t)(len[0] + len[1]))});
    hd_rows y = hd_encdec_decode(r, m, hd_ints(r, input, ITEMS * ASKED), hd_seg_of(r, asked, ITEMS, NULL),
                                 memory, NULL);
    return hd_log_softmax(r, hd_encdec_logits(r, m, y));
}

/* -- the lectures' -- */

static const struct {
    const char *name;
    double value[27];
} lecture[] = {
    {"model.encoder.embed_tokens.weight",
     {-0.10838763, 0.31513024, 1.10965351, 0.27565496, -0.68744772, -0.5752442, -0.59188236, 0.61950926,
      -1.4872951, 1.36268238, 1.96756662, -0.04131868, -1.40000313, -0.23675178, 0.20710027, -0.11727393,
      -0.01743674, -0.24317131}},
    {"model.encoder.rnn.weight_ih_l0",
     {0.42860175,  -0.31180234, 0.24569192,  -0.06356781, 0.03875213,  -0.4031321,  0.18236747,
      -0.52682811, -0.00074428, -0.06137237, 0.33950138,  -0.22551336, -0.20695851, 0.24518541,
      -0.50888307, 0.45255331,  -0.51369128, 0.45415341,  -0.22207766, 0.14459619,  -0.5364661,
      -0.48619204, 0.22585327,  -0.44075481, -0.05670446, 0.44133513,  -0.24463597}},
    {"model.encoder.rnn.weight_hh_l0",
     {-0.45331372, -0.32548245, 0.29476094,  0.00866724, 0.05190833, -0.43020289, 0.30797386,
      0.17477,     0.18364093,  -0.47885956, 0.07369696, -0.2717429, -0.46142809, 0.30735739,
      0.16011339,  -0.49637297, 0.48748234,  0.32969432, 0.19167365, 0.09621465,  0.25501553,
      -0.12790511, 0.02115924,  0.47503648,  0.17781979, -0.1915346, 0.41039136}},
    {"model.encoder.rnn.bias_ih_l0",
     {0.31162985, -0.17204597, 0.42499536, 0.21390432, 0.56631053, -0.30592009, -0.55348172, -0.00279468,
      -0.48155259}},
    {"model.encoder.rnn.bias_hh_l0",
     {-0.24918947, 0.10725338, 0.49956322, -0.0082043, 0.11287268, -0.25375916, 0.24305021, 0.16245497,
      -0.33934735}},
    {"model.decoder.embed_tokens.weight",
     {-0.47668973, 1.69499321, 0.3474516, 0.58035297, -0.12889565, 1.00629117, 0.53378282, -0.08121379,
      -0.49508799, 1.93276206, -1.58321405, -0.58969173, -0.17502055, 0.35290024, -0.8974748}},
    {"model.decoder.rnn.weight_ih_l0",
     {0.28308743,  0.48737224,  0.39689916, 0.21391548,  0.06692201,  -0.44864822, 0.15676559,
      0.37912482,  0.04854008,  0.26239906, -0.11962124, -0.37974909, 0.47829967,  -0.13532764,
      -0.33005773, -0.34061667, 0.55906135, -0.24914939, -0.2387253,  -0.39319913, -0.12111314,
      -0.19162309, 0.43123058,  0.56261804, -0.39857186, -0.35963517, -0.33014695}},
    {"model.decoder.rnn.weight_hh_l0",
     {-0.11557517, -0.36671904, -0.210945,   0.54961771,  -0.16197629, -0.32911523, 0.3379624,
      -0.49364616, 0.41906973,  -0.25974173, 0.06609216,  0.46040369,  0.29541053,  -0.23080573,
      -0.11262265, 0.09652706,  0.27059209,  -0.37380913, 0.2369958,   0.10671714,  -0.02830316,
      -0.42882717, -0.42692332, 0.55753394,  -0.16499337, 0.17114712,  0.04534617}},
    {"model.decoder.rnn.bias_ih_l0",
     {-0.23685023, -0.57199618, -0.13150037, -0.27354503, 0.36722554, 0.40315991, 0.45054324, -0.56927178,
      -0.52456484}},
    {"model.decoder.rnn.bias_hh_l0",
     {-0.20999034, -0.32639225, -0.11316233, 0.17076302, 0.20327754, 0.56473969, 0.56945295, 0.55801344,
      0.54043236}},
    {"lm_head.weight",
     {0.55470035, 0.07541547, 0.47347043, -0.48181406, 0.05720624, -0.23592481, 0.02878607, -0.34069759,
      0.5098466, 0.30818221, -0.39563235, 0.04822328, -0.45548074, 0.15749987, -0.10223079}},
    {"final_logits_bias", {-0.45139188, -0.42235198, -0.12415144, 0.33091968, 0.23369773}},
};

static void gru_encoder_decoder(void **state)
{
    (void)state;
    static const int32_t source[] = {2, 3, 1, 4, 5, 1}, len[] = {3, 3}, truth[] = {0, 3, 2, 0, 4, 4},
                         own[] = {0, 4, 3, 0, 4, 3};
    static const double rows[] = {0.15493871,  0.12693826, -0.01830683, -0.02225186, 0.04932554, 0.08971431,
                                  -0.13128886, 0.055908,   -0.37206041, -0.12996142, 0.16839672, -0.47883365,
                                  -0.20897285, 0.15739849, -0.61571618, -0.26956334, 0.07783023, -0.73791481},
                        forced[] = {-2.13493083, -1.83054723, -1.9249863,  -1.28553255, -1.20717668,
                                    -2.14188904, -1.86963434, -1.93342554, -1.18714151, -1.27782312,
                                    -2.04223342, -2.00987527, -1.87872641, -1.06861085, -1.42717435,
                                    -2.29344846, -1.71816982, -2.07250163, -1.29548083, -1.13927406,
                                    -2.10294696, -1.91613644, -1.96673043, -1.10973185, -1.34258941,
                                    -2.02854543, -2.02707309, -1.9151357,  -1.0320827,  -1.4560013},
                        free_running[] = {-2.13493083, -1.83054723, -1.9249863,  -1.28553255, -1.20717668,
                                          -2.00152522, -1.99851587, -1.85869117, -1.12742309, -1.38793003,
                                          -2.07252094, -1.97752103, -1.89124563, -1.08607344, -1.3971653,
                                          -2.29344846, -1.71816982, -2.07250163, -1.29548083, -1.13927406,
                                          -2.10294696, -1.91613644, -1.96673043, -1.10973185, -1.34258941,
                                          -2.1338439,  -1.93056485, -1.95785372, -1.07234849, -1.37362529};
    golden g = golden_start();
    hd_run *r = &g.run;
    hd_err err = {0};
    hd_stepper st = {0};
    hd_found *f = NULL;
    hd_search_opt o = {.kind = HD_SEARCH_GREEDY, .end = -1, .max_length = ASKED, .best = 1};
    hd_encdec *m = model_of(&g, "gru:1", "gru:1",
                            (hd_encdec_opt){.stack.width = 3,
                                            .source_vocab = 6,
                                            .target_vocab = 5,
                                            .recurrent = {.context = HD_CONTEXT_fixed, .relu = true}});
    for (size_t i = 0; i < COUNT_OF(lecture); i++) set(m, lecture[i].name, lecture[i].value);
    hd_run_begin(r, HD_INFERENCE);
    hd_encoded e = hd_encdec_encode(
        r, m, &(hd_items){.seg = hd_seg_of(r, len, ITEMS, NULL), .ids = hd_ints(r, source, 6)});
    golden_check(r, "encoder_output", e.rows.t, rows, COUNT_OF(rows), TOLERANCE);
    golden_check(r, "teacher_forced_log_probs", log_probs(r, m, source, len, truth), forced, COUNT_OF(forced),
                 TOLERANCE);
    golden_check(r, "free_running_log_probs", log_probs(r, m, source, len, own), free_running,
                 COUNT_OF(free_running), TOLERANCE);
    if (hd_encdec_stepper(&st, m, source, len, ITEMS, 0, &err) || hd_search(&f, r, &st, &o, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < ITEMS; i++)
        for (size_t t = 0; t < ASKED; t++)
            assert_int_equal(hd_found_at(f, i)->ids[t], ((int32_t[]){4, 3, 3})[t]);
    hd_found_free(f);
    hd_stepper_release(&st);
    hd_encdec_free(m);
    golden_stop(&g);
}

/* -- PyTorch: modules of torch.nn and the loop of its tutorial's decoder, in double. Weight number p is a
   wave, 0.7 sin(1.7 k + 0.9 p + 0.3); sources are {2 3 1 5} and {4 1}, inputs {0 3 2} and {0 5 4} -- */

static const int32_t sources[] = {2, 3, 1, 5, 4, 1}, lengths[] = {4, 2}, inputs[] = {0, 3, 2, 0, 5, 4};

static void compare_cells(const char *what, const char *encoder, const char *decoder, hd_unary cell,
                          const hd_recurrent_decoder_opt *o, const char *const *names, const double *want)
{
    golden g = golden_start();
    hd_encdec *m =
        model_of(&g, encoder, decoder,
                 (hd_encdec_opt){
                     .stack.width = 4, .source_vocab = 6, .target_vocab = 6, .cell = cell, .recurrent = *o});
    size_t named = 0, has = 0;
    for (size_t i = 0; i < m->params.count; i++) has += m->params.list[i]->name && !m->params.list[i]->alias;
    for (; names[named]; named++) {
        double x[MOST];
        for (size_t k = 0; k < MOST; k++) x[k] = 0.7 * sin(1.7 * (double)k + 0.9 * (double)named + 0.3);
        set(m, names[named], x);
    }
    assert_int_equal(named, has);
    golden_check(&g.run, what, log_probs(&g.run, m, sources, lengths, inputs), want, ITEMS * ASKED * 6,
                 TOLERANCE);
    hd_encdec_free(m);
    golden_stop(&g);
}

static void compare(const char *what, const char *encoder, const char *decoder,
                    const hd_recurrent_decoder_opt *o, const char *const *names, const double *want)
{
    compare_cells(what, encoder, decoder, HD_IDENTITY, o, names, want);
}

#define ENCODER(l, way)                                                             \
    "model.encoder.rnn.weight_ih_l" #l way, "model.encoder.rnn.weight_hh_l" #l way, \
        "model.encoder.rnn.bias_ih_l" #l way, "model.encoder.rnn.bias_hh_l" #l way
#define HIDDEN(l) \
    "model.decoder.rnn.weight_hh_l" #l, "model.decoder.rnn.bias_ih_l" #l, "model.decoder.rnn.bias_hh_l" #l
#define TABLES "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
#define OUTPUT "lm_head.weight", "final_logits_bias", NULL
#define ADDITIVE                                                                  \
    "model.decoder.attention.query.weight", "model.decoder.attention.query.bias", \
        "model.decoder.attention.key.weight", "model.decoder.attention.key.bias", \
        "model.decoder.attention.score.weight"

/* context = attention(hidden, encoder rows); gru(cat(embedded, context)); out. */
static void a_decoder_with_bahdanaus_attention(void **state)
{
    (void)state;
    static const char *const names[] = {TABLES,
                                        ENCODER(0, ""),
                                        "model.decoder.rnn.weight_ih_l0",
                                        "model.decoder.rnn.weight_context_l0",
                                        HIDDEN(0),
                                        ADDITIVE,
                                        OUTPUT};
    static const double want[] = {
        -2.135313400, -2.812354242, -1.824203396, -1.035653573, -1.786466937, -1.981679579,
        -1.724731451, -2.623632259, -1.832557295, -1.164822058, -1.928631337, -2.025626625,
        -1.631845897, -2.510552826, -1.753582407, -1.165341863, -2.033271568, -2.231816239,
        -2.134955229, -2.716338512, -1.710615001, -0.987167476, -1.868753053, -2.226249465,
        -1.677434980, -2.562192893, -1.787270092, -1.161763053, -1.982846347, -2.137201206,
        -1.579402507, -2.491039437, -1.761813633, -1.188885285, -2.055695146, -2.236980440};
    compare("Bahdanau's", "gru:1", "gru:1", &(hd_recurrent_decoder_opt){0}, names, want);
}

/* Two LSTM layers, the score of a matrix, tanh of a map of state and context, which is fed back. */
static void a_decoder_of_luongs(void **state)
{
    (void)state;
    static const char *const names[] = {TABLES,
                                        ENCODER(0, ""),
                                        ENCODER(1, ""),
                                        "model.decoder.rnn.weight_ih_l0",
                                        "model.decoder.rnn.weight_fed_l0",
                                        HIDDEN(0),
                                        "model.decoder.rnn.weight_ih_l1",
                                        HIDDEN(1),
                                        "model.decoder.attention.query.weight",
                                        "model.decoder.read_l1.weight",
                                        "model.decoder.read_l1.bias",
                                        "model.decoder.read_context.weight",
                                        OUTPUT};
    static const double want[] = {
        -1.362481601, -2.487889472, -1.886502835, -1.344596109, -2.107628235, -2.062636684,
        -1.314017652, -2.475274093, -1.902563568, -1.374670150, -2.133392437, -2.066893648,
        -1.286359954, -2.468719418, -1.912704637, -1.392738673, -2.148549431, -2.069060638,
        -1.331681214, -2.480642070, -1.897584007, -1.363993930, -2.123158429, -2.063125219,
        -1.286377613, -2.468754104, -1.912734766, -1.392743850, -2.148515780, -2.068984425,
        -1.255242376, -2.461472198, -1.924453160, -1.413646541, -2.166387779, -2.072402376};
    compare("Luong's", "lstm:2", "lstm:2",
            &(hd_recurrent_decoder_opt){.query = HD_QUERY_current,
                                        .read = HD_READING_tanh,
                                        .score = HD_SCORING_bilinear,
                                        .feed_context = true},
            names, want);
}

/* Both directions, a window of 1 around a predicted place, an output layer that reads state, context and
   token. */
static void a_decoder_that_looks_around_a_place(void **state)
{
    (void)state;
    static const char *const names[] = {TABLES,
                                        ENCODER(0, ""),
                                        ENCODER(0, "_reverse"),
                                        "model.decoder.begin_l0.weight",
                                        "model.decoder.begin_l0.bias",
                                        "model.decoder.rnn.weight_ih_l0",
                                        "model.decoder.rnn.weight_context_l0",
                                        HIDDEN(0),
                                        ADDITIVE,
                                        "model.decoder.attention.place.weight",
                                        "model.decoder.attention.sure.weight",
                                        "model.decoder.read_l0.weight",
                                        "model.decoder.read_l0.bias",
                                        "model.decoder.read_context.weight",
                                        "model.decoder.read_token.weight",
                                        OUTPUT};
    static const double want[] = {
        -1.424075396, -2.020930549, -2.821298853, -1.977598164, -1.223680707, -2.004990009,
        -1.620335890, -2.363836711, -3.149284898, -2.132995517, -1.093901825, -1.551936813,
        -1.691939000, -2.423664605, -3.183685946, -2.134959709, -1.064891822, -1.501505890,
        -1.506013733, -2.143584483, -2.928032243, -2.015933396, -1.159006109, -1.829600594,
        -1.164400227, -1.874708122, -2.812073808, -2.093130739, -1.419143822, -2.214678326,
        -1.343427693, -2.047720374, -2.911157652, -2.069683453, -1.256568429, -1.932718810};
    compare(
        "around a place", "bi-gru:1", "gru:1",
        &(hd_recurrent_decoder_opt){.read = HD_READING_deep, .locality = HD_LOCALITY_PREDICTED, .window = 1},
        names, want);
}

/* The score is that of a network with two hidden layers over both: v . tanh(M tanh(W q + U k) + b). */
static void a_decoder_with_an_mlp_score(void **state)
{
    (void)state;
    static const char *const names[] = {TABLES,
                                        ENCODER(0, ""),
                                        "model.decoder.rnn.weight_ih_l0",
                                        "model.decoder.rnn.weight_context_l0",
                                        HIDDEN(0),
                                        ADDITIVE,
                                        "model.decoder.attention.hidden.weight",
                                        "model.decoder.attention.hidden.bias",
                                        OUTPUT};
    static const double want[] = {
        -2.682073098, -1.642803360, -1.087558169, -2.113039796, -2.472514664, -1.630350377,
        -3.044898060, -1.964859130, -1.266574638, -2.084109440, -2.225046712, -1.210837177,
        -2.861523889, -1.888395664, -1.280824949, -2.149181705, -2.287774158, -1.218665510,
        -2.366703947, -1.478436736, -1.085027438, -2.240905977, -2.665278446, -1.805560874,
        -2.942216853, -1.920070280, -1.271871605, -2.118603014, -2.260221384, -1.217999532,
        -2.929966882, -1.945850209, -1.312792912, -2.147822173, -2.253951529, -1.161723706};
    compare("mlp", "gru:1", "gru:1", &(hd_recurrent_decoder_opt){.score = HD_SCORING_mlp}, names, want);
}

/* Two layers, and the state of the last one asks before it moves on. */
static void a_deep_decoder_asks_with_its_last_layer(void **state)
{
    (void)state;
    static const char *const names[] = {TABLES,
                                        ENCODER(0, ""),
                                        ENCODER(1, ""),
                                        "model.decoder.rnn.weight_ih_l0",
                                        "model.decoder.rnn.weight_context_l0",
                                        HIDDEN(0),
                                        "model.decoder.rnn.weight_ih_l1",
                                        HIDDEN(1),
                                        ADDITIVE,
                                        OUTPUT};
    static const double want[] = {
        -2.307013792, -1.985315017, -0.932031987, -1.472810371, -2.753332082, -2.572344323,
        -2.645509143, -2.188041162, -0.966851955, -1.351445124, -2.528298947, -2.323239198,
        -2.822852202, -2.307352182, -1.003606264, -1.302682281, -2.413396017, -2.178849370,
        -2.389951663, -2.051736374, -0.955258864, -1.437447415, -2.659287900, -2.434855352,
        -2.653144161, -2.174005205, -0.949191862, -1.349154378, -2.556356479, -2.388696818,
        -2.820976436, -2.277129550, -0.973165684, -1.300209598, -2.459771724, -2.282194514};
    compare("query previous", "gru:2", "gru:2", &(hd_recurrent_decoder_opt){0}, names, want);
}

/* Simple cells of both kinds; every layer reads the token, and all of them are summed up. */
static void a_decoder_of_simple_cells_with_skips(void **state)
{
    (void)state;
    static const char *const names[] = {TABLES,
                                        ENCODER(0, ""),
                                        ENCODER(1, ""),
                                        "model.decoder.rnn.weight_ih_l0",
                                        HIDDEN(0),
                                        "model.decoder.rnn.weight_ih_l1",
                                        "model.decoder.rnn.weight_skip_l1",
                                        HIDDEN(1),
                                        "model.decoder.read_l0.weight",
                                        "model.decoder.read_l1.weight",
                                        "model.decoder.read_l1.bias",
                                        OUTPUT};
    static const double tanh_cell[] = {
        -0.604166966, -2.147407958, -2.662725895, -1.990434798, -2.391607686, -3.249136598,
        -0.517746620, -2.097274060, -2.700616765, -2.145096245, -2.661284456, -3.602030859,
        -0.700428274, -2.155549271, -2.582162796, -1.843752907, -2.218663184, -3.096645592,
        -0.641177502, -2.156479345, -2.637166794, -1.932599527, -2.312281260, -3.164717630,
        -0.405846804, -2.103895187, -2.853313131, -2.433266558, -3.038940952, -3.999811532,
        -0.602691314, -2.107170995, -2.620280721, -1.982911308, -2.447014055, -3.379043407};
    static const double sigmoid_cell[] = {
        -0.755270372, -2.160663298, -2.540770661, -1.771224162, -2.138500419, -3.034345442,
        -0.705961991, -2.140026993, -2.559858747, -1.830712743, -2.228512786, -3.137031921,
        -0.728335270, -2.148895720, -2.550346704, -1.802744861, -2.186834755, -3.089970590,
        -0.749350714, -2.158474950, -2.543268244, -1.778138306, -2.148408128, -3.045041784,
        -0.626968694, -2.114533344, -2.604407816, -1.943552090, -2.390052209, -3.314960513,
        -0.663363302, -2.124835900, -2.581352228, -1.888585585, -2.312957302, -3.231299771};
    const hd_recurrent_decoder_opt o = {.context = HD_CONTEXT_fixed, .read = HD_READING_sum, .skips = true};
    compare("tanh", "rnn:2", "rnn:2", &o, names, tanh_cell);
    compare_cells("sigmoid", "rnn:2", "rnn:2", HD_sigmoid, &o, names, sigmoid_cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gru_encoder_decoder),
        cmocka_unit_test(a_decoder_with_bahdanaus_attention),
        cmocka_unit_test(a_decoder_of_luongs),
        cmocka_unit_test(a_decoder_that_looks_around_a_place),
        cmocka_unit_test(a_decoder_with_an_mlp_score),
        cmocka_unit_test(a_deep_decoder_asks_with_its_last_layer),
        cmocka_unit_test(a_decoder_of_simple_cells_with_skips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
