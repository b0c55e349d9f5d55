/* heed train --model music, generate and perplexity as a user meets them: from chorales and MIDI files to
   pieces; a melody that is harmonised stays as it is; runs in sittings end with the bytes of one; figures are
   those of an independent count; bad files and options are refused. */
#include "check.h"
#include "cli/shell.h"

#include "base/json.h"
#include "data/music/chorale.h"
#include "data/music/performance.h"
#include "data/music/set.h"

#define SAME                                                                                              \
    "same() { cmp $1/model.safetensors $2/model.safetensors && cmp $1/train/current $2/train/current && " \
    "diff -r $1/train/$(cat $1/train/current) $2/train/$(cat $2/train/current); }; "
#define TRAIN "$HEED train -q --task lm --model music --device cpu "
#define SMALL                                                                                       \
    "--layers 1 --width 32 --heads 2 --context 64 --batch-size 4 --lr 0.01 --warmup 5 --dropout 0 " \
    "--valid-every "                                                                                \
    "10 --save-every 7 --music-span 256 "
#define DRAWN "--train c.json --dropout 0.1 --transpose 3 --context 48 --decay-steps 24 "

enum { PIECES = 12, STEPS = 24, TRUE_STEPS = 20 };

/* Voices a third apart that rise or fall by a tone every four steps; every third piece ends early. */
static int pitch_at(int piece, int step, int voice)
{
    static const int base[] = {72, 65, 58, 50};
    if (voice == 2 && step % 8 == 7) return -1;
    return base[voice] + piece % 3 + 2 * (piece % 2 ? step / 4 : -(step / 4));
}

static int steps_of(int piece)
{
    return piece % 3 ? STEPS : TRUE_STEPS;
}

static void put_pieces(FILE *f, const char *part, int from, int to, const char *behind)
{
    fprintf(f, "\"%s\": [", part);
    for (int p = from; p < to; p++) {
        fprintf(f, "%s[", p > from ? ", " : "");
        for (int t = 0; t < steps_of(p); t++) {
            fprintf(f, "%s[", t ? ", " : "");
            for (int v = 0; v < 4; v++) fprintf(f, "%s%d", v ? ", " : "", pitch_at(p, t, v));
            fprintf(f, "]");
        }
        fprintf(f, "]");
    }
    fprintf(f, "]%s", behind);
}

static void put_midi(const char *path, int piece)
{
    int32_t ids[4 * STEPS];
    size_t n = 0;
    hd_err err = {0};
    for (int t = 0; t < steps_of(piece); t++)
        for (int v = 0; v < 4; v++) {
            int p = pitch_at(piece, t, v);
            ids[n++] = p < 0 ? HD_REST_ID : HD_PITCH_ID + p;
        }
    if (hd_music_save(HD_MUSIC_CHORALE, ids, n, path, &err)) fail_msg("%s", err.text);
}

static int make_data(void **state)
{
    char out[SHELL_ROOM];
    if (scratch_make(state)) return -1;
    shell_prepare();
    FILE *f = fopen(at("c.json"), "w");
    fprintf(f, "{");
    put_pieces(f, "train", 0, PIECES, ", ");
    put_pieces(f, "valid", 1, 4, ", ");
    put_pieces(f, "test", 5, 7, "}");
    fclose(f);
    if (shell(out, "mkdir midi")) return -1;
    for (int p = 0; p < 4; p++) put_midi(at("midi/%d.mid", p), p);
    return shell(out, TRAIN SMALL "--train c.json --steps 60 --out model");
}

static json_t *json_of(const char *command, hd_arena *arena)
{
    char out[SHELL_ROOM];
    json_error_t e;
    if (shell(out, command)) fail_msg("%s: %s", command, out);
    json_t *root = hd_json_load(arena, out, strlen(out), &e);
    if (!root) fail_msg("%s: %s", e.text, out);
    return root;
}

