/* Names that are not quite those of an option: misspelled, of other programs, or of before. Easy to get
   wrong: what others call so is only suggested, never taken: the same word may mean something else there. */
#include "cli/frame/option.h"

#include <stdio.h>
#include <string.h>

/* ---- spelling ---- */

enum { LONGEST = 32 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of neighbors (optimal string alignment). */
static int distance(const char *a, int n, const char *b, int m)
{
    int d[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= n; i++) d[i][0] = i;
    for (int j = 0; j <= m; j++) d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], 1 + d[i - 2][j - 2]);
        }
    return d[n][m];
}

hd_spelling hd_spelling_of(const char *typed)
{
    /* near: wrong in at most a third of the letters, and one */
    return (hd_spelling){.typed = typed, .distance = 2 + (int)strlen(typed) / 3};
}

void hd_spelling_try(hd_spelling *s, const char *known)
{
    size_t n = strlen(s->typed), m = strlen(known);
    if (n < 2 || n > LONGEST || m > LONGEST) return;
    /* a word that begins with the typed one is near, whatever its length */
    int d = strncmp(s->typed, known, n) ? distance(s->typed, (int)n, known, (int)m) : 1;
    if (d >= s->distance || d >= (int)m) return;
    s->distance = d;
    s->match = known;
}

/* ---- what others call it ---- */

/* Names of options in PyTorch's examples, Hugging Face transformers, fairseq, Marian, OpenNMT, nanoGPT and in
   papers, and heed's of the same thing: the most likely first, a verb may have none of them. */
