/* The machine's own instructions for tiles of attention: copies past the registers, loads of 8x8 matrices,
   products m16n8k16 of bf16 summed in f32. Nothing else in attention is written in assembly. */
#ifndef HD_BACKEND_CUDA_ATTEND_MMA_H
#define HD_BACKEND_CUDA_ATTEND_MMA_H

#include "backend/cuda/device.h"

DEVICE uint32_t shared_at(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* 16 bytes from global to shared memory, or zeros; done when a later copy_wait says so. */
DEVICE void copy16(void *to, const void *from, bool real)
{
    int bytes = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_at(to)), "l"(from), "r"(bytes)
                 : "memory");
}
/* The same for 4 or 8 bytes. */
template <int BYTES> DEVICE void copy_few(void *to, const void *from, bool real)
{
    int bytes = real ? BYTES : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_at(to)), "l"(from), "n"(BYTES),
                 "r"(bytes)
                 : "memory");
}
DEVICE void copy_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int LEFT> DEVICE void copy_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/* Four 8x8 matrices; lane l gives the address of row l % 8 of matrix l / 8. Lane l gets of each the numbers
   [l / 4][2 (l % 4) + 0, 1]; turned: [2 (l % 4) + 0, 1][l / 4]. */
DEVICE void load_matrices(uint32_t r[4], const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_at(p))
                 : "memory");
}
DEVICE void load_matrices_turned(uint32_t r[4], const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_at(p))
                 : "memory");
}

/* The lane's two numbers of an 8x8 matrix, held as load_matrices has it, become those of the turned one. */
DEVICE uint32_t turn_matrix(uint32_t x)
{
    uint32_t y;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

/* c [16,8] += a [16,16] b [16,8] */
DEVICE void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Two numbers as f16, the largest ones where they are larger. */
DEVICE uint32_t pack2_half(float low, float high)
{
    uint32_t w;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
    return w;
}

/* 2^x; 0 for -INFINITY */
DEVICE float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#endif
