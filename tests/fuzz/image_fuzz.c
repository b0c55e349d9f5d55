/* libFuzzer target: any bytes as a picture. Easy to get wrong: nearly no mutated PNG keeps right checksums,
   so each input is tried as it is, then with those put right, then as the header and the rows of a PNG that
   is put together around it; and once more with an allocation that fails. */
#include <zlib.h>

#include "data/image/image.h"
#include "fuzz.h"
#include "fuzz_pictures.h"

enum { MEMORY = 1 << 24 }; /* bytes a picture may take: the larger ones cost time alone */

static volatile unsigned sink; /* keeps the reads from being removed */

static void read_picture(const uint8_t *bytes, size_t size, size_t fail_at, int side)
{
    hd_err err = {0};
    hd_image im, header;
    size_t blocks = hd_mem_now().blocks;
    hd_mem_fail_at(fail_at);
    hd_status s = side ? hd_image_decode_scaled(&im, bytes, size, side, NULL, "fuzz", &err)
                       : hd_image_decode(&im, bytes, size, "fuzz", &err);
    hd_mem_fail_at(0);
    MUST(!im.pixel == (s != HD_OK));
    MUST(!s || (err.status == s && err.text[0]));
    MUST(s == HD_OK || s == HD_EFORMAT || s == HD_ELIMIT || s == HD_ENOMEM);
    if (!s) {
        MUST(im.channels == 1 || im.channels == 3);
        for (size_t i = 0; i < hd_image_bytes(&im); i++) sink += im.pixel[i];
        MUST(!hd_image_header(&header, bytes, size, "fuzz", &err) && header.channels == im.channels);
        MUST(side ? header.width >= im.width : header.width == im.width && header.height == im.height);
    }
    hd_image_release(&im);
    MUST(hd_mem_now().blocks == blocks);
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Puts the checksums of all chunks right. */
static void mend(uint8_t *bytes, size_t size)
{
    for (size_t at = 8; size - at >= 12;) {
        size_t n = (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 | (size_t)bytes[at + 2] << 8 |
                   bytes[at + 3];
        if (n > size - at - 12) return;
        put32(bytes + at + 8 + n, (uint32_t)crc32(0, bytes + at + 4, (unsigned)n + 4));
        at += n + 12;
    }
}

static size_t chunk(uint8_t *to, const char *type, const uint8_t *data, size_t size)
{
    put32(to, (uint32_t)size);
    memcpy(to + 4, type, 4);
    if (size) memcpy(to + 8, data, size);
    put32(to + 8 + size, (uint32_t)crc32(0, to + 4, (unsigned)size + 4));
    return size + 12;
}

/* Bytes as zlib keeps what it cannot pack: to pack them would take most of the time. */
static size_t stored(uint8_t *to, const uint8_t *bytes, size_t size)
{
    const uint8_t head[] = {
        0x78, 1, 1, (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)~size, (uint8_t)(~size >> 8)};
    memcpy(to, head, sizeof head);
    memcpy(to + sizeof head, bytes, size);
    put32(to + sizeof head + size, (uint32_t)adler32(1, bytes, (unsigned)size));
    return sizeof head + size + 4;
}

/* A PNG whose header, palette and rows are the input. */
static void read_rows(const uint8_t *input, size_t size)
{
    enum { HEADER = 9, PALETTE = 48, MOST = 4096 };
    static uint8_t file[2 * MOST], packed[MOST + 64];
    static const uint8_t depths[] = {1, 2, 4, 8, 16}, types[] = {0, 2, 3, 4, 6};
    if (size < HEADER + PALETTE || size > MOST) return;
    uint8_t head[13] = {[3] = (uint8_t)(input[0] % 40),
                        [7] = (uint8_t)(input[1] % 40),
                        [8] = depths[input[2] % 5],
                        [9] = types[input[3] % 5],
                        [12] = (uint8_t)(input[4] % 8 == 7 ? 3 : input[4] % 2)};
    size_t bytes = stored(packed, input + HEADER + PALETTE, size - HEADER - PALETTE);
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    size_t end = 8 + chunk(file + 8, "IHDR", head, sizeof head);
    if (head[9] == 3 || input[5] % 4 == 1) end += chunk(file + end, "PLTE", input + HEADER, PALETTE);
    if (input[5] % 2) end += chunk(file + end, "tRNS", input + HEADER, 1 + input[6] % 16u);
    end += chunk(file + end, "IDAT", packed, bytes);
    end += chunk(file + end, "IEND", NULL, 0);
    read_picture(file, end, input[7] % 8 == 1 ? 1 + input[8] % 8u : 0, 0);
}

int LLVMFuzzerInitialize(int *count, char ***given)
{
    write_seeds(*count, *given);
    hd_mem_limit(MEMORY);
    return 0;
}

static void read_mended(const uint8_t *input, size_t size)
{
    uint8_t *copy = malloc(size); /* of its own, so that a read past its end is seen */
    MUST(copy);
    memcpy(copy, input, size);
    mend(copy, size);
    read_picture(copy, size, 0, 0);
    free(copy);
}

/* Its last byte says in which other way it is tried. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (size < 20) {
        read_picture(input, size, 0, 0);
        return 0;
    }
    unsigned how = input[size - 1] % 4u, number = input[size - 1] / 4u;
    if (how == 0 && input[0] == 0x89)
        read_mended(input, size);
    else if (how == 1)
        read_rows(input, size);
    else if (how == 2)
        read_picture(input, size, 1 + number % 16, 0);
    else
        read_picture(input, size, 0, (int)(number % 32));
    return 0;
}