static const struct synonym {
    const char *theirs, *ours[4];
} synonyms[] = {
    /* clang-format off */
    /* data and folders */
    {"train-file train-data train-sets trainpref training-data data dataset", {"train"}},
    {"valid-sets validpref validation-file validation-data eval-file dev dev-file val", {"valid"}},
    {"val-split validation-split", {"valid-fraction"}},
    {"output-dir output out-dir save-dir save-model model-dir", {"out"}},
    {"overwrite-output-dir force", {"overwrite"}},
    {"file", {"input", "train"}},
    {"src", {"input", "source", "train"}},
    {"references reference", {"ref"}},
    {"hypothesis predictions", {"hyp"}},
    {"metrics", {"metric"}},
    {"pretrained pretrained-model init-from finetune-from-model", {"from"}},
    {"resume-from resume-from-checkpoint restore-file continue", {"resume"}},
    /* vocabulary */
    {"vocabulary-size dim-vocabs num-words", {"vocab-size"}},
    {"bpe", {"subwords"}},
    {"tokenizer-path tokenizer-file vocabs", {"tokenizer-model"}},
    /* sizes */
    {"hidden-size hidden-dim hidden d-model dim dim-emb dim-model embed-dim embed-size embedding-dim "
     "embedding-size emb-size emsize n-embd", {"width"}},
    {"nhid", {"width", "ffn-size"}},
    {"rnn-size word-vec-size", {"width"}},
    {"num-layers num-hidden-layers n-layer n-layers nlayers depth", {"layers"}},
    {"enc-depth enc-layers num-encoder-layers", {"encoder-layers"}},
    {"dec-depth dec-layers num-decoder-layers", {"decoder-layers"}},
    {"num-heads n-head n-heads nhead nheads num-attention-heads transformer-heads "
     "encoder-attention-heads", {"heads"}},
    {"d-ff dff ffn-dim ff-size ffn-embed-dim encoder-ffn-embed-dim dim-feedforward dim-ffn "
     "transformer-dim-ffn transformer-ff feed-forward feedforward intermediate-size", {"ffn-size"}},
    {"act activation-fn hidden-act", {"activation"}},
    {"pre-norm post-norm norm-first", {"norm"}},
    {"positional-encoding learned-pos", {"position-kind"}},
    {"max-position-embeddings", {"max-positions", "context"}},
    {"max-seq-len max-seq-length", {"max-length", "context"}},
    {"max-len", {"max-length", "tokens"}},
    {"seq-len seq-length sequence-length", {"context", "max-length"}},
    {"block-size context-length context-size bptt n-ctx", {"context"}},
    {"n-positions", {"context", "max-positions"}},
    {"ngram-order", {"order"}},
    /* learning */
    {"learning-rate learn-rate rate alpha", {"lr"}},
    {"batch-size", {"batch"}},
    {"batchsize bs mini-batch", {"batch-tokens", "batch-size", "batch"}},
    {"mini-batch-words", {"batch-tokens"}},
    {"max-tokens", {"batch-tokens", "tokens"}},
    {"tokens-per-batch", {"batch-tokens"}},
    {"max-sentences", {"batch-size", "batch"}},
    {"per-device-train-batch-size", {"batch-size", "batch", "batch-tokens"}},
    {"train-batch-size", {"batch-tokens", "batch-size", "batch"}},
    {"gradient-accumulation gradient-accumulation-steps accumulation-steps accum-count update-freq "
     "optimizer-delay", {"micro-batches"}},
    {"gradient-checkpointing checkpoint-activations", {"recompute"}},
    {"warmup-steps warmup-updates num-warmup-steps warmup-iters lr-warmup", {"warmup"}},
    {"lr-scheduler lr-scheduler-type lr-schedule scheduler", {"schedule"}},
    {"lr-decay", {"schedule", "decay-steps"}},
    {"lr-decay-iters total-num-update", {"decay-steps"}},
    {"min-lr", {"min-lr-ratio"}},
    {"optim", {"optimizer"}},
    {"adam-beta1", {"beta1"}},
    {"adam-beta2", {"beta2"}},
    {"adam-betas betas", {"beta1"}},
    {"adam-epsilon epsilon eps", {"adam-eps"}},
    {"wd l2", {"weight-decay"}},
    {"grad-clip clip-norm clip-grad max-grad-norm gradient-clip gradient-clip-val", {"clip"}},
    {"ema-decay exponential-smoothing average-decay", {"ema"}},
    {"dropout-rate dropout-prob transformer-dropout hidden-dropout-prob", {"dropout"}},
    {"attn-dropout attention-probs-dropout-prob transformer-dropout-attention", {"attention-dropout"}},
    {"relu-dropout activation-dropout transformer-dropout-ffn", {"ffn-dropout"}},
    {"word-dropout dropout-src", {"source-dropout"}},
    {"ls", {"label-smoothing"}},
    {"random-seed", {"seed"}},
    {"scheduled-sampling teacher-forcing", {"decoder-input"}},
    {"teacher-forcing-ratio", {"sampling-rate"}},
    {"freeze-layers", {"freeze"}},
    /* how long, how often */
    {"max-steps num-steps num-train-steps train-steps total-steps max-iters iterations iters max-update "
     "max-updates updates after-batches", {"steps"}},
    {"num-epochs n-epochs max-epoch max-epochs epoch after-epochs num-train-epochs", {"epochs"}},
    {"time max-time", {"minutes"}},
    {"early-stopping early-stop early-stopping-patience", {"patience"}},
    {"eval-every eval-steps eval-interval valid-freq valid-steps validate-interval", {"valid-every"}},
    {"save-steps save-freq save-interval save-checkpoint-steps checkpoint-every", {"save-every"}},
    {"log-every log-interval logging-steps disp-freq", {"report-every"}},
    {"metric-for-best-model best-checkpoint-metric", {"select-by", "best"}},
    /* search and generation */
    {"beam-size beam-width beams num-beams", {"beam"}},
    {"lenpen", {"alpha", "length-penalty"}},
    {"normalize", {"length-penalty"}},
    {"nbest", {"n-best"}},
    {"num-return-sequences", {"n-best", "samples"}},
    {"num-samples n-samples", {"samples"}},
    {"max-new-tokens", {"tokens", "max-length"}},
    {"max-len-b max-decoding-length", {"max-length"}},
    {"max-length-factor", {"max-ratio"}},
    {"length", {"tokens", "max-length"}},
    {"topk", {"top-k", "top"}},
    {"topp nucleus", {"top-p"}},
    {"sampling do-sample", {"sample"}},
    {"temp", {"temperature"}},
    {"constraints", {"prefix"}},
    {"print-alignment alignment attn", {"attention-span", "attention"}},
    {"pooling", {"pool"}},
    /* the machine */
    {"gpu gpus gpu-id cuda no-cuda use-cpu cpu devices", {"device"}},
    {"fp16 bf16 half amp dtype mixed-precision", {"precision"}},
    {"num-threads cpu-threads num-workers workers jobs", {"threads"}},
    {"silent", {"quiet"}},
    {"debug", {"verbose"}},
    /* clang-format on */
};

static bool has(const hd_option_set *set, const char *name)
{
    const hd_option *o = hd_option_find(set, name).option;
    return o && !o->gone;
}

static bool has_one(const hd_option_set *set, const char *const *names)
{
    while (*names && !has(set, *names)) names++;
    return *names;
}

