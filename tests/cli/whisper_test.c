/* A Whisper as a user meets it: imported, transcribing, with subtitles and JSON; options that do not go
   together and files that are no sound are refused. The model is drawn, so what it writes says nothing. */
#include "check.h"
#include "cli/shell.h"
#include "flac.h"
#include "outcome.h"
#include "scratch.h"

#include "hub/imported_pictures.h"
#include "task/whisper_tokens.h"

enum { RATE = 16000 };

static void put_files(const char *folder)
{
    char line[LINE];
    line_to(at("%s/generation_config.json", folder), line);
    wt_put(folder, strstr(line, "\"is_multilingual\": true"));
}

static void put_number(FILE *f, uint32_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) fputc((int)(x >> 8 * i & 255), f);
}

/* tone: 0, or so many Hz. */
static void put_tone(const char *path, size_t samples, double tone)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("RIFF", f), put_number(f, (uint32_t)(36 + 2 * samples), 4), fputs("WAVEfmt ", f),
        put_number(f, 16, 4);
    put_number(f, 1, 2), put_number(f, 1, 2), put_number(f, RATE, 4), put_number(f, 2 * RATE, 4);
    put_number(f, 2, 2), put_number(f, 16, 2), fputs("data", f), put_number(f, (uint32_t)(2 * samples), 4);
    for (size_t i = 0; i < samples; i++)
        put_number(
            f,
            (uint32_t)(int32_t)(9000 * (tone > 0 ? sin(2 * M_PI * tone * (double)i / RATE)
                                                 : sin(0.1 * (double)i + 2e-6 * (double)(i * i % 99991)))),
            2);
    fclose(f);
}

static void put_sound(const char *path, size_t samples)
{
    put_tone(path, samples, 0);
}

static int make_models(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    put_beside = put_files;
    begin("whisper");
    put_kind("multi");
    skip_answers();
    put_kind("english");
    put_sound(at("a.wav"), RATE / 2);
    put_sound(at("long.wav"), 5 * RATE / 2);
    put_sound(at("one.wav"), 1);
    put_file(at("bad.wav"), "RIFF and no more");
    must_run("$HEED import multi m && $HEED import english e");
    return 0;
}

static void sounds_become_texts(void **state)
{
    (void)state;
    must_run("$HEED transcribe m a.wav long.wav one.wav --no-fallback > a; test $(wc -l < a) = 3");
    must_run("$HEED transcribe m a.wav long.wav one.wav --no-fallback --threads 1 > b; cmp a b");
    must_run("$HEED transcribe m long.wav > c; $HEED transcribe m long.wav --seed 1 > d; cmp c d");
    must_run("$HEED transcribe m long.wav a.wav --language German --translate --timestamps --no-fallback | "
             "grep -q "
             "'^long.wav\t\\[00:0'");
    must_run("$HEED transcribe e a.wav --prompt 'the the' --no-previous");
}

static void subtitles_are_written(void **state)
{
    (void)state;
    must_run("$HEED transcribe m long.wav --srt --no-fallback | head -2 | tail -1 | grep -q '^00:00:0.* --> "
             "00:00:0'");
    must_run("$HEED transcribe m long.wav --vtt --no-fallback | head -1 | grep -qx WEBVTT");
    must_run("mkdir out; $HEED transcribe m long.wav a.wav --srt --out out --no-fallback 2> log; grep -q "
             "long.srt log; "
             "test -s out/long.srt && test -e out/a.srt");
}

static void json_has_times_of_segments_and_words(void **state)
{
    (void)state;
    const char *out = must_run("$HEED transcribe m long.wav --json --no-fallback");
    static const char *const said[] = {"{\"file\": \"long.wav\", \"text\": \"",
                                       "\"language\": \"",
                                       "\"detected\": true",
                                       "\"seconds\": 2.5",
                                       "\"segments\": [{\"begin\": ",
                                       "\"words\": [{\"text\": ",
                                       "\"no_speech\": 0.",
                                       "\"compression\": ",
                                       "\"temperature\": 0}"};
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (!strstr(out, said[i])) fail_msg("'%s' does not say '%s'", out, said[i]);
}

