/* The layer of experts against transformers 5.22.2: the blocks MixtralSparseMoeBlock, OlmoeSparseMoeBlock,
   Qwen3MoeSparseMoeBlock, DeepseekV2Moe and DeepseekV3MoE with weights by a formula. */
#include "check.h"
#include "nn/block/experts.h"

enum { WIDTH = 6, INNER = 5, EXPERTS = 8, ROWS = 4 };

static const struct {
    const char *name;
    hd_experts_opt opt;
    float want[ROWS * WIDTH];
} cases[] = {
    {"Mixtral",
     {.count = EXPERTS, .inner = INNER, .used = 2, .normalized = true},
     {-0.300695f, 0.642892f, -0.828667f, 0.812820f, -0.599205f, 0.239798f,  -0.073944f, 0.239132f,
      -0.346137f, 0.368923f, -0.301947f, 0.161504f, 0.885943f,  -0.596262f, 0.161505f,  0.312548f,
      -0.710555f, 0.935677f, -0.219775f, 0.911794f, -1.381964f, 1.515889f,  -1.280982f, 0.734401f}},
    {"OLMoE",
     {.count = EXPERTS, .inner = INNER, .used = 3},
     {0.012337f,  0.410040f, -0.732651f, 0.877000f, -0.807966f, 0.542346f,  -0.167155f, 0.268932f,
      -0.305275f, 0.267342f, -0.164362f, 0.021391f, 0.299847f,  -0.184913f, 0.024989f,  0.141016f,
      -0.272710f, 0.338051f, 0.067020f,  0.444297f, -0.847512f, 1.044519f,  -0.987385f, 0.690009f}},
    {"Qwen3-MoE",
     {.count = EXPERTS, .inner = INNER, .used = 3, .normalized = true},
     {0.015436f,  0.513037f, -0.916683f, 1.097291f, -1.010917f, 0.678577f,  -0.176037f, 0.283221f,
      -0.321496f, 0.281547f, -0.173095f, 0.022527f, 0.395992f,  -0.244205f, 0.033001f,  0.186232f,
      -0.360154f, 0.446446f, 0.086374f,  0.572598f, -1.092252f, 1.346149f,  -1.272515f, 0.889266f}},
    {"DeepSeek-V2",
     {.count = EXPERTS, .inner = INNER, .used = 2, .shared = 2, .groups = 4, .groups_used = 2, .scaling = 3},
     {0.900115f,  2.214209f, -2.254534f, -0.041557f, -1.480676f, 1.719080f,  0.039713f,  1.876443f,
      -0.249342f, 0.183309f, -2.004706f, 0.341005f,  2.160624f,  -0.456075f, -0.003216f, -0.218530f,
      -1.453458f, 2.141587f, 1.514000f,  2.631347f,  -3.747144f, 0.924966f,  -2.421734f, 3.120219f}},
    {"DeepSeek-V3",
     {.count = EXPERTS,
      .inner = INNER,
      .router = HD_ROUTER_SIGMOID,
      .used = 3,
      .shared = 1,
      .groups = 4,
      .groups_used = 2,
      .scaling = 2.5f,
      .normalized = true,
      .bias = true},
     {0.249064f,  0.858667f,  -1.787399f, 2.256688f,  -2.106546f, 1.352549f,  -2.161123f, 1.696371f,
      -0.866675f, -0.124516f, 1.051898f,  -1.717530f, 1.092456f,  -0.689964f, 0.054826f,  0.627006f,
      -1.146441f, 1.337377f,  0.375436f,  1.104480f,  -2.358809f, 3.011742f,  -2.843495f, 1.865307f}},
};

static const hd_expert_names names = {.router = "gate",
                                      .bias = "e_score_correction_bias",
                                      .experts = "experts",
                                      .in = "gate_proj",
                                      .gate = "up_proj",
                                      .out = "down_proj",
                                      .shared = "shared_experts"};

static hd_real *waves(size_t count, int phase, double scale)
{
    hd_real *x = malloc((count + 1) * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (hd_real)(scale * sin(0.7 * (double)(i % 1000) * (1 + phase * 0.01) + phase));
    return x;
}

static void fill(hd_params *p, hd_param *one, int phase, double scale)
{
    if (!one) return;
    hd_real *x = waves(hd_count_of(&one->t), phase, scale);
    hd_params_set(p, one, x);
    free(x);
}

static void outputs_are_those_of_transformers(void **state)
{
    (void)state;
    hd_backend *b = backend_of("cpu", 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        hd_params p;
        hd_run r = run_on(b);
        hd_params_init(&p, b);
        assert_int_equal(hd_experts_check(&cases[i].opt, &err), HD_OK);
        hd_experts *e = hd_experts_make(&p, &cases[i].opt, WIDTH, HD_silu, (hd_init){HD_INIT_ZERO, 0, 0}, 1,
                                        &names, "layer");
        assert_non_null(e);
        if (hd_params_ready(&p, false, &err)) fail_msg("%s", err.text);
        fill(&p, e->router, 2, 1), fill(&p, e->in, 3, 0.6), fill(&p, e->out, 4, 0.6);
        fill(&p, hd_params_find(&p, "layer.shared_experts.gate_proj.weight"), 5, 0.6);
        fill(&p, hd_params_find(&p, "layer.shared_experts.up_proj.weight"), 6, 0.6);
        fill(&p, e->shared.out.w, 7, 0.6), fill(&p, e->bias, 8, 0.3);
        hd_run_begin(&r, HD_INFERENCE);
        hd_real *x = waves(ROWS * WIDTH, 1, 1);
        hd_rows y = hd_experts_of(&r, e, (hd_rows){hd_from(&r, ROWS, WIDTH, x), NULL}, NULL);
        hd_real *have = host_copy(&r, y.t);
        for (size_t k = 0; k < ROWS * WIDTH; k++) /* six decimals were printed; sums of f32 numbers near 1 */
            if (fabs((double)have[k] - (double)cases[i].want[k]) > 3e-6)
                fail_msg("%s: %zu is %g, not %g", cases[i].name, k, (double)have[k],
                         (double)cases[i].want[k]);
        free(x), free(have);
        hd_experts_free(e);
        hd_run_release(&r);
        hd_params_release(&p);
    }
    hd_backend_free(b);
}

/* Mixtral's layers all have experts, DeepSeek's from one on, Qwen3's every so many. */
static void layers_with_experts_are_counted(void **state)
{
    (void)state;
    const hd_experts_opt all = {.count = 2}, late = {.count = 2, .first = 3}, some = {.count = 2, .every = 2},
                         none = {0};
    assert_int_equal(hd_experts_layers(&all, 5), 5);
    assert_int_equal(hd_experts_layers(&late, 5), 2);
    assert_int_equal(hd_experts_layers(&some, 5), 2);
    assert_int_equal(hd_experts_layers(&none, 5), 0);
    assert_true(!hd_experts_at(&some, 0) && hd_experts_at(&some, 1) && !hd_experts_at(&late, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_those_of_transformers),
        cmocka_unit_test(layers_with_experts_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
