/* heed train --task classify and heed classify on pictures: the label says in which quarter of a picture
   there is a light square. */
#include "check.h"
#include "cli/shell.h"
#include "outcome.h"
#include "processes.h"

#include "data/image/image.h"

enum { SIDE = 8, TRAIN = 160, TEST = 40 };

#define TRAIN_OPTIONS                                                                                        \
    "$HEED train -q --task classify --device cpu --preset vit-tiny --conv-stem 0 --patch-size 2 --layers 2 " \
    "--width 16 --heads 2 --ffn-size 32 --batch-size 16 --flip none --shift 0 --lr 0.01 --warmup 5 "         \
    "--image-size 0 "
#define IDX    "--train train.idx3 train.idx1 "
#define FOLDER "--train-dir train "

static const char *const names[4] = {"a", "b", "c", "d"};

/* A dark picture with noise and a light square. */
static void draw(uint8_t pixel[SIDE * SIDE], int label, hd_rng *rng)
{
    int x = label % 2 * 4 + (int)hd_rng_below(rng, 2), y = label / 2 * 4 + (int)hd_rng_below(rng, 2);
    for (int i = 0; i < SIDE * SIDE; i++) pixel[i] = (uint8_t)hd_rng_below(rng, 90);
    for (int r = y; r < y + 3; r++)
        for (int c = x; c < x + 3; c++) pixel[r * SIDE + c] = (uint8_t)(160 + hd_rng_below(rng, 90));
}

static void put_head(FILE *f, const uint8_t *sizes, int dimensions)
{
    fwrite((const uint8_t[]){0, 0, 8, (uint8_t)dimensions}, 1, 4, f);
    for (int i = 0; i < dimensions; i++) fwrite((const uint8_t[]){0, 0, 0, sizes[i]}, 1, 4, f);
}

/* The same pictures as IDX files and as a folder with a subfolder a class. */
static int make_set(const char *name, int count, uint64_t seed)
{
    char path[300];
    hd_rng rng = hd_rng_make(seed, 0);
    snprintf(path, sizeof path, "%s.idx3", name);
    FILE *images = fopen(at("%s", path), "wb");
    snprintf(path, sizeof path, "%s.idx1", name);
    FILE *labels = fopen(at("%s", path), "wb");
    if (!images || !labels) return -1;
    put_head(images, (const uint8_t[]){(uint8_t)count, SIDE, SIDE}, 3);
    put_head(labels, (const uint8_t[]){(uint8_t)count}, 1);
    for (int i = 0; i < count; i++) {
        uint8_t pixel[SIDE * SIDE], label = (uint8_t)(i % 4);
        draw(pixel, label, &rng);
        fwrite(pixel, 1, sizeof pixel, images);
        fwrite(&label, 1, 1, labels);
        const hd_image im = {SIDE, SIDE, 1, pixel};
        snprintf(path, sizeof path, "%s/%s/%03d.png", name, names[label], i);
        if (hd_image_write_png(&im, at("%s", path), NULL)) return -1;
    }
    return fclose(images) | fclose(labels);
}

static int make_pictures(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    if (shell(out, "mkdir -p train/a train/b train/c train/d test/a test/b test/c test/d")) return -1;
    if (make_set("train", TRAIN, 1) || make_set("test", TEST, 2)) return -1;
    return shell(out, "for l in a b c d; do for f in test/$l/*.png; do printf '%s\\t%s\\n' $f $l; done; done "
                      "> list.tsv; " TRAIN_OPTIONS IDX "--steps 200 --valid test.idx3 test.idx1 --out model");
}

static double accuracy(const char *arguments)
{
    char command[400];
    double share = 0;
    snprintf(command, sizeof command, "$HEED classify %s | tail -1", arguments);
    assert_int_equal(sscanf(must_run(command), "accuracy %lf", &share), 1);
    return share;
}