/* In whatever number they are decoded side by side. */
static void sounds_beside_others_give_the_same(void **state)
{
    (void)state;
    must_run("for s in a long one a; do $HEED transcribe m $s.wav --json; done > alone");
    for (int batch = 1; batch <= 3; batch++) {
        char line[200];
        snprintf(
            line, sizeof line,
            "$HEED transcribe m a.wav long.wav one.wav a.wav --json --batch %d > beside; cmp alone beside",
            batch);
        must_run(line);
    }
    must_run("$HEED transcribe m a.wav bad.wav long.wav > some 2> log; test $? = 1; cut -f1 some > names; "
             "printf 'a.wav\nbad.wav\nlong.wav\n' | cmp - names");
}

static void files_of_other_formats_give_the_same(void **state)
{
    (void)state;
    if (!put_flac(at("b.flac"), at("long.wav"))) leave_out("libsndfile is not here");
    must_run("$HEED transcribe m a.wav long.wav | cut -f2 > wav; $HEED transcribe m a.wav b.flac | cut -f2 | "
             "cmp - "
             "wav");
    must_run(
        "$HEED transcribe m a.wav b.flac --srt --out out 2> log; test -e out/a.srt && test -s out/b.srt");
}

static void attention_is_shown(void **state)
{
    (void)state;
    must_run("$HEED transcribe m a.wav --no-fallback --attention a.svg; grep -q 'alignment heads' a.svg");
    must_run("$HEED transcribe m long.wav a.wav --no-fallback --attention w.svg; test -s w-1.svg && test -s "
             "w-2.svg && test -s w-3.svg; ! grep -q '>0.5 s<' w-3.svg; grep -q '>2 s<' w-3.svg");
    must_run(
        "$HEED transcribe m long.wav --no-fallback --attention w.html; grep -q '\"alignment_heads\":\\[' "
        "w.html");
    must_run(
        "$HEED transcribe m long.wav --no-fallback --attention w.json; grep -q '\"begin\":' w.json; ! grep "
        "-q '\"encoder\":' w.json");
    must_run(
        "$HEED transcribe m a.wav --no-fallback --kind encoder --layer 1 --head 2 --attention e.svg; grep -q "
        "'Encoder self-attention, layer 1 of [0-9], head 2 of 4' e.svg");
    must_run(
        "$HEED transcribe m a.wav --no-fallback --view --monotone > view 2> log; grep -q 'alignment heads' "
        "view; grep -q 'attention in order: ' log; head -1 view | grep -q '^a.wav'");
}

static const char *const words[] = {"Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven"};

/* Tones with names, and a Whisper that suppresses nothing: letters are tokens here. */
static void make_lessons(void)
{
    FILE *list = fopen(at("tones.tsv"), "w");
    assert_non_null(list);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        put_tone(at("t%zu.wav", i), 4000 + 800 * i, 200 + 450 * (double)i);
        fprintf(list, "t%zu.wav\t%s it is\n", i, words[i]);
    }
    fclose(list);
    must_run("cp -r multi free && sed -i 's/uppress_tokens\": \\[[^]]*\\]/uppress_tokens\": []/g' "
             "free/generation_config.json && $HEED import free f");
}

#define TUNE                                                                                    \
    "$HEED train -q --task transcribe --from f --train tones.tsv --language en --batch-frames " \
    "800 "

static void a_whisper_learns_more(void **state)
{
    (void)state;
    make_lessons();
    must_run(TUNE "--lr 0.02 --valid tones.tsv --epochs 60 --out tuned");
    must_run("$HEED transcribe tuned t?.wav --language en --no-fallback > said; sed 's/\t /\t/' said | cmp - "
             "tones.tsv");
    must_run(
        "$HEED export tuned there && cmp there/generation_config.json free/generation_config.json && $HEED "
        "import there back && $HEED transcribe back t?.wav --language en --no-fallback | cmp - said");
    must_run("$HEED transcribe f t?.wav --language en --no-fallback > before; ! cmp -s before said");
}

/* transformers has 7.05215 for these texts behind start, language, task and "no timestamps". */
static void the_loss_is_that_of_transformers(void **state)
{
    (void)state;
    must_run(TUNE "--valid tones.tsv --steps 1 --lr 1e-12 --out same; grep -q '\"loss\":7.052[0-4]' "
                  "same/train/log.jsonl");
}

