// SentencePiece without heed in between.
#include "text/sentencepiece_test.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
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

static std::atomic<size_t> left_before_failing, failed; // the library has threads

size_t cpp_fail_at(size_t n)
{
    const size_t so_far = failed;
    left_before_failing = n, failed = 0;
    return so_far;
}

// In place of the library's own, in this program.
// Not inlined: compilers take malloc and delete for a mismatch.
__attribute__((noinline)) void *operator new(size_t size)
{
    size_t left = left_before_failing;
    while (left > 1 && !left_before_failing.compare_exchange_weak(left, left - 1)) {
    }
    if (left == 1)
        failed++;
    else if (void *block = std::malloc(size ? size : 1))
        return block;
    throw std::bad_alloc();
}

__attribute__((noinline)) void operator delete(void *block) noexcept
{
    std::free(block);
}

__attribute__((noinline)) void operator delete(void *block, size_t) noexcept
{
    std::free(block);
}
