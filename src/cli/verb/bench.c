/* heed bench: how fast this machine trains and decodes. */
#include "cli/frame/verb.h"

#include <string.h>

#include "task/bench/bench.h"

struct bench {
    const char *device, *only;
    int precision, rounds;
    bool kernels;
};

static const hd_option options[] = {
    {"device", 'd', "NAME", "auto", "where to compute: auto, cpu or cuda",
     HD_TEXT_INTO(struct bench, device)},
    {"precision", 0, "KIND", "auto",
     "auto, f32, bf16 or int8 (for decoding and vectors alone: --only greedy); auto is f32 on the CPU, bf16 "
     "on CUDA",
     HD_CHOICE_INTO(struct bench, precision, hd_precision_names)},
    {"only", 0, "TEXT", NULL, "only rows whose name contains TEXT, also those too slow for a CPU by default",
     HD_TEXT_INTO(struct bench, only)},
    {"rounds", 0, "N", "0", "timed repetitions of each row; 0: by how long one takes",
     HD_INT_INTO(struct bench, rounds, 0, 200)},
    {"kernels", 0, NULL, NULL, "also show the time of each kernel in a training step (cuda)",
     HD_FLAG_INTO(struct bench, kernels)},
    {0},
};

static const hd_example examples[] = {
    {"heed bench --device cuda", "training and decoding on the GPU"},
    {"heed bench --device cuda --only 'base train' --kernels", "the kernels of one training step"},
    {NULL, NULL},
};

typedef struct sink {
    const hd_command *command;
    const char *device;
    double ceiling;
    bool begun;
    double step; /* seconds of the row shown last */
} sink;

static void begin(sink *s, hd_text *to)
{
    if (s->begun) return;
    hd_text_print(to, "%s\nlargest product: %.3g TFLOP/s\n", s->device, s->ceiling / 1e12);
    hd_text_print(to, "%-20s %14s %10s %10s %9s %10s\n", "row", "tokens/s", "ms", "TFLOP/s", "share", "GiB");
    s->begun = true;
}

static hd_status tell(void *context, const hd_bench_row *r, hd_err *err)
{
    sink *s = context;
    hd_text out = {0};
    begin(s, &out);
    hd_text_print(&out, "%-20s %14.0f %10.3f %10.2f %8.1f%%", r->name, r->rate, r->seconds * 1e3,
                  r->flops / 1e12, 100 * r->flops / s->ceiling);
    if (r->memory)
        hd_text_print(&out, " %10.2f\n", (double)r->memory / (1 << 30));
    else
        hd_text_print(&out, " %10s\n", "-");
    s->step = r->seconds;
    return hd_command_put_text(s->command, &out, true, err);
}

static hd_status tell_kernel(void *context, const char *kernel, const hd_work *w, hd_err *err)
{
    sink *s = context;
    hd_text out = {0};
    hd_text_print(&out, "    %-20s %5zu calls %9.3f ms %5.1f%%", kernel, w->calls, w->seconds * 1e3,
                  100 * w->seconds / s->step);
    if (w->flops > 0) hd_text_print(&out, " %7.1f TFLOP/s", w->flops / w->seconds / 1e12);
    if (w->bytes > 0) hd_text_print(&out, " %7.2f TB/s", w->bytes / w->seconds / 1e12);
    hd_text_put(&out, "\n");
    return hd_command_put_text(s->command, &out, false, err);
}

static hd_status run(hd_command *c, hd_err *err)
{
    const struct bench *o = c->options;
    hd_backend *b = NULL;
    sink to = {.command = c};
    hd_backend_opt opt = {.threads = c->common.threads,
                          .precision = (hd_precision)o->precision,
                          .log = &c->log,
                          .training = hd_bench_trains(o->only)};
    hd_bench_opt ask = {.only = o->only,
                        .rounds = o->rounds,
                        .by_kernel = o->kernels,
                        .tell = tell,
                        .tell_kernel = tell_kernel,
                        .context = &to};
    hd_status s = hd_backend_new(&b, o->device, &opt, err);
    if (!s && b->dry)
        s = hd_err_set(err, HD_EARG, "device '%s' does not compute: use cpu or cuda", o->device);
    if (!s) to.device = b->detail;
    if (!s) s = hd_bench(b, &ask, &to.ceiling, err);
    hd_backend_free(b);
    return s;
}

const hd_usage hd_verb_bench = {
    .about =
        "Times training steps and decoding of fixed sizes on random tokens, pictures and sounds and shows "
        "for each the rate, its share of the rate of the largest matrix product, and the memory.\n"
        "base and big are the models of the paper with sentences of 32 tokens, 25,600 in an update; gpt2 "
        "has 124 million parameters and 64 sequences of 1,024 tokens, the rows with a length 32 of that "
        "many, and relative ones relative attention; nano is a small gpt with 8 sequences of 256 tokens. "
        "llama has gated blocks of GPT-2's size, moe the same with 8 experts in each, of which a token uses "
        "two "
        "of half the hidden columns: as many operations. "
        "lstm and attention read one sentence of that many words "
        "with one layer: an LSTM goes word by word, attention takes all words at once. "
        "bert vectors are those of 32 sentences of 32 tokens by a BERT base. "
        "vit-b16 learns from 256 pictures of 224 x 224 pixels that lie on the device, vit-lite from 128 of "
        "28 x 28; their rates are pictures a second. las and speech-ctc, of the sizes of the presets, learn "
        "from 8 sounds of 400 frames with texts of 40 letters, las with CTC beside its decoder; sound "
        "features are those of Whisper, of 30 seconds on one core; their rates are frames a second.",
    .options = options,
    .size = sizeof(struct bench),
    .examples = examples,
    .run = run,
};
