/* heed train --task caption and heed caption as a user meets them: from pictures drawn here with captions to
   a model that says what is on others, by a recurrent decoder and by a Transformer; attention over the
   picture; bad files and options are refused. */
#include "check.h"
#include "cli/shell.h"
#include "data/image/image.h"
#include "outcome.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --device cpu --task caption --train captions.txt --images pictures "
#define SMALL                                                                                          \
    VIT LITTLE "--shift 0 --flip none --crop 1 --color 0 --dropout 0 --lr 0.005 --clip 1 --warmup 10 " \
               "--min-count 1 "
#define VIT    "--image-encoder vit --patch-size 4 --encoder-layers 1 --heads 2 --ffn-size 32 "
#define LITTLE "--image-size 12 --width 32 --batch-size 8 "

enum { SIDE = 12, PICTURES = 72 };

static const struct {
    const char *name;
    uint8_t rgb[3];
} colors[] = {{"red", {220, 40, 40}}, {"green", {40, 160, 60}}, {"blue", {50, 80, 220}}};

/* A square of a color at a side of a dark picture. */
static void draw(int i, FILE *captions)
{
    hd_err err = {0};
    hd_image im;
    char path[64];
    int color = i % 3, right = i / 3 % 2, x0 = right ? 6 : 1, y0 = 1 + i / 6 % 6;
    assert_int_equal(hd_image_make(&im, SIDE, SIDE, 3, "test", &err), HD_OK);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int c = 0; c < 3; c++) {
                bool inside = x >= x0 && x < x0 + 5 && y >= y0 && y < y0 + 5;
                im.pixel[(y * SIDE + x) * 3 + c] = inside ? colors[color].rgb[c] : (uint8_t)(20 + i);
            }
    snprintf(path, sizeof path, "pictures/%02d.png", i);
    if (hd_image_write_png(&im, at("%s", path), &err)) fail_msg("%s", err.text);
    fprintf(captions, "%02d.png#0\tA %s square on the %s .\n", i, colors[color].name,
            right ? "right" : "left");
    fprintf(captions, "%02d.png#1\ta %s square on the %s .\n", i, colors[color].name,
            right ? "right" : "left");
    hd_image_release(&im);
}

static int make_data(void **state)
{
    hd_err err = {0};
    hd_image im = {0};
    hd_text png = {0};
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    if (hd_image_make(&im, 1, 1, 3, "test", &err) || hd_image_encode_png(&png, &im, &err))
        leave_out("this build writes no PNG");
    hd_text_release(&png), hd_image_release(&im);
    if (shell(out, "mkdir pictures")) return -1;
    FILE *captions = fopen(at("captions.txt"), "w");
    for (int i = 0; i < PICTURES; i++) draw(i, captions);
    fclose(captions);
    return shell(out, "seq -f '%02g.png' 0 53 > train.txt; seq -f '%02g.png' 54 71 > valid.txt; " TRAIN SMALL
                      "--train-names train.txt --valid-names valid.txt --epochs 60 --out model");
}

/* All captions of the pictures that it did not learn from are right, and it says so itself. */
static void a_captioner_learns_to_name_what_it_sees(void **state)
{
    (void)state;
    must_run("$HEED caption model --names valid.txt --images pictures > out.tsv; wc -l < out.tsv");
    assert_prints("sort captions.txt | sed -n 's/#1//p' > said.tsv; join -t '\t' out.tsv said.tsv | "
                  "awk -F'\\t' '{ n += $2 == $3 } END { print (n > 16) }'",
                  0, "1\n");
    must_run("grep '\"cider\":' model/train/log.jsonl");
    const char *out = must_run("$HEED info model --json");
    static const char *const said[] = {"\"task\": \"caption\"", "\"model\": \"captioner\"",
                                       "\"gate\": true",        "\"rows\": 9",
                                       "\"vocab\": 14",         "\"best_cider\": "};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
    out = must_run("$HEED score --task caption --ref captions.txt out.tsv");
    assert_non_null(strstr(out, "CIDEr"));
}

