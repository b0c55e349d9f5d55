/* heed read: strokes in, what they say out, and how often that is wrong. */
#include "cli/frame/verb.h"
#include "task/read/read.h"

static const hd_option options[] = {
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed read reader samples.tsv", "a line of text for each line of handwriting"},
    {NULL, NULL},
};

static hd_status run(hd_command *c, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 1; !s && i < c->operands.count; i++) {
        hd_strokes strokes = {0};
        hd_text said = {0};
        hd_read_judged j = {0};
        s = hd_strokes_read(&strokes, c->operands.word[i], err);
        if (!s) s = hd_read_lines(&j, &c->machine.run, &c->model, &strokes, &said, err);
        if (!s)
            hd_log_say(&c->log, HD_INFO, "%s: character error rate %.2f %% of %zu lines", c->operands.word[i],
                       100 * j.cer, j.lines);
        hd_strokes_release(&strokes);
        s = hd_command_put_page(c, &said, s, err);
    }
    return s;
}

const hd_usage hd_verb_read = {
    .operands = "MODEL FILE...",
    .least = 2,
    .most = 1 + HD_INPUT_FILES_MOST,
    .about = "Reads lines of handwriting (files of strokes) with the model in the folder MODEL and says how "
             "often it "
             "is wrong by what the files say that was written.",
    .options = options,
    .size = sizeof(hd_usual),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "read",
    .run = run,
};
