/* heed strokes, heed train --task write and heed write as a user meets them. A toy alphabet of two letters is
   learned in seconds: an l is a line of 5 points down, an o a loop of 5 points. */
#include "check.h"
#include "outcome.h"
#include "shell.h"

static const char toy[] =
    "function jit() { return int(rand() * 3) - 1 }\n"
    "function p(x, y) { return x + jit() \",\" y + jit() }\n"
    "BEGIN {\n"
    "    srand(3)\n"
    "    for (n = 0; n < 200; n++) {\n"
    "        text = \"\"; s = \"\"; x = 0; k = 3 + int(rand() * 4)\n"
    "        for (i = 0; i < k; i++) {\n"
    "            c = rand() < .5 ? \"l\" : \"o\"; text = text c; s = s (i ? \";\" : \"\")\n"
    "            if (c == \"l\") for (j = 0; j < 5; j++) s = s (j ? \" \" : \"\") p(x, 10 * j)\n"
    "            else s = s p(x, 20) \" \" p(x + 12, 30) \" \" p(x, 40) \" \" p(x - 12, 30) \" \" p(x, 20)\n"
    "            x += 30\n"
    "        }\n"
    "        print text \"\\t\" s\n"
    "    }\n"
    "}\n";

/* What strokes are: an l ends below where it began. */
static const char read_toy[] =
    "{ n = split($2, s, \";\"); r = \"\"\n"
    "  for (i = 1; i <= n; i++) { m = split(s[i], q, \" \"); split(q[1], a, \",\"); split(q[m], b, \",\")\n"
    "    r = r (b[2] - a[2] > 20 ? \"l\" : \"o\") }\n"
    "  print $1 \" \" r }\n";

#define SMALL                                                                                   \
    "$HEED train -q --task write --train toy.tsv --valid-fraction 0.1 --device cpu --layers 2 " \
    "--mixtures 3 --batch-size 16 --lr 0.01 --warmup 20 "
#define READS "--window-gaussians 2 --width 64 "

static int prepare(void **state)
{
    char out[SHELL_ROOM];
    shell_prepare();
    if (scratch_make(state)) return -1;
    put_bytes(at("toy.awk"), toy, sizeof toy - 1);
    put_bytes(at("read.awk"), read_toy, sizeof read_toy - 1);
    return shell(out, "awk -f toy.awk >toy.tsv");
}

static double number_behind(const char *text, const char *name)
{
    const char *found = strstr(text, name);
    if (!found) fail_msg("no %s in %s", name, text);
    return atof(found + strlen(name));
}

static void letters_are_written_as_the_text_says(void **state)
{
    (void)state;
    must_run(SMALL READS "--steps 800 --valid-every 800 --out m");
    assert_prints(
        "$HEED write m lool olol llll oooo lo --bias 2 --out out.tsv && awk -F'\\t' -f read.awk out.tsv", 0,
        "lool lool\nolol olol\nllll llll\noooo oooo\nlo lo\n");
    /* far below what knows nothing, on lines that were held back */
    const char *log = must_run("grep '\"valid\"' m/train/log.jsonl | tail -n 1");
    double loss = number_behind(log, "\"loss\":"), one = number_behind(log, "\"one_gaussian\":");
    if (!(loss < one - 3)) fail_msg("loss %g, one Gaussian %g", loss, one);
}

/* Without a bias, strokes are as those of the data: as long, and as many points. */
static void samples_have_the_statistics_of_the_data(void **state)
{
    (void)state;
    static const char measure[] =
        "awk -F'\\t' '{ k = split($2, s, \";\"); for (i = 1; i <= k; i++) { m = split(s[i], q, \" \"); n++; "
        "points += m; for (j = 2; j <= m; j++) { split(q[j - 1], a, \",\"); split(q[j], b, \",\"); d += "
        "sqrt((b[1]-a[1])^2 + (b[2]-a[2])^2); e++ } } } END { print \"points\", points / n, \"step\", d / e "
        "}' ";
    char command[2048];
    must_run("cut -f1 toy.tsv | head -n 60 >texts; $HEED write m --texts texts --out drawn.tsv");
    snprintf(command, sizeof command, "%stoy.tsv", measure);
    const char *out = must_run(command);
    double points = number_behind(out, "points "), step = number_behind(out, "step ");
    snprintf(command, sizeof command, "%sdrawn.tsv", measure);
    out = must_run(command);
    double p = number_behind(out, "points "), s = number_behind(out, "step ");
    if (fabs(p - points) > 0.5 || fabs(s - step) > 1.5)
        fail_msg("%g points of %g, data %g points of %g", p, s, points, step);
}

