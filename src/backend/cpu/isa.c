/* The table of one instruction set: every kernel of the list under its suffixed name. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/product/product.h"

#define X(name) hd_status KERNEL(name)(hd_backend *, const hd_##name##_args *);
HD_KERNEL_LIST(X)
#undef X

static void fill(hd_kernels *table)
{
#define X(name) table->name = KERNEL(name);
    HD_KERNEL_LIST(X)
#undef X
}

static void pack_weight(hd_real *to, const hd_real *w, size_t ld, size_t out, size_t in)
{
    KERNEL(pack)(to, w, ld, true, out, in, 0, out);
}

#define HD_TEXT2(x) #x
#define HD_TEXT(x)  HD_TEXT2(x)
#if defined(HD_BFMMLA)
#define ISA_NAME "neon with bf16"
#elif defined(__aarch64__)
#define ISA_NAME "neon"
#else
#define ISA_NAME HD_TEXT(HD_ISA)
#endif

const hd_cpu_isa HD_PASTE(hd_cpu_isa_, HD_ISA) = {
    ISA_NAME, fill, KERNEL(packed_size), pack_weight, KERNEL(bf16_size), KERNEL(bf16_pack)};
