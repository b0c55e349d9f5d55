/* heed generate: text that a language model writes after a prompt. */
#include <stdlib.h>
#include <string.h>

#include "cli/verb/chat/asking.h"
#include "cli/verb/majority.h"
#include "cli/verb/music/music.h"

struct generate {
    hd_usual usual;
    hd_sampling_options sampling;
    const char *prompt;
    bool majority, no_prompt;
    const char *out, *prompts, *answer;
    bool harmonise, chat;
    hd_asking_options asking;
    size_t context;
};

#define MUSIC      .group = "Music"
#define CHAT_GROUP "Chat (--system and --template need --chat)"

static const hd_option options[] = {
    {"prompt", 'p', "TEXT", NULL,
     "what the text begins with; \\n, \\t and \\\\ stand for a line end, a tab and \\",
     HD_TEXT_INTO(struct generate, prompt)},
    {"prompts", 0, "FILE", NULL,
     "a file of prompts, one a line, up to a tab if it has one ('-': standard input); of music a MIDI file "
     "that "
     "a piece begins with",
     HD_FILE_INTO(struct generate, prompts)},
    {"tokens", 'n', "N", "200",
     "tokens to generate, line ends included; of music as many as its model sees, if not given",
     HD_COUNT_INTO(struct generate, sampling.opt.tokens, 1, 100000000)},
    {"context", 0, "N", "0",
     "tokens a gpt sees at once; 0: as many as it learned with. Models of music may see more, up to their "
     "--music-span",
     HD_COUNT_INTO(struct generate, context, 0, 1000000)},
    {"samples", 0, "N", "1", "texts for each prompt",
     HD_COUNT_INTO(struct generate, sampling.opt.samples, 1, 100000)},
    {"majority", 0, NULL, NULL,
     "majority vote: for each prompt one line with the answer that most of its samples agree on, a tab and "
     "their share; the more likely answer breaks a tie, then the one given first",
     HD_FLAG_INTO(struct generate, majority)},
    {"vote", .hidden = true, HD_FLAG_INTO(struct generate, majority)}, /* its name before */
    {"answer", 0, "REGEX", NULL,
     "with --majority: where the answer stands in a text, as an extended regular expression: its first "
     "group, "
     "or all of it, in the last match; if not given, behind the last '=', or the whole text, without the "
     "spaces around it",
     HD_TEXT_INTO(struct generate, answer)},
    {"no-prompt", 0, NULL, NULL, "write the text without the prompt",
     HD_FLAG_INTO(struct generate, no_prompt)},
    {"json", 0, NULL, NULL,
     "JSON Lines: prompt, sample, text, token_count, logprob, and whether --stop ended it, as heed score "
     "--pass "
     "reads them; with --majority prompt, answer, share, and all answers with their counts",
     HD_FLAG_INTO(hd_usual, json)},
    HD_SAMPLING_ROWS(struct generate, "1"),
    {"chat", 0, NULL, NULL,
     "each prompt is a message, put into the model's chat template; answers are written without it, and "
     "drawn at "
     "a temperature of " HD_CHAT_TEMPERATURE " if nothing says otherwise",
     .group = CHAT_GROUP, HD_FLAG_INTO(struct generate, chat)},
    HD_ASKING_ROWS(struct generate, CHAT_GROUP),
    {"out", 'o', "FILE", NULL,
     "write music as a MIDI file; of several samples FILE.mid becomes FILE-1.mid, FILE-2.mid", MUSIC,
     HD_FILE_INTO(struct generate, out)},
    {"endless", 0, NULL, NULL, "never draw an end, of a piece or of a line", MUSIC,
     HD_FLAG_INTO(struct generate, sampling.opt.endless)},
    {"harmonise", 0, NULL, NULL,
     "a chorale whose soprano is the melody of --prompts, its highest notes; the other voices are drawn",
     MUSIC, HD_FLAG_INTO(struct generate, harmonise)},
    HD_ATTENDING_ROWS,
    HD_MACHINE_ROWS,
    {0},
};

static const hd_example examples[] = {
    {"heed generate model --prompt \"To be\" --tokens 200 --temperature 0.8 --seed 1", "200 more tokens"},
    {"heed generate model --prompt 'ROMEO:\\n' --stop '\\n\\n'", "up to the next empty line"},
    {"heed generate model prompts.txt --samples 3 --json", "three texts for each line of a file"},
    {"heed generate model questions.txt --tokens 64 --stop '\\n' --samples 16 --majority",
     "the answer that most of 16 samples give to each line"},
    {"heed generate model --prompts test.tsv --stop '\\n' --samples 16 --json > samples.jsonl",
     "samples for heed score --pass 1,16 --majority --ref test.tsv"},
    {"heed generate model --chat --prompts questions.txt --samples 8 --majority",
     "ask a chat model each line eight times"},
    {"heed generate gpt --prompt \"To be\" --tokens 20 --attention out.html",
     "what each token attends to, as a page for the browser"},
    {"heed generate chorales --out piece.mid --temperature 0.9", "a new piece of a model of music"},
    {"heed generate chorales --prompts soprano.mid --harmonise --out four.mid", "a melody in four voices"},
    {NULL, NULL},
};