static void the_window_moves_on_and_covers_every_letter(void **state)
{
    (void)state;
    must_run(
        "$HEED write m lolol --bias 2 --out line.svg --attention w.svg && grep -q '<svg' w.svg && grep -q "
        "'<image' w.svg && grep -q '<svg' line.svg && ! grep -q '<image' line.svg");
    must_run("$HEED write m lolol --attention w.html && grep -q '<!DOCTYPE html>' w.html && grep -q '</svg>' "
             "w.html");
    /* at every point, and from the first letter to behind the last */
    assert_prints("$HEED write m lolol ooll --bias 2 --monotone 2>&1 | sed 's/of [0-9]* points/of N points/'",
                  0, "heed: window in order: 100.0 % of N points, over 100 % of the text\n");
    /* another text, another line; the same one, the same bytes, with any number of threads */
    must_run("$HEED write m lo --out a.tsv --seed 5 --threads 1 && $HEED write m lo --out b.tsv --seed 5 "
             "--threads 3 "
             "&& cmp a.tsv b.tsv && $HEED write m ol --out b.tsv --seed 5 && ! cmp -s a.tsv b.tsv && $HEED "
             "write m lo "
             "--out b.tsv --seed 6 && ! cmp -s a.tsv b.tsv");
}

static void a_prime_is_gone_on_with(void **state)
{
    (void)state;
    must_run("head -n 1 toy.tsv >prime.tsv; $HEED write m lo --prime prime.tsv --bias 2 --out p.tsv "
             "--attention p.svg");
    /* the points of the prime come first, then those of the text */
    must_run(
        "cut -f2 prime.tsv | tr -c '0-9\\n' ' ' | wc -w >a; cut -f2 p.tsv | tr -c '0-9.\\n' ' ' | wc -w >b; "
        "test $(cat b) -gt $(cat a)");
    assert_prints("echo 'x' >bad.tsv; $HEED write m lo --prime bad.tsv --out p.tsv 2>&1 | grep -c bad.tsv:1",
                  0, "1\n");
}

static void a_model_without_a_window_writes_what_it_likes(void **state)
{
    (void)state;
    must_run(SMALL "--window-gaussians 0 --width 32 --steps 60 --out free && $HEED write free --points 40 "
                   "--out f.tsv && "
                   "$HEED info free | grep -q handwriting");
    assert_fails("$HEED write free hello --out f.svg", 1, "reads no text");
    assert_fails("$HEED write free --out f.svg --attention w.svg", 1, "--attention: the model|no window");
    assert_fails("$HEED write free --monotone", 1, "--monotone: the model|no window");
}

static void a_stopped_run_goes_on_bit_for_bit(void **state)
{
    (void)state;
    must_run(SMALL READS "--out whole --steps 12 --save-every 6 --valid-every 4 --threads 1");
    must_run(SMALL READS
             "--out cut --steps 6 --decay-steps 12 --save-every 6 --valid-every 4 --threads 3 && "
             /* as of a run that began before there was a choice of models */
             "sed -i '/^model:/d' cut/training.yml && "
             "$HEED train -q --resume --out cut --steps 12 --threads 2 && cmp whole/model.safetensors "
             "cut/model.safetensors");
    must_run(
        "for f in cut/train/step-12/*.safetensors; do cmp $f whole/train/step-12/${f##*/} || exit 1; done");
}

#define GPT                                                                                                 \
    "$HEED train -q --task write --model gpt --train toy.tsv --valid-fraction 0.1 --device cpu --layers 2 " \
    "--heads 4 --relative 16 --batch-size 16 --dropout 0 --warmup 20 "

