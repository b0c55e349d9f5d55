/* heed --version: the version, and what it was built with and runs on. */
#include "cli/frame/page.h"

#include "heed.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#if defined(__clang__)
#define COMPILER "clang " TEXT(__clang_major__) "." TEXT(__clang_minor__) "." TEXT(__clang_patchlevel__)
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#elif defined(__x86_64__)
#define ARCHITECTURE "x86-64"
#else
#define ARCHITECTURE "other"
#endif

/* Instruction sets of this processor that matter to the kernels; on aarch64 the bits are the system's ABI. */
static void show_sets(FILE *to)
{
#if defined(__aarch64__) && defined(__linux__)
    static const struct {
        const char *name;
        unsigned long kind, bit;
    } sets[] = {{"neon", AT_HWCAP, 1ul << 1},     {"fp16", AT_HWCAP, 1ul << 10},
                {"dotprod", AT_HWCAP, 1ul << 20}, {"sve", AT_HWCAP, 1ul << 22},
                {"sve2", AT_HWCAP2, 1ul << 1},    {"i8mm", AT_HWCAP2, 1ul << 13},
                {"bf16", AT_HWCAP2, 1ul << 14}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (getauxval(sets[i].kind) & sets[i].bit) fprintf(to, " %s", sets[i].name);
#elif defined(__x86_64__)
#define SHOW(name) \
    if (__builtin_cpu_supports(name)) fputs(" " name, to);
    __builtin_cpu_init();
    SHOW("sse4.2")
    SHOW("avx")
    SHOW("avx2")
    SHOW("fma")
    SHOW("avx512f")
    SHOW("avx512bw")
    SHOW("avx512vnni")
    SHOW("avx512bf16")
#undef SHOW
#else
    fputs(" none known", to);
#endif
}

void hd_page_version(FILE *to)
{
    fprintf(to, "heed %s\n%s, %s, instruction sets:", heed_version(), COMPILER, ARCHITECTURE);
    show_sets(to);
    fputc('\n', to);
}
