/* CRC-32C (Castagnoli), the checksum of files: it detects any single error of up to 32 consecutive bits. */
#ifndef HD_BASE_FILE_CHECKSUM_H
#define HD_BASE_FILE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues the checksum `before` of earlier bytes; 0 at the start. */
uint32_t hd_checksum(uint32_t before, const void *bytes, size_t size);
/* The same without the processor's own instruction, for tests of the two against each other. */
uint32_t hd_checksum_plain(uint32_t before, const void *bytes, size_t size);

enum { HD_CHECKSUM_TEXT = 9 };
/* Eight hexadecimal digits; returns buf. */
const char *hd_checksum_text(uint32_t sum, char buf[HD_CHECKSUM_TEXT]);

#endif
