/* Loaded before the program (LD_PRELOAD): fails one allocation of it, the n-th that heed's own memory makes
   ($FAIL_MEMORY) or the n-th of C++ ($FAIL_NEW). Where $FAIL_COUNT names a file, writes there how many of
   both were made. */
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>

namespace
{

struct counter {
    const char *name;
    std::atomic<unsigned long> seen{0};
    unsigned long fails{0};
    bool read{false};

    explicit constexpr counter(const char *variable) : name(variable) {}

    bool hits()
    {
        if (!read) {
            const char *n = std::getenv(name);
            fails = n ? std::strtoul(n, nullptr, 10) : 0;
            read = true;
        }
        return ++seen == fails;
    }
};

counter memory("FAIL_MEMORY"), objects("FAIL_NEW");

struct at_end {
    ~at_end()
    {
        const char *path = std::getenv("FAIL_COUNT");
        std::FILE *f = path ? std::fopen(path, "w") : nullptr;
        if (!f) return;
        std::fprintf(f, "%lu %lu\n", memory.seen.load(), objects.seen.load());
        std::fclose(f);
    }
} last;

} // namespace

extern "C" int posix_memalign(void **out, std::size_t align, std::size_t size)
{
    using fn = int (*)(void **, std::size_t, std::size_t);
    static fn next = reinterpret_cast<fn>(dlsym(RTLD_NEXT, "posix_memalign"));
    return memory.hits() ? ENOMEM : next(out, align, size);
}

void *operator new(std::size_t size)
{
    void *block = objects.hits() ? nullptr : std::malloc(size ? size : 1);
    if (!block) throw std::bad_alloc();
    return block;
}

void operator delete(void *block) noexcept
{
    std::free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
    std::free(block);
}