static void a_transformer_learns_it_too(void **state)
{
    (void)state;
    must_run(TRAIN SMALL "--preset caption-transformer --conv-stem 0 --decoder-layers 1 --drop-path 0 "
                         "--train-names train.txt --valid-names valid.txt --epochs 40 --out blocks");
    assert_prints("sort captions.txt | sed -n 's/#1//p' > said.tsv; "
                  "$HEED caption blocks --names valid.txt --images pictures | join -t '\t' - said.tsv | "
                  "awk -F'\\t' '{ n += $2 == $3 } END { print (n > 16) }'",
                  0, "1\n");
    must_run("$HEED caption blocks pictures/01.png --attention blocks.json && test -s blocks.json");
}

static void searches_are_those_of_texts(void **state)
{
    (void)state;
    assert_prints("$HEED caption model pictures/00.png --beam 1", 0,
                  "pictures/00.png\ta red square on the left .\n");
    assert_prints("$HEED caption model pictures/00.png pictures/04.png --n-best 3 | wc -l", 0, "6\n");
    assert_prints("$HEED caption model pictures/00.png --sample --temperature 0 --seed 3", 0,
                  "pictures/00.png\ta red square on the left .\n");
    assert_prints("$HEED caption model pictures/*.png --device cpu --sample --temperature 3 --seed 3 > a; "
                  "$HEED caption model pictures/*.png --device cpu --sample --temperature 3 --seed 3 "
                  "--threads 1 --batch 5 > b; "
                  "$HEED caption model pictures/*.png --device cpu --sample --temperature 3 --seed 4 > c; "
                  "cmp a b; cmp -s a c",
                  1, "");
    const char *out = must_run("$HEED caption model pictures/04.png --json");
    static const char *const said[] = {
        "{\"file\": \"pictures/04.png\", \"captions\": [{\"text\": \"a green square",
        "\"tokens\": [\"a\", \"green\"", "\"logprob\": -", "\"finished\": true"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
}

/* A word has as many weights as the picture has parts, 3 x 3. */
static void attention_is_over_the_parts_of_the_picture(void **state)
{
    (void)state;
    must_run("$HEED caption model pictures/04.png --attention a.json");
    assert_prints("grep -o 'row [1-3], column [1-3]' a.json | sort -u | wc -l", 0, "9\n");
    must_run(
        "$HEED caption model pictures/04.png pictures/05.png --attention a.html && grep -q '<html' a.html");
    must_run("awk 'BEGIN { print \"image,label,xmin,ymin,xmax,ymax\"; for (i = 0; i < 72; i++) { "
             "x = int(i / 3) % 2 ? 6 : 1; y = 1 + int(i / 6) % 6; "
             "printf \"%02d.png,square,%d,%d,%d,%d\\n\", i, x, y, x + 5, y + 5 } }' > boxes.csv");
    const char *out =
        must_run("$HEED caption model --names valid.txt --images pictures --boxes boxes.csv 2>&1");
    assert_non_null(strstr(out, "attention inside boxes: 36 words, "));
    assert_non_null(strstr(out, "the boxes are 17.4 % of the pictures"));
}

/* Also of an encoder that counts as it goes, and of pictures that change at random. */
static void a_resumed_run_equals_a_whole_one(void **state)
{
    (void)state;
#define RUN                                                                                             \
    TRAIN LITTLE "--resnet 8x1,16x1 --valid-names valid.txt --steps 12 --valid-every 4 --save-every 3 " \
                 "--flip horizontal --crop 0.5 --dropout 0.2 --min-count 1 "
    must_run(RUN "--out whole && " RUN "--minutes 1e-9 --out parts");
    must_run("for n in 3 7 8; do $HEED train -q --resume --steps $n --threads 1 --out parts; done; "
             "$HEED train -q --resume --steps 12 --threads 3 --out parts");
    assert_prints(SAME "same whole parts", 0, "");
    must_run(RUN "--attention-penalty 0 --out other");
    assert_prints("cmp -s whole/model.safetensors other/model.safetensors", 1, "");
    const char *out = must_run("$HEED info whole --json");
    assert_non_null(strstr(out, "\"decoder\": \"lstm:1\""));
    out = must_run("$HEED train --device cpu --task caption --train captions.txt --images "
                   "pictures " LITTLE "--resnet 8x1,16x1 --steps 1 --min-count 1 --out sides 2>&1");
    assert_non_null(strstr(out, "144 of 144 captions say left or right: pictures are not flipped"));
}

static void what_goes_on_begins_with_what_was_learned(void **state)
{
    (void)state;
    must_run(TRAIN "--from model --epochs 1 --flip none --crop 1 --shift 0 --out more");
    assert_prints("$HEED caption more pictures/00.png", 0, "pictures/00.png\ta red square on the left .\n");
    assert_fails(TRAIN "--from model --width 64 --epochs 1 --out wide", 2, "--width|32");
}

/* What a classifier of pictures has learned: its vectors are those of a captioner whose encoder is not
 * trained. */
static void an_encoder_comes_from_a_classifier(void **state)
{
    (void)state;
    must_run(
        "awk 'BEGIN { split(\"red green blue\", c, \" \"); for (i = 0; i < 72; i++) "
        "printf \"pictures/%02d.png\\t%s\\n\", i, c[1 + i % 3] }' > colors.tsv; "
        "$HEED train -q --device cpu --task classify --model vit --train colors.tsv --image-size 12 "
        "--patch-size 4 "
        "--conv-stem 0 --layers 1 --width 16 --heads 2 --ffn-size 32 --pool mean --epochs 1 --out colors");
    must_run(
        TRAIN
        "--encoder-from colors --width 24 --batch-size 8 --min-count 1 --freeze 'model.encoder.*' --steps 2 "
        "--out begun");
    assert_prints(
        "$HEED embed colors pictures/05.png > a; $HEED embed begun pictures/05.png > b; cmp a b; wc -w < b",
        0, "16\n");
    must_run(TRAIN "--encoder-from begun --width 24 --batch-size 8 --min-count 1 --steps 2 --out again");
    assert_prints("$HEED train -q --resume --steps 3 --out again; cmp -s begun/model.safetensors "
                  "again/model.safetensors",
                  1, "");
    assert_fails(TRAIN "--encoder-from none --steps 1 --out bad", 2, "none");
    assert_fails(TRAIN "--encoder-from colors --from model --steps 1 --out bad", 2, "exclude each other");
    assert_fails("echo some text here > text.txt; $HEED train -q --device cpu --task lm --model gru --train "
                 "text.txt --steps 1 "
                 "--width 8 --out lm; " TRAIN "--encoder-from lm --steps 1 --out bad",
                 2, "no encoder of pictures");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_fails("$HEED caption model", 2, "no picture is given");
    assert_fails("$HEED caption model --images pictures", 2, "no picture is given");
    assert_fails("$HEED caption model pictures/00.png --n-best 9", 2, "--n-best 9|--beam 5");
    assert_fails("$HEED translate model < /dev/null", 1, "this is a captioner, which `heed caption` reads");
    assert_prints(
        "echo text > no.png; $HEED caption model no.png pictures/00.png 2> said; echo $?; grep -c no.png "
        "said",
        0, "no.png\t\npictures/00.png\ta red square on the left .\n1\n1\n");
    assert_fails(TRAIN SMALL "--epochs 1 --mixup 0.2 --out bad", 2, "captions cannot be mixed");
    assert_fails(TRAIN SMALL "--epochs 1 --select-by bleu --out bad", 2, "use cider or loss");
    assert_fails(TRAIN SMALL "--epochs 1 --max-length 100 --out bad", 2, "--max-positions 64");
    assert_fails(TRAIN SMALL "--epochs 1 --batch-tokens 100 --out bad", 2, "--batch-tokens");
    assert_fails(TRAIN SMALL "--epochs 1 --decoder-context fixed --decoder-init zeros --out bad", 2,
                 "never sees the source");
    assert_fails(
        "echo '77.png#0\ta dog' > bad.txt; $HEED train -q --task caption --train bad.txt --images pictures "
        "--epochs 1 --out bad",
        1, "bad.txt:1|77.png");
    must_run(
        "cat captions.txt bad.txt > mixed.txt; $HEED train -q --device cpu --task caption --train mixed.txt "
        "--images pictures " SMALL "--epochs 1 --on-invalid skip --out skipped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_captioner_learns_to_name_what_it_sees),
                                       cmocka_unit_test(a_transformer_learns_it_too),
                                       cmocka_unit_test(searches_are_those_of_texts),
                                       cmocka_unit_test(attention_is_over_the_parts_of_the_picture),
                                       cmocka_unit_test(a_resumed_run_equals_a_whole_one),
                                       cmocka_unit_test(what_goes_on_begins_with_what_was_learned),
                                       cmocka_unit_test(an_encoder_comes_from_a_classifier),
                                       cmocka_unit_test(what_is_wrong_is_said)};
    return outcome(cmocka_run_group_tests(tests, make_data, scratch_remove));
}
