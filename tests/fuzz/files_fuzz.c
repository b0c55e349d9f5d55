/* libFuzzer target: any bytes as one of the files that heed reads beside safetensors. The first byte says
   which, the rest is the file. Each reader must refuse it with a text or take it; nothing may leak. */
#include <math.h>

#include "base/file/checksum.h"
#include "base/file/lines.h"
#include "cli/frame/option.h"
#include "run/options.h"
#include "model/lm/ngram.h"
#include "data/labels/labeled.h"
#include "data/shards/shards.h"
#include "task/label/labeler.h"
#include "task/language/chat/generation.h"
#include "task/language/language.h"
#include "task/masked/masked.h"
#include "task/model_folder.h"
#include "task/translate/lexicon.h"
#include "train/checkpoint.h"
#include "fuzz.h"
#include "train/duration.h"

/* Good files that lie beside the broken one. */
static const char words[] = "<pad>\n<unk>\n<s>\n</s>\na\nb\nc\n", labels[] = "bad\ngood\n",
                  labeler[] = "{\"format\": 1, \"task\": \"classify\", \"pool\": \"last\", \"encoder\": "
                              "\"gru:1\", \"heads\": 2, \"width\": 16, \"inner\": 32, \"vocabulary\": 7, "
                              "\"post_norm\": false, \"dropout\": 0, \"activation\": \"gelu\", "
                              "\"positions\": 64, \"classes\": 2, \"tokenizer\": \"words\"}";

static const char translator[] =
    "{\"format\": 1, \"task\": \"translate\", \"model\": \"transformer\", \"encoder_layers\": 1, "
    "\"decoder_layers\": 1, \"heads\": 2, \"width\": 16, \"inner\": 32, \"positions\": 64, \"tied\": true, "
    "\"pre_norm\": true, \"output_bias\": false, \"learned_positions\": false, \"activation\": \"relu\", "
    "\"eps\": 1e-05, \"longest\": 58, \"source_tokenizer\": \"words\", \"target_tokenizer\": \"words\", "
    "\"shared_tokenizer\": true}";

typedef hd_status labeled_reader(hd_labeled *out, hd_vocab *labels, const char *path, hd_err *err);

static hd_status read_config(hd_err *err)
{
    hd_train_options o = {0};
    hd_given given[128] = {HD_GIVEN_NOT};
    const hd_option_set set = {hd_train_table, &o, given, NULL};
    hd_arena texts;
    MUST(hd_option_count(hd_train_table) < sizeof given / sizeof *given);
    MUST(!hd_option_set_defaults(&set, NULL));
    hd_option_place at = hd_option_find(&set, HD_CONFIG_NAME);
    o.config = path;
    *at.given = HD_GIVEN_HERE;
    hd_arena_init(&texts, hd_allocator_host, 0);
    hd_status s = hd_config_read(&set, &texts, err);
    hd_arena_release(&texts);
    return s;
}

static hd_status read_model(hd_err *err)
{
    hd_model_folder f;
    hd_status s = hd_model_folder_describe(&f, folder, NULL, err);
    hd_model_folder_release(&f);
    return s;
}

static hd_status read_state(hd_err *err)
{
    hd_progress p;
    return hd_checkpoint_load(folder, &p, NULL, err);
}

static hd_status read_tokenizer(hd_tokenizer_kind kind, hd_err *err)
{
    static const char text[] = "I ate an apple .";
    hd_tokenizer *t = NULL;
    hd_ids ids = {0};
    hd_status s = hd_tokenizer_open(&t, kind, path, err);
    if (!s) s = hd_tokenizer_encode_ids(t, text, sizeof text - 1, &ids, err);
    for (size_t i = 0; i < ids.count; i++) MUST((size_t)ids.at[i] < hd_tokenizer_size(t));
    hd_ids_release(&ids);
    hd_tokenizer_free(t);
    return s;
}

static hd_status read_words(hd_err *err)
{
    return read_tokenizer(HD_TOKENIZER_words, err);
}

static hd_status read_characters(hd_err *err)
{
    return read_tokenizer(HD_TOKENIZER_characters, err);
}

static hd_status read_subwords(hd_err *err)
{
    return read_tokenizer(HD_TOKENIZER_sentencepiece, err);
}

static hd_status read_lines(hd_err *err)
{
    hd_lines *l = NULL;
    hd_line line = {"", 0};
    hd_status s = hd_lines_open(&l, path, &(hd_lines_opt){.longest = 1000, .utf8 = true}, err);
    while (!s && line.text) s = hd_lines_next(l, &line, err);
    hd_lines_close(l);
    return s;
}

