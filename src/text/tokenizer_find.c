/* Finding the kind of a tokenizer, from config.json of a model folder or else from the file names that
   published checkpoints use. */
#include "text/tokenizer_find.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/seal.h"
#include "text/published/file_set.h"

enum { MOST_CONFIG = 1 << 20 };

/* A tokenizer.json names its kind. */
static hd_status open_json(hd_tokenizer **out, const char *path, hd_err *err)
{
    hd_arena arena;
    json_t *root = NULL;
    hd_arena_init(&arena, hd_allocator_host, 0);
    hd_status s = hd_json_read(&root, &arena, path, HD_FILE_SET_BYTES, err);
    const char *type = json_string_value(json_object_get(json_object_get(root, "model"), "type"));
    static const struct {
        const char *type;
        hd_tokenizer_kind kind;
    } known[] = {
        {"WordPiece", HD_TOKENIZER_wordpiece}, {"BPE", HD_TOKENIZER_bpe}, {"Unigram", HD_TOKENIZER_t5}};
    int kind = -1;
    for (size_t i = 0; type && i < sizeof known / sizeof *known; i++)
        if (!strcmp(type, known[i].type)) kind = (int)known[i].kind;
    if (!s && kind < 0)
        s = hd_err_set(err, HD_EFORMAT, "%s: model \"%.60s\" of tokenizer.json is not known", path,
                       type ? type : "");
    hd_arena_release(&arena);
    return s ? s : hd_tokenizer_open(out, (hd_tokenizer_kind)kind, path, err);
}

/* heed's own list begins with <pad>; its pieces are single characters or words. */
static hd_status open_list(hd_tokenizer **out, const char *path, hd_err *err)
{
    hd_lines *lines = NULL;
    hd_line line = {0};
    hd_status s = hd_lines_open(&lines, path, NULL, err);
    if (!s) s = hd_lines_next(lines, &line, err);
    bool own = !s && line.text && !strcmp(line.text, hd_special_piece[HD_PAD_ID]);
    hd_lines_close(lines);
    if (s) return s;
    if (!own) return hd_tokenizer_open(out, HD_TOKENIZER_wordpiece, path, err);
    hd_err why = {0};
    s = hd_tokenizer_open(out, HD_TOKENIZER_characters, path, &why);
    if (s == HD_ENOMEM) return hd_err_set(err, s, "%s", why.text);
    return s ? hd_tokenizer_open(out, HD_TOKENIZER_words, path, err) : HD_OK;
}

static hd_status open_file(hd_tokenizer **out, const char *path, hd_err *err)
{
    char vocab[HD_PATH];
    hd_status s = hd_beside(vocab, path, "vocab.json", err);
    if (s) return s;
    if (hd_is_called(path, "tokenizer.json")) return open_json(out, path, err);
    if (hd_is_called(path, ".json")) return hd_tokenizer_open(out, HD_TOKENIZER_bpe, path, err);
    if (hd_is_called(path, ".txt")) return open_list(out, path, err);
    if (hd_is_called(path, "spiece.model") || hd_is_called(path, "sentencepiece.bpe.model"))
        return hd_tokenizer_open(out, HD_TOKENIZER_t5, path, err);
    bool mapped = hd_is_called(path, ".spm") && !access(vocab, F_OK);
    return hd_tokenizer_open(out, mapped ? HD_TOKENIZER_marian : HD_TOKENIZER_sentencepiece, path, err);
}

json_t *hd_tokenizer_member(const json_t *config, const char *key)
{
    char buffer[HD_PATH];
    json_t *v = json_object_get(config, key);
    const char *before = v ? NULL : hd_tokenizer_before(key, buffer);
    return before ? json_object_get(config, before) : v;
}

/* Whether config.json of the folder is heed's; then *s is the result of opening. */
static bool open_model(hd_tokenizer **out, const char *folder, bool target, hd_status *s, hd_err *err)
{
    char path[HD_PATH];
    hd_arena arena;
    json_t *root = NULL;
    if (hd_path(path, folder, "config.json", NULL)) return false;
    hd_arena_init(&arena, hd_allocator_host, 0);
    hd_err why = {0};
    *s = hd_json_read(&root, &arena, path, MOST_CONFIG, &why);
    const char *one = json_string_value(hd_tokenizer_member(root, "tokenizer")),
               *side = json_string_value(
                   hd_tokenizer_member(root, target ? "target_tokenizer" : "source_tokenizer")),
               *name = one ? one : side;
    bool both = one || json_is_true(hd_tokenizer_member(root, "shared_tokenizer")), own = !*s && name;
    int kind = own ? hd_tokenizer_find(name) : -1;
    hd_tokenizer_place place = both ? HD_OF_BOTH : target ? HD_OF_TARGET : HD_OF_SOURCE;
    if (*s == HD_ENOMEM) {
        hd_err_set(err, *s, "%s", why.text);
        own = true;
    } else if (kind >= 0) {
        *s = hd_seal_check(folder, root, err);
        if (!*s) *s = hd_path(path, folder, hd_tokenizer_file((hd_tokenizer_kind)kind, place), err);
        if (!*s) *s = hd_tokenizer_open(out, (hd_tokenizer_kind)kind, path, err);
    } else if (own) {
        *s = hd_err_set(err, HD_EFORMAT, "%s: there is no tokenizer \"%.40s\"", path, name);
    }
    hd_arena_release(&arena);
    return own;
}

static hd_status open_folder(hd_tokenizer **out, const char *folder, bool target, hd_err *err)
{
    /* heed's own first: converted copies for other programs may be beside them */
    static const char *const names[] = {"source.model",    "tokenizer.model",        "tokenizer.txt",
                                        "tokeniser.model", "tokeniser.txt",          "source.spm",
                                        "spiece.model",    "tokenizer.json",         "vocab.json",
                                        "vocab.txt",       "sentencepiece.bpe.model"};
    char path[HD_PATH];
    hd_status s = HD_OK;
    if (open_model(out, folder, target, &s, err)) return s;
    s = HD_OK;
    for (size_t i = 0; !s && i < sizeof names / sizeof *names; i++) {
        const char *name = target && !strcmp(names[i], "source.spm")     ? "target.spm"
                           : target && !strcmp(names[i], "source.model") ? "target.model"
                                                                         : names[i];
        s = hd_path(path, folder, name, err);
        if (!s && !access(path, F_OK)) return open_file(out, path, err);
    }
    return s ? s
             : hd_err_set(err, HD_EFILE,
                          "%s: no tokenizer in the folder: tokenizer.json, vocab.json with merges.txt, "
                          "vocab.txt, source.spm with vocab.json, spiece.model or sentencepiece.bpe.model is "
                          "expected",
                          folder);
}

hd_status hd_tokenizer_open_any(hd_tokenizer **out, const char *path, bool target, hd_err *err)
{
    struct stat info;
    if (stat(path, &info)) return hd_err_set(err, HD_EFILE, "%s: there is no such file or folder", path);
    return S_ISDIR(info.st_mode) ? open_folder(out, path, target, err) : open_file(out, path, err);
}

hd_status hd_tokenizer_open_as(hd_tokenizer **out, hd_tokenizer_kind kind, const char *path, hd_err *err)
{
    bool list = hd_is_called(path, ".txt") && (kind == HD_TOKENIZER_words || kind == HD_TOKENIZER_characters);
    return list ? hd_tokenizer_open(out, kind, path, err) : hd_tokenizer_open_any(out, path, false, err);
}