/* Notes of the part "valid", counted by another way than the program's. */
static void figures_are_those_of_a_count(void **state)
{
    (void)state;
    hd_arena arena;
    hd_arena_init(&arena, hd_allocator_host, 0);
    json_t *m = json_of("$HEED perplexity model c.json --part valid --json", &arena);
    int notes = 0, pairs = 0, same = 0, tokens = 0, low[4] = {999, 999, 999, 999}, high[4] = {0};
    for (int p = 1; p < 4; p++)
        for (int v = 0; v < 4; v++)
            for (int t = 0; t < steps_of(p); t++) {
                int x = pitch_at(p, t, v), before = t ? pitch_at(p, t - 1, v) : -1;
                tokens++, notes += x >= 0, pairs += x >= 0 && before >= 0, same += x >= 0 && x == before;
                if (x >= 0 && x < low[v]) low[v] = x;
                if (x > high[v]) high[v] = x;
            }
    assert_int_equal(json_integer_value(json_object_get(m, "pieces")), 3);
    assert_int_equal(json_integer_value(json_object_get(m, "token_count")), tokens);
    assert_int_equal(json_integer_value(json_object_get(m, "notes")), notes);
    assert_float_equal(json_number_value(json_object_get(m, "repeated_notes")), (float)same / (float)pairs,
                       1e-6);
    for (size_t v = 0; v < 4; v++) {
        const json_t *range = json_array_get(json_object_get(m, "ranges"), v);
        assert_int_equal(json_number_value(json_array_get(range, 0)), low[v]);
        assert_int_equal(json_number_value(json_array_get(range, 1)), high[v]);
    }
    double nats = json_number_value(json_object_get(m, "nats_per_token"));
    assert_true(nats < 2.5); /* it has learned something: chance is 4.9 */
    hd_arena_release(&arena);
}

static void compressed_files_are_read(void **state)
{
    (void)state;
    must_run("gzip -c c.json > c.json.gz && gzip -c midi/2.mid > 2.mid.gz && head -c 90 c.json.gz > cut.gz");
    assert_prints("for f in c.json c.json.gz; do $HEED perplexity model $f --part valid; done | sed s/.gz// "
                  "| sort -u | "
                  "grep -c 'nats'",
                  0, "1\n");
    must_run(TRAIN SMALL "--train c.json.gz --steps 2 --out packed");
    must_run("$HEED generate model --prompts 2.mid.gz --harmonise --out a.mid && $HEED generate model "
             "--prompts midi/2.mid --harmonise --out b.mid && cmp a.mid b.mid");
    assert_fails("$HEED perplexity model cut.gz", 1, "cut.gz: the gzip data is cut short");
}

static void pieces_are_midi_files(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    hd_midi m;
    hd_err err = {0};
    if (shell(out,
              "$HEED generate model --out p.mid --seed 2 && $HEED generate model --out again.mid --seed 2 && "
              "cmp p.mid again.mid && $HEED generate model --out s.mid --samples 2 --tokens 40 && "
              "! cmp s-1.mid s-2.mid"))
        fail_msg("%s", out);
    if (hd_midi_read(&m, at("p.mid"), &err)) fail_msg("%s", err.text);
    assert_int_equal(m.tracks, 4);
    assert_true(m.count > 4);
    hd_midi_release(&m);
}

/* What a piece is primed with stays at its front. */
static void primed_pieces_begin_as_the_file(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    if (shell(out, "$HEED generate model --prompts midi/1.mid --tokens 16 --out primed.mid"))
        fail_msg("%s", out);
    hd_music_set a = {.kind = HD_MUSIC_CHORALE}, b = a;
    assert_int_equal(hd_music_set_add(&a, at("midi/1.mid"), NULL, NULL), HD_OK);
    assert_int_equal(hd_music_set_add(&b, at("primed.mid"), NULL, NULL), HD_OK);
    assert_true(b.ids.count > a.ids.count);
    for (size_t i = 1; i + 1 < a.ids.count; i++) assert_int_equal(a.ids.at[i], b.ids.at[i]);
    hd_music_set_release(&a);
    hd_music_set_release(&b);
}

static void a_harmonised_melody_stays(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    hd_midi m, four;
    hd_ids melody = {0};
    if (shell(out, "$HEED generate model --prompts midi/2.mid --harmonise --out four.mid --seed 5"))
        fail_msg("%s", out);
    assert_int_equal(hd_midi_read(&m, at("midi/2.mid"), NULL), HD_OK);
    assert_int_equal(hd_midi_read(&four, at("four.mid"), NULL), HD_OK);
    assert_int_equal(hd_chorale_melody(&melody, &m, "m", NULL), HD_OK);
    assert_int_equal(four.tracks, 4);
    size_t sung = 0; /* the soprano is the first track, whatever the others are */
    for (size_t i = 0; i < four.count; i++)
        if (!four.note[i].track)
            for (uint32_t t = four.note[i].on / 120; t < four.note[i].off / 120; t++, sung++)
                assert_int_equal(melody.at[t], HD_PITCH_ID + four.note[i].pitch);
    assert_int_equal(sung, melody.count);
    hd_ids_release(&melody);
    hd_midi_release(&m);
    hd_midi_release(&four);
}

/* With everything that is drawn: places, transposition, dropout. */
static void sittings_end_with_the_bytes_of_one(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    if (shell(out, SAME TRAIN SMALL DRAWN
              "--threads 1 --steps 24 --out a && " TRAIN SMALL DRAWN
              "--threads 3 --steps 9 --out b && $HEED train -q --threads 2 --resume --out b --steps 24 && "
              "same a b"))
        fail_msg("%s", out);
}

