/* A SentencePiece model in the terms of Hugging Face's tokenizers. Where the two differ:
   1. Precompiled, which reads SentencePiece's table of characters, goes by grapheme clusters, and drops the
   rest of a short cluster after the first rule that matches. NFKC before it leaves only a few odd
   clusters; separators between marks keep NFKC from reordering them, which SentencePiece does not do.
   2. BPE ranks pairs, SentencePiece the pieces they become: a piece has several pairs, the one with the
   longer left part first, in the order in which merging from the left finds them.
   3. Unigram finds control and byte pieces in a text, too. With a score below that of any text they are not
   found if their characters are pieces; if one is not, the text is split at it, as SentencePiece does
   since no piece contains it. */
#include "text/sentencepiece/sentencepiece_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/character.h"
#include "text/sentencepiece/sentencepiece_view.h"
#include "text/vocab.h"

static const float UNREACHED = 10000; /* below the lowest score: more than any piece's characters cost */

/* U+2581, a tilde that NFKC must not see, and two code points that no text contains: a replacement for the
   tilde, and a separator for characters that must not be joined. */
static const char SPACE[] = "\xe2\x96\x81", TILDE[] = "\xef\xbd\x9e", HIDDEN[] = "\xf4\x8f\xbf\xbe",
                  PARTED[] = "\xf4\x8f\xbf\xbf";

/* -- normalizer -- */

/* Marks that follow each other when Unicode decomposes a character: each of the first before each of the
   second, which NFKC may join. */
static const struct {
    const char *first, *second;
} joined[] = {
    {"\\x{300}\\x{342}", "\\x{345}"},
    {"\\x{301}", "\\x{307}\\x{345}"},
    {"\\x{302}\\x{306}", "\\x{300}\\x{301}\\x{303}\\x{309}"},
    {"\\x{303}", "\\x{301}\\x{304}\\x{308}"},
    {"\\x{304}", "\\x{300}\\x{301}\\x{308}"},
    {"\\x{307}\\x{328}", "\\x{304}"},
    {"\\x{308}", "\\x{300}\\x{301}\\x{304}\\x{30c}\\x{342}"},
    {"\\x{30a}", "\\x{301}"},
    {"\\x{30c}", "\\x{307}"},
    {"\\x{313}\\x{314}", "\\x{300}\\x{301}\\x{342}\\x{345}"},
    {"\\x{31b}", "\\x{300}\\x{301}\\x{303}\\x{309}\\x{323}"},
    {"\\x{323}", "\\x{302}\\x{304}\\x{306}\\x{307}"},
    {"\\x{327}", "\\x{301}\\x{306}"},
    {"\\x{9c7}", "\\x{9be}\\x{9d7}"},
    {"\\x{b47}", "\\x{b3e}\\x{b56}\\x{b57}"},
    {"\\x{bc6}", "\\x{bbe}\\x{bd7}"},
    {"\\x{bc7}", "\\x{bbe}"},
    {"\\x{c46}", "\\x{c56}"},
    {"\\x{cbf}\\x{cc2}", "\\x{cd5}"},
    {"\\x{cc6}", "\\x{cc2}\\x{cd5}\\x{cd6}"},
    {"\\x{d46}", "\\x{d3e}\\x{d57}"},
    {"\\x{d47}", "\\x{d3e}"},
    {"\\x{dcf}", "\\x{dca}"},
    {"\\x{dd9}", "\\x{dca}\\x{dcf}\\x{ddf}"},
    {"\\x{1b3a}\\x{1b3c}\\x{1b3e}\\x{1b3f}\\x{1b42}", "\\x{1b35}"},
    {"\\x{11131}\\x{11132}", "\\x{11127}"},
    {"\\x{11347}", "\\x{1133e}\\x{11357}"},
    {"\\x{114b9}", "\\x{114b0}\\x{114ba}\\x{114bd}"},
    {"\\x{115b8}\\x{115b9}", "\\x{115af}"},
    {"\\x{11935}", "\\x{11930}"},
};

