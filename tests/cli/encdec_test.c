/* Encoder-decoders of all kinds as a user meets them: trained by a preset or by their parts, resumed,
   described, asked for translations and for what they looked at, and refused where their parts do not go
   together. */
#include "check.h"
#include "cli/shell.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define DATA "--train c/train.en c/train.de --valid c/valid.en c/valid.de "
#define SMALL                                                                                               \
    "--device cpu --width 16 --tokenizer words --batch-tokens 200 --max-length 40 --max-positions 64 --lr " \
    "0.01 --dropout 0.2 --attention-dropout 0.1 --ema 0.9 --micro-batches 2 --valid-every 4 "               \
    "--bleu-sentences 10 --save-every 3 "
#define TRAIN "$HEED train -q --task translate " SMALL DATA

static int make_corpus(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    return shell(out, "$HEED corpus -q --pairs 200 --valid 20 --test 3 --out c");
}

static const char *said(const char *format, ...)
{
    static char command[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return command;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
}

static void the_models_of_the_papers(void **state)
{
    (void)state;
    static const struct {
        const char *name, *full, *info[8];
    } cases[] = {
        {"sutskever",
         "encoder lstm:4, decoder lstm:4, context fixed, width 512",
         {"encoder               lstm:4\n", "context               fixed\n", "read                  state\n",
          "reverse_source        yes\n"}},
        {"rnnsearch",
         "encoder bi-gru:1, decoder gru:1, context attention by score additive, width 512",
         {"encoder               bi-gru:1\n", "score                 additive\n",
          "query                 previous\n", "begin                 map\n", "read                  deep\n"}},
        {"luong",
         "encoder lstm:2, decoder lstm:2, context attention by score bilinear, width 512",
         {"decoder               lstm:2\n", "score                 bilinear\n",
          "query                 current\n", "feed_context          yes\n", "read                  tanh\n"}},
        {"tutorial",
         "encoder gru:1, decoder gru:1, context attention by score additive, width 128",
         {"decoder               gru:1\n", "begin                 final\n", "read                  state\n",
          "tied                  no\n"}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *name = cases[i].name;
        must_run(said(TRAIN "--preset %s --steps 2 --out %s", name, name));
        const char *info = must_run(said("$HEED info %s", name));
        for (int k = 0; cases[i].info[k]; k++) assert_has(info, cases[i].info[k]);
        assert_has(info, "model                 encoder-decoder\n");
        static const char *const of_blocks[] = {"\nheads ",      "\ninner ", "\nnorm ",
                                                "\nactivation ", "layers ",  "\nposition_kind "};
        for (size_t k = 0; k < COUNT_OF(of_blocks); k++) assert_null(strstr(info, of_blocks[k]));
        assert_prints(said("$HEED translate %s --beam 2 <c/test.en | wc -l", name), 0, "3\n");
        /* in the size of the preset */
        assert_has(must_run(said("$HEED train --task translate --preset %s " DATA "--dry-run", name)),
                   " GFLOP an update, ");
        assert_has(must_run(said("$HEED train --task translate --preset %s --tokenizer words --device cpu "
                                 "--batch-tokens 201 --bleu-sentences 1 --steps 1 " DATA "--out full",
                                 name)),
                   cases[i].full);
        must_run("rm -rf full");
    }
}

/* Parts of all kinds; each model is trained, opened and searched, and shows what it looked at. */
static void parts_go_together(void **state)
{
    (void)state;
    static const struct {
        const char *options;
        bool looks;
    } cases[] = {
        {"--encoder bi-gru --decoder gru --decoder-context attention --attention-score additive", true},
        {"--encoder gru --decoder gru --attention-score dot", true},
        {"--encoder gru --decoder rnn --attention-score scaled --decoder-init zeros", true},
        {"--encoder bi-gru --decoder gru --attention-score dot --attention-projections", true},
        {"--encoder gru --decoder gru --attention-score mlp", true},
        {"--encoder rnn --decoder rnn:2 --activation sigmoid --decoder-init ones", true},
        {"--encoder bi-gru --decoder gru --decoder-init linear", true},
        {"--encoder rnn+transformer:1 --decoder rnn --activation sigmoid --decoder-init linear --heads 2",
         true},
        {"--encoder lstm --decoder lstm:2 --attention-span local-m --attention-window 2", true},
        {"--encoder rnn --decoder gru --attention-span local-p --attention-window 2 --decoder-init learned",
         true},
        {"--encoder bi-lstm --decoder lstm --attention-heads 2 --attention-query current --readout sum",
         true},
        {"--encoder gru:2 --decoder gru:2 --attention-query current --readout tanh --input-feeding "
         "--input-skips",
         true},
        {"--encoder gru --decoder gru --readout deep --decoder-init mean --embedding-relu", true},
        {"--encoder gru --decoder gru --decoder-context everywhere --no-feedback", false},
        {"--encoder bi-gru --decoder gru:2 --decoder-context mean --readout sum", false},
        {"--encoder lstm --decoder lstm --decoder-context fixed --reverse-source --untied", false},
        {"--encoder none --decoder gru", true},
        {"--encoder transformer:1 --decoder gru --heads 2 --ffn-size 32", true},
        {"--encoder bi-gru --decoder transformer:1 --heads 2 --ffn-size 32 --recompute", true},
        {"--encoder bi-gru+transformer:1 --decoder gru+transformer:1 --heads 4 --attention-heads 2", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        must_run(said(TRAIN "%s --steps 2 --overwrite --out parts", cases[i].options));
        assert_prints("$HEED translate parts --beam 3 <c/test.en | wc -l; $HEED translate parts --sample "
                      "--seed 3 <c/test.en | wc -l; $HEED info parts >/dev/null",
                      0, "3\n3\n");
        if (cases[i].looks)
            must_run("$HEED translate parts --attention a.json <c/test.en >/dev/null && "
                     "grep -q '\"cross\":' a.json");
        else
            assert_fails("$HEED translate parts --attention a.json <c/test.en", 1,
                         "the model has no cross-attention");
    }
}

static void sittings_leave_no_trace(void **state)
{
    (void)state;
    static const char *const models[] = {"--preset rnnsearch", "--preset luong", "--preset sutskever",
                                         "--encoder gru+transformer:1 --decoder gru+transformer:1 --heads 2"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        must_run(said(TRAIN "%s --steps 8 --threads 1 --overwrite --out whole", models[i]));
        must_run(said(TRAIN "%s --steps 8 --minutes 1e-9 --threads 2 --overwrite --out cut", models[i]));
        must_run("$HEED train -q --resume --steps 5 --out cut");
        must_run("$HEED train -q --resume --threads 1 --out cut");
        assert_prints(SAME "same whole cut", 0, "");
        must_run("$HEED train -q --config whole/training.yml --overwrite --out again");
        assert_prints(SAME "same whole again; diff whole/training.yml again/training.yml", 0, "");
    }
}

static void options_that_say_nothing_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--attention-score dot",
         "--attention-score needs a recurrent --decoder with --decoder-context attention"},
        {"--decoder-context fixed",
         "--decoder-context needs a recurrent --decoder: here --encoder is transformer"},
        {"--encoder gru --decoder gru --decoder-context fixed --attention-score dot",
         "--decoder gru, --decoder-context fixed"},
        {"--encoder gru --decoder gru --heads 2", "--heads needs transformer layers"},
        {"--encoder gru --decoder gru+transformer --position-kind learned", "begins with transformer"},
        {"--encoder gru --decoder rnn --activation gelu", "--activation needs layers that have it"},
        {"--encoder gru --decoder gru --activation sigmoid", "transformer (relu, gelu, gelu_tanh, silu) or "},
        {"--activation sigmoid", "or rnn (tanh, sigmoid): here --encoder is transformer"},
        {"--encoder gru --decoder gru --decoder-context fixed --decoder-init ones", "never sees the source"},
        {"--encoder gru --decoder gru --attention-window 3",
         "--attention-window needs a recurrent --decoder with local"},
        {"--encoder bi-gru --decoder gru --reverse-source", "recurrent layer of one direction"},
        {"--encoder foo", "--encoder: \"foo\" is not a stage"},
        {"--encoder gru --decoder gru+", "--decoder: \"\" is not a stage"},
        {"--encoder gru --decoder bi-gru", "a decoder cannot be bidirectional"},
        {"--encoder gru --decoder transformer+gru", "a decoder is rnn, gru, lstm or transformer"},
        {"--encoder gru --decoder gru --context 64", "--context is an option of --task lm, not of translate"},
        {"--encoder bi-gru --decoder gru --attention-score dot", "add --attention-projections"},
        {"--encoder transformer --decoder gru --decoder-init final", "use --decoder-init map"},
        {"--encoder gru --decoder gru --decoder-context fixed --decoder-init zeros", "never sees the source"},
        {"--encoder gru --decoder gru --input-feeding", "--input-feeding feeds back"},
        {"--encoder gru:17 --decoder gru", "1 to 16"},
        {"--preset rnnsearch --attention-heads 3", "the heads do not divide"},
        {"--preset rnnsearch --attention-score cosine",
         "--attention-score: 'cosine' is not one of additive, dot, "},
    };
    must_run("printf '\\377\\n' >bad.en; cp bad.en bad.de"); /* what would be said if it was read */
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_fails(
            said("$HEED train --train bad.en bad.de --width 16 %s --out no; r=$?; test ! -e no && exit $r",
                 cases[i][0]),
            2, cases[i][1]);
    assert_fails("$HEED train --train bad.en bad.de --preset rnnsearch --out no", 1, "bad.en:1: ");
    assert_fails("$HEED train --task lm --train c/train.en --encoder gru --out no", 2,
                 "--encoder is an option of --task translate, not of lm");
    assert_fails("$HEED train --task lm --train c/train.en --context fixed --out no", 2,
                 "--context fixed is now called --decoder-context fixed");
    assert_fails("$HEED train --task lm --train c/train.en --context 0 --out no", 2,
                 "--context: 0 is not between 1 and 1000000");
}

