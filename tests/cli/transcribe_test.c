/* heed train --task transcribe and heed transcribe as a user meets them: from sounds made here, of which
   every tone is a letter, to a model that writes down others, by a recurrent decoder and by a Transformer;
   bad files and options are refused. */
#include "check.h"
#include "cli/shell.h"
#include "flac.h"
#include "outcome.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --device cpu --task transcribe --train list.tsv "
#define SMALL                                                                                         \
    "--mels 16 --max-frames 100 --batch-frames 400 --max-length 20 --max-positions 24 --bin-masks 0 " \
    "--frame-masks 0 --dropout 0 --label-smoothing 0 --lr 0.01 --warmup 20 "
#define CELLS SMALL "--encoder bi-lstm:1+pyramid:1 --width 24 --ctc-weight 0 "

enum { RATE = 8000, SOUNDS = 96, HELD = 16, TONE = 480, PAUSE = 240 };

static void put(FILE *f, uint32_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) fputc((int)(x >> 8 * i & 255), f);
}

/* Letters a to d are tones of 300 to 2,400 Hz, with pauses before, between and behind them. */
static void make_sound(const char *path, const char *text)
{
    size_t letters = strlen(text), samples = letters * TONE + (letters + 1) * PAUSE;
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("RIFF", f), put(f, (uint32_t)(36 + 2 * samples), 4), fputs("WAVEfmt ", f), put(f, 16, 4);
    put(f, 1, 2), put(f, 1, 2), put(f, RATE, 4), put(f, 2 * RATE, 4), put(f, 2, 2), put(f, 16, 2);
    fputs("data", f), put(f, (uint32_t)(2 * samples), 4);
    for (size_t i = 0; i < samples; i++) {
        size_t at = i % (TONE + PAUSE), letter = i / (TONE + PAUSE);
        double hz = letter < letters ? 300 * (double)(1 << (text[letter] - 'a')) : 0;
        double x =
            at < PAUSE ? 0.002 * (double)(i * 37 % 11) : 0.4 * sin(6.283185307 * hz * (double)at / RATE);
        put(f, (uint32_t)(int32_t)(x * 32767), 2);
    }
    fclose(f);
}

static int make_data(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    if (shell(out, "mkdir sounds")) return -1;
    FILE *all = fopen(at("list.tsv"), "w"), *held = fopen(at("held.tsv"), "w");
    hd_rng rng = hd_rng_make(5, 5);
    for (int i = 0; i < SOUNDS; i++) {
        char text[8] = {0}, name[64];
        int letters = 1 + (int)hd_rng_below(&rng, 4);
        for (int k = 0; k < letters; k++) text[k] = (char)('a' + hd_rng_below(&rng, 4));
        snprintf(name, sizeof name, "sounds/%02d.wav", i);
        make_sound(at("%s", name), text);
        fprintf(i < SOUNDS - HELD ? all : held, "%s\t%s\n", name, text);
    }
    fclose(all), fclose(held);
    return shell(out, TRAIN CELLS "--valid held.tsv --epochs 40 --out model");
}

#define RIGHT(model)                                                                                       \
    "$HEED transcribe " model " $(cut -f1 held.tsv) > out.tsv; paste out.tsv held.tsv | awk -F'\\t' '{ n " \
    "+= $2 == $4 } END { print (n >= 15) }'"

/* Nearly all sounds that it did not learn from, and it says so itself. */
static void a_listener_learns_to_spell(void **state)
{
    (void)state;
    assert_prints(RIGHT("model"), 0, "1\n");
    must_run("grep '\"wer\":' model/train/log.jsonl");
    const char *out = must_run("$HEED info model --json");
    static const char *const said[] = {"\"task\": \"transcribe\"",
                                       "\"model\": \"transcriber\"",
                                       "\"encoder\": \"bi-lstm:1+pyramid:1\"",
                                       "\"mels\": 16",
                                       "\"sample_rate\": 8000",
                                       "\"best_wer\": "};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
}

static void a_transformer_learns_it_too(void **state)
{
    (void)state;
    must_run(TRAIN SMALL
             "--preset speech-tiny --lr 0.004 --encoder-layers 2 --decoder-layers 1 --width 32 "
             "--ffn-size 64 --heads 2 --frame-stack 2 --valid held.tsv --epochs 150 --out blocks");
    assert_prints(RIGHT("blocks"), 0, "1\n");
}

