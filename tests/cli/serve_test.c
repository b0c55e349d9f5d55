/* heed serve as a user meets it: the address, curl, `heed translate` to the byte, signals. */
#include "check.h"
#include "cli/shell.h"
#include "outcome.h"

/* Begins a server with these words; $URL is its address, $PID its number. */
#define SERVE(words)                                                                                      \
    "rm -f url; $HEED serve -d cpu --port 0 " words " >url 2>log & PID=$!; i=0; "                         \
    "while [ ! -s url ] && kill -0 $PID 2>/dev/null && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; " \
    "URL=$(cat url); "
#define END "kill -TERM $PID; wait $PID; echo status $?"

static int make_model(void **state)
{
    if (scratch_make(state)) return -1;
    char out[SHELL_ROOM];
    int s =
        shell(out, "$HEED corpus -q --pairs 200 --valid 20 --test 30 --out c && "
                   "$HEED train -q $TINY --train c/train.en c/train.de --valid c/valid.en c/valid.de "
                   "--dropout 0 --attention-dropout 0 --micro-batches 1 --lr 0.02 --valid-every 50 "
                   "--save-every 50 --steps 100 --out m && $HEED translate -d cpu m <c/test.en >clean.de");
    if (s) print_error("%s\n", out);
    return s;
}

static void need_curl(void)
{
    if (!HEED_MICROHTTPD) leave_out("built without libmicrohttpd");
    if (system("command -v curl python3 >/dev/null")) leave_out("there is no curl or no python3");
}

static void translations_are_those_of_heed_translate(void **state)
{
    (void)state;
    need_curl();
    assert_prints(
        SERVE("m") "case $URL in http://127.0.0.1:*) echo good;; *) cat log; esac; "
                   "curl -s $URL/health; "
                   "curl -s $URL/translate --data-urlencode q@c/test.en -d source=en -d target=de | "
                   "python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)"
                   "[\"translatedText\"])' | cmp - clean.de; "
                   "curl -s $URL/languages; " END,
        0,
        "good\n{\"status\": \"ok\"}\n"
        "[{\"code\": \"en\", \"name\": \"English\", \"targets\": [\"de\"]}, {\"code\": \"de\", \"name\": "
        "\"German\", \"targets\": []}]\nstatus 0\n");
}

/* What was asked before the signal is answered after it. */
static void requests_that_are_there_are_answered_at_the_end(void **state)
{
    (void)state;
    need_curl();
    assert_prints(
        SERVE("m") "for i in 1 2 3 4 5 6 7 8; do curl -s $URL/translate --data-urlencode q@c/test.en "
                   "-d source=en -d target=de >a$i & eval C$i=$!; done; sleep 1.5; kill -TERM $PID; "
                   "wait $PID; echo status $?; wait $C1 $C2 $C3 $C4 $C5 $C6 $C7 $C8; "
                   "for i in 2 3 4 5 6 7 8; do cmp a1 a$i; done; grep -c translatedText a1",
        0, "status 0\n1\n");
}