/* Saved, resumed, decoded, explained; no published model has them. */
static void positions_and_scale_can_be_left_out(void **state)
{
    (void)state;
#define WITHOUT "$HEED train -q $TINY --norm post " DATA "--position-kind none --unscaled-attention "
    must_run(WITHOUT "--steps 6 --out bare && " WITHOUT
                     "--steps 3 --out bare-2 && $HEED train -q --resume --steps 6 "
                     "--out bare-2 && cmp bare/model.safetensors bare-2/model.safetensors && "
                     "$HEED train -q --config bare/training.yml --out bare-3 && cmp bare/model.safetensors "
                     "bare-3/model.safetensors");
    assert_prints("grep -oE '\"(no_positions|unscaled_scores)\": true' bare/config.json", 0,
                  "\"no_positions\": true\n\"unscaled_scores\": true\n");
    const char *out = must_run("$HEED info bare");
    assert_has(out, "position_kind         none\n");
    assert_has(out, "unscaled_scores       yes\n");
    /* whatever the order, a bag of words has the same translation */
    must_run(
        "head -1 c/train.en | awk '{ print; for (i = NF; i; i--) printf \"%s \", $i; print \"\" }' >orders; "
        "$HEED translate bare --device cpu <orders | uniq | wc -l | grep -x 1");
    out = must_run("$HEED explain bare \"$(head -1 c/train.en)\"");
    assert_has(out, "enc.0.self.scores"); /* which the softmax takes as they are */
    assert_null(strstr(out, "enc.0.self.scaled"));
    assert_fails("$HEED export bare published", 1, "it has no positions");
    must_run("$HEED train -q $TINY --norm post " DATA "--unscaled-attention --steps 1 --out unscaled");
    assert_fails("$HEED export unscaled published", 1, "its attention scores are not scaled");
    must_run("$HEED train -q --device cpu --from bare " DATA "--steps 1 --out further && grep -q "
             "'\"no_positions\": true' further/config.json");
    assert_fails("$HEED train -q --from bare --position-kind learned " DATA "--steps 1 --out no", 2,
                 "--position-kind is learned, but|it is none");
    assert_fails("$HEED train --encoder gru --decoder gru --unscaled-attention " DATA "--out no", 2,
                 "--unscaled-attention needs transformer layers");
}

