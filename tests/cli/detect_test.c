/* heed train --task detect and heed detect as a user meets them, on drawn shapes: eight pictures are learned
   by heart, a run that was stopped goes on bit for bit, and mistakes are said. */
#include "check.h"
#include "outcome.h"
#include "processes.h"
#include "shell.h"

#define SMALL                                                                                                \
    "$HEED train -q --task detect --train s/boxes.csv --images s --device cpu --width 32 "                   \
    "--heads 2 --encoder-layers 1 --decoder-layers 2 --queries 8 --denoise-groups 2 --batch-size 8 --ema 0 " \
    "--lr 0.002 --warmup 20 "
#define LEARNED                                                                                      \
    "$HEED train -q --task detect --train s/boxes.csv --images s --device cpu --width 32 --heads 2 " \
    "--encoder-layers 1 --decoder-layers 2 --queries 8 --batch-size 8 --query-kind learned "
#define VIT   "--image-encoder vit --patch-size 4 "
#define STILL "--flip none --scale-jitter 0 --color 0 "

static int prepare(void **state)
{
    char out[SHELL_ROOM];
    shell_prepare();
    if (scratch_make(state)) return -1;
    shell(out, "$HEED shapes -q -n 10 --size 32 --seed 3 -o s");
    return 0;
}

/* Without libpng there is nothing to test. */
static void need_png(void)
{
    static char out[SHELL_ROOM];
    if (shell(out, "rm -rf probe; $HEED shapes -q -n 1 -o probe") && strstr(out, "libpng"))
        leave_out("%s", out);
}

static double number_behind(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (!at) fail_msg("no %s in %s", name, text);
    return atof(at + strlen(name));
}

static void eight_pictures_are_learned_by_heart(void **state)
{
    (void)state;
    need_png();
    must_run(SMALL VIT STILL "--steps 400 --valid-every 1000 --out m");
    const char *out = must_run("$HEED detect m --boxes s/boxes.csv --images s --split train --json");
    assert_true(number_behind(out, "\"pictures\": ") == 8);
    double ap50 = number_behind(out, "\"ap50\": ");
    if (ap50 < 0.95) fail_msg("AP50 %g", ap50);
    must_run("$HEED detect m $(ls s/train/*/*.png) --json >found.jsonl; test $(wc -l <found.jsonl) = 8");
    must_run(
        "p=$(ls s/train/*/*.png | head -n 1); $HEED detect m $p --draw out.svg >lines; grep -q '<svg' "
        "out.svg; "
        "awk -F'\\t' 'NF != 7 || $3 < 0.5 || $4 >= $6 || $5 >= $7 || $6 > 32.05' lines | wc -l | grep -qx 0");
}

static void a_stopped_run_goes_on_bit_for_bit(void **state)
{
    (void)state;
    need_png();
    must_run(SMALL VIT "--out whole --steps 12 --save-every 6 --valid-every 4 --threads 1");
    must_run(SMALL VIT "--out cut --steps 6 --decay-steps 12 --save-every 6 --valid-every 4 --threads 3 && "
                       "$HEED train -q --resume --out cut --steps 12 --threads 2");
    must_run(SMALL VIT "--out other --steps 12 --decay-steps 12 --save-every 6 --valid-every 4 --threads 4");
    must_run("cmp whole/model.safetensors other/model.safetensors");
    must_run(
        "cmp cut/model.safetensors other/model.safetensors; for f in cut/train/step-12/*.safetensors; do "
        "cmp $f other/train/step-12/${f##*/} || exit 1; done");
    must_run(SMALL VIT
             "--out seed --steps 12 --seed 2; ! cmp -s seed/model.safetensors whole/model.safetensors");
}

static void a_resnet_is_a_backbone_and_pictures_may_turn(void **state)
{
    (void)state;
    need_png();
    must_run(
        SMALL
        "--image-encoder resnet --resnet 8x1,16x1,16x1/1 --resnet-stem small --flip turns --steps 6 --out r");
    must_run(
        SMALL
        "--image-encoder resnet --resnet 8x1,16x1,16x1/1 --resnet-stem small --flip turns --steps 3 "
        "--decay-steps 6 --threads 3 --out r3 && $HEED train -q --resume --out r3 --steps 6 --threads 1 && "
        "cmp r/model.safetensors r3/model.safetensors");
    must_run("grep -q keeps_size r/config.json; $HEED info r | grep -q resnet; $HEED detect r $(ls "
             "s/train/*/*.png | head -n 1) --threshold 0 "
             "--attention at.json >found; grep -q cross at.json; ! grep -q '\"encoder\"' at.json");
    must_run(LEARNED "--image-encoder resnet --resnet 8x1,16x1 --resnet-stem large --steps 2 --out e && "
                     "$HEED export e hf && grep -q stage2 "
                     "hf/config.json");
    must_run("$HEED shapes -q -n 2 --size 1024 -o big");
    assert_fails("$HEED detect r $(ls big/*/*/*.png | head -n 1)", 1, "1024 x 1024 pixels|scale it down");
    assert_fails("$HEED export r hf2", 1, "--query-kind learned");
    assert_fails(SMALL "--image-encoder resnet --resnet 8y1 --steps 1 --out x", 2, "--resnet 8y1");
}