/* What others call so, or nearly so: many words are like each other, one letter is all that may be wrong.
   elsewhere: it is an option of other verbs. */
static const struct synonym *find_synonym(const hd_option_set *set, hd_spelling s, bool *elsewhere)
{
    const struct synonym *found = NULL, *end = synonyms + sizeof synonyms / sizeof *synonyms;
    if (s.distance > 2) s.distance = 2;
    for (const struct synonym *row = synonyms; row < end; row++) {
        bool known = has_one(set, row->ours);
        for (const char *at = row->theirs; *at; at += strspn(at, " ")) {
            char word[LONGEST + 1];
            int length = (int)strcspn(at, " "), before = s.distance;
            snprintf(word, sizeof word, "%.*s", length, at);
            at += length;
            if (!strcmp(s.typed, word)) {
                *elsewhere = !known;
                return known ? row : NULL;
            }
            if (known) hd_spelling_try(&s, word);
            if (s.distance < before) found = row;
        }
    }
    return found;
}

const char *hd_option_suggestion(const hd_option_set *set, const char *typed, const char *dashes,
                                 char buffer[HD_OPTION_SUGGESTION])
{
    char name[64];
    snprintf(name, sizeof name, "%s", typed);
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
    hd_spelling best = hd_spelling_of(name);
    for (const hd_option_set *of = set; of; of = of->next)
        for (const hd_option *o = of->table; o->name; o++)
            if (!o->hidden && !o->gone) hd_spelling_try(&best, o->name);
    const char *const one[] = {best.match, NULL};
    bool elsewhere = false;
    const struct synonym *other = find_synonym(set, best, &elsewhere);
    size_t used = 0;
    buffer[0] = 0;
    if (elsewhere) return buffer;
    for (const char *const *say = other ? other->ours : one; *say && used < HD_OPTION_SUGGESTION / 2; say++)
        if (has(set, *say))
            used += (size_t)snprintf(buffer + used, HD_OPTION_SUGGESTION - used, "%s'%s%s'",
                                     used ? " or " : ", did you mean ", dashes, *say);
    if (used) snprintf(buffer + used, HD_OPTION_SUGGESTION - used, "?");
    return buffer;
}

/* ---- what it was called before ---- */

/* training.yml of a run made then is read by today's names, and whoever types an old one is told the new one.
   Where a name had two meanings and one of them moved, its lines say by their values which. */
static const struct renamed {
    const char *before, *today, *value; /* value: NULL: any */
} renamed[] = {
    {"tokeniser", "tokenizer", NULL},
    {"tokeniser-model", "tokenizer-model", NULL},
    {"optimiser", "optimizer", NULL},
    {"floor", "min-lr-ratio", NULL},
    {"best", "select-by", NULL},
    {"broken", "on-invalid", NULL},
    {"long", "on-long", NULL},
    {"empty", "on-empty", NULL},
    {"attention", "attention-span", NULL},
    {"window", "attention-window", NULL},
    {"score", "attention-score", NULL},
    {"query", "attention-query", NULL},
    {"project", "attention-projections", NULL},
    {"begin", "decoder-init", NULL},
    {"read", "readout", NULL},
    {"feed-context", "input-feeding", NULL},
    {"skips", "input-skips", NULL},
    {"relu", "embedding-relu", NULL},
    {"feeding", "decoder-input", NULL},
    {"inner", "ffn-size", NULL},
    {"inner-dropout", "ffn-dropout", NULL},
    {"vocab", "vocab-size", NULL},
    {"coverage", "character-coverage", NULL},
    {"positions", "max-positions", NULL},
    {"no-scale", "unscaled-attention", NULL},
    {"accumulate", "micro-batches", NULL},
    {"batch", "batch-size", NULL},
    {"features", "hash-buckets", NULL},
    {"whole-words", "whole-word-masking", NULL},
    {"valid-sentences", "bleu-sentences", NULL},
    {"context", "decoder-context", "attention"},
    {"context", "decoder-context", "fixed"},
    {"context", "decoder-context", "everywhere"},
    {"context", "decoder-context", "mean"},
};

const char *hd_option_renamed(const hd_option_set *set, const char *before, const char *value)
{
    bool still = hd_option_find(set, before).option;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        const struct renamed *row = &renamed[i];
        bool fits = row->value && value ? !strcmp(row->value, value) : !still;
        if (fits && !strcmp(row->before, before) && hd_option_find(set, row->today).option) return row->today;
    }
    return NULL;
}