/* A preset's part gives way to an option that takes what it is for. */
static void options_change_parts_of_a_preset(void **state)
{
    (void)state;
    must_run(TRAIN "--preset luong --decoder-context fixed --steps 1 --overwrite --out other");
    assert_null(strstr(must_run("$HEED info other"), "feed_context"));
    must_run(TRAIN "--preset sutskever --encoder bi-lstm --steps 1 --overwrite --out other");
    assert_null(strstr(must_run("$HEED info other"), "reverse_source"));
    must_run(TRAIN "--preset rnnsearch --encoder transformer:1 --heads 2 --steps 1 --overwrite --out other");
    assert_has(must_run("$HEED info other"), "heads                 2\n");
    /* a Transformer's options are those it had */
    must_run("$HEED train -q $TINY " DATA "--steps 1 --overwrite --out other");
    assert_prints(
        "grep -cE '^(decoder-context|attention-score|decoder-init|readout|attention-window|reverse-source)' "
        "other/training.yml",
        1, "0\n");
    assert_prints("head -n 5 other/config.json", 0,
                  "{\"format\": 1,\n \"task\": \"translate\",\n \"model\": \"transformer\",\n "
                  "\"encoder_layers\": 1,\n \"decoder_layers\": 1,\n");
}

/* The cell is the model's: saved, shown, taken over by --from, and no part of the model beside it. */
static void cells_of_sigmoid_are_kept(void **state)
{
    (void)state;
    for (int sigmoid = 0; sigmoid < 2; sigmoid++)
        must_run(said(TRAIN "--encoder rnn --decoder rnn %s --steps 3 --overwrite --out %s",
                      sigmoid ? "--activation sigmoid" : "", sigmoid ? "s" : "t"));
    assert_has(must_run("$HEED info s"), "cell                  sigmoid\n");
    assert_null(strstr(must_run("$HEED info t"), "\ncell "));
    assert_prints("grep -h '\"cell\"' s/config.json t/config.json; cmp -s s/model.safetensors "
                  "t/model.safetensors; echo $?",
                  0, " \"cell\": \"sigmoid\",\n1\n");
    must_run("$HEED train -q " DATA
             "--from s --steps 1 --device cpu --max-length 40 --batch-tokens 200 --overwrite "
             "--out more");
    assert_has(must_run("$HEED info more"), "cell                  sigmoid\n");
    /* with other cells the same weights say other things */
    must_run("cp -r s u; sed -i 's/^ \"crc32c.*/ \"edited\": true}/' s/config.json u/config.json; "
             "sed -i '/\"cell\"/d' u/config.json");
    assert_prints(
        "paste c/test.en c/test.de >pairs; for m in s u; do $HEED rank $m <pairs >$m.txt || exit 3; done; "
        "cmp -s s.txt u.txt; echo $?",
        0, "1\n");
    assert_fails("sed -i 's/\"cell\": \"sigmoid\"/\"cell\": \"relu\"/' s/config.json; $HEED info s", 1,
                 "there is no cell \"relu\"");
}