static json_t *base64(hd_line bytes)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *at = (const uint8_t *)bytes.text;
    size_t size = (bytes.size + 2) / 3 * 4;
    char *text = hd_mem_new(size + 1);
    if (!text) return NULL;
    char *to = text;
    for (size_t i = 0; i < bytes.size; i += 3, to += 4) {
        size_t left = bytes.size - i;
        uint32_t group = (uint32_t)at[i] << 16 | (left > 1 ? (uint32_t)at[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)at[i + 2] : 0);
        for (int k = 0; k < 4; k++) to[k] = (size_t)k > left ? '=' : digit[group >> (18 - 6 * k) & 63];
    }
    json_t *string = json_stringn(text, size);
    hd_mem_free(text);
    return string;
}

static json_t *replace(const char *kind, const char *pattern, const char *with)
{
    return json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", kind, pattern, "content", with);
}

/* Puts the separator between marks that NFKC must not touch, and after Hangul syllables that are already
   complete. */
static json_t *part_marks(void)
{
    hd_text pattern = {0};
    hd_text_put(&pattern, "(?<=\\p{M})(?!");
    for (size_t i = 0; i < sizeof joined / sizeof *joined; i++)
        hd_text_print(&pattern, "%s(?<=[%s])[%s]", i ? "|" : "", joined[i].first, joined[i].second);
    hd_text_put(&pattern, ")(?=\\p{M})|(?<=[\\x{ac00}-\\x{d7a3}])(?=[\\x{11a8}-\\x{11c2}])");
    json_t *step = pattern.missed ? NULL : replace("Regex", pattern.data, PARTED);
    hd_text_release(&pattern);
    return step;
}

static bool is_called(hd_line name, const char *text)
{
    return name.size == strlen(text) && !memcmp(name.text, text, name.size);
}

static void put_characters(json_t *list, const hd_spm_view *v)
{
    bool keeps_tilde = is_called(v->name, "nmt_nfkc") || is_called(v->name, "nmt_nfkc_cf");
    bool composes = keeps_tilde || is_called(v->name, "nfkc") || is_called(v->name, "nfkc_cf");
    if (!v->charsmap.size) return;
    if (keeps_tilde) hd_json_append(list, replace("String", TILDE, HIDDEN));
    if (composes) {
        hd_json_append(list, part_marks());
        hd_json_append(list, json_pack("{s:s}", "type", "NFKC"));
        hd_json_append(list, replace("String", PARTED, ""));
    }
    if (keeps_tilde) hd_json_append(list, replace("String", HIDDEN, TILDE));
    json_t *table = json_pack("{s:s}", "type", "Precompiled");
    hd_json_set(table, "precompiled_charsmap", base64(v->charsmap));
    hd_json_append(list, table);
}

static void put_normalizer(json_t *root, const hd_spm_view *v)
{
    json_t *all = json_pack("{s:s}", "type", "Sequence"), *list = json_array();
    const char *space = v->escape ? SPACE : " ";
    put_characters(list, v);
    if (v->tidy) {
        hd_json_append(list, replace("Regex", " {2,}", " "));
        hd_json_append(list, replace("Regex", "\\A ", ""));
    }
    if (v->prefix) hd_json_append(list, json_pack("{s:s,s:s}", "type", "Prepend", "prepend", space));
    if (v->escape) hd_json_append(list, replace("String", " ", space));
    if (v->tidy) hd_json_append(list, replace("Regex", v->escape ? "\xe2\x96\x81+\\z" : " +\\z", ""));
    hd_json_set(all, "normalizers", list);
    hd_json_set(root, "normalizer", all);
}

/* -- decoder -- */

static void put_decoder(json_t *root, const hd_spm_view *v, bool continues)
{
    json_t *all = json_pack("{s:s}", "type", "Sequence"), *list = json_array();
    hd_json_append(list, replace("String", SPACE, " "));
    if (v->byte_fallback) hd_json_append(list, json_pack("{s:s}", "type", "ByteFallback"));
    hd_json_append(list, json_pack("{s:s}", "type", "Fuse"));
    if (v->prefix && !continues)
        hd_json_append(
            list, json_pack("{s:s,s:s,s:i,s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0));
    hd_json_set(all, "decoders", list);
    hd_json_set(root, "decoder", all);
}

/* -- model -- */

static int unknown_of(const hd_spm_view *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->piece[i].type == HD_SPM_UNKNOWN) return (int)i;
    return -1;
}

static json_t *string_of(hd_line text)
{
    return json_stringn(text.text, text.size);
}

static float lowest_of(const hd_spm_view *v)
{
    float lowest = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->piece[i].type == HD_SPM_NORMAL && v->piece[i].score < lowest) lowest = v->piece[i].score;
    return lowest;
}