/* Vectors are those of heed embed, as numbers and as base64; the list of models; the load. */
static void vectors_are_those_of_heed_embed(void **state)
{
    (void)state;
    need_curl();
    assert_prints(
        "for i in 1 2 3 4 5 6 7 8 9 10; do echo 'the cat sat on the mat'; echo 'the dog ran in the park'; "
        "done "
        ">text; $HEED train -q --task mlm --device cpu --train text --unit word --layers 1 --width 16 "
        "--heads 2 "
        "--context 16 --batch-size 4 --lr 0.01 --warmup 3 --valid-fraction 0.2 --valid-every 4 --save-every "
        "4 "
        "--steps 4 --out b && head -2 text | $HEED embed -d cpu b >vectors; " SERVE(
            "m bert=b") "for f in float base64; do curl -s $URL/v1/embeddings -H 'Content-Type: "
                        "application/json' -d "
                        "'{\"model\": \"bert\", \"input\": [\"the cat sat on the mat\", \"the dog "
                        "ran in the park\"], "
                        "\"encoding_format\": \"'$f'\"}' >$f; done; "
                        "python3 -c 'if 1:\n"
                        " import json, base64, struct\n"
                        " f, b = json.load(open(\"float\")), json.load(open(\"base64\"))\n"
                        " print(f[\"object\"], f[\"model\"], f[\"usage\"][\"total_tokens\"])\n"
                        " for i, line in enumerate(open(\"vectors\")):\n"
                        "  v = [struct.unpack(\"<f\", struct.pack(\"<f\", float(x)))[0] for x in "
                        "line.split()]\n"
                        "  x = b[\"data\"][i][\"embedding\"]\n"
                        "  w = list(struct.unpack(\"<%df\" % len(v), base64.b64decode(x)))\n"
                        "  u = [struct.unpack(\"<f\", struct.pack(\"<f\", y))[0] for y in "
                        "f[\"data\"][i][\"embedding\"]]\n"
                        "  print(len(v), v == w, v == u, f[\"data\"][i][\"index\"])'; "
                        "curl -s $URL/v1/models | grep -o '\"id\": \"[^\"]*\"'; "
                        "curl -s $URL/v1/models/bert | grep -c bert; "
                        "curl -s $URL/v1/embeddings -d model=none; "
                        "curl -s $URL/v1/embeddings -d model=m -d input=a | grep -o 'it is a "
                        "translator'; "
                        "curl -s $URL/v1/embeddings -H 'Content-Type: application/json' -d '{\"model\": "
                        "\"bert\", \"input\": [1]}' "
                        "| grep -o 'another tokenizer'; curl -s $URL/v1/nothing; "
                        "curl -s $URL/metrics | grep -E 'jobs_total.*bert.*(done|failed)'; " END,
        0,
        "list bert 16\n16 True True 0\n16 True True 1\n\"id\": \"m\"\n\"id\": \"bert\"\n1\n"
        "{\"error\": {\"message\": \"The model 'none' does not exist\", \"type\": \"not_found_error\", "
        "\"param\": null, \"code\": \"model_not_found\"}}\n"
        "it is a translator\nanother tokenizer\n"
        "{\"error\": {\"message\": \"Not found\", \"type\": \"not_found_error\", \"param\": null, \"code\": "
        "\"model_not_found\"}}\n"
        "heed_jobs_total{model=\"bert\",end=\"done\"} 2\n"
        "heed_jobs_total{model=\"bert\",end=\"failed\"} 0\nstatus 0\n");
}

static void what_cannot_be_served_is_said(void **state)
{
    (void)state;
    if (!HEED_MICROHTTPD) {
        assert_fails("$HEED serve -d cpu --port 0 m", 1, "no HTTP server|libmicrohttpd-dev");
        leave_out("built without libmicrohttpd");
    }
    assert_fails("$HEED serve -d cpu --port 0 nowhere", 1, "nowhere");
    assert_fails("$HEED serve -d cpu --port 0 m m", 1, "two models are called 'm'");
    assert_fails("$HEED serve -d cpu --port 0 m --languages ende", 1, "SOURCE:TARGET");
    assert_fails("$HEED serve -d cpu --port 0 m --address 0.0.0.0", 1, "--key-file");
    assert_fails(
        "mkdir -p x && cp m/*.json m/*.safetensors m/*.txt x 2>/dev/null; $HEED serve -d cpu --port 0 x", 1,
        "languages are not known|--languages");
}

int main(void)
{
    shell_prepare();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(translations_are_those_of_heed_translate),
        cmocka_unit_test(requests_that_are_there_are_answered_at_the_end),
        cmocka_unit_test(vectors_are_those_of_heed_embed),
        cmocka_unit_test(what_cannot_be_served_is_said),
    };
    return outcome(cmocka_run_group_tests(tests, make_model, scratch_remove));
}