static void pictures_get_labels(void **state)
{
    (void)state;
    double share = accuracy("model --confusion test.idx3 test.idx1");
    if (!(share > 95)) fail_msg("%g", share);
    assert_prints("$HEED classify model test/a/000.png test/d/003.png | cut -f1,2", 0,
                  "test/a/000.png\t0\ntest/d/003.png\t3\n");
    const char *out = must_run("$HEED classify model test/a/000.png --json --top 2");
    assert_true(
        strstr(out, "{\"file\": \"test/a/000.png\", \"labels\": [{\"label\": \"0\", \"probability\": 0.") ==
        out);
    must_run("test $($HEED classify model test/a/000.png --top 4 | tr '\\t' '\\n' | wc -l) = 9");
    must_run(
        "$HEED info model | grep -q '^image_size  *8 x 8$' && $HEED info model | grep -q '^channels  *1$'");
    must_run("test $($HEED embed model test/a/000.png test/b/001.png | awk '{print NF}' | uniq -c | "
             "awk '{print $1 * $2}') = 32");
    must_run("$HEED classify model test/a/000.png --attention out.html && grep -q html out.html");
    must_run("$HEED classify model --confusion test.idx3 test.idx1 --plot c.svg && grep -q '<svg' c.svg");
}

static void data_come_in_three_forms(void **state)
{
    (void)state;
    must_run(TRAIN_OPTIONS FOLDER "--steps 200 --valid test --out folder");
    assert_true(accuracy("folder --confusion test") > 95);
    assert_prints("cat folder/labels.txt | tr '\\n' ' '", 0, "a b c d ");
    must_run("sed 's/^test/train/' list.tsv | grep -v 'train/./1' > no.tsv; " TRAIN_OPTIONS
             "--train list.tsv --steps 3 --out listed && grep -q . listed/train/held-out.tsv");
    assert_true(accuracy("folder --confusion list.tsv") > 95);
    must_run(
        "mkdir -p moved && cp list.tsv moved/ && $HEED classify folder --confusion moved/list.tsv --images . "
        "| tail -1 | grep -q 'of 40'");
    /* a folder of pictures needs no preset */
    must_run("$HEED train --task classify --device cpu " FOLDER "--dry-run | grep -q 'preset: vit-lite'");
    must_run("$HEED train --task classify --device cpu " IDX "--dry-run | grep -q '^size  *8 x 8, gray$'");
    must_run("$HEED train --task classify --device cpu --train list.tsv --dry-run | grep -q 'model: vit'");
}

static void a_run_that_is_resumed_makes_the_same_bytes(void **state)
{
    (void)state;
    const char *options =
        TRAIN_OPTIONS FOLDER "--decay-steps 12 --mixup 0.2 --cutmix 1 --random-augment 1 --drop-path 0.2 "
                             "--dropout 0.1 --rotate 10 --save-every 2 ";
    char command[1200];
    snprintf(command, sizeof command,
             "%s--steps 12 --out whole && %s--steps 5 --out parts && $HEED train -q --resume --steps 12 "
             "--out parts "
             "&& cmp whole/model.safetensors parts/model.safetensors && "
             "for f in whole/train/step-12/*; do cmp $f parts/train/step-12/${f##*/} || exit 1; done",
             options, options);
    must_run(command);
    for (int threads = 1; threads <= 4; threads++) {
        snprintf(command, sizeof command,
                 "%s--steps 12 --threads %d --overwrite --out threads && cmp whole/model.safetensors "
                 "threads/model.safetensors",
                 options, threads);
        must_run(command);
    }
}

/* The losses of the first updates, to five digits. */
#define LOSSES(model) \
    "sed -n 's/.*\"kind\":\"train\".*\"loss\":\\([0-9.]\\{6\\}\\).*/\\1/p' " model "/train/log.jsonl"

static void several_processes_share_every_batch(void **state)
{
    (void)state;
    const char *options = "--cutmix 1 --rotate 10 --steps 3 --threads 1 --report-every 1 ";
    char command[1200];
    if (!processes_prepare()) leave_out("several processes");
    snprintf(command, sizeof command,
             TRAIN_OPTIONS FOLDER "%s--out alone && timeout 100 mpirun -n 3 " TRAIN_OPTIONS FOLDER
                                  "%s--out shared && " LOSSES("alone") " > a && " LOSSES(
                                      "shared") " > b && "
                                                "test $(wc -l < a) = 3 && cmp a b",
             options, options);
    must_run(command);
}