static void put_unigram(json_t *root, const hd_spm_view *v)
{
    json_t *model = json_pack("{s:s,s:i,s:b}", "type", "Unigram", "unk_id", unknown_of(v), "byte_fallback",
                              (int)v->byte_fallback);
    json_t *vocab = json_array();
    float lowest = lowest_of(v);
    for (size_t i = 0; i < v->count; i++) {
        bool reached = v->piece[i].type == HD_SPM_NORMAL;
        json_t *pair = json_array();
        hd_json_append(pair, string_of(v->piece[i].text));
        hd_json_append(pair, hd_json_real((double)(reached ? v->piece[i].score : lowest - UNREACHED)));
        hd_json_append(vocab, pair);
    }
    hd_json_set(model, "vocab", vocab);
    hd_json_set(root, "model", model);
}

static json_t *split(const char *pattern)
{
    return json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex", pattern, "behavior",
                     "Isolated", "invert", 0);
}

static void put_class_character(hd_text *to, const char *text, size_t size)
{
    if (size == 1 && strchr("[]\\^-&", *text)) hd_text_put(to, "\\");
    hd_text_add(to, text, size);
}

/* ASCII characters of the pieces that no text is cut into, if they are not pieces themselves. */
static void put_unmade(hd_text *to, const hd_spm_view *v)
{
    bool in[128] = {false};
    size_t before;
    for (size_t i = 0; i < v->count; i++)
        for (size_t k = 0; v->piece[i].type != HD_SPM_NORMAL && k < v->piece[i].text.size; k++)
            if (!(v->piece[i].text.text[k] & 0x80)) in[(int)v->piece[i].text.text[k]] = true;
    for (size_t i = 0; i < v->count; i++)
        if (v->piece[i].type == HD_SPM_NORMAL && v->piece[i].text.size == 1)
            in[v->piece[i].text.text[0] & 0x7f] = false;
    hd_text_put(to, "[");
    before = to->size;
    for (char c = '!'; c < 0x7f; c++)
        if (in[(int)c]) put_class_character(to, &c, 1);
    if (to->size == before)
        to->size = 0;
    else
        hd_text_put(to, "]+");
}

/* Characters that no piece holds. */
static hd_status put_unknown(hd_text *to, const hd_spm_view *v, hd_err *err)
{
    hd_vocab known = {0};
    hd_status s = HD_OK;
    hd_text_put(to, "[^");
    for (size_t i = 0; !s && i < v->count; i++)
        for (size_t k = 0, wide; !s && v->piece[i].type == HD_SPM_NORMAL && k < v->piece[i].text.size;
             k += wide) {
            const char *at = v->piece[i].text.text + k;
            size_t before = known.count;
            wide = hd_character(at, v->piece[i].text.size - k, &(int32_t){0});
            s = hd_vocab_add(&known, at, wide, err);
            if (known.count > before) put_class_character(to, at, wide);
        }
    if (!known.count) hd_text_put(to, " ");
    hd_text_put(to, "]+");
    hd_vocab_release(&known);
    return s;
}

/* Without byte pieces a run of unknown characters is one <unk>, so it must not be split. */
static hd_status put_parting(json_t *root, const hd_spm_view *v, hd_err *err)
{
    hd_text pattern = {0};
    hd_status s = HD_OK;
    if (v->byte_fallback)
        put_unmade(&pattern, v);
    else
        s = put_unknown(&pattern, v, err);
    if (!s) s = hd_text_status(&pattern, err);
    if (!s) hd_json_set(root, "pre_tokenizer", pattern.size ? split(pattern.data) : json_null());
    hd_text_release(&pattern);
    return s;
}

/* A piece and the place it has in the order of merges. */
typedef struct ranked {
    float score;
    uint32_t id;
} ranked;