/* What is taken must be a model: probabilities that sum to 1, the same one by one. */
static void ask_ngram(const hd_ngram *m)
{
    enum { MOST = 512 };
    const hd_ngram_opt *o = hd_ngram_options(m);
    double row[MOST];
    int32_t context[3] = {o->start, 0, 0};
    MUST(hd_ngram_logp(m, NULL, 0, 0) <= 0);
    if (o->vocab > MOST) return;
    for (size_t n = 0; n <= 3; n++) {
        double sum = 0;
        hd_ngram_row(m, context, n, row);
        for (size_t i = 0; i < o->vocab; i++) {
            double p = exp(hd_ngram_logp(m, context, n, (int32_t)i));
            MUST(row[i] >= 0 && fabs(row[i] - p) < 1e-9);
            sum += row[i];
        }
        MUST(fabs(sum - 1) < 1e-6);
        if (n < 3) context[n] = (int32_t)(o->vocab - 1 - n % o->vocab);
    }
}

static hd_status read_ngram(hd_err *err)
{
    hd_ngram *m = NULL;
    hd_status s = hd_ngram_open(&m, path, err);
    if (!s) ask_ngram(m);
    hd_ngram_free(m);
    return s;
}

/* With magic, version and checksum set right: damage would end there, malice does not. */
static hd_status read_forged_ngram(hd_err *err)
{
    static const char front[12] = "heedgram\1"; /* and zeros */
    uint64_t mark = 0xcbf29ce484222325u;
    FILE *f = fopen(path, "r+b");
    MUST(f && fwrite(front, sizeof front, 1, f) == 1 && !fseek(f, 0, SEEK_END));
    long size = ftell(f);
    rewind(f);
    for (long i = 0; i + 8 < size; i++) mark = (mark ^ (uint64_t)getc(f)) * 0x100000001b3u;
    MUST(!fseek(f, size - 8, SEEK_SET) && fwrite(&mark, 8, 1, f) == 1 && !fclose(f));
    return read_ngram(err);
}

/* Of a table every item has a label that is there. */
static hd_status read_items(labeled_reader *read, hd_err *err)
{
    hd_labeled items = {0};
    hd_vocab found = {0};
    hd_status s = read(&items, &found, path, err);
    for (size_t i = 0; !s && i < items.labels; i++) MUST((size_t)items.label[i] < found.count);
    hd_labeled_release(&items);
    hd_vocab_release(&found);
    return s;
}

static hd_status named_table(hd_labeled *out, hd_vocab *found, const char *file, hd_err *err)
{
    return hd_labeled_table(out, found, file, hd_labeled_name, err);
}

static hd_status read_table(hd_err *err)
{
    return read_items(named_table, err);
}

static hd_status set_table(hd_labeled *out, hd_vocab *found, const char *file, hd_err *err)
{
    return hd_label_kind_read(hd_label_kind_of(HD_TRAIN_MULTILABEL), out, found, file, err);
}

static hd_status read_sets(hd_err *err)
{
    return read_items(set_table, err);
}

static hd_status read_tags(hd_err *err)
{
    return read_items(hd_labeled_tokens, err);
}

/* It is asked for a time, and has none to tell where it is no such file. */
static hd_status read_time(hd_err *err)
{
    hd_duration d = hd_duration_load(folder);
    MUST(!(d.seconds < 0));
    return (void)err, HD_OK;
}

/* The first file of tokens is of the length that the index asks for, as far as that is small: what is taken
   is read to its end. */
static hd_status read_shards(hd_err *err)
{
    enum { MOST = 1 << 12 };
    static const char tokens[MOST];
    uint32_t a[MOST], b[MOST], *len[2] = {a, b};
    int32_t *ids[2] = {(int32_t *)a, (int32_t *)b};
    hd_shards *x = NULL;
    hd_status s = hd_shards_open(&x, folder, err);
    for (size_t size = 1; s && size <= MOST; size *= 2) {
        *err = (hd_err){0};
        write_file("tokens-000", tokens, size);
        s = hd_shards_open(&x, folder, err);
    }
    for (size_t i = 0; !s && i < x->blocks; i++) {
        bool small =
            x->block[i].items <= MOST && x->block[i].tokens[0] <= MOST && x->block[i].tokens[1] <= MOST;
        if (small) s = hd_shards_lengths(x, i, len, err);
        if (small && !s) s = hd_shards_ids(x, i, ids, err);
    }
    if (!s) s = hd_shards_span(x, x->tokens[0] / 2, 1, ids[0], err);
    hd_shards_free(x);
    return s;
}