static void learned_queries_train(void **state)
{
    (void)state;
    need_png();
    must_run(LEARNED VIT "--steps 4 --out plain");
    must_run(
        "grep -q '\"anchors\": false' plain/config.json; $HEED detect plain s/train/*/*.png --threshold 0 "
        "| grep -q 0");
}

#define ON \
    "$HEED train -q --task detect --images s --device cpu --batch-size 8 --ema 0 --denoise-groups 2 " STILL

/* Rate 0: what is published is what was taken over. Two labels have other names, and stand in another order.
 */
static void a_model_goes_on_with_its_weights(void **state)
{
    (void)state;
    need_png();
    const char *judge = "$HEED detect %s --boxes %s --images s --split train --json";
    char command[SHELL_ROOM], kept[SHELL_ROOM];
    must_run("test -d m || " SMALL VIT STILL "--steps 400 --valid-every 1000 --out m");
    must_run("sed 's/,circle,/,zero,/' s/boxes.csv >renamed.csv");
    must_run(ON "--train s/boxes.csv --from m --lr 0 --weight-decay 0 --steps 1 --out same");
    snprintf(command, sizeof command, judge, "m", "s/boxes.csv");
    snprintf(kept, sizeof kept, "%s", must_run(command));
    snprintf(command, sizeof command, judge, "same", "s/boxes.csv");
    assert_string_equal(must_run(command), kept);
    must_run(ON "--train renamed.csv --from m --lr 0 --weight-decay 0 --steps 1 --out renamed");
    must_run("printf 'square\\ntriangle\\nzero\\n' | cmp - renamed/labels.txt");
    snprintf(command, sizeof command, judge, "renamed", "renamed.csv");
    const char *out = must_run(command);
    assert_true(number_behind(strstr(out, "square"), "\"ap50\": ") == 1);
    assert_true(number_behind(strstr(out, "triangle"), "\"ap50\": ") == 1);
    must_run(ON "--train renamed.csv --from m --lr 0.002 --steps 60 --threads 1 --out learned");
    snprintf(command, sizeof command, judge, "learned", "renamed.csv");
    double ap50 = number_behind(must_run(command), "\"ap50\": ");
    if (ap50 < 0.6) fail_msg("AP50 %g", ap50);
    must_run(ON
             "--train renamed.csv --from m --lr 0.002 --steps 30 --decay-steps 60 --threads 2 --out part && "
             "$HEED train -q --resume --out part --steps 60 && cmp part/model.safetensors "
             "learned/model.safetensors");
}

static void what_a_model_to_begin_with_fixes_is_said(void **state)
{
    (void)state;
    need_png();
    must_run("test -d m || " SMALL VIT STILL "--steps 1 --out m");
    must_run(ON "--train s/boxes.csv --from m --image-size 48 --steps 1 --out larger && grep -q "
                "'\"image_height\": 48' larger/config.json");
    must_run(ON "--train s/boxes.csv --from m --dry-run --out x | grep -q 'width 32, 8 anchors'");
    assert_fails(ON "--train s/boxes.csv --from m --width 64 --out x", 2, "--width is 64|it is 32");
    assert_fails(ON "--train s/boxes.csv --from m --resnet 8x1 --out x", 2,
                 "--resnet does not go with --from");
    assert_fails(ON "--train s/boxes.csv --from nothere --out x", 1, "nothere");
    must_run("$HEED train -q --task lm --model ngram --train s/boxes.csv --out text");
    assert_fails(ON "--train s/boxes.csv --from text --out x", 1, "text");
    must_run("cp -r m damaged; head -c 9000 m/model.safetensors >damaged/model.safetensors");
    assert_fails(ON "--train s/boxes.csv --from damaged --steps 1 --out x", 1, "damaged/model.safetensors");
}