static void training_goes_on_where_it_stopped(void **state)
{
    (void)state;
    must_run(TUNE "--lr 0.02 --steps 6 --out straight --threads 2");
    must_run(
        TUNE
        "--lr 0.02 --steps 3 --out halves --threads 1; $HEED train -q --resume --out halves --steps 6; cmp "
        "halves/model.safetensors straight/model.safetensors; cmp halves/generation_config.json "
        "f/generation_config.json");
}

static void lessons_that_cannot_be_are_refused(void **state)
{
    (void)state;
    put_file(at("long.tsv"), "long.wav\tToo long\n");
    put_file(at("many.tsv"), "t0.wav\tfar too many letters for so few positions, all of them\n");
    static const struct {
        const char *options, *why;
        int exit;
    } cases[] = {
        {"--from f --train tones.tsv", "--language is required", 2},
        {"--from f --train tones.tsv --language klingon", "there is no language \"klingon\"", 2},
        {"--from e --train tones.tsv --language de", "takes no --language", 2},
        {"--train tones.tsv --language de", "--language needs --from", 2},
        {"--from f --train long.tsv --language en", "long.wav: 2.5 s long, the model learns from at most 1 s",
         1},
        {"--from f --train many.tsv --language en", "t0.wav: its text has ", 1},
        {"--from f --train tones.tsv --language en --ctc-weight 0.3", "--ctc-weight does not go with --from",
         2},
        {"--from f --train tones.tsv --language en --heads 2", "--heads is 2", 2},
        {"--from f --train tones.tsv --language en --unit char", "the tokenizer is the model's", 2},
        {"--from f --train tones.tsv --language en --mels 80", "--mels is 80", 2},
        {"--from f --train tones.tsv --language en --encoder lstm", "--encoder does not go with --from", 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[SHELL_ROOM], command[256];
        snprintf(command, sizeof command, "$HEED train --task transcribe --out no %s 2>&1", cases[i].options);
        int exit = shell(out, command);
        if (exit != cases[i].exit || !strstr(out, cases[i].why))
            fail_msg("%s: %d, '%s' does not say '%s'", cases[i].options, exit, out, cases[i].why);
    }
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *options, *why;
        int exit;
    } cases[] = {
        {"m a.wav --language klingon", "there is no language \"klingon\"", 2},
        {"e a.wav --language de", "takes no --language", 2},
        {"e a.wav --translate", "cannot translate", 2},
        {"m a.wav --srt --json", "contradict", 2},
        {"m a.wav out/a.wav --vtt", "would both be written to a.vtt", 2},
        {"m a.wav --timestamps --vtt", "--timestamps has no effect", 2},
        {"m a.wav --out x", "give --srt or --vtt", 2},
        {"m a.wav --n-best 2", "--n-best", 2},
        {"m a.wav --batch 2000", "1024", 2},
        {"m a.wav --view --layer 9", "there is no layer 9", 1},
        {"m a.wav --no-fallback --min-logprob -2", "--no-fallback", 2},
        {"m bad.wav", "bad.wav", 1},
        {"m nowhere.wav --json", "nowhere.wav", 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char out[SHELL_ROOM], command[256];
        snprintf(command, sizeof command, "$HEED transcribe %s 2>&1", cases[i].options);
        assert_int_equal(shell(out, command), cases[i].exit);
        if (!strstr(out, cases[i].why))
            fail_msg("%s: '%s' does not say '%s'", cases[i].options, out, cases[i].why);
    }
}

static void a_folder_without_its_rules_goes_by_names(void **state)
{
    (void)state;
    must_run("cp -r multi plain && rm plain/generation_config.json && $HEED import plain p && $HEED "
             "transcribe p a.wav "
             "--no-fallback --beam 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sounds_become_texts),
        cmocka_unit_test(subtitles_are_written),
        cmocka_unit_test(json_has_times_of_segments_and_words),
        cmocka_unit_test(sounds_beside_others_give_the_same),
        cmocka_unit_test(files_of_other_formats_give_the_same),
        cmocka_unit_test(attention_is_shown),
        cmocka_unit_test(a_whisper_learns_more),
        cmocka_unit_test(the_loss_is_that_of_transformers),
        cmocka_unit_test(training_goes_on_where_it_stopped),
        cmocka_unit_test(lessons_that_cannot_be_are_refused),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_folder_without_its_rules_goes_by_names),
    };
    return outcome(cmocka_run_group_tests(tests, make_models, close_file));
}