static void performances_are_learned_from_folders(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    if (shell(out, TRAIN SMALL
              "--train midi --valid-fraction 0.25 --steps 20 --stretch 0.05 --transpose 2 "
              "--out play && $HEED generate play --out play.mid --tokens 60 && "
              "$HEED perplexity play midi/0.mid play.mid && "
              "$HEED generate play --prompts midi/0.mid --tokens 20 --out more.mid && "
              "$HEED train -q --from play --train midi --steps 3 --task lm --model music --device "
              "cpu --out more"))
        fail_msg("%s", out);
    assert_fails("$HEED generate play --prompts midi/0.mid --harmonise --out x.mid", 1, "of chorales");
    assert_fails("$HEED perplexity play c.json", 1, "JSON holds chorales, not performances");
}

/* Relative attention, twice the length it learned with. */
static void distances_reach_beyond_what_was_learned(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    if (shell(out, TRAIN SMALL
              "--train c.json --relative 64 --steps 20 --out far && "
              "grep -q '\"position\": \"periodic\"' far/config.json && "
              "$HEED generate far --context 128 --tokens 128 --endless --samples 2 --out l.mid && "
              "$HEED perplexity far l-1.mid l-2.mid --context 128 --skip 64"))
        fail_msg("%s", out);
    hd_midi m;
    assert_int_equal(hd_midi_read(&m, at("l-1.mid"), NULL), HD_OK);
    uint32_t last = 0;
    for (size_t i = 0; i < m.count; i++) last = m.note[i].off > last ? m.note[i].off : last;
    assert_true(last / 120 >= 30); /* of 32 sixteenths; the last may be rests */
    hd_midi_release(&m);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    char out[SHELL_ROOM];
    if (shell(out,
              "echo hello > text.txt; echo '{\"train\": [[[1,2,3]]]}' > short.json; head -c 60 midi/0.mid > "
              "cut.mid; $HEED train -q --task lm --device cpu --train text.txt --steps 1 --layers 1 --width "
              "8 --out texts"))
        fail_msg("%s", out);
    assert_fails(TRAIN SMALL "--train text.txt --steps 1 --out x", 1,
                 "neither a MIDI file nor chorales in JSON");
    assert_fails(TRAIN SMALL "--train short.json --steps 1 --out x", 1, "not a list of four pitches");
    assert_fails(TRAIN SMALL "--train cut.mid --steps 1 --out x", 1, "longer than the file");
    assert_fails(TRAIN SMALL "--train midi --steps 1 --patience 2 --out x", 1, "--patience needs music");
    assert_fails(TRAIN SMALL "--train c.json --unit word --steps 1 --out x", 2, "--unit needs");
    assert_fails(TRAIN SMALL "--train c.json --shards s --steps 1 --out x", 2, "--shards is for texts");
    assert_fails(TRAIN "--from texts --train c.json --steps 1 --out x", 2,
                 "in the model of --from texts it is gpt");
    assert_fails("$HEED train --task lm --train text.txt --transpose 2 --out x", 2,
                 "--transpose needs --model music");
    assert_fails("$HEED train --task classify --model music --train text.txt --out x", 2, "is for --task lm");
    assert_fails("$HEED generate texts --out x.mid", 2, "needs a model of music");
    assert_fails("$HEED generate model --harmonise --out x.mid", 2, "--harmonise needs --prompts");
    assert_fails("$HEED generate model --prompts midi/0.mid --harmonise --tokens 4", 2, "leave out --tokens");
    assert_fails("$HEED generate model --prompts cut.mid --out x.mid", 1, "cut.mid");
    assert_fails("$HEED generate model --context 300 --out x.mid", 1, "at most 256 tokens");
    assert_fails("$HEED perplexity model c.json --part valid --skip 999", 1, "no piece of c.json is longer");
    assert_fails("$HEED perplexity texts text.txt --skip 9", 1, "--skip is for music");
    assert_fails("$HEED perplexity model c.json --part none", 1, "there is no \"none\" in it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_a_count),
        cmocka_unit_test(compressed_files_are_read),
        cmocka_unit_test(pieces_are_midi_files),
        cmocka_unit_test(primed_pieces_begin_as_the_file),
        cmocka_unit_test(a_harmonised_melody_stays),
        cmocka_unit_test(sittings_end_with_the_bytes_of_one),
        cmocka_unit_test(performances_are_learned_from_folders),
        cmocka_unit_test(distances_reach_beyond_what_was_learned),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_data, scratch_remove);
}