static void memory_for_pictures_changes_no_bit(void **state)
{
    (void)state;
    must_run(TRAIN_OPTIONS FOLDER "--crop 0.5 --steps 12 --out kept && " TRAIN_OPTIONS FOLDER
                                  "--crop 0.5 --steps 12 --picture-memory 0 --out again && "
                                  "cmp kept/model.safetensors again/model.safetensors");
    must_run("$HEED train --task classify --device cpu " FOLDER
             "--dry-run > plan && ! grep -q '^decoded again' plan");
    must_run("$HEED train --task classify --device cpu " FOLDER "--picture-memory 0 --dry-run > plan && "
             "grep -q '^decoded again  *[0-9]* of [0-9]* pictures, in every epoch' plan");
}

/* --augment auto, in what a run plans. */
static void photographs_that_are_seen_often_change_more(void **state)
{
    (void)state;
    static const char *const strong[] = {"--channels 3 --epochs 50",
                                         "--channels 1 --augment strong --epochs 2"},
                             *const plain[] = {"--channels 3 --epochs 49", "--channels 1 --epochs 300",
                                               "--channels 3 --epochs 300 --steps 20",
                                               "--channels 3 --epochs 300 --augment plain"};
    char command[900];
    const char *plan = "$HEED train --task classify --device cpu --preset vit-lite " FOLDER
                       "%s --dry-run > plan && %s grep -q '^augmentation  *strong$' plan";
    for (size_t i = 0; i < COUNT_OF(strong); i++) {
        snprintf(command, sizeof command, plan, strong[i], "");
        must_run(command);
    }
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        snprintf(command, sizeof command, plan, plain[i], "!");
        must_run(command);
    }
}

static void every_option_has_an_effect(void **state)
{
    (void)state;
    static const char *const all[] = {"--flip horizontal",  "--flip vertical",
                                      "--flip both",        "--flip turns",
                                      "--crop 0.5",         "--shift 1",
                                      "--rotate 20",        "--color 0.4",
                                      "--scale-jitter 0.5", "--random-augment 2",
                                      "--erase 1",          "--mixup 1",
                                      "--cutmix 1",         "--drop-path 0.5",
                                      "--channels 3",       "--image-size 16",
                                      "--conv-stem 1",      "--patch-size 4",
                                      "--pool max",         "--pool mean",
                                      "--dropout 0.3",      "--label-smoothing 0.4",
                                      "--width 24",         "--random-augment 2 --augment-strength 1",
                                      "--seed 2",           "--freeze 'vit.encoder.*'",
                                      "--augment strong"};
    must_run(TRAIN_OPTIONS FOLDER "--steps 3 --out same");
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char command[900];
        snprintf(command, sizeof command,
                 TRAIN_OPTIONS FOLDER
                 "--steps 3 %s --overwrite --out other && ! cmp -s same/model.safetensors "
                 "other/model.safetensors",
                 all[i]);
        must_run(command);
    }
    must_run("$HEED train -q --task classify --device cpu " FOLDER
             "--steps 3 --model resnet --resnet 8x1,16x1 --resnet-norm group --out residual && $HEED info "
             "residual | "
             "grep -q '^encoder  *resnet:2$'");
    assert_fails(TRAIN_OPTIONS FOLDER "--resnet 8x1 --out x", 2,
                 "--resnet needs a resnet that reads pictures");
    assert_fails(TRAIN_OPTIONS FOLDER "--unit char --out x", 2, "--unit needs texts to learn from");
    assert_fails(TRAIN_OPTIONS FOLDER "--max-length 3 --out x", 2, "--max-length needs texts");
}

