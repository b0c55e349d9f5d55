/* A tokenizer with the tokens of a small Whisper, as published/make_whisper.py has them: bytes, six merges,
   of multilingual ones a piece of no bytes, then what is special, then times. Include after check.h and
   scratch.h. */
#ifndef WHISPER_TOKENS_H
#define WHISPER_TOKENS_H

#include "base/text.h"
#include "text/published/bpe/byte_level.h"
#include "text/tokenizer.h"

enum { WT_BASE = 262, WT_TIMES = 51, WT_SPECIAL = 12 };

static const char *const wt_special[WT_SPECIAL] = {
    "<|endoftext|>", "<|startoftranscript|>", "<|en|>",         "<|zh|>",        "<|de|>",
    "<|ja|>",        "<|translate|>",         "<|transcribe|>", "<|startoflm|>", "<|startofprev|>",
    "<|nospeech|>",  "<|notimestamps|>"};

/* The id of a special token, or of the first time. */
CHECK_UNUSED static int32_t wt_id(bool multilingual, const char *piece)
{
    int32_t id = WT_BASE + multilingual;
    for (int i = 0; i < WT_SPECIAL; i++, id++)
        if (!strcmp(piece, wt_special[i])) return id;
    return id;
}

CHECK_UNUSED static void wt_put_piece(hd_text *to, const char *piece, int id)
{
    hd_text_put(to, id ? ", \"" : "{\"");
    for (; *piece; piece++) hd_text_print(to, *piece == '"' || *piece == '\\' ? "\\%c" : "%c", *piece);
    hd_text_print(to, "\": %d", id);
}

/* vocab.json, merges.txt and added_tokens.json. */
CHECK_UNUSED static void wt_put(const char *folder, bool multilingual)
{
    static const char *const merged[] = {"\xc4\xa0t",
                                         "he",
                                         "in",
                                         "re",
                                         "\xc4\xa0the",
                                         ("\xc4\xa0"
                                          "a")};
    hd_text vocab = {0}, added = {0};
    int id = 0;
    for (; id < 256; id++) {
        int32_t point = hd_byte_character((uint8_t)id);
        char piece[3] = {(char)point};
        if (point >= 0x80) piece[0] = (char)(0xc0 | point >> 6), piece[1] = (char)(0x80 | (point & 0x3f));
        wt_put_piece(&vocab, piece, id);
    }
    for (size_t i = 0; i < COUNT_OF(merged); i++) wt_put_piece(&vocab, merged[i], id++);
    if (multilingual) wt_put_piece(&vocab, "", id++);
    hd_text_put(&vocab, "}\n");
    for (int i = 0; i < WT_SPECIAL; i++, id++)
        hd_text_print(&added, "%s\"%s\": %d", i ? ", " : "{", wt_special[i], id);
    for (int i = 0; i < WT_TIMES; i++, id++) hd_text_print(&added, ", \"<|%.2f|>\": %d", i * 0.02, id);
    hd_text_put(&added, "}\n");
    put_file(at("%s/vocab.json", folder), vocab.data);
    put_file(at("%s/added_tokens.json", folder), added.data);
    put_file(at("%s/merges.txt", folder),
             "#version: 0.2\n\xc4\xa0 t\nh e\ni n\nr e\n\xc4\xa0t he\n\xc4\xa0 a\n");
    hd_text_release(&vocab);
    hd_text_release(&added);
}

#endif