/* Learned queries, a ResNet with the names of transformers. */
static void an_imported_model_learns_and_is_exported_again(void **state)
{
    (void)state;
    need_png();
    must_run(LEARNED "--image-encoder resnet --resnet 8x1,16x1 --resnet-stem large --steps 2 --out first && "
                     "$HEED export first published && "
                     "$HEED import published imported");
    must_run("sed 's/,circle,/,disc,/' s/boxes.csv >disc.csv; $HEED train -q --task detect --train disc.csv "
             "--images s --device cpu --from imported --batch-size 4 --steps 2 --out tuned && "
             "$HEED train -q --resume --out tuned --steps 3 && "
             "$HEED train -q --config tuned/training.yml --out twin");
    must_run("$HEED export tuned again && grep -q disc again/config.json && $HEED import again back && "
             "cmp back/model.safetensors tuned/model.safetensors && "
             "! cmp -s imported/model.safetensors tuned/model.safetensors");
}

/* 40 pictures to validate with are three batches, the last one shorter. At rate 0 the weights stay the same.
 */
#define JUDGED                                                                                             \
    " $HEED train -q --task detect --train v/boxes.csv --images v --device cpu --width 16 --heads 2 "      \
    "--encoder-layers 1 --decoder-layers 1 --queries 4 --batch-size 8 --image-encoder vit --patch-size 4 " \
    "--steps 1 --threads 1 --lr 0 "

static void processes_share_validation(void **state)
{
    (void)state;
    need_png();
    if (!processes_prepare()) leave_out("several processes");
    must_run("$HEED shapes -q -n 400 --size 16 --seed 4 -o v && test $(ls v/val/*/*.png | wc -l) = 40");
    must_run(JUDGED "--out one && for n in 2 3 4; do timeout 100 mpirun -n $n" JUDGED
                    "--out $n || exit 1; done");
    must_run(
        "said() { grep '\"valid\"' $1/train/log.jsonl | sed 's/\"\\(time\\|seconds\\)\":[^,]*,//g; "
        "s/\\(\\.[0-9]\\{9\\}\\)[0-9]*/\\1/g'; }; said one | grep -q ap50 && "
        "for n in 2 3 4; do test \"$(said one)\" = \"$(said $n)\" || { said one; said $n; exit 1; }; done");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    need_png();
    assert_fails(SMALL VIT "--out x --query-kind learned --steps 1", 2,
                 "--denoise-groups needs --query-kind anchors");
    assert_fails(LEARNED VIT "--out x --query-reach 1 --steps 1", 2,
                 "--query-reach needs --query-kind anchors");
    assert_fails(SMALL "--out x --conv-stem 2 --steps 1", 2, "--conv-stem needs a vit");
    assert_fails(SMALL VIT "--out x --heads 3 --steps 1", 2, "--width 32|--heads 3");
    assert_fails(SMALL VIT "--out x --mixup 0.2 --steps 1", 2, "--mixup|boxes cannot be mixed");
    assert_fails(SMALL VIT "--out x --vocab-size 100 --steps 1", 2, "--vocab-size is an option of --task");
    assert_fails("$HEED train -q --task lm --train s/boxes.csv --out x --queries 5", 2,
                 "--queries is an option of --task detect");
    assert_fails("$HEED train -q --task detect --train nothere.csv --out x", 1, "nothere.csv");
    must_run(
        "printf 'image,label,xmin,ymin,xmax,ymax\\n%s,,,,,\\n' $(ls s/train/*/*.png | head -n 1) >none.csv");
    assert_fails("$HEED train -q --task detect --train none.csv --out x", 1, "none.csv");
    must_run(SMALL VIT "--out tiny --steps 1");
    assert_fails("$HEED detect tiny", 2, "no picture is given");
    assert_fails("$HEED detect tiny --split test", 2, "--boxes");
    assert_fails("$HEED detect tiny a.png b.png --draw out.svg", 2, "one PICTURE");
    assert_fails("$HEED classify tiny s/boxes.csv", 1, "a detector, which `heed detect` reads");
    char out[SHELL_ROOM];
    assert_int_equal(shell(out, "echo no picture >broken.png; $HEED detect tiny broken.png --json"), 1);
    assert_non_null(strstr(out, "\"error\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_pictures_are_learned_by_heart),
        cmocka_unit_test(a_stopped_run_goes_on_bit_for_bit),
        cmocka_unit_test(a_resnet_is_a_backbone_and_pictures_may_turn),
        cmocka_unit_test(learned_queries_train),
        cmocka_unit_test(a_model_goes_on_with_its_weights),
        cmocka_unit_test(what_a_model_to_begin_with_fixes_is_said),
        cmocka_unit_test(an_imported_model_learns_and_is_exported_again),
        cmocka_unit_test(processes_share_validation),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return outcome(cmocka_run_group_tests(tests, prepare, scratch_remove));
}
