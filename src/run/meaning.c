/* What the options mean to every task. */
#include "run/options.h"

/* <unk> is learned from words that are seen once. */
hd_tokenizer_opt hd_train_vocabulary(const hd_train_options *o)
{
    return (hd_tokenizer_opt){.vocab = o->vocab_size == HD_TRAIN_ALL_PIECES ? 0 : (size_t)o->vocab_size,
                              .unigram = o->subwords == 1,
                              .coverage = o->character_coverage,
                              .least = o->min_count ? (uint64_t)o->min_count
                                       : o->unit == HD_TRAIN_WORD && o->task != HD_TRAIN_MLM ? 2
                                                                                             : 1};
}

/* A file's name without its folder, and the length of what stands before it. */
static const char *name_in(const char *path, size_t *folder)
{
    const char *slash = strrchr(path, '/');
    *folder = slash ? (size_t)(slash - path) : 0;
    return slash ? slash + 1 : path;
}

hd_status hd_train_tokenizer(const char **to, const hd_train_options *o, hd_err *err)
{
    const char *const *file = o->tokenizer_model.text;
    *to = o->tokenizer_model.count ? file[0] : NULL;
    if (o->tokenizer_model.count < 2) return HD_OK;
    size_t folder[2];
    const char *name[2] = {name_in(file[0], &folder[0]), name_in(file[1], &folder[1])};
    if (strcmp(name[0], "vocab.json") || strcmp(name[1], "merges.txt"))
        return hd_err_set(err, HD_EARG,
                          "--tokenizer-model has two files: there is one tokenizer (its two files can be "
                          "vocab.json and merges.txt)");
    if (folder[0] != folder[1] || memcmp(file[0], file[1], folder[0]))
        return hd_err_set(err, HD_EARG, "--tokenizer-model: %s and %s must lie in one folder", file[0],
                          file[1]);
    return HD_OK;
}

hd_status hd_train_check_files(const hd_train_options *o, const char *what, hd_err *err)
{
    bool folder = o->task == HD_TRAIN_CLASSIFY;
    if (!o->train.count && !o->train_dir.count)
        return hd_err_set(err, HD_EARG, "--train%s is required: the data to learn from",
                          folder ? " or --train-dir" : "");
    if (o->train.count && o->train_dir.count)
        return hd_err_set(err, HD_EARG, "--train and --train-dir exclude each other");
    if (what && (o->train.count > 1 || o->valid.count > 1))
        return hd_err_set(err, HD_EARG, "%s: --%s has several", what, o->train.count > 1 ? "train" : "valid");
    if (o->valid.count && o->valid_fraction > 0)
        return hd_err_set(err, HD_EARG, "--valid and --valid-fraction exclude each other");
    return HD_OK;
}

hd_status hd_train_check_end(const hd_train_options *o, hd_err *err)
{
    if (!o->epochs && !o->steps && o->minutes <= 0 && !o->patience)
        return hd_err_set(err, HD_EARG,
                          "no stopping condition: give --epochs, --steps, --minutes or --patience");
    return HD_OK;
}

hd_status hd_train_check_positions(const hd_train_options *o, hd_err *err)
{
    if (o->position_kind == HD_TRAIN_POSITIONS_ROTARY)
        return hd_err_set(err, HD_EARG, "--position-kind rotary is for --task lm with --model llama");
    if (o->position_kind != HD_TRAIN_POSITIONS_PERIODIC) return HD_OK;
    return hd_err_set(err, HD_EARG, "--position-kind periodic is for --task lm: a %s has no bars",
                      hd_train_tasks[o->task]);
}

hd_unary hd_train_activation(int choice)
{
    return (hd_unary)hd_unary_find(hd_train_activations[choice]);
}

bool hd_train_names_cell(int choice)
{
    hd_unary act = hd_train_activation(choice);
    return act == HD_tanh || act == HD_sigmoid;
}

hd_unary hd_train_block_activation(int choice, hd_unary usual)
{
    return hd_train_names_cell(choice) ? usual : hd_train_activation(choice);
}

hd_unary hd_train_cell(int choice)
{
    return hd_train_names_cell(choice) ? hd_train_activation(choice) : HD_tanh;
}

hd_tokenizer_kind hd_train_unit(int unit)
{
    static const hd_tokenizer_kind kinds[] = {[HD_TRAIN_WORD] = HD_TOKENIZER_words,
                                              [HD_TRAIN_CHAR] = HD_TOKENIZER_characters,
                                              [HD_TRAIN_SUBWORD] = HD_TOKENIZER_sentencepiece};
    return kinds[unit];
}