/* Points in bins, and the same verb. */
static void a_gpt_writes_what_the_text_says(void **state)
{
    (void)state;
    must_run(GPT "--width 48 --lr 0.005 --steps 400 --valid-every 400 --out g");
    /* so soon about half of the lines are right; of random ones it would be one in twenty */
    const char *right =
        must_run("cut -f1 toy.tsv | head -n 60 >texts; $HEED write g --texts texts --bias 1 --out "
                 "g.tsv && awk -F'\\t' -f read.awk g.tsv | awk '$1 == $2 { n++ } END { print n }'");
    if (atoi(right) < 20) fail_msg("%s of 60 lines", right);
    const char *log = must_run("grep '\"valid\"' g/train/log.jsonl | tail -n 1");
    double loss = number_behind(log, "\"loss\":"), one = number_behind(log, "\"one_gaussian\":");
    if (!(loss < one - 3)) fail_msg("loss %g, one Gaussian %g", loss, one);
    must_run("$HEED write g lo --out a.tsv --seed 5 --threads 1 && $HEED write g lo ol --out b.tsv --seed 5 "
             "--threads 3 && head -n 1 b.tsv | cmp a.tsv && $HEED write g lo --out b.tsv --seed 6 && ! cmp "
             "-s a.tsv "
             "b.tsv");
    /* a prime comes first, as it is */
    must_run(
        "head -n 1 toy.tsv >prime.tsv; $HEED write g o --prime prime.tsv --out p.tsv --points 30; cut -f2 "
        "prime.tsv | tr -d '\\n' >a; cut -f2 p.tsv | head -c $(wc -c <a) | cmp a; $HEED info g | grep -q "
        "directions");
    must_run("$HEED write g lolo --attention w.svg && grep -q '<image' w.svg");
    assert_prints("$HEED write g lo ooll --monotone 2>&1 | sed 's/[0-9.]\\+/N/g'", 0,
                  "heed: window in order: N % of N points, over N % of the text\n");
    assert_fails("$HEED write g '' --out a.svg", 1, "no text to write");
}

static void a_gpt_goes_on_bit_for_bit(void **state)
{
    (void)state;
    must_run(GPT "--width 16 --out gw --steps 12 --save-every 6 --valid-every 4 --threads 1");
    must_run(GPT
             "--width 16 --out gc --steps 6 --decay-steps 12 --save-every 6 --valid-every 4 --threads 3 && "
             "$HEED train -q --resume --out gc --steps 12 --threads 2 && cmp gw/model.safetensors "
             "gc/model.safetensors");
    assert_fails(GPT "--width 16 --mixtures 3 --out x", 2, "--mixtures|--model handwriting");
    assert_fails(GPT "--width 18 --out x", 2, "--width 18 cannot be split over --heads 4");
    assert_fails(GPT "--preset handwriting-small --out x", 2, "--preset handwriting-small is of LSTM");
    assert_fails("$HEED train -q --task write --model lstm --train toy.tsv --out x", 2, "does not write");
    assert_fails("$HEED train -q --task write --train toy.tsv --heads 3 --out x", 2, "--heads");
    assert_fails(
        "sed -i 's/^model: .*/model: handwriting/' gc/training.yml; $HEED train -q --resume --out gc "
        "--steps 14",
        1, "gc: config.json is not of a model of --model handwriting");
    /* numbers that make no model */
    static const char *const wrong[] = {
        "\"lengths\": 20/\"lengths\": 1", "\"farthest\": [0-9.]*/\"farthest\": 0",
        "\"deviation_x\": [0-9.]*/\"deviation_x\": 0", "\"heads\": 4/\"heads\": 3",
        "\"model\": \"gpt\"/\"model\": \"bert\""};
    must_run("cp -r gw bad");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "sed -e 's/\"characters\",/\"characters\"}/' -e '/crc32c/d' -e 's/%s/' gw/config.json "
                 ">bad/config.json; $HEED write bad lo --out a.svg",
                 wrong[i]);
        assert_fails(command, 1, "bad/config.json");
    }
}