static void another_model_is_fine_tuned(void **state)
{
    (void)state;
    /* other labels, another size: the body learns on */
    must_run("$HEED train -q --task classify --device cpu " FOLDER
             "--from model --flip none --steps 30 --lr 0.003 --valid test --out tuned");
    assert_true(accuracy("tuned --confusion test") > 90);
    must_run("$HEED train -q --task classify --device cpu " FOLDER
             "--from model --image-size 16 --flip none --steps 1 --lr 0 --valid test --out larger");
    must_run("$HEED info larger | grep -q '^image_size  *16 x 16$'");
    must_run("$HEED train -q --task classify --device cpu " FOLDER
             "--from model --image-size 16 --flip none --steps 60 --lr 0.003 --valid test --overwrite --out "
             "larger");
    assert_true(accuracy("larger --confusion test") > 90);
    assert_fails("$HEED train -q --task classify --device cpu " FOLDER "--from model --width 32 --out x", 2,
                 "--width is 32, but in the model of --from model it is 16");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int status;
        const char *parts;
    } cases[] = {
        {TRAIN_OPTIONS "--train train.idx3 --out x", 1,
         "train.idx3 has no labels: give the IDX file of labels"},
        {TRAIN_OPTIONS "--train train.idx3 test.idx1 --out x", 1, "test.idx1|40|160"},
        {TRAIN_OPTIONS "--train list.tsv list.tsv --out x", 1, "pictures with labels are a folder"},
        {TRAIN_OPTIONS "--train-dir nowhere --out x", 1, "nowhere"},
        {TRAIN_OPTIONS FOLDER "--channels 2 --out x", 2, "--channels 2: pictures have 1 (gray) or 3 (color)"},
        {TRAIN_OPTIONS FOLDER "--norm post --out x", 2, "--norm post"},
        {TRAIN_OPTIONS FOLDER "--pool last --out x", 2, "--pool last is for texts"},
        {TRAIN_OPTIONS FOLDER "--image-size 7 --out x", 1, "7 x 7"},
        {"$HEED train --task regress --model vit --train list.tsv --out x", 2, "--task classify"},
        {"$HEED train --task classify --train list.tsv --flip none --model gru --out x", 2,
         "--flip needs pictures to learn from"},
        {"$HEED classify model", 1, "the model reads pictures: give their files after MODEL"},
        {"$HEED classify model --confusion", 1, "give a folder with a subfolder a class"},
        {"$HEED classify model --confusion test", 1, "the label|a|is none of the 4"},
        {"$HEED rank model list.tsv", 1, "model reads pictures, not texts: `heed classify` answers them"},
        {"$HEED tag model list.tsv", 1, "this is a classifier, which `heed classify` reads"},
        {"$HEED embed model --nearest x", 1, "--nearest is for texts"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_fails(cases[i].command, cases[i].status, cases[i].parts);
}

static void pictures_that_cannot_be_read_are_said_or_skipped(void **state)
{
    (void)state;
    must_run(
        "cp -r train spoiled && head -c 60 train/a/000.png > spoiled/a/000.png && echo x > spoiled/b/x.png");
    assert_fails(TRAIN_OPTIONS "--train-dir spoiled --out x", 1, "spoiled/|.png");
    must_run(TRAIN_OPTIONS "--train-dir spoiled --on-invalid skip --steps 2 --out skipping");
    must_run("$HEED train --task classify --device cpu --train-dir spoiled --on-invalid skip --dry-run | "
             "grep -q '^left out  *[12] that cannot be read$'");
    assert_prints("$HEED classify model spoiled/b/x.png test/a/000.png 2> said | cut -f1,2; wc -l < said", 0,
                  "spoiled/b/x.png\t\ntest/a/000.png\t0\n2\n");
    char out[SHELL_ROOM];
    assert_int_equal(shell(out, "$HEED classify model spoiled/b/x.png -q"), 1);
    assert_int_equal(shell(out, "$HEED classify model spoiled/b/x.png -q --on-invalid skip"), 0);
    assert_int_equal(shell(out, "$HEED classify model spoiled/b/x.png --json -q"), 1);
    assert_non_null(strstr(out, "{\"file\": \"spoiled/b/x.png\", \"error\": \""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_get_labels),
        cmocka_unit_test(data_come_in_three_forms),
        cmocka_unit_test(a_run_that_is_resumed_makes_the_same_bytes),
        cmocka_unit_test(several_processes_share_every_batch),
        cmocka_unit_test(memory_for_pictures_changes_no_bit),
        cmocka_unit_test(photographs_that_are_seen_often_change_more),
        cmocka_unit_test(every_option_has_an_effect),
        cmocka_unit_test(another_model_is_fine_tuned),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(pictures_that_cannot_be_read_are_said_or_skipped),
    };
    hd_text probe = {0};
    uint8_t pixel = 0;
    if (hd_image_encode_png(&probe, &(hd_image){1, 1, 1, &pixel}, NULL)) {
        print_message("skipped: no libpng\n");
        return 77;
    }
    hd_text_release(&probe);
    return outcome(cmocka_run_group_tests(tests, make_pictures, scratch_remove));
}
