/* heed lab as a user meets it: the list, one experiment in every form, and what is refused. */
#include "check.h"
#include "shell.h"

#include <jansson.h>

static void experiments_are_listed(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    assert_int_equal(shell(out, "$HEED lab"), 0);
    assert_non_null(strstr(out, "lecture 000\n"));
    assert_non_null(strstr(out, "\n  vanishing    Gradients through time\n"));
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_prints("$HEED lab molecules", 2,
                  "heed lab: unknown experiment 'molecules': 'heed lab' lists them (try 'heed help lab')\n");
    assert_prints("$HEED lab vanishin", 2,
                  "heed lab: unknown experiment 'vanishin', did you mean 'vanishing'?: 'heed lab' lists them "
                  "(try 'heed help lab')\n");
    assert_prints("$HEED lab --all", 2,
                  "heed lab: --out is required: the folder of the pages (try 'heed help lab')\n");
    assert_prints(
        "$HEED lab --all vanishing --out x", 2,
        "heed lab: --all runs every experiment: 'vanishing' is one too many (try 'heed help lab')\n");
    assert_prints("$HEED lab vanishing model", 2,
                  "heed lab: vanishing takes no model: it trains what it needs (try 'heed help lab')\n");
    assert_prints("$HEED lab vanishing --out v.txt", 2,
                  "heed lab: v.txt: a paper's file must end in .html, .json, .svg, .png or .pdf (try 'heed "
                  "help lab')\n");
    assert_prints("$HEED lab vanishing --size huge", 2,
                  "heed lab: --size: 'huge' is not one of small, full (try 'heed help lab')\n");
    assert_prints("$HEED lab vanishing --out none/v.html", 2,
                  "heed lab: none/v.html: cannot open its folder: No such file or directory (try 'heed help "
                  "lab')\n");
}

/* One run a form: seconds of one core in all. */
static void one_is_run_in_every_form(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    static const char *const forms[] = {"html", "svg", "png", "pdf"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        char line[128];
        snprintf(line, sizeof line, "$HEED lab vanishing -q --device cpu --out v.%s && test -s v.%s",
                 forms[i], forms[i]);
        bool failed = shell(out, line) != 0;
        if (failed && i > 1 && strstr(out, "built without Cairo")) continue;
        if (failed || *out) fail_msg("%s: %s", forms[i], out);
    }
    assert_int_equal(shell(out, "$HEED lab vanishing --device cpu --seed 5 --out v.json"), 0);
    assert_non_null(strstr(out, "heed: held: In a simple recurrent network gradients vanish"));
    assert_int_equal(shell(out, "$HEED lab vanishing --device cpu --seed 5"), 0);
    assert_non_null(strstr(out, "Held: In self-attention a gradient does not depend on the distance."));
    assert_non_null(strstr(out, "seeds 5 to 7, small"));
}

static void json_is_one_object(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    json_error_t e;
    assert_int_equal(shell(out, "$HEED lab vanishing --device cpu --json"), 0);
    json_t *o = json_loads(out, JSON_REJECT_DUPLICATES, &e);
    if (!o) fail_msg("%s: %s", e.text, out);
    assert_string_equal(json_string_value(json_object_get(o, "name")), "vanishing");
    assert_true(json_is_boolean(json_object_get(o, "held")));
    json_decref(o);
}

/* Sets as they are distributed: CoLA's table has no first line with names, MRPC's has names of its own. */
static void a_model_is_judged_by_glue(void **state)
{
    (void)state;
    must_run(
        "mkdir -p glue/CoLA glue/MRPC glue/STS-B glue/WNLI && awk 'BEGIN { srand(3); "
        "print \"label\\ttext\" > \"texts.tsv\"; print \"label\\ttext\\ttext2\" > \"pairs.tsv\"; "
        "print \"Quality\\t#1 ID\\t#2 ID\\t#1 String\\t#2 String\" > \"glue/MRPC/dev.tsv\"; "
        "for (i = 0; i < 260; i++) { y = i % 2; a = (y ? \"good\" : \"bad\") \" w\" int(5 * rand()) \" w\" "
        "int(5 * rand()); b = \"w\" int(5 * rand()); "
        "if (i < 220) { print y \"\\t\" a > \"texts.tsv\"; print y \"\\t\" a \"\\t\" b > \"pairs.tsv\" } "
        "else { print \"gj04\\t\" y \"\\t*\\t\" a > \"glue/CoLA/dev.tsv\"; "
        "print y \"\\t1\\t2\\t\" a \"\\t\" b > \"glue/MRPC/dev.tsv\" } } }'");
    must_run("for d in texts pairs; do $HEED train -q --device cpu --task classify --unit word --encoder "
             "transformer:1 --width 16 --heads 2 --ffn-size 16 --train $d.tsv --batch-size 16 --epochs 6 "
             "--lr 0.01 "
             "--warmup 1 --dropout 0 --valid-fraction 0.1 --out $d; done");
    const char *out = must_run("$HEED lab glue texts --device cpu --data glue --json");
    assert_non_null(strstr(out, "\"your model\""));
    assert_non_null(strstr(out, "[\"CoLA\", \"matthews\", \"40\", \"100.0\", \"0.0\", \"52.1\"]"));
    assert_null(strstr(out, "\"f1\", \"40\""));
    assert_non_null(strstr(must_run("$HEED lab glue pairs --device cpu --data glue/MRPC/ | tr '\\n' ' '"),
                           "Held: This model knows more than always the same answer."));
    /* weights that know nothing turn the verdict */
    must_run("$HEED train -q --device cpu --task classify --unit word --encoder transformer:1 --width 16 "
             "--heads 2 "
             "--ffn-size 16 --train texts.tsv --batch-size 16 --steps 1 --lr 1e-9 --valid-fraction 0.1 --out "
             "none");
    assert_non_null(strstr(must_run("$HEED lab glue none --device cpu --data glue | tr '\\n' ' '"),
                           "Did not hold: This model knows more than always the same answer."));
    assert_prints(
        "$HEED lab glue texts", 2,
        "heed lab: --data is required: the folder of GLUE that the model is judged by (try 'heed help "
        "lab')\n");
    assert_prints("$HEED lab glue --data glue", 2,
                  "heed lab: --data needs a model: heed lab glue MODEL --data DIR (try 'heed help lab')\n");
    assert_prints("$HEED lab vanishing --data glue", 2,
                  "heed lab: vanishing reads no data of yours: --data is not for it (try 'heed help lab')\n");
    assert_prints("$HEED lab glue texts --device cpu --data texts", 1,
                  "heed lab: texts: no set of GLUE in it: it has folders such as CoLA with a file dev.tsv\n");
    assert_prints("$HEED lab glue texts --device cpu --data glue/MRPC", 1,
                  "heed lab: none of the 1 sets in glue/MRPC has the labels of this model\n");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experiments_are_listed),    cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_model_is_judged_by_glue), cmocka_unit_test(one_is_run_in_every_form),
        cmocka_unit_test(json_is_one_object),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