static void a_reader_reads_what_is_written(void **state)
{
    (void)state;
    must_run(
        "$HEED train -q --task read --train toy.tsv --valid-fraction 0.1 --device cpu --width 32 --layers 1 "
        "--batch-size 16 --lr 0.01 --warmup 20 --steps 200 --out reader");
    must_run("test $($HEED read -q reader toy.tsv | wc -l) = 200");
    /* letters have two frames each here: repeated ones are hard to tell apart */
    const char *out = must_run("$HEED read reader toy.tsv 2>&1 >/dev/null");
    if (!(number_behind(out, "character error rate ") < 8)) fail_msg("%s", out);
    out = must_run("$HEED read reader out.tsv 2>&1 >/dev/null"); /* which the model wrote */
    if (!(number_behind(out, "character error rate ") < 25)) fail_msg("%s", out);
    must_run("$HEED train -q --task read --train toy.tsv --device cpu --width 8 --layers 1 --steps 4 "
             "--threads 1 --out r1 "
             "&& $HEED train -q --task read --train toy.tsv --device cpu --width 8 --layers 1 --steps 2 "
             "--decay-steps 4 "
             "--threads 3 --out r2 && $HEED train -q --resume --out r2 --steps 4 && cmp r1/model.safetensors "
             "r2/model.safetensors");
    assert_fails("$HEED read m toy.tsv", 1, "a model of handwriting, which `heed write` reads");
    assert_fails("$HEED read reader nothere.tsv", 1, "nothere.tsv");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_fails("$HEED train -q --task write --out x", 2, "--train is required");
    assert_fails("$HEED train -q --task write --train nothere --out x", 1, "nothere");
    assert_fails("printf 'a\\t0,0 1\\n' >bad.tsv; $HEED train -q --task write --train bad.tsv --out x", 1,
                 "bad.tsv:1|a point is not two numbers");
    assert_fails("printf 'a\\t0,0 0,0\\n' >still.tsv; $HEED train -q --task write --train still.tsv --out x",
                 1, "one place or line");
    assert_fails("mkdir -p empty; $HEED train -q --task write --train empty --out x", 1, "train.tsv");
    assert_fails("$HEED train -q --task write --train toy.tsv --mixtures 0 --out x", 2, "--mixtures");
    assert_fails("$HEED train -q --task lm --train toy.tsv --mixtures 3 --out x", 2, "--task write");
    assert_fails("$HEED write m lo", 2, "--out is required");
    assert_fails("$HEED write m --out a.svg", 2, "no text is given");
    assert_fails("$HEED write m lo --out a.gif", 2, "a.gif");
    assert_fails("$HEED write m '' --out a.svg", 1, "no text to write");
    assert_fails("$HEED write m $(printf 'l\\377') --out a.svg", 1, "not UTF-8: byte 0xff at offset 1");
    assert_fails("$HEED write m \"$(printf 'l\\to')\" --out a.tsv", 1, "there is a tab in the text");
    assert_fails("$HEED write m \"$(printf 'l\\001o')\" --out a.tsv", 1, "there is a control character");
    assert_fails("$HEED write m $(printf '%01001d' 0) --out a.tsv", 1, "has 1001 bytes");
    assert_fails("$HEED write m lo --out a.svg --points 20001", 2, "--points");
    assert_fails("$HEED write m lo --out a.svg --bias -1", 2, "--bias");
    assert_fails("$HEED write m lo --texts l --out a.svg", 2, "--texts has the lines");
    assert_fails("$HEED write m lo --out nothere/a.svg", 2, "nothere/a.svg");
    assert_fails("$HEED write m lo --out a.svg --prime nothere.tsv", 1, "nothere.tsv");
    assert_prints("$HEED write m lx --out a.tsv --points 9 2>&1 | head -n 2 | grep -c \"<unk>: 'x'\"", 0,
                  "1\n");
    assert_fails("$HEED generate m", 1, "a model of handwriting, which `heed write` reads");
}