static void what_was_looked_at_is_shown(void **state)
{
    (void)state;
    must_run(TRAIN "--preset rnnsearch --steps 2 --overwrite --out look");
    assert_has(must_run("head -n 1 c/test.en | $HEED translate look --view"),
               "Cross-attention, layer 1 of 1, head 1 of 1");
    must_run("for e in html svg json; do $HEED translate look --attention look.$e <c/test.en >/dev/null || "
             "exit 1; "
             "done; test -s look.html && test -s look-2.svg");
    assert_prints("grep -c '\"encoder\":\\|\"decoder\":' look.json", 1, "0\n");
    assert_fails("$HEED translate look --view --kind encoder <c/test.en", 1,
                 "the model has no encoder self-attention: its encoder is bi-gru:1");
    assert_fails("$HEED translate look --view --layer 2 <c/test.en", 1,
                 "there is no layer 2 in cross-attention");
    must_run(TRAIN "--preset sutskever --steps 1 --overwrite --out look");
    assert_fails("$HEED translate look --view <c/test.en", 1, "it was trained with --decoder-context fixed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_of_the_papers),
        cmocka_unit_test(parts_go_together),
        cmocka_unit_test(sittings_leave_no_trace),
        cmocka_unit_test(options_that_say_nothing_are_refused),
        cmocka_unit_test(positions_and_scale_can_be_left_out),
        cmocka_unit_test(options_change_parts_of_a_preset),
        cmocka_unit_test(cells_of_sigmoid_are_kept),
        cmocka_unit_test(what_was_looked_at_is_shown),
    };
    return cmocka_run_group_tests(tests, make_corpus, scratch_remove);
}
