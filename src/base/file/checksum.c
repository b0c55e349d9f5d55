/* CRC-32C: by the processor's instruction where it has one, else eight bytes at a time by tables. */
#include "base/file/checksum.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

enum { POLYNOMIAL = (int)0x82f63b78u, AT_ONCE = 8 };

static uint32_t table[AT_ONCE][256];

static void fill_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ (uint32_t)POLYNOMIAL : c >> 1;
        table[0][i] = c;
    }
    for (int k = 1; k < AT_ONCE; k++)
        for (uint32_t i = 0; i < 256; i++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

/* Bytes are taken one by one, so that the byte order of the machine does not matter. */
static uint32_t eight(uint32_t c, const uint8_t *p)
{
    return table[7][(c ^ p[0]) & 255] ^ table[6][(c >> 8 ^ p[1]) & 255] ^ table[5][(c >> 16 ^ p[2]) & 255] ^
           table[4][(c >> 24 ^ p[3]) & 255] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
           table[0][p[7]];
}

uint32_t hd_checksum_plain(uint32_t before, const void *bytes, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_tables);
    const uint8_t *p = bytes;
    uint32_t c = ~before;
    for (; size >= AT_ONCE; size -= AT_ONCE, p += AT_ONCE) c = eight(c, p);
    for (; size; size--, p++) c = c >> 8 ^ table[0][(c ^ *p) & 255];
    return ~c;
}

#if defined(__x86_64__)

static int has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t before, const void *bytes,
                                                                 size_t size)
{
    const uint8_t *p = bytes;
    uint64_t c = ~before, word;
    for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        c = __builtin_ia32_crc32di(c, word);
    }
    uint32_t rest = (uint32_t)c;
    for (; size; size--, p++) rest = __builtin_ia32_crc32qi(rest, *p);
    return ~rest;
}

#elif defined(__aarch64__) && defined(__linux__)

#ifdef __clang__ /* whose arm_acle.h declares them only if the whole file is compiled for them */
#define CRC_TARGET "crc"
#define CRC_WORD   __builtin_arm_crc32cd
#define CRC_BYTE   __builtin_arm_crc32cb
#else
#define CRC_TARGET "+crc"
#define CRC_WORD   __crc32cd
#define CRC_BYTE   __crc32cb
#endif

static int has_instruction(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

__attribute__((target(CRC_TARGET))) static uint32_t by_instruction(uint32_t before, const void *bytes,
                                                                   size_t size)
{
    const uint8_t *p = bytes;
    uint32_t c = ~before;
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        c = CRC_WORD(c, word);
    }
    for (; size; size--, p++) c = CRC_BYTE(c, *p);
    return ~c;
}

#else

static int has_instruction(void)
{
    return 0;
}

static uint32_t by_instruction(uint32_t before, const void *bytes, size_t size)
{
    return hd_checksum_plain(before, bytes, size);
}

#endif

uint32_t hd_checksum(uint32_t before, const void *bytes, size_t size)
{
    return has_instruction() ? by_instruction(before, bytes, size) : hd_checksum_plain(before, bytes, size);
}

const char *hd_checksum_text(uint32_t sum, char buf[HD_CHECKSUM_TEXT])
{
    snprintf(buf, HD_CHECKSUM_TEXT, "%08x", (unsigned)sum);
    return buf;
}
