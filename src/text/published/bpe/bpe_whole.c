/* The parts of a tokenizer.json of byte-pair encoding: what is done to texts before and behind the merges. A
   part that is not known is refused by its name, a split pattern by its text. */
#include <string.h>

#include "text/published/bpe/bpe.h"
#include "text/published/bpe/byte_level.h"

static const char BLANK[] = "\xe2\x96\x81";

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static hd_status refuse(const hd_tokenizer_json *j, const char *what)
{
    return hd_err_set(j->err, HD_EFORMAT, "%s: %s", j->path, what);
}

typedef hd_status read_part(hd_bpe *b, const hd_tokenizer_json *j, const json_t *part);

/* A part, or all of those in the list of a "Sequence". */
static hd_status each(hd_bpe *b, const hd_tokenizer_json *j, const char *name, const char *list,
                      read_part *read)
{
    const json_t *whole = json_object_get(j->root, name), *parts = json_object_get(whole, list);
    if (strcmp(text_of(whole, "type"), "Sequence")) return read(b, j, whole);
    hd_status s = HD_OK;
    for (size_t i = 0; !s && i < json_array_size(parts); i++) s = read(b, j, json_array_get(parts, i));
    return s;
}

/* -- pre-tokenizers -- */

static hd_status add_cut(hd_bpe *b, const hd_tokenizer_json *j, hd_cut *cut)
{
    if (b->cuts == HD_CUTS_MOST) return refuse(j, "pre_tokenizer: too many parts");
    b->cut[b->cuts++] = cut;
    return HD_OK;
}

static hd_status read_split(hd_bpe *b, const hd_tokenizer_json *j, const json_t *part)
{
    const json_t *pattern = json_object_get(part, "pattern");
    const char *regex = text_of(pattern, "Regex"), *behavior = text_of(part, "behavior");
    if (json_is_true(json_object_get(part, "invert")))
        return refuse(j, "pre_tokenizer \"Split\": \"invert\": true is not known");
    if (!strcmp(text_of(pattern, "String"), " ") && !strcmp(behavior, "MergedWithPrevious"))
        return add_cut(b, j, hd_cut_after_space);
    hd_cut *cut = hd_cut_of_pattern(regex);
    if (!cut)
        return hd_err_set(j->err, HD_EFORMAT, "%s: pre_tokenizer: the split pattern \"%.200s\" is not known",
                          j->path, *regex ? regex : text_of(pattern, "String"));
    if (strcmp(behavior, "Isolated"))
        return hd_err_set(j->err, HD_EFORMAT, "%s: pre_tokenizer \"Split\": behavior \"%.40s\" is not known",
                          j->path, behavior);
    return add_cut(b, j, cut);
}

static hd_status read_bytes(hd_bpe *b, const hd_tokenizer_json *j, const json_t *part)
{
    bool words;
    hd_status s = hd_json_switch(j, part, "use_regex", true, &words);
    if (!s) s = hd_json_switch(j, part, "add_prefix_space", true, &b->prefix);
    if (!s && b->prefix && (b->cuts || b->normal.count))
        s = refuse(j, "\"add_prefix_space\" of ByteLevel behind other parts is not known");
    b->characters = false;
    return s || !words ? s : add_cut(b, j, hd_byte_level_word);
}

static hd_status read_metaspace(hd_bpe *b, const hd_tokenizer_json *j, const json_t *part)
{
    bool split, prefix;
    const char *scheme = text_of(part, "prepend_scheme");
    hd_status s = hd_json_switch(j, part, "split", true, &split);
    if (!s) s = hd_json_switch(j, part, "add_prefix_space", true, &prefix);
    if (!s && strcmp(text_of(part, "replacement"), BLANK))
        s = refuse(j, "pre_tokenizer \"Metaspace\": the replacement is not U+2581");
    if (!s && b->cuts) s = refuse(j, "pre_tokenizer \"Metaspace\" behind other parts is not known");
    if (!s) s = hd_normal_add(&b->normal, j, HD_NORMAL_REPLACE, " ", BLANK);
    const bool first = !strcmp(scheme, "first");
    if (!s && prefix && strcmp(scheme, "never"))
        s = hd_normal_add(&b->normal, j, first ? HD_NORMAL_FIRST : HD_NORMAL_ALWAYS, "", BLANK);
    return s || !split ? s : add_cut(b, j, hd_cut_before_blank);
}

