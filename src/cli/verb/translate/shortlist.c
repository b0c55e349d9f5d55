/* heed shortlist: aligns sentence pairs by attention and writes which tokens are translated by which. */
#include "base/file/file.h"
#include "cli/frame/verb.h"
#include "data/reader.h"
#include "task/translate/aligner.h"

enum { PIECE = 1 << 22 }; /* bytes of text in memory at once */

struct shortlist {
    hd_usual usual;
    const char *out;
    size_t best;
};

static const hd_option options[] = {
    {"out", 'o', "FILE", NULL, "file to write; without it standard output",
     HD_FILE_INTO(struct shortlist, out)},
    {"best", 'n', "N", "200", "target tokens to write for each source token, the most probable first",
     HD_COUNT_INTO(struct shortlist, best, 1, 1000000)},
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed shortlist model train.en.gz train.de.gz -o model/shortlist",
     "from the pairs that it was trained on"},
    {"heed translate model in.en --shortlist model/shortlist", "faster, with the tokens that it has"},
    {NULL, NULL},
};

static hd_status count(hd_command *c, hd_aligner *a, size_t *pairs, hd_err *err)
{
    char **word = c->operands.word;
    const hd_encdec_opt *sizes = &hd_model_folder_encdec(&c->model)->opt;
    const hd_read_opt read = {.source = word[1],
                              .target = c->operands.count > 2 ? word[2] : NULL,
                              .tabs = c->operands.count == 2,
                              .broken = HD_POLICY_SKIP,
                              .log = &c->log};
    const hd_corpus_opt opt = {.longest = sizes->positions - 1, .team = c->machine.backend->team};
    hd_sentences text = {0};
    hd_reader *reader = NULL;
    hd_status s = hd_reader_open(&reader, &read, err);
    while (!s) {
        hd_corpus ids = {0};
        s = hd_reader_next(reader, &text, PIECE, err);
        if (s || !text.count) break;
        s = hd_corpus_make(&ids, &text, (const hd_tokenizer *const *)c->model.tokenizer, &opt, NULL, err);
        if (!s) s = hd_aligner_add(a, &c->machine.run, &ids, err);
        if (!s) *pairs += ids.count;
        hd_corpus_release(&ids);
    }
    hd_sentences_release(&text);
    hd_reader_close(reader);
    return s;
}

static hd_status write(hd_command *c, hd_aligner *a, const struct shortlist *o, hd_err *err)
{
    hd_text out = {0};
    hd_status s = hd_aligner_write(a, o->best, &out, err);
    if (!s && !o->out) return hd_command_put_text(c, &out, true, err);
    if (!s) s = hd_save_bytes(o->out, out.data, out.size, err);
    hd_text_release(&out);
    return s;
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct shortlist *o = c->options;
    hd_aligner *a = NULL;
    size_t pairs = 0;
    hd_status s = hd_aligner_new(&a, &c->model, err);
    if (!s) s = count(c, a, &pairs, err);
    if (!s) s = write(c, a, o, err);
    if (!s) hd_log_say(&c->log, HD_INFO, "aligned %zu pairs", pairs);
    hd_aligner_free(a);
    return s;
}

const hd_usage hd_verb_shortlist = {
    .operands = "MODEL SOURCE [TARGET]",
    .least = 2,
    .most = 3,
    .about =
        "Aligns sentence pairs, best those that the model in the folder MODEL was trained on, by its own "
        "attention, and writes for each source token the target tokens that it is translated by. `heed "
        "translate --shortlist` then multiplies only these rows of the output layer.\n"
        "SOURCE and TARGET are parallel files, plain or compressed; one file alone has both, parted by a "
        "tab. Lines of the result are TARGET SOURCE PROBABILITY, parted by tabs, as in Marian's lex.s2t; "
        "those with the source NULL have the probability of each target token in all.",
    .options = options,
    .size = sizeof(struct shortlist),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "translate",
    .run = run,
};