/* With mark and checksum set right, as for the n-grams above. */
static hd_status read_forged_shards(hd_err *err)
{
    uint8_t bytes[1 << 12] = {0};
    FILE *f = fopen(path, "rb");
    MUST(f);
    size_t size = fread(bytes, 1, sizeof bytes, f), fixed = sizeof(hd_shards_mark) + sizeof(hd_shards_head);
    MUST(!fclose(f));
    if (size < fixed + sizeof(hd_shards_block) + 4) return read_shards(err);
    uint64_t blocks = (size - fixed - 4) / sizeof(hd_shards_block);
    hd_shards_mark mark = {HD_SHARDS_MAGIC, HD_SHARDS_ORDER, sizeof(hd_shards_block), blocks, 1};
    size = fixed + (size_t)blocks * sizeof(hd_shards_block) + 4;
    memcpy(bytes, &mark, sizeof mark);
    uint32_t sum = hd_checksum(0, bytes, size - 4);
    memcpy(bytes + size - 4, &sum, sizeof sum);
    write_file(HD_SHARDS_INDEX, bytes, size);
    return read_shards(err);
}

/* Whatever it says, its tokens are ones that there are. */
static hd_status read_generation(hd_err *err)
{
    enum { VOCAB = 50 };
    static const int32_t said[] = {1, 2, 3, 2, 3};
    hd_generation g;
    hd_generate_opt o = {.tokens = 8};
    bool banned[VOCAB] = {0};
    hd_real row[VOCAB] = {0};
    hd_status s = hd_generation_read(&g, folder, VOCAB, err);
    if (s) return s;
    hd_generation_end(&g, 3);
    hd_generation_apply(&g, &(hd_generation_said){0}, &o);
    hd_rules_ban(o.rules, banned);
    for (size_t n = 0; n <= sizeof said / sizeof *said; n++)
        hd_rules_mask(o.rules, &(hd_history){said, n, n, n / 2, 6 - n}, row, VOCAB);
    for (size_t i = 0; i < o.stops; i++) MUST(o.stop[i][0]);
    for (size_t i = 0; i < o.ending_count; i++) MUST(o.endings[i] >= 0 && o.endings[i] < VOCAB);
    hd_generation_release(&g);
    return HD_OK;
}

/* Whatever the numbers behind its name, lists are in order and hold tokens that there are. */
static hd_status read_shortlist(hd_err *err)
{
    static const char *const behind[] = {"", ",1", ",2,1", ",1000000,1000000"};
    char given[HD_PATH + 32], file[HD_PATH];
    hd_model_folder f;
    snprintf(file, sizeof file, "%s", path);
    write_file("config.json", translator, sizeof translator - 1);
    hd_status s = hd_model_folder_describe(&f, folder, NULL, err);
    MUST(!s);
    for (size_t i = 0; !s && i < sizeof behind / sizeof *behind; i++) {
        hd_shortlist *l = NULL;
        snprintf(given, sizeof given, "%s%s", file, behind[i]);
        s = hd_lexicon_open_given(&l, given, &f, NULL, err);
        if (s) break;
        MUST(l->begin[0] == 0 && l->always_count <= l->targets + 1);
        for (size_t j = 0; j < l->sources; j++) MUST(l->begin[j] <= l->begin[j + 1]);
        for (size_t j = 0; j < l->begin[l->sources]; j++) MUST((size_t)l->target[j] < l->targets);
        for (size_t j = 0; j < l->always_count; j++) MUST((size_t)l->always[j] < l->targets);
        hd_shortlist_free(l);
    }
    hd_model_folder_release(&f);
    return s;
}

static const struct {
    const char *name; /* of the file, in the folder */
    hd_status (*read)(hd_err *err);
} readers[] = {{"training.yml", read_config},
               {"config.json", read_model},
               {"train/step-1/state.json", read_state},
               {"train/current", read_state},
               {"words.txt", read_words},
               {"characters.txt", read_characters},
               {"tokenizer.model", read_subwords},
               {"lines", read_lines},
               {HD_NGRAM_FILE, read_ngram},
               {HD_NGRAM_FILE, read_forged_ngram},
               {"config.json", read_model},
               {"train/time.json", read_time},
               {"config.json", read_model},
               {"config.json", read_model},
               {"labels.txt", read_model},
               {"table.tsv", read_table},
               {"tags.tsv", read_tags},
               {HD_SHARDS_INDEX, read_shards},
               {HD_SHARDS_INDEX, read_forged_shards},
               {"sets.tsv", read_sets},
               {"generation_config.json", read_generation},
               {"lex", read_shortlist}};

int LLVMFuzzerInitialize(int *count, char ***given)
{
    (void)count, (void)given;
    make_folder("");
    make_folder("train");
    make_folder("train/step-1");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_err err = {0};
    if (!size) return 0;
    size_t which = reader_of(data[0], sizeof readers / sizeof *readers);
    write_file("train/current", "step-1\n", 7);
    write_file("config.json", labeler, sizeof labeler - 1);
    write_file("tokenizer.txt", words, sizeof words - 1);
    write_file("labels.txt", labels, sizeof labels - 1);
    write_file(readers[which].name, data + 1, size - 1);
    size_t blocks = hd_mem_now().blocks;
    hd_status s = readers[which].read(&err);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(hd_mem_now().blocks == blocks);
    return 0;
}