static void lines_that_cannot_be_written_are_named(void **state)
{
    (void)state;
    assert_fails("printf 'lo\\n\\nol\\n' >l; $HEED write m --texts l --out a.svg", 1,
                 "l:2: the line is empty");
    assert_fails("printf 'lo\\nl\\to\\n' >l; $HEED write m --texts l --out a.svg", 1, "l:2: there is a tab");
    assert_fails("printf 'lo\\nl\\377\\n' >l; $HEED write m --texts l --out a.svg", 1, "l:2: not UTF-8");
    assert_fails("printf 'lo\\n%01001d\\n' 0 >l; $HEED write m --texts l --out a.svg", 1, "l:2");
    assert_fails("printf '' >l; $HEED write m --texts l --out a.svg", 1, "l: is empty");
    assert_fails("$HEED write m --texts nothere --out a.svg", 1, "nothere");
    /* files of strokes: their first line is right, their second is not */
    static const char *const wrong[][2] = {{"lo", "there is no tab"},
                                           {"lo\\t", "a point is not two numbers"},
                                           {"lo\\t0,0 1", "a point is not two numbers"},
                                           {"lo\\t0,0 99999999,1", "a point is not two numbers"},
                                           {"lo\\t0,0 nan,1", "a point is not two numbers"},
                                           {"l\\377\\t0,0", "not UTF-8"}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char command[256], text[128];
        snprintf(command, sizeof command, "printf 'l\\t0,0 1,1\\n%s\\n' >s.tsv; $HEED read reader s.tsv",
                 wrong[i][0]);
        snprintf(text, sizeof text, "s.tsv:2|%s", wrong[i][1]);
        assert_fails(command, 1, text);
    }
    assert_fails("head -c 100 toy.tsv | gzip | head -c 60 >cut.gz; $HEED read reader cut.gz", 1, "cut.gz");
    assert_fails("printf '' >s.tsv; $HEED read reader s.tsv", 1, "s.tsv: there is no handwriting");
    assert_fails("$HEED read reader", 2, "FILE");
}

static void handwriting_is_made_from_fonts(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    assert_fails("mkdir -p nofonts; $HEED strokes --out h --fonts nofonts", 1, "hershey-fonts-data");
    assert_fails("$HEED strokes", 2, "--out is required");
    assert_fails("$HEED strokes -o h -n 0", 2, "--lines");
    assert_fails("$HEED strokes -o h -n 1000001", 2, "--lines");
    assert_fails("$HEED strokes -o h --valid-fraction 0.5 --test-fraction 0.5", 2, "nothing to train with");
    assert_fails("mkdir -p rough; printf '12345 99zz' >rough/scripts.jhf; $HEED strokes -o h --fonts rough",
                 1, "rough/scripts.jhf");
    if (shell(out, "$HEED strokes -q -n 40 --seed 3 -o h --threads 1") && strstr(out, "hershey-fonts-data"))
        leave_out("%s", out);
    must_run("$HEED strokes -q -n 40 --seed 3 -o h3 --threads 3 && diff -r h h3 && test $(cat h/*.tsv | wc "
             "-l) = 40");
    assert_fails("$HEED strokes -q -n 40 -o h", 1, "--overwrite");
    assert_fails("cp -r h3 mine; touch mine/letter; $HEED strokes -q -n 40 -o mine --overwrite", 1,
                 "mine/letter: is not of heed strokes");
    must_run("$HEED strokes -q -n 40 --seed 4 -o h --overwrite; ! diff -r h h3 >/dev/null");
    must_run("$HEED train -q --task write --train h --device cpu --width 16 --layers 2 --batch-size 8 "
             "--steps 2 --out hm "
             "&& grep -q '\"valid\"' hm/train/log.jsonl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_written_as_the_text_says),
        cmocka_unit_test(samples_have_the_statistics_of_the_data),
        cmocka_unit_test(the_window_moves_on_and_covers_every_letter),
        cmocka_unit_test(a_prime_is_gone_on_with),
        cmocka_unit_test(a_model_without_a_window_writes_what_it_likes),
        cmocka_unit_test(a_stopped_run_goes_on_bit_for_bit),
        cmocka_unit_test(a_gpt_writes_what_the_text_says),
        cmocka_unit_test(a_gpt_goes_on_bit_for_bit),
        cmocka_unit_test(a_reader_reads_what_is_written),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(lines_that_cannot_be_written_are_named),
        cmocka_unit_test(handwriting_is_made_from_fonts),
    };
    return outcome(cmocka_run_group_tests(tests, prepare, scratch_remove));
}