enum { MOST_PROMPTS = HD_ASKING_MOST, MOST_TEXTS = 128 }; /* continued in parallel, about */

typedef struct call {
    hd_command command;
    const struct generate *o;
    hd_sampling sampling;
    hd_text prompt[MOST_PROMPTS]; /* those that wait, unescaped */
    size_t prompts;
    hd_generated *made; /* [MOST_PROMPTS * samples] */
    hd_majority majority;
    size_t written;        /* texts */
    hd_asking asking;      /* with --chat */
    bool answers_alone;    /* prompts are not written */
    hd_music music;        /* of the model; HD_MUSIC_NONE: it writes texts */
    hd_music_prompt given; /* of --prompts */
    char *files[2];        /* the model, and a file of --prompts whose lines end with a tab */
} call;

/* -- writing -- */

static hd_status put(call *c, const char *text, size_t size, hd_err *err)
{
    return hd_command_put(&c->command, text, size, c->command.out.is_terminal, err);
}

static hd_status put_prompt(call *c, const hd_text *prompt, hd_err *err)
{
    hd_status s = c->written++ ? put(c, "\n", 1, err) : HD_OK;
    return s || c->answers_alone ? s : put(c, prompt->data, prompt->size, err);
}

static hd_status put_end(call *c, const hd_text *prompt, const hd_generated *g, hd_err *err)
{
    const hd_text *last = g->text.size || c->answers_alone ? &g->text : prompt;
    bool ended = last->size && last->data[last->size - 1] == '\n';
    return ended ? HD_OK : put(c, "\n", 1, err);
}

static hd_status heard(void *context, size_t which, const char *text, size_t size, hd_err *err)
{
    (void)which;
    return put(context, text, size, err);
}

static hd_status put_json(call *c, const hd_text *prompt, size_t sample, const hd_generated *g, hd_err *err)
{
    hd_text out = {0};
    hd_member_begin(&out, NULL, '{');
    hd_member_text(&out, "prompt", prompt->data ? prompt->data : "");
    hd_member_count(&out, "sample", sample + 1);
    hd_member_text(&out, "text", g->text.data ? g->text.data : "");
    hd_member_count(&out, "token_count", g->tokens);
    hd_member_number(&out, "logprob", g->logp, 9);
    hd_member_flag(&out, "stopped", g->stopped);
    hd_text_put(&out, "}\n");
    return hd_command_put_text(&c->command, &out, c->command.out.is_terminal, err);
}

static hd_status put_made(call *c, size_t i, bool live, hd_err *err)
{
    const hd_generated *g = &c->made[i];
    const hd_text *prompt = &c->prompt[i / c->sampling.opt.samples];
    if (c->o->out) {
        hd_status s = hd_music_write(&c->command, c->music, g, c->o->out, c->written++,
                                     c->sampling.opt.samples > 1 || c->command.operands.count > 1, err);
        if (s || !c->o->usual.json) return s;
    }
    if (c->o->usual.json) return put_json(c, prompt, i % c->sampling.opt.samples, g, err);
    hd_status s = live ? HD_OK : put_prompt(c, prompt, err);
    if (!s && !live) s = put(c, g->text.data, g->text.size, err);
    return s ? s : put_end(c, prompt, g, err);
}

/* What the samples of a prompt agree on. */
static hd_status put_vote(call *c, size_t which, hd_err *err)
{
    hd_text out = {0};
    hd_majority_put(&c->majority, &out, &c->prompt[which], c->made + which * c->sampling.opt.samples,
                    c->o->usual.json);
    return hd_command_put_text(&c->command, &out, c->command.out.is_terminal, err);
}

/* -- the verb -- */

static hd_status attend(call *c, size_t i, hd_err *err)
{
    const hd_generated *g = &c->made[i];
    const hd_text *prompt = &c->prompt[i / c->sampling.opt.samples];
    hd_attended one = {.ids = g->ids.at,
                       .count = g->ids.count,
                       .text = {prompt->data ? prompt->data : "", prompt->size},
                       .written = {g->text.data ? g->text.data : "", g->text.size},
                       .score = g->logp};
    return hd_attending_add(&c->command, &one, err);
}