static hd_status read_cut(hd_bpe *b, const hd_tokenizer_json *j, const json_t *part)
{
    enum { BYTES, SPLIT, DIGITS, METASPACE };
    static const char *const known[] = {"ByteLevel", "Split", "Digits", "Metaspace", NULL};
    int which;
    bool alone = false;
    hd_status s = hd_json_part(j, part, "pre_tokenizer", known, &which);
    if (s || which < 0) return s;
    if (which == BYTES) return read_bytes(b, j, part);
    if (which == SPLIT) return read_split(b, j, part);
    if (which == METASPACE) return read_metaspace(b, j, part);
    s = hd_json_switch(j, part, "individual_digits", false, &alone);
    return s ? s : add_cut(b, j, alone ? hd_cut_digit : hd_cut_digits);
}

/* -- decoders -- */

static hd_status read_decoder(hd_bpe *b, const hd_tokenizer_json *j, const json_t *part)
{
    enum { BYTES, REPLACE, FALLBACK, FUSE, STRIP, METASPACE };
    static const char *const known[] = {"ByteLevel", "Replace", "ByteFallback", "Fuse", "Strip",
                                        "Metaspace", NULL};
    int which;
    hd_status s = hd_json_part(j, part, "decoder", known, &which);
    if (s || which < 0) return s;
    const json_int_t start = json_integer_value(json_object_get(part, "start"));
    if ((which == BYTES) == b->characters) return refuse(j, "the decoder does not fit the pre_tokenizer");
    if (which == REPLACE && (strcmp(text_of(json_object_get(part, "pattern"), "String"), BLANK) ||
                             strcmp(text_of(part, "content"), " ")))
        return refuse(j, "decoder \"Replace\" of other than U+2581 by a space is not known");
    if (which == REPLACE || which == METASPACE) b->blanks = true;
    if (which == METASPACE) b->stripped = strcmp(text_of(part, "prepend_scheme"), "never") != 0;
    if (which != STRIP) return HD_OK;
    if (strcmp(text_of(part, "content"), " ") || start < 0 || start > HD_STRIP_MOST ||
        json_integer_value(json_object_get(part, "stop")))
        return refuse(j, "decoder \"Strip\" of other than spaces at the beginning is not known");
    b->stripped = (size_t)start;
    return HD_OK;
}

/* -- the model -- */

static hd_status read_model(hd_bpe *b, const hd_tokenizer_json *j, const json_t *model)
{
    static const char *const off[] = {"dropout", "continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const json_t *v = json_object_get(model, off[i]);
        bool is_off =
            !v || json_is_null(v) || json_is_false(v) || (json_is_string(v) && !json_string_length(v));
        if (!is_off)
            return hd_err_set(j->err, HD_EFORMAT, "%s: \"%s\" of the model BPE is not known", j->path,
                              off[i]);
    }
    hd_status s = hd_json_switch(j, model, "byte_fallback", false, &b->fallback);
    if (!s) s = hd_json_switch(j, model, "fuse_unk", false, &b->fused);
    if (!s) s = hd_json_switch(j, model, "ignore_merges", false, &b->whole);
    const char *unknown = text_of(model, "unk_token");
    b->unknown = hd_vocab_find(&b->vocab, unknown, strlen(unknown));
    if (!s && b->characters && b->unknown < 0)
        s = refuse(j, "a model BPE of characters without an \"unk_token\" is not known");
    return s;
}

