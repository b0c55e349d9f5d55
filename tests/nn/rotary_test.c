/* Frequencies of rotary positions against transformers 5.22.2, bit for bit: LlamaRotaryEmbedding with heads
   of 128 columns. */
#include "check.h"
#include "nn/block/rotary.h"

enum { HEAD = 128, KNOWN = 10 };

static const int which[KNOWN] = {0, 1, 7, 22, 28, 31, 32, 33, 40, 63};

typedef struct known {
    const char *name;
    hd_rotary rotary;
    double factor;
    float inverse[KNOWN];
} known;

#define SCALING(kind_, ...) .scaling = {.kind = kind_, __VA_ARGS__}

static const known all[] = {
    {"default",
     {.kind = HD_ROTARY_HALVES},
     1,
     {0x1p+0f, 0x1.bb5faep-1f, 0x1.75f036p-2f, 0x1.59742ap-5f, 0x1.235a72p-6f, 0x1.7a6622p-7f, 0x1.47ae14p-7f,
      0x1.1bc25ap-7f, 0x1.9e7c7p-9f, 0x1.e459c4p-14f}},
    {"linear",
     {.kind = HD_ROTARY_HALVES, .theta = 10000, SCALING(HD_ROTARY_LINEAR, .factor = 4)},
     1,
     {0x1p-2f, 0x1.bb5faep-3f, 0x1.75f036p-4f, 0x1.59742ap-7f, 0x1.235a72p-8f, 0x1.7a6622p-9f, 0x1.47ae14p-9f,
      0x1.1bc25ap-9f, 0x1.9e7c7p-11f, 0x1.e459c4p-16f}},
    {"llama3",
     {.kind = HD_ROTARY_HALVES,
      .theta = 500000,
      SCALING(HD_ROTARY_LLAMA3, .factor = 8, .low = 1, .high = 4, .original = 8192)},
     1,
     {0x1p+0f, 0x1.a11582p-1f, 0x1.e788c2p-3f, 0x1.681adap-7f, 0x1.a4ee4p-9f, 0x1.c12f3cp-11f,
      0x1.132ba4p-11f, 0x1.47e21p-12f, 0x1.1f91fp-15f, 0x1.4985fep-22f}},
    {"yarn",
     {.kind = HD_ROTARY_HALVES, .theta = 1000000, SCALING(HD_ROTARY_YARN, .factor = 4, .original = 32768)},
     1.138629436111989,
     {0x1p+0f, 0x1.9c975ap-1f, 0x1.c3f06ap-3f, 0x1.1bc25ap-7f, 0x1.e483bep-10f, 0x1.a4fb7p-11f,
      0x1.3c1d64p-11f, 0x1.d832dp-12f, 0x1.74eea6p-15f, 0x1.4d1c98p-22f}},
    {"yarn without rounding",
     {.kind = HD_ROTARY_HALVES,
      .theta = 10000,
      SCALING(HD_ROTARY_YARN, .factor = 40, .original = 4096, .mscale = 1, .mscale_all = 0.707,
              .no_rounding = true)},
     1.0857263992561355,
     {0x1p+0f, 0x1.bb5faep-1f, 0x1.75f036p-2f, 0x1.4ab0f6p-5f, 0x1.a041bp-7f, 0x1.c0b31cp-8f, 0x1.6a0664p-8f,
      0x1.22862ep-8f, 0x1.7adedap-11f, 0x1.837b02p-19f}},
};

static void frequencies_are_those_of_transformers(void **state)
{
    (void)state;
    int others = 0;
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        hd_err err = {0};
        assert_int_equal(hd_rotary_check(&all[i].rotary, HEAD, &err), HD_OK);
        hd_rotation t = hd_rotary_make(&all[i].rotary, HEAD, 0);
        assert_int_equal(t.pairs, HEAD / 2);
        assert_true((double)fabsf(t.factor - (float)all[i].factor) < 1e-7);
        for (int k = 0; k < KNOWN; k++) {
            float got = t.inverse[which[k]], want = all[i].inverse[k];
            others += got != want;
            if (fabsf(got - want) > want * 0x1p-23f)
                fail_msg("%s, pair %d: %a, not %a", all[i].name, which[k], (double)got, (double)want);
        }
    }
    assert_true(others <= 1); /* where torch's power is off by one bit */
}

/* A text of 4096 tokens where 2048 were learned: its last position has transformers' frequencies, and those
   that were learned stay. */
static void dynamic_scaling_grows_with_the_position(void **state)
{
    (void)state;
    static const float want[KNOWN] = {0x1p+0f,         0x1.b3b586p-1f, 0x1.4af7e8p-2f, 0x1.d6c466p-6f,
                                      0x1.65994cp-7f,  0x1.b8c38ep-8f, 0x1.77166ap-8f, 0x1.3f3286p-8f,
                                      0x1.9cac3ap-10f, 0x1.42e684p-15f};
    hd_rotary o = {
        .kind = HD_ROTARY_HALVES, .theta = 10000, SCALING(HD_ROTARY_DYNAMIC, .factor = 2, .original = 2048)};
    hd_rotation t = hd_rotary_make(&o, HEAD, 0), plain = hd_rotary_make(&all[0].rotary, HEAD, 0);
    for (int k = 0; k < KNOWN; k++) { /* one rounding more or less */
        float got = hd_rotation_angle(&t, which[k], 4095), all_of_it = 4095.0f * want[k];
        assert_true(fabsf(got - all_of_it) <= 2e-7f * all_of_it);
        assert_true(hd_rotation_angle(&t, which[k], 2047) == 2047.0f * plain.inverse[which[k]]);
    }
}

static void impossible_options_are_errors(void **state)
{
    (void)state;
    const struct {
        hd_rotary o;
        size_t head;
        const char *says;
    } cases[] = {
        {{.kind = HD_ROTARY_HALVES}, 7, "pairs of columns"},
        {{.kind = HD_ROTARY_HALVES, .columns = 10}, 8, "10 of 8"},
        {{.kind = HD_ROTARY_HALVES}, 4096, "at most 512"},
        {{.kind = HD_ROTARY_HALVES, .theta = 0.5}, 8, "theta"},
        {{.kind = HD_ROTARY_HALVES, SCALING(HD_ROTARY_LINEAR, .factor = 0)},
         8,
         "the factor of linear scaling is 0"},
        {{.kind = HD_ROTARY_HALVES, SCALING(HD_ROTARY_LINEAR, .factor = INFINITY)}, 8, "factor"},
        {{.kind = HD_ROTARY_HALVES, SCALING(HD_ROTARY_YARN, .factor = 2)},
         8,
         "yarn scaling of 0 learned positions"},
        {{.kind = HD_ROTARY_HALVES, SCALING(HD_ROTARY_DYNAMIC, .factor = 2, .original = 9)}, 2, "4 columns"},
        {{.kind = HD_ROTARY_HALVES,
          SCALING(HD_ROTARY_LLAMA3, .factor = 2, .low = 4, .high = 4, .original = 9)},
         8,
         "from 4 to 4"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        assert_int_equal(hd_rotary_check(&cases[i].o, cases[i].head, &err), HD_EARG);
        if (!strstr(err.text, cases[i].says)) fail_msg("%s", err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_are_those_of_transformers),
        cmocka_unit_test(dynamic_scaling_grows_with_the_position),
        cmocka_unit_test(impossible_options_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