/* Continues the prompts that wait. A single text is written while it comes. */
static hd_status go_on(call *c, hd_err *err)
{
    hd_line lines[MOST_PROMPTS] = {0};
    size_t n = c->prompts * c->sampling.opt.samples;
    bool live = n == 1 && !c->o->usual.json && !c->o->majority && !c->o->out;
    hd_status s = HD_OK;
    if (!n) return HD_OK;
    for (size_t i = 0; i < c->prompts; i++)
        lines[i] = (hd_line){c->prompt[i].data ? c->prompt[i].data : "", c->prompt[i].size};
    c->sampling.opt.tell = live ? heard : NULL, c->sampling.opt.context = c;
    if (c->o->chat) s = hd_asking_read(&c->asking, &c->command, lines, c->prompts, &c->sampling.opt, err);
    if (!s && live) s = put_prompt(c, &c->prompt[0], err);
    if (!s)
        s = hd_generate(c->made, &c->command.machine.run, &c->command.model, lines, c->prompts,
                        &c->sampling.opt, err);
    for (size_t i = 0; !s && !c->o->majority && i < n; i++) {
        s = put_made(c, i, live, err);
        if (!s) s = attend(c, i, err);
    }
    for (size_t i = 0; !s && c->o->majority && i < c->prompts; i++) s = put_vote(c, i, err);
    for (size_t i = 0; i < n; i++) hd_generated_release(&c->made[i]);
    c->sampling.opt.key += (int32_t)c->prompts;
    c->prompts = 0;
    return s;
}

/* One more that waits. */
static hd_status add_prompt(call *c, hd_line typed, hd_err *err)
{
    hd_text *p = &c->prompt[c->prompts];
    const char *tab = c->files[1] ? memchr(typed.text, '\t', typed.size) : NULL;
    if (tab) typed.size = (size_t)(tab - typed.text);
    hd_text_release(p);
    hd_prompt_unescape(p, typed.text, typed.size);
    hd_status s = hd_text_status(p, err);
    if (!s && hd_utf8_good(typed.text, typed.size) < typed.size)
        s = hd_err_set(err, HD_EARG, "--prompt is not UTF-8 text");
    c->prompts += !s;
    return s;
}

/* It is counted among the prompts, so that the others draw as ever. */
static hd_status refuse(call *c, const hd_input_line *line, hd_err *err)
{
    hd_text out = {0};
    if (!c->o->usual.json && !c->o->majority && c->written++) hd_text_put(&out, "\n");
    hd_input_stand_in(&c->command.in, &out, c->o->usual.json, line, line->why);
    c->sampling.opt.key++;
    return hd_command_put_text(&c->command, &out, true, err);
}

static hd_status answer(hd_command *m, const hd_input_line *line, size_t count, hd_err *err)
{
    call *c = (call *)m;
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < count; i++) {
        if (line[i].why) s = go_on(c, err); /* those before it */
        if (!s) s = line[i].why ? refuse(c, &line[i], err) : add_prompt(c, line[i].text, err);
    }
    return s ? s : go_on(c, err);
}

/* What is asked of a model of music, and of no other. */
static hd_status open_music(call *c, hd_err *err)
{
    hd_command *m = &c->command;
    const struct generate *o = c->o;
    c->music = hd_music_of(m->model.tokenizer[0]);
    hd_status s = o->context ? hd_language_set_context(&m->model, o->context, err) : HD_OK;
    if (!s) s = hd_music_allows(m, c->music, o->harmonise, o->out, err);
    if (!s && !c->music && o->prompts) { /* a file of lines, as one behind the model */
        c->files[0] = m->operands.word[0], c->files[1] = (char *)(uintptr_t)o->prompts;
        m->operands = (hd_words){c->files, 2};
    }
    if (s || !c->music) return s;
    c->sampling.opt.ends = true;
    if (!hd_command_given(m, "tokens")) c->sampling.opt.tokens = hd_model_folder_lm(&m->model)->opt.context;
    if (o->prompts) s = hd_music_prompt_read(&c->given, &m->model, o->prompts, o->harmonise, err);
    if (s || !o->harmonise) return s;
    c->sampling.opt.forced = c->given.forced.at,
    c->sampling.opt.tokens = c->sampling.opt.forced_count = c->given.forced.count;
    return HD_OK;
}