hd_status hd_bpe_read_whole(hd_tokenizer *t, const hd_tokenizer_json *j)
{
    static const char *const models[] = {"BPE", NULL};
    hd_bpe *b = t->state;
    const json_t *model = json_object_get(j->root, "model"),
                 *added = json_object_get(j->root, "added_tokens"),
                 *decoder = json_object_get(j->root, "decoder");
    hd_post post = {0};
    int which = 0;
    b->characters = true;
    hd_status s = hd_json_part(j, model, "model", models, &which);
    if (!s) s = hd_normal_read(&b->normal, j);
    if (!s) s = each(b, j, "pre_tokenizer", "pretokenizers", read_cut);
    if (!s && b->characters && (!decoder || json_is_null(decoder)))
        s = refuse(j, "no decoder: ByteLevel, or Replace and ByteFallback, is expected");
    if (!s) s = each(b, j, "decoder", "decoders", read_decoder);
    if (!s) s = hd_json_vocab(j, json_object_get(model, "vocab"), added, &b->vocab);
    if (!s) s = hd_json_added(j, added, &b->vocab, &b->added);
    if (!s) s = read_model(b, j, model);
    if (!s) s = hd_json_post(j, b->vocab.count, &post);
    b->trim = post.trim, b->prefixed = post.prefixed;
    memcpy(t->frame, post.frame, sizeof t->frame);
    return s ? s : hd_find_specials(&t->special, &b->vocab, &b->added, false, j->path, j->err);
}

/* -- tokenizer_config.json -- */

/* The token of a key: -1 if it is none. */
static int32_t named(const hd_bpe *b, const json_t *config, const char *key)
{
    const json_t *token = json_object_get(config, key);
    const char *name = json_is_string(token) ? json_string_value(token) : text_of(token, "content");
    return hd_vocab_find(&b->vocab, name, strlen(name));
}

/* "add_bos_token" and "add_eos_token" take the place of the post_processor's tokens. */
static void frame_texts(hd_tokenizer *t, int32_t lead, int32_t trail)
{
    for (int pair = 0; pair < 2; pair++) {
        hd_text_frame *f = &t->frame[pair];
        f->count = 0;
        for (int i = 0; i <= pair; i++) {
            if (lead >= 0) hd_frame_add(f, lead, i);
            hd_frame_add(f, HD_FRAME_FIRST - i, i);
            if (trail >= 0) hd_frame_add(f, trail, i);
        }
    }
}

hd_status hd_bpe_read_config(hd_tokenizer *t, const hd_tokenizer_json *config)
{
    const hd_bpe *b = t->state;
    const json_t *root = config->root;
    const int32_t bos = named(b, root, "bos_token"), eos = named(b, root, "eos_token");
    const bool says = json_object_get(root, "add_bos_token") || json_object_get(root, "add_eos_token");
    bool add_bos = false, add_eos = false;
    hd_status s = hd_json_switch(config, root, "add_bos_token", false, &add_bos);
    if (!s) s = hd_json_switch(config, root, "add_eos_token", false, &add_eos);
    if (s) return s;
    if (says) frame_texts(t, add_bos ? bos : -1, add_eos ? eos : -1);
    hd_special *special = &t->special;
    const bool same = special->start == special->end;
    if (eos >= 0) special->end = eos;
    if (bos >= 0)
        special->start = bos;
    else if (root || same)
        special->start = special->end;
    static const char *const keys[] = {"pad_token", "unk_token", "mask_token"};
    int32_t *const place[] = {&special->pad, &special->unk, &special->mask};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int32_t id = named(b, root, keys[i]);
        if (id >= 0) *place[i] = id;
    }
    if (t->frame[0].at[0].id >= 0)
        t->lead = t->frame[0].at[0].id;
    else if (says || (root && bos != eos))
        t->lead = -1;
    return HD_OK;
}