/* CTC alone, and beside a decoder, whose scores it then changes. */
static void labels_of_unknown_timing_are_learned(void **state)
{
    (void)state;
    must_run(TRAIN SMALL "--preset speech-ctc --encoder bi-lstm:1+pyramid:1 --width 24 --valid held.tsv "
                         "--epochs 30 --out ctc");
    assert_prints(RIGHT("ctc"), 0, "1\n");
    assert_prints(RIGHT("ctc --beam 1"), 0, "1\n");
    must_run(TRAIN CELLS "--ctc-weight 0.3 --valid held.tsv --epochs 30 --out joint");
    assert_prints(RIGHT("joint"), 0, "1\n");
    assert_prints("$HEED transcribe joint sounds/90.wav --scores > a; $HEED transcribe joint sounds/90.wav "
                  "--scores --ctc-weight 0.3 | cmp - a; $HEED transcribe joint sounds/90.wav --scores "
                  "--ctc-weight 0 | cmp -s - a; echo $?",
                  0, "1\n");
    assert_fails("$HEED transcribe model sounds/90.wav --ctc-weight 0.5", 1, "without CTC");
    const char *out = must_run("$HEED info ctc --json");
    assert_non_null(strstr(out, "\"decoder\": \"none\""));
}

static void a_language_model_has_a_say(void **state)
{
    (void)state;
    must_run(
        "cut -f2 list.tsv > said.txt; $HEED train -q --device cpu --task lm --model gru --width 16 --train "
        "said.txt --steps 30 --out lm");
    assert_prints("$HEED transcribe model sounds/90.wav --scores > a; $HEED transcribe model sounds/90.wav "
                  "--scores --lm lm > b; cmp -s a b; echo $?; cut -f2 a | cmp -s - /dev/null; "
                  "$HEED transcribe model sounds/90.wav --scores --lm lm --lm-weight 0 | cmp - a",
                  0, "1\n");
    assert_fails("$HEED transcribe model sounds/90.wav --lm-weight 0.5", 2, "give --lm");
}