static hd_status run(hd_command *m, hd_err *err)
{
    call *c = (call *)m;
    const char *prompt = c->o->prompt ? c->o->prompt : "";
    hd_status opened = open_music(c, err);
    if (!opened && !c->music) opened = hd_sampling_open(&c->sampling, m, c->o->chat, err);
    if (!opened && c->o->chat) opened = hd_asking_open(&c->asking, m, &c->o->asking, err);
    if (opened) return opened;
    if (c->given.text.data) prompt = c->given.text.data;
    size_t texts = MOST_PROMPTS * c->sampling.opt.samples, most = MOST_TEXTS / c->sampling.opt.samples;
    c->made = hd_mem_array(texts, sizeof *c->made);
    hd_status s = c->made ? HD_OK : hd_err_nomem(err, texts * sizeof *c->made);
    if (!s) s = hd_attending_open(m, &c->o->usual.attending, err);
    if (!s && m->operands.count == 1) {
        s = add_prompt(c, (hd_line){prompt, strlen(prompt)}, err);
        if (!s) s = go_on(c, err);
        return s ? s : hd_command_put(m, "", 0, true, err);
    }
    most = most < 1 ? 1 : most > MOST_PROMPTS ? MOST_PROMPTS : most;
    return s ? s : hd_input_each(m, "a prompt to continue", "continued", most, answer, err);
}

static hd_status check(hd_command *m, hd_err *err)
{
    call *c = (call *)m;
    const struct generate *o = c->o = m->options;
    if (o->prompt && m->operands.count > 1)
        return hd_err_set(err, HD_EARG, "--prompt and files of prompts exclude each other");
    if (o->prompts && (o->prompt || m->operands.count > 1))
        return hd_err_set(err, HD_EARG, "--prompts and other prompts exclude each other");
    if (o->harmonise && !o->prompts)
        return hd_err_set(err, HD_EARG, "--harmonise needs --prompts: a MIDI file with the melody");
    if (o->harmonise && hd_command_given(m, "tokens"))
        return hd_err_set(err, HD_EARG, "--harmonise is as long as the melody: leave out --tokens");
    if (o->out && o->majority) return hd_err_set(err, HD_EARG, "--majority and --out exclude each other");
    if (o->majority && o->no_prompt)
        return hd_err_set(err, HD_EARG, "--majority writes no prompt: leave out --no-prompt");
    if (o->majority && hd_attending_wanted(&o->usual.attending))
        return hd_err_set(err, HD_EARG, "--majority and --%s exclude each other",
                          o->usual.attending.file ? "attention" : "view");
    if (o->answer && !o->majority) return hd_err_set(err, HD_EARG, "--answer needs --majority");
    if (o->chat && (o->out || o->harmonise || hd_attending_wanted(&o->usual.attending)))
        return hd_err_set(err, HD_EARG,
                          "--chat writes texts alone: leave out --out, --harmonise, --attention and --view");
    if (!o->chat && (o->asking.system || o->asking.template))
        return hd_err_set(err, HD_EARG, "--system and --template need --chat");
    c->answers_alone = o->no_prompt || o->chat;
    hd_status s = hd_sampling_check(&c->sampling, m, &o->sampling, err);
    if (o->chat && !o->sampling.greedy && !hd_command_given(m, "temperature"))
        c->sampling.opt.temperature = strtof(HD_CHAT_TEMPERATURE, NULL);
    return s || !o->majority ? s : hd_majority_init(&c->majority, o->answer, c->sampling.opt.samples, err);
}

static void release(hd_command *m)
{
    call *c = (call *)m;
    hd_sampling_release(&c->sampling);
    for (int i = 0; i < MOST_PROMPTS; i++) hd_text_release(&c->prompt[i]);
    hd_mem_free(c->made);
    hd_majority_release(&c->majority);
    hd_music_prompt_release(&c->given);
    hd_asking_release(&c->asking);
}

const hd_usage hd_verb_generate = {
    HD_INPUT_OPERANDS,
    .about =
        "Writes the prompt and how the language model in the folder MODEL continues it, token by token. "
        "The prompt is at the start of a line. The same seed gives the same text.\n"
        "Without --prompt, each line of the files or of --prompts ('-': standard input) is a prompt, with "
        "the "
        "same escapes; without files either, the text starts from nothing. Prompts and samples are "
        "continued in parallel, which changes none of them. Several texts each end in a line end, with "
        "an empty line between two; --json separates them unambiguously. " HD_INPUT_ABOUT "\n"
        "A published model is asked as its generation_config.json says, where no option says otherwise: how "
        "tokens are "
        "drawn, how many, and which of them end a text.\n"
        "A model of music (heed train --model music) writes words that stand for notes, or with --out a MIDI "
        "file.\n"
        "--attention and --view show what each token of a gpt attends to, in the prompt and the text: "
        "both together must fit in the model's context.",
    .options = options,
    .size = sizeof(struct generate),
    .examples = examples,
    .opens = HD_OPENS_MODEL,
    .task = "lm",
    .call = sizeof(call),
    .check = check,
    .run = run,
    .release = release,
};
