/* Tables of keys: what is written is read back, and what may be missing may be missing. */
#include "check.h"
#include "scratch.h"

#include "model/keys.h"
#include "model/lm/lm.h"

typedef struct fields {
    int whole, otherwise;
    size_t large;
    float real;
    double fine;
    bool flag, not, rare;
    hd_lm_kind choice; /* any enum */
    hd_unary act, cell;
    char text[8];
    hd_stages stages;
} fields;

#define KEY(name, kind, field) HD_KEY_OF(fields, name, kind, field)
static const char *const names[] = {"zero", "one", "two", NULL};
static const hd_key keys[] = {
    {KEY("whole", WHOLE, whole), .least = 1, .most = 9},
    {KEY("large", WHOLE, large), .least = 0, .most = 1e12, .when = HD_KEY_RARE},
    {KEY("real", REAL, real), .most = 1, .when = HD_KEY_LATE},
    {KEY("fine", REAL, fine), .most = 1e9, .of = 4 | 2},
    {KEY("flag", FLAG, flag)},
    {KEY("not", NOT, not )},
    {KEY("rare", FLAG, rare), .when = HD_KEY_RARE},
    {KEY("choice", CHOICE, choice), HD_KEY_NAMES(names)},
    {KEY("act", UNARY, act)},
    {KEY("cell", CELL, cell), .when = HD_KEY_RARE},
    {KEY("text", TEXT, text), .when = HD_KEY_RARE},
    {KEY("els", WHOLE, otherwise), .least = 1, .most = 9, .when = HD_KEY_ELSE, .otherwise = 4},
    {KEY("stages", STAGES, stages), .of = 1 | 2},
    {0},
};

static const char least[] = "\"whole\": 7,\n \"real\": 0.5,\n \"flag\": true,\n \"not\": true,\n \"choice\": "
                            "\"two\",\n \"act\": \"relu\",\n \"stages\": \"bi-gru:2\"";

static hd_status read_keys(fields *out, unsigned of, const char *body, hd_err *err)
{
    hd_model_config c;
    char whole[1000];
    snprintf(whole, sizeof whole, "{%s}", body);
    put_file(at("config.json"), whole);
    hd_model_config_read(&c, at("."), "nobody", err);
    hd_keys_read(&c, keys, of, out);
    hd_model_config_release(&c);
    return c.status;
}

static void assert_writes(const fields *f, unsigned of, const char *body)
{
    hd_text t = {0};
    hd_keys_write(&t, keys, of, f);
    assert_string_equal(t.data + 3, body); /* behind ",\n " */
    hd_text_release(&t);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    hd_err err = {0};
    fields f = {.cell = HD_tanh};
    if (read_keys(&f, 1, least, &err)) fail_msg("%s", err.text);
    assert_true(f.whole == 7 && f.real == 0.5f && f.flag && !f.not &&!f.rare && f.act == HD_relu);
    assert_true(f.choice == 2 && f.cell == HD_tanh && !f.large && !*f.text && f.stages.count == 1);
    assert_int_equal(f.otherwise, 4);
    f.otherwise = 0;
    assert_writes(&f, 1, least);
    f = (fields){.whole = 1, .large = 1u << 31, .fine = 0.1, .not = true, .rare = true, .cell = HD_sigmoid};
    f.stages.count = 0, f.act = HD_tanh;
    strcpy(f.text, "some");
    hd_text t = {0};
    hd_keys_write(&t, keys, 4, &f);
    assert_string_equal(t.data + 3,
                        "\"whole\": 1,\n \"large\": 2147483648,\n \"real\": 0,\n \"fine\": 0.1,\n \"flag\": "
                        "false,\n \"not\": false,\n \"rare\": true,\n \"choice\": \"zero\",\n \"act\": "
                        "\"tanh\",\n \"cell\": \"sigmoid\",\n \"text\": \"some\"");
    hd_text_release(&t);
}

static void what_came_later_stays_as_it_was(void **state)
{
    (void)state;
    hd_err err = {0};
    fields f = {.real = 0.25f, .fine = 3, .large = 5};
    static const char lacks[] = "\"whole\": 7, \"flag\": true, \"not\": true, \"choice\": \"one\", \"act\": "
                                "\"relu\", \"stages\": \"gru\"";
    if (read_keys(&f, 1, lacks, &err)) fail_msg("%s", err.text);
    assert_true(f.real == 0.25f && f.fine == 3 && f.large == 5 && f.choice == 1);
    assert_int_equal(read_keys(&f, 2, lacks, &err), HD_EFORMAT); /* one that has it must say it */
    assert_non_null(strstr(err.text, "\"fine\" is missing"));
}

static void faults_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\"whole\": 10", "\"whole\" is 10, which no model has"},
        {"\"whole\": 1, \"flag\": 1", "\"flag\" is not true or false"},
        {"\"whole\": 1, \"large\": -1", "\"large\" is -1"},
        {"\"whole\": 1, \"flag\": true, \"not\": true, \"choice\": \"x\"", "there is no choice \"x\""}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        hd_err err = {0};
        fields f = {0};
        assert_int_equal(read_keys(&f, 1, cases[i][0], &err), HD_EFORMAT);
        if (!strstr(err.text, cases[i][1])) fail_msg("%zu: %s", i, err.text);
    }
    hd_err err = {0};
    fields f = {0};
    char long_text[300];
    snprintf(long_text, sizeof long_text, "%s, \"text\": \"longer than it\"", least);
    assert_int_equal(read_keys(&f, 1, long_text, &err), HD_EFORMAT);
    assert_non_null(strstr(err.text, "there is no text \"longer than it\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_came_later_stays_as_it_was),
        cmocka_unit_test(faults_are_named),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
