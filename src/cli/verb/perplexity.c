/* heed perplexity: how well a language model predicts a text. */
#include "cli/verb/perplexity.h"

#include "cli/verb/music/music.h"

#include <math.h>

struct perplexity {
    hd_usual usual;
    hd_music_part music;
    size_t context;
};

static const hd_option options[] = {
    {"json", 0, NULL, NULL, "one JSON object for each file", HD_FLAG_INTO(hd_usual, json)},
    {"context", 0, "N", "0",
     "tokens a gpt sees at once; 0: as many as it learned with. Models of music may see more, up to their "
     "--music-span",
     HD_COUNT_INTO(struct perplexity, context, 0, 1000000)},
    {"part", 0, "NAME", NULL, "music in JSON: measure this part of it alone, as in train, valid or test",
     HD_TEXT_INTO(struct perplexity, music.part)},
    {"skip", 0, "N", "0", "of music: the first N tokens of each piece do not count, but are seen",
     HD_COUNT_INTO(struct perplexity, music.skip, 0, 1000000000)},
    HD_ATTENDING_HEADS,
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed perplexity model < text.txt", "one line"},
    {"heed perplexity model a.txt b.txt.gz", "a line for each file"},
    {"heed perplexity model --json text.txt", "for programs"},
    {"heed perplexity chorales jsb16.json --part valid", "nats a note, repeated notes, ranges of voices"},
    {NULL, NULL},
};

static const double ln2 = 0.69314718055994530942;

hd_status hd_measure(hd_measured *out, hd_run *r, const hd_model_folder *f, const hd_plain_text *plain,
                     hd_err *err)
{
    hd_stream_text text = {0};
    int32_t unk = hd_tokenizer_special(f->tokenizer[0]).unk;
    *out = (hd_measured){0};
    hd_status s = hd_stream_text_of(&text, plain, f->tokenizer[0], err);
    if (!s) s = hd_language_judge(&out->fluency, r, f, &text, err);
    for (size_t i = 0; !s && i < text.count; i++) out->unknown += text.ids[i] == unk;
    hd_stream_text_release(&text);
    const hd_fluency *found = &out->fluency;
    out->perplexity = exp(found->nats / (double)found->tokens);
    out->bits = found->nats / (double)found->characters / ln2;
    if (!s && isnan(out->perplexity)) {
        hd_fail_number(r);
        s = hd_run_status(r, err);
    }
    return s;
}

void hd_measured_json(hd_text *to, const hd_measured *m)
{
    const hd_fluency *f = &m->fluency;
    hd_member_count(to, "token_count", f->tokens);
    hd_member_number(to, "perplexity", m->perplexity, 9);
    hd_member_number(to, "bits_per_character", m->bits, 9);
    hd_member_count(to, "characters", f->characters);
    hd_member_count(to, "unknown", m->unknown);
    hd_member_number(to, "logprob", -f->nats, 12);
    hd_member_number(to, "seconds", f->seconds, 6);
}

/* path: NULL for standard input that nobody named. */
static void put_line(hd_text *to, const hd_measured *m, const char *path)
{
    char grouped[32], perplexity[HD_DECIMAL], bits[HD_DECIMAL];
    if (path) hd_text_print(to, "%s: ", path);
    hd_text_print(to, "%s tokens, perplexity %s, %s bits per character",
                  hd_grouped(m->fluency.tokens, grouped), hd_decimal(perplexity, "%.6g", m->perplexity),
                  hd_decimal(bits, "%.4f", m->bits));
    if (m->unknown) hd_text_print(to, "; %s tokens are <unk>", hd_grouped(m->unknown, grouped));
    hd_text_put(to, "\n");
}

static void put_object(hd_text *to, const hd_measured *m, const char *path)
{
    hd_member_begin(to, NULL, '{');
    hd_measured_json(to, m);
    if (path) hd_member_text(to, "file", path);
    hd_text_put(to, "}\n");
}

static void put_failure(hd_text *to, bool json, const char *path, const char *why)
{
    if (json) {
        hd_member_begin(to, NULL, '{');
        hd_member_text(to, "file", path);
        hd_member_text(to, "error", why);
        hd_member_end(to, '}');
    }
    hd_text_put(to, "\n");
}

/* Appends a line or an object. */
static hd_status measure_file(hd_text *to, hd_command *c, const char *path, hd_err *err)
{
    const struct perplexity *o = c->options;
    hd_plain_text text = {0};
    hd_measured m;
    bool music = false;
    hd_input_await(c, path, "a text to measure");
    hd_status s = hd_music_measures(&music, &c->model, path, err);
    if (!s && music) return hd_music_measure(to, c, path, &o->music, err);
    if (!s && (o->music.part || o->music.skip))
        s = hd_err_set(err, HD_EARG, "--%s is for music: %s is a text", o->music.part ? "part" : "skip",
                       path);
    if (!s) s = hd_plain_text_read(&text, path, err);
    if (!s) s = hd_measure(&m, &c->machine.run, &c->model, &text, err);
    if (!s) (c->usual->json ? put_object : put_line)(to, &m, c->operands.count > 1 ? path : NULL);
    hd_plain_text_release(&text);
    return s;
}

/* Of several files, one that cannot be read leaves the others what they are, and is counted. */
static hd_status answer(hd_command *c, const char *path, int *bad, hd_err *err)
{
    const bool json = c->usual->json;
    const int operands = c->operands.count;
    hd_text out = {0};
    hd_err why = {0};
    hd_status s = measure_file(&out, c, path, err);
    if (s && operands > 2 && (hd_input_forgives(err, &why) || err->status == HD_EFILE)) {
        if (err->status) why = *err, *err = (hd_err){0};
        hd_log_say(&c->log, HD_ERROR, "%s: " HD_INPUT_EMPTY, why.text);
        put_failure(&out, json, path, why.text);
        ++*bad, s = HD_OK;
    }
    if (s) hd_text_release(&out);
    return s ? s : hd_command_put_text(c, &out, true, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const hd_words files = hd_input_files(c, 1);
    const struct perplexity *o = c->options;
    hd_status s = o->context ? hd_language_set_context(&c->model, o->context, err) : HD_OK;
    int bad = 0;
    for (int i = 0; !s && i < files.count; i++) s = answer(c, files.word[i], &bad, err);
    if (s || !bad) return s;
    hd_log_say(&c->log, HD_ERROR, "%d of %d files could not be measured", bad, files.count);
    c->exit = HD_EXIT_FAILURE;
    return HD_OK;
}

const hd_usage hd_verb_perplexity = {
    HD_INPUT_OPERANDS,
    .about =
        "Measures how well the language model in the folder MODEL predicts each file, plain or compressed "
        "(gzip, xz, zstd), or standard input. Every token is predicted from all tokens before it, and a line "
        "end is a token. Perplexity compares models with the same tokens, bits per character compares all.\n"
        "An unknown word counts as one token <unk>, so a model of words does not pay for its spelling: the "
        "output says how many there are.\n"
        "A model of music (heed train --model music) is measured with MIDI files or chorales in JSON, a line "
        "for "
        "each part of these: nats a token, the ends of pieces left out, how often a note repeats the one "
        "before it "
        "in its voice, and the lowest and highest note of each voice.\n"
        "Of several files, one that cannot be read gives an empty line, with --json an object with \"file\" "
        "and \"error\", and the exit status is then 1. A line has at most " HD_LINE_LONGEST_TEXT ".",
    .options = options,
    .size = sizeof(struct perplexity),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "lm",
    .run = run,
};
