/* SentencePiece without heed in between, to compare with; sentencepiece_test.cc. */
#ifndef SENTENCEPIECE_TEST_H
#define SENTENCEPIECE_TEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Learns from a text file with the library's own defaults but these options ("--a=b --c=d"); writes
 * PREFIX.model. */
int direct_train(const char *input, const char *prefix, const char *options);

typedef struct direct direct;

direct *direct_open(const char *path);
void direct_close(direct *d);
size_t direct_encode(const direct *d, const char *text, size_t size, int *ids, size_t most);
size_t direct_decode(const direct *d, const int *ids, size_t count, char *text, size_t most);
int direct_size(const direct *d);

/* The n-th allocation of C++ from now on fails, and all behind it; 0: none does. Those that failed. */
size_t cpp_fail_at(size_t n);

#ifdef __cplusplus
}
#endif

#endif