static int by_score(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->score > b->score || a->score < b->score) return a->score > b->score ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static void put_pairs(json_t *merges, const hd_vocab *normal, hd_line piece)
{
    for (size_t left = piece.size - 1; left; left--) {
        if (((uint8_t)piece.text[left] & 0xc0) == 0x80) continue;
        const hd_line part[2] = {{piece.text, left}, {piece.text + left, piece.size - left}};
        if (hd_vocab_find(normal, part[0].text, part[0].size) < 0) continue;
        if (hd_vocab_find(normal, part[1].text, part[1].size) < 0) continue;
        json_t *pair = json_array();
        for (int i = 0; i < 2; i++) hd_json_append(pair, string_of(part[i]));
        hd_json_append(merges, pair);
    }
}

static hd_status put_merges(json_t *model, const hd_spm_view *v, hd_err *err)
{
    hd_vocab normal = {0};
    hd_status s = HD_OK;
    size_t count = 0;
    ranked *order = hd_mem_array(v->count, sizeof *order);
    if (!order) return hd_err_nomem(err, v->count * sizeof *order);
    for (size_t i = 0; !s && i < v->count; i++) {
        if (v->piece[i].type != HD_SPM_NORMAL || !v->piece[i].text.size) continue;
        order[count++] = (ranked){v->piece[i].score, (uint32_t)i};
        s = hd_vocab_add(&normal, v->piece[i].text.text, v->piece[i].text.size, err);
    }
    qsort(order, count, sizeof *order, by_score);
    json_t *merges = json_array();
    for (size_t i = 0; !s && i < count; i++) put_pairs(merges, &normal, v->piece[order[i].id].text);
    hd_json_set(model, "merges", merges);
    hd_vocab_release(&normal);
    hd_mem_free(order);
    return s;
}

static hd_status put_bpe(json_t *root, const hd_spm_file *file, const hd_spm_view *v, hd_err *err)
{
    int unknown = unknown_of(v);
    json_t *model = json_pack("{s:s,s:n,s:n,s:n,s:b,s:b,s:b}", "type", "BPE", "dropout",
                              "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 1,
                              "byte_fallback", (int)v->byte_fallback, "ignore_merges", 0);
    json_t *vocab = json_object();
    if (unknown >= 0) hd_json_set(model, "unk_token", string_of(v->piece[unknown].text));
    for (size_t i = 0; i < v->count; i++)
        hd_json_set(vocab, hd_spm_piece(file->model, (int)i), json_integer((json_int_t)i));
    hd_json_set(model, "vocab", vocab);
    hd_status s = put_merges(model, v, err);
    hd_json_set(root, "model", model);
    hd_json_set(root, "pre_tokenizer", json_null());
    return s;
}

/* -- all -- */

static hd_status check(const hd_spm_view *v, bool defined, hd_err *err)
{
    const char *why = v->kind != HD_SPM_UNIGRAM && v->kind != HD_SPM_BPE ? "it cuts words or characters"
                      : v->suffix                                        ? "it puts spaces behind words"
                                                                         : NULL;
    for (size_t i = 0; !why && i < v->count; i++) {
        hd_line text = v->piece[i].text;
        if (v->piece[i].type == HD_SPM_USER_DEFINED && !defined) why = "it has pieces its user defined";
        if (v->piece[i].type == HD_SPM_UNUSED) why = "it has pieces that are not used";
        if (!text.size || memchr(text.text, 0, text.size) || hd_utf8_good(text.text, text.size) < text.size)
            why = "it has a piece that is no text";
    }
    return why ? hd_err_set(err, HD_EARG, "the SentencePiece model cannot become a tokenizer.json: %s", why)
               : HD_OK;
}

hd_status hd_spm_describe(const hd_spm_file *file, json_t *root, unsigned form, hd_err *err)
{
    hd_spm_view v = {0};
    hd_status s = hd_spm_view_read(&v, (hd_line){file->bytes.data, file->bytes.size}, err);
    if (!s) s = check(&v, form & HD_SPM_DEFINED, err);
    if (!s) {
        put_normalizer(root, &v);
        put_decoder(root, &v, form & HD_SPM_CONTINUES);
        if (v.kind == HD_SPM_BPE)
            s = put_bpe(root, file, &v, err);
        else
            put_unigram(root, &v), s = put_parting(root, &v, err);
    }
    hd_spm_view_release(&v);
    return s;
}
