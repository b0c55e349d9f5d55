// SentencePiece without heed in between.
#include "text/sentencepiece_test.h"

#include <cstring>
#include <string>
#include <vector>

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

struct direct {
    sentencepiece::SentencePieceProcessor processor;
};

int direct_train(const char *input, const char *prefix, const char *options)
{
    const std::string all =
        std::string("--minloglevel=3 --input=") + input + " --model_prefix=" + prefix + " " + options;
    return !sentencepiece::SentencePieceTrainer::Train(all).ok();
}

direct *direct_open(const char *path)
{
    direct *d = new direct;
    if (d->processor.Load(path).ok()) return d;
    delete d;
    return nullptr;
}

void direct_close(direct *d)
{
    delete d;
}

size_t direct_encode(const direct *d, const char *text, size_t size, int *ids, size_t most)
{
    const std::vector<int> all = d->processor.EncodeAsIds({text, size});
    for (size_t i = 0; i < all.size() && i < most; i++) ids[i] = all[i];
    return all.size();
}

size_t direct_decode(const direct *d, const int *ids, size_t count, char *text, size_t most)
{
    const std::string all = d->processor.DecodeIds(std::vector<int>(ids, ids + count));
    if (all.size() < most) std::memcpy(text, all.data(), all.size());
    return all.size();
}

int direct_size(const direct *d)
{
    return d->processor.GetPieceSize();
}
