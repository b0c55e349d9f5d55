/* libFuzzer target: any bytes as a MIDI file. What is read goes through both kinds of tokens and back, and
   the writer's files must read as the notes they were made of. */
#include "data/music/chorale.h"
#include "data/music/performance.h"
#include "fuzz.h"

enum { MEMORY = 1 << 26 };

static bool same(const hd_midi *a, const hd_midi *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->note[i].on != b->note[i].on || a->note[i].off != b->note[i].off ||
            a->note[i].pitch != b->note[i].pitch || a->note[i].velocity != b->note[i].velocity)
            return false;
    return true;
}

static void write_and_read(const hd_midi *m, const hd_midi_score *score)
{
    hd_text bytes = {0};
    hd_midi back;
    hd_err err = {0};
    hd_midi_put(&bytes, m, score);
    if (!bytes.missed) {
        MUST(!hd_midi_parse(&back, (const uint8_t *)bytes.data, bytes.size, "fuzz", &err));
        MUST(same(m, &back));
        hd_midi_release(&back);
    }
    hd_text_release(&bytes);
}

static void there_and_back(const hd_midi *m, bool chorale)
{
    hd_ids ids = {0}, again = {0};
    hd_midi notes;
    hd_err err = {0};
    hd_status s = (chorale ? hd_chorale_tokens : hd_performance_tokens)(&ids, m, "fuzz", &err);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || s == HD_ELIMIT || s == HD_ENOMEM);
    err = (hd_err){0};
    if (!s && !(chorale ? hd_chorale_notes : hd_performance_notes)(&notes, ids.at, ids.count, &err)) {
        write_and_read(&notes, chorale ? &hd_chorale_score : &hd_performance_score);
        if (!chorale && !hd_performance_tokens(&again, &notes, "fuzz", &err))
            MUST(again.count == ids.count && !memcmp(again.at, ids.at, ids.count * sizeof *ids.at));
        hd_midi_release(&notes);
    }
    hd_ids_release(&ids);
    hd_ids_release(&again);
}

/* Hours of silence become many tokens, which cost time alone: those are tried now and then. */
static bool is_short(const hd_midi *m)
{
    uint32_t last = 0;
    double end = 0;
    for (size_t i = 0; i < m->count; i++) {
        last = m->note[i].off > last ? m->note[i].off : last;
        end = m->note[i].end > end ? m->note[i].end : end;
    }
    return last / m->quarter < 100 && end < 50;
}

static void read_midi(const uint8_t *input, size_t size, size_t fail_at)
{
    hd_midi m;
    hd_err err = {0};
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail_at);
    hd_status s = hd_midi_parse(&m, input, size, "fuzz", &err);
    hd_mem_fail_at(0);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || s == HD_ELIMIT || s == HD_ENOMEM);
    if (!s) {
        for (size_t i = 0; i < m.count; i++) {
            MUST(m.note[i].off > m.note[i].on && m.note[i].end >= m.note[i].begin);
            MUST(m.note[i].velocity && m.note[i].track < m.tracks);
        }
        bool all = is_short(&m) || input[size - 1] % 64 == 7;
        if (all) there_and_back(&m, true);
        if (all) there_and_back(&m, false);
    }
    hd_midi_release(&m);
    MUST(hd_mem_now().blocks == blocks);
}

int LLVMFuzzerInitialize(int *count, char ***given)
{
    (void)count, (void)given;
    hd_mem_limit(MEMORY);
    return 0;
}

/* Once as it is, and where its last byte says so with an allocation that fails. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    read_midi(input, size, 0);
    if (size && input[size - 1] % 8 == 1) read_midi(input, size, 1 + input[size - 1] / 8u % 4);
    return 0;
}
