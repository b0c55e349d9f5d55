/* libFuzzer target: any bytes as a file of a published tokenizer. The first byte says which, the second which
   allocation fails (0 to 63: none), the rest is the file; of merges.txt and of Marian's SentencePiece model
   the vocabulary beside it is a good one. What is taken must encode and decode within its vocabulary; nothing
   may leak. */
#include "fuzz.h"
#include "text/tokenizer.h"

static const struct {
    const char *file; /* what the bytes are */
    const char *opened;
    hd_tokenizer_kind kind;
} readers[] = {
    {"bpe/tokenizer.json", "bpe/tokenizer.json", HD_TOKENIZER_bpe},
    {"bert/tokenizer.json", "bert/tokenizer.json", HD_TOKENIZER_wordpiece},
    {"vocab/vocab.json", "vocab/vocab.json", HD_TOKENIZER_bpe},
    {"merges/merges.txt", "merges/vocab.json", HD_TOKENIZER_bpe},
    {"bert/vocab.txt", "bert/vocab.txt", HD_TOKENIZER_wordpiece},
    {"config/tokenizer_config.json", "config/vocab.json", HD_TOKENIZER_bpe},
    {"t5/tokenizer.json", "t5/tokenizer.json", HD_TOKENIZER_t5},
    {"spm/tokenizer.model", "spm/tokenizer.model", HD_TOKENIZER_sentencepiece},
    {"spm/spiece.model", "spm/spiece.model", HD_TOKENIZER_t5},
    {"marian/source.spm", "marian/source.spm", HD_TOKENIZER_marian},
};

int LLVMFuzzerInitialize(int *count, char ***words)
{
    static const char *const inner[] = {"",       "bpe", "bert", "vocab", "merges",
                                        "config", "t5",  "spm",  "marian"};
    static const char vocab[] = "{\"<unk>\": 0, \"</s>\": 1, \"<pad>\": 2, \"\\u2581the\": 3, \"a\": 4}";
    (void)count, (void)words;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) make_folder(inner[i]);
    write_bpe("merges/vocab.json");
    write_bpe("config/vocab.json");
    write_file("vocab/merges.txt", "a b\n", 4);
    write_file("marian/vocab.json", vocab, sizeof vocab - 1);
    write_file("config/merges.txt", "a b\nab c\nt h\nth e\n", 18);
    return 0;
}

static hd_status use(const hd_tokenizer *t, const uint8_t *data, size_t size, hd_err *err)
{
    hd_pieces p = {0};
    hd_ids ids = {0};
    hd_text text = {0};
    hd_line first = {"the abc[MASK] aab<|endoftext|> \xe4\xb8\xad", 33}, second = {(const char *)data, size};
    hd_status s = hd_tokenizer_encode_framed(t, first, &second, &p, err);
    for (size_t i = 0; i < p.count; i++) {
        MUST((size_t)p.at[i].id < hd_tokenizer_size(t));
        MUST(p.at[i].begin <= p.at[i].end);
        MUST(p.at[i].end <= (p.at[i].text == 1 ? size : 33));
        MUST(hd_tokenizer_piece(t, p.at[i].id));
    }
    for (int k = 0; k < 2; k++) hd_pieces_count_characters(&p, k, k ? second : first);
    if (!s) s = hd_ids_reserve(&ids, p.count + 1, err);
    for (size_t i = 0; !s && i < p.count; i++) ids.at[ids.count++] = p.at[i].id;
    if (!s) s = hd_tokenizer_decode(t, ids.at, ids.count, &text, err);
    if (!s) MUST(hd_utf8_good(text.data ? text.data : "", text.size) == text.size);
    hd_text_release(&text);
    hd_ids_release(&ids);
    hd_pieces_release(&p);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_err err = {0};
    hd_tokenizer *t = NULL;
    if (size < 2) return 0;
    size_t which = reader_of(data[0], sizeof readers / sizeof *readers),
           fail = data[1] < 64 ? 0 : data[1] - 63u;
    write_file(readers[which].file, data + 2, size - 2);
    MUST(!hd_path(path, folder, readers[which].opened, NULL));
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail);
    hd_status s = hd_tokenizer_open(&t, readers[which].kind, path, &err);
    MUST(!t == (s != HD_OK));
    if (!s) s = use(t, data + 2, size - 2 < 256 ? size - 2 : 256, &err);
    hd_mem_fail_at(0);
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || (fail && s == HD_ENOMEM));
    hd_tokenizer_free(t);
    MUST(hd_mem_now().blocks == blocks);
    return 0;
}