static void searches_are_those_of_texts(void **state)
{
    (void)state;
    must_run("$HEED transcribe model sounds/9*.wav > a; $HEED transcribe model sounds/9*.wav --threads 1 "
             "--batch 7 > b; cmp a b");
    assert_prints("$HEED transcribe model sounds/90.wav sounds/91.wav --n-best 3 | wc -l", 0, "6\n");
    const char *out = must_run("$HEED transcribe model sounds/90.wav --json");
    static const char *const said[] = {"{\"file\": \"sounds/90.wav\", \"transcripts\": [{\"text\": \"",
                                       "\"tokens\": [\"", "\"logprob\": -", "\"finished\": true"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
}

/* It knows no times: a sound is one subtitle. */
static void subtitles_span_the_sound(void **state)
{
    (void)state;
    must_run("$HEED transcribe model sounds/90.wav | cut -f2 > text; $HEED transcribe model sounds/90.wav "
             "--srt > srt; sed -n "
             "3p srt | cmp - text && sed -n 2p srt | grep -q '^00:00:00,000 --> 00:00:00,[0-9]*$'");
    must_run("$HEED transcribe model sounds/90.wav --vtt | head -1 | grep -qx WEBVTT");
    must_run(
        "mkdir titles; $HEED transcribe model sounds/90.wav sounds/91.wav --srt --out titles 2> log; cmp "
        "titles/90.srt srt && test -s titles/91.srt");
    assert_fails("$HEED transcribe model sounds/90.wav sounds/90.wav --srt", 2,
                 "would both be written to 90.srt");
    assert_fails("$HEED transcribe model sounds/90.wav --srt --n-best 2", 2, "--n-best");
    assert_fails("$HEED transcribe model sounds/90.wav --timestamps", 2,
                 "--timestamps is an option of Whisper");
}

static void files_of_other_formats_give_the_same(void **state)
{
    (void)state;
    if (!put_flac(at("b.flac"), at("sounds/91.wav"))) leave_out("libsndfile is not here");
    must_run(
        "$HEED transcribe model sounds/90.wav sounds/91.wav --scores | cut -f2- > a; $HEED transcribe model "
        "sounds/90.wav b.flac --scores | cut -f2- | cmp - a");
}

static void letters_listen_to_times(void **state)
{
    (void)state;
    must_run(
        "$HEED transcribe model sounds/90.wav --attention a.json && $HEED transcribe model sounds/90.wav "
        "--attention a.html && $HEED transcribe model sounds/90.wav sounds/91.wav --attention a.svg");
    must_run("grep -q '\"sound\":{\"file\":\"sounds/90.wav\",\"seconds\":0\\.[0-9]*,\"times\":[0-9]*,"
             "\"in_order\":' a.json && grep -q 'class=\"sentence\".*\"png\":\"data:image/png' a.html && test "
             "-s a-2.svg");
    assert_prints("$HEED transcribe model sounds/9*.wav --monotone 2>&1 >/dev/null | sed 's/[0-9.]\\+/N/g'",
                  0, "heed: attention in order: N % of N tokens, over N % of the time\n");
    const char *out = must_run("$HEED transcribe model sounds/90.wav --view");
    assert_non_null(strstr(out, "Cross-attention, layer 1 of 1"));
    assert_prints("$HEED transcribe model sounds/90.wav --kind encoder --view 2>&1 >/dev/null | wc -l", 0,
                  "1\n");
}

/* Also of sounds that are masked and words that are drawn at random. */
static void a_resumed_run_equals_a_whole_one(void **state)
{
    (void)state;
#define RUN                                                                                               \
    TRAIN CELLS "--valid held.tsv --steps 12 --valid-every 4 --save-every 3 --dropout 0.2 --bin-masks 1 " \
                "--bin-mask-size 4 --frame-masks 1 --decoder-input scheduled --sampling-rate 0.5 "
    must_run(RUN "--out whole && " RUN "--minutes 1e-9 --out parts");
    must_run("for n in 3 7 8; do $HEED train -q --resume --steps $n --threads 1 --out parts; done; "
             "$HEED train -q --resume --steps 12 --threads 3 --out parts");
    assert_prints(SAME "same whole parts", 0, "");
    static const char *const others[] = {
        RUN "--frame-masks 0 --out masks", RUN "--attention-order 0 --out order",
        RUN "--normalize bins --out bins", RUN "--normalize none --out none"};
    for (size_t i = 0; i < COUNT_OF(others); i++) must_run(others[i]);
    assert_prints(
        "for i in masks order bins none; do cmp -s whole/model.safetensors $i/model.safetensors; echo $?; "
        "done",
        0, "1\n1\n1\n1\n");
}

static void what_goes_on_begins_with_what_was_learned(void **state)
{
    (void)state;
    must_run(TRAIN "--from model --epochs 1 --max-length 20 --out more");
    assert_prints(RIGHT("more"), 0, "1\n");
    assert_fails(TRAIN "--from model --width 64 --epochs 1 --out wide", 2, "--width|24");
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_fails("$HEED transcribe model", 2, "SOUND");
    assert_fails("$HEED transcribe model sounds/00.wav --n-best 9", 2, "--n-best 9|--beam 5");
    assert_fails("$HEED caption model a.png", 1,
                 "this is a speech recognizer, which `heed transcribe` reads");
    assert_fails("echo a | $HEED embed model", 1, "reads sounds, not texts");
    assert_prints("echo text > no.wav; $HEED transcribe model no.wav sounds/90.wav 2> said | cut -f1; "
                  "grep -c no.wav said",
                  0, "no.wav\nsounds/90.wav\n1\n");
    make_sound(at("long.wav"), "abcdabcdabcdabcd");
    assert_prints(
        "$HEED transcribe model long.wav none.wav 2>&1 | grep -c 'long, the model reads at most 1.0 "
        "s\\|none.wav: cannot open'",
        0, "2\n");
    assert_fails(TRAIN CELLS "--epochs 1 --select-by bleu --out bad", 2, "use wer or loss");
    assert_fails(TRAIN CELLS "--epochs 1 --max-length 24 --out bad", 2, "--max-positions 24");
    assert_fails(TRAIN CELLS "--epochs 1 --batch-frames 99 --out bad", 2, "--batch-frames 99");
    assert_fails(TRAIN CELLS "--epochs 1 --sample-rate 999 --out bad", 2, "--sample-rate 999|at least 1000");
    assert_fails(TRAIN CELLS "--epochs 1 --sample-rate 200000 --out bad", 2, "--sample-rate 200000|4096");
    assert_fails(TRAIN CELLS "--epochs 1 --max-frames 9 --out bad", 1, "sounds/|--max-frames 9");
    assert_fails(TRAIN CELLS "--epochs 1 --max-length 1 --out bad", 1, "sounds/|--max-length 1");
    assert_fails(TRAIN CELLS "--epochs 1 --ctc-weight 1 --out bad", 2, "--decoder none");
    assert_fails("echo 'gone.wav\ta' > bad.tsv; $HEED train -q --task transcribe --train bad.tsv --epochs 1 "
                 "--out bad",
                 1, "bad.tsv:1|gone.wav");
    must_run("cat list.tsv bad.tsv > mixed.tsv; $HEED train -q --device cpu --task transcribe --train "
             "mixed.tsv " CELLS "--epochs 1 --on-invalid skip --out skipped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_listener_learns_to_spell),
                                       cmocka_unit_test(a_transformer_learns_it_too),
                                       cmocka_unit_test(labels_of_unknown_timing_are_learned),
                                       cmocka_unit_test(a_language_model_has_a_say),
                                       cmocka_unit_test(searches_are_those_of_texts),
                                       cmocka_unit_test(subtitles_span_the_sound),
                                       cmocka_unit_test(files_of_other_formats_give_the_same),
                                       cmocka_unit_test(letters_listen_to_times),
                                       cmocka_unit_test(a_resumed_run_equals_a_whole_one),
                                       cmocka_unit_test(what_goes_on_begins_with_what_was_learned),
                                       cmocka_unit_test(what_is_wrong_is_said)};
    return outcome(cmocka_run_group_tests(tests, make_data, scratch_remove));
}
