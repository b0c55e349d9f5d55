/* What the tests of attention share: cases, and the matrices of a case on both sides. */
#ifndef CUDA_ATTEND_H
#define CUDA_ATTEND_H

#include "backend/pair.h"

enum { NO_TABLE, ONE_WAY, BOTH_WAYS };
enum { NO_CENTER, ONE_CENTER, CENTER_EACH };
enum { NO_RAGGED, RAGGED, RAGGED_HOLES };
enum { NO_GATE, GATE, GATE_ZERO };
enum { PAGED = 1024 }; /* of k_how: seg_paged instead of seg_from */

typedef struct attending {
    const char *name;
    int heads, kv, d, dv; /* kv 0: heads; dv 0: d */
    size_t items;
    int q_least, q_most, k_least, k_most; /* k_most 0: the keys are the queries' rows */
    hd_mask mask;
    int window, block, span; /* span: vectors of distances of a head */
    hd_score score;
    int table, center, ragged, gate;
    float drop;
    int q_how, k_how; /* of seg_from */
    bool large;
    float scale; /* 0: the usual one */
    float cap;
    bool fast; /* for the fast kernels: not where views are odd, or the general one is asked for something */
} attending;

/* clang-format off */
static const attending attendings[] = {
    {.name = "one", .heads = 1, .d = 16, .items = 1, .q_least = 1, .q_most = 1},
    {.name = "full", .heads = 4, .d = 16, .items = 5, .q_least = 0, .q_most = 7},
    {.name = "causal", .heads = 4, .d = 16, .items = 6, .q_least = 0, .q_most = 40, .mask = HD_CAUSAL,
     .q_how = FILL},
    {.name = "scale 1", .heads = 2, .d = 16, .items = 3, .q_least = 2, .q_most = 9, .scale = 1},
    {.name = "cap", .heads = 4, .d = 64, .items = 4, .q_least = 0, .q_most = 70, .mask = HD_CAUSAL, .cap = 1.5f},
    {.name = "cap, 4 heads on 2, window, dropout", .heads = 4, .kv = 2, .d = 32, .items = 4, .q_least = 1,
     .q_most = 40, .mask = HD_CAUSAL, .window = 9, .cap = 0.8f, .drop = 0.2f},
    {.name = "cap of one query", .heads = 2, .d = 64, .items = 5, .q_least = 0, .q_most = 1, .k_least = 1,
     .k_most = 90, .cap = 2, .gate = GATE},
    {.name = "d 20", .heads = 3, .d = 20, .items = 4, .q_least = 0, .q_most = 33, .mask = HD_CAUSAL,
     .q_how = GAPS},
    {.name = "d 7", .heads = 3, .d = 7, .dv = 5, .items = 4, .q_least = 1, .q_most = 9, .k_least = 1,
     .k_most = 12},
    {.name = "d 20, dv 12", .heads = 2, .d = 20, .dv = 12, .items = 5, .q_least = 0, .q_most = 33,
     .k_least = 0, .k_most = 50},
    {.name = "d 32", .heads = 4, .d = 32, .items = 6, .q_least = 0, .q_most = 70, .mask = HD_CAUSAL,
     .q_how = LOOSE | FILL},
    {.name = "d 64", .heads = 8, .d = 64, .items = 5, .q_least = 0, .q_most = 70, .q_how = KEYS},
    {.name = "d 64 causal", .heads = 4, .d = 64, .items = 4, .q_least = 60, .q_most = 140, .mask = HD_CAUSAL},
    {.name = "d 64, dv 32", .heads = 4, .d = 64, .dv = 32, .items = 4, .q_least = 1, .q_most = 40,
     .k_least = 3, .k_most = 66},
    {.name = "d 32, dv 64", .heads = 2, .d = 32, .dv = 64, .items = 4, .q_least = 1, .q_most = 66,
     .mask = HD_CAUSAL},
    {.name = "d 128", .heads = 2, .d = 128, .items = 4, .q_least = 0, .q_most = 70, .mask = HD_CAUSAL,
     .q_how = FILL},
    {.name = "d 128 cross", .heads = 2, .d = 128, .items = 3, .q_least = 1, .q_most = 20, .k_least = 5,
     .k_most = 90},
    {.name = "4 heads on 2", .heads = 4, .kv = 2, .d = 32, .items = 5, .q_least = 0, .q_most = 40,
     .mask = HD_CAUSAL},
    {.name = "8 heads on 1", .heads = 8, .kv = 1, .d = 64, .items = 3, .q_least = 1, .q_most = 40,
     .k_least = 1, .k_most = 70},
    {.name = "6 heads on 2, d 20", .heads = 6, .kv = 2, .d = 20, .items = 4, .q_least = 1, .q_most = 20,
     .drop = 0.1f},
    {.name = "window", .heads = 2, .d = 16, .items = 5, .q_least = 0, .q_most = 50, .window = 3},
    {.name = "causal window", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 150, .window = 17,
     .mask = HD_CAUSAL},
    {.name = "causal window of 1", .heads = 2, .d = 32, .items = 4, .q_least = 1, .q_most = 20, .window = 1,
     .mask = HD_CAUSAL},
    {.name = "no key in sight", .heads = 2, .d = 16, .items = 6, .q_least = 5, .q_most = 20, .k_least = 0,
     .k_most = 8, .mask = HD_CAUSAL},
    {.name = "no key in sight, d 64", .heads = 2, .d = 64, .items = 5, .q_least = 5, .q_most = 90,
     .k_least = 0, .k_most = 20, .mask = HD_CAUSAL, .drop = 0.2f},
    {.name = "no key in the window", .heads = 2, .d = 32, .items = 4, .q_least = 30, .q_most = 60,
     .k_least = 0, .k_most = 9, .window = 2},
    {.name = "no keys at all", .heads = 2, .d = 32, .items = 3, .q_least = 1, .q_most = 5, .k_least = 0,
     .k_most = 0, .k_how = FILL},
    {.name = "table", .heads = 4, .d = 32, .items = 5, .q_least = 0, .q_most = 60, .mask = HD_CAUSAL,
     .table = ONE_WAY},
    {.name = "table both ways", .heads = 4, .d = 64, .items = 4, .q_least = 0, .q_most = 60,
     .table = BOTH_WAYS},
    {.name = "table cross", .heads = 2, .d = 16, .items = 4, .q_least = 1, .q_most = 9, .k_least = 1,
     .k_most = 30, .table = BOTH_WAYS},
    {.name = "center", .heads = 4, .d = 32, .items = 4, .q_least = 1, .q_most = 10, .k_least = 1,
     .k_most = 40, .center = ONE_CENTER},
    {.name = "center of each", .heads = 4, .kv = 2, .d = 16, .items = 4, .q_least = 0, .q_most = 30,
     .center = CENTER_EACH, .mask = HD_CAUSAL},
    {.name = "ragged", .heads = 3, .d = 16, .items = 5, .q_least = 0, .q_most = 20, .ragged = RAGGED,
     .q_how = FILL},
    {.name = "ragged, d 64, cross", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 20,
     .k_least = 1, .k_most = 70, .ragged = RAGGED},
    {.name = "ragged with holes", .heads = 2, .d = 16, .items = 4, .q_least = 1, .q_most = 12,
     .ragged = RAGGED_HOLES},
    {.name = "gate", .heads = 4, .d = 64, .items = 4, .q_least = 0, .q_most = 40, .mask = HD_CAUSAL,
     .gate = GATE},
    {.name = "gate of 0", .heads = 4, .d = 32, .items = 4, .q_least = 1, .q_most = 20, .gate = GATE_ZERO},
    {.name = "dropout", .heads = 4, .d = 32, .items = 5, .q_least = 0, .q_most = 70, .drop = 0.3f,
     .q_how = KEYS | FILL},
    {.name = "dropout d 64", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 130, .drop = 0.1f,
     .mask = HD_CAUSAL},
    {.name = "dropout cross", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 30, .k_least = 1,
     .k_most = 90, .drop = 0.5f, .gate = GATE},
    {.name = "additive", .heads = 2, .d = 16, .items = 4, .q_least = 0, .q_most = 12, .k_least = 0,
     .k_most = 20, .score = HD_ADDITIVE},
    {.name = "one query", .heads = 1, .d = 96, .dv = 200, .items = 7, .q_least = 0, .q_most = 1, .k_least = 0,
     .k_most = 40, .k_how = FILL},
    {.name = "one query, additive", .heads = 2, .d = 70, .dv = 33, .items = 6, .q_least = 0, .q_most = 1,
     .k_least = 0, .k_most = 60, .score = HD_ADDITIVE},
    {.name = "one query, additive, dropout", .heads = 1, .d = 512, .dv = 1024, .items = 5, .q_least = 1,
     .q_most = 1, .k_least = 1, .k_most = 30, .score = HD_ADDITIVE, .drop = 0.3f, .q_how = KEYS},
    {.name = "one query, additive, shared keys", .heads = 2, .d = 32, .items = 6, .q_least = 1, .q_most = 1,
     .k_least = 3, .k_most = 30, .score = HD_ADDITIVE, .k_how = OVERLAP},
    {.name = "additive with all", .heads = 2, .d = 33, .dv = 20, .items = 4, .q_least = 1, .q_most = 12,
     .k_least = 1, .k_most = 40, .score = HD_ADDITIVE, .drop = 0.2f, .gate = GATE, .center = ONE_CENTER},
    {.name = "distances", .heads = 3, .d = 16, .items = 6, .q_least = 0, .q_most = 40, .mask = HD_CAUSAL, .span = 25,
     .q_how = FILL},
    {.name = "distances, d 32", .heads = 4, .d = 32, .items = 6, .q_least = 0, .q_most = 70, .mask = HD_CAUSAL,
     .span = 70, .q_how = LOOSE | FILL},
    {.name = "distances, d 64", .heads = 4, .d = 64, .items = 4, .q_least = 60, .q_most = 140, .mask = HD_CAUSAL,
     .span = 200},
    {.name = "distances, d 64, beyond the table", .heads = 2, .d = 64, .items = 3, .q_least = 0, .q_most = 150,
     .mask = HD_CAUSAL, .span = 20},
    {.name = "two distances, d 64", .heads = 2, .d = 64, .items = 3, .q_least = 1, .q_most = 70, .mask = HD_CAUSAL,
     .span = 2},
    {.name = "distances, d 128", .heads = 2, .d = 128, .items = 4, .q_least = 0, .q_most = 130, .mask = HD_CAUSAL,
     .span = 65, .q_how = FILL},
    {.name = "distances, d 64, dropout", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 130,
     .drop = 0.1f, .mask = HD_CAUSAL, .span = 129},
    {.name = "distances, 4 heads on 2", .heads = 4, .kv = 2, .d = 32, .items = 5, .q_least = 0, .q_most = 40,
     .mask = HD_CAUSAL, .span = 11},
    {.name = "distances, cached", .heads = 4, .d = 64, .items = 5, .q_least = 1, .q_most = 4, .k_least = 5,
     .k_most = 40, .mask = HD_CAUSAL, .k_how = GAPS | LOOSE, .span = 30},
    {.name = "distances, many after a cache", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 90,
     .k_least = 0, .k_most = 200, .mask = HD_CAUSAL, .span = 100},
    {.name = "distances, shared keys", .heads = 2, .d = 32, .items = 6, .q_least = 1, .q_most = 9, .k_least = 3,
     .k_most = 30, .k_how = OVERLAP, .mask = HD_CAUSAL, .span = 8},
    {.name = "decoding with distances", .heads = 4, .d = 64, .items = 9, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 70, .mask = HD_CAUSAL, .k_how = GAPS | LOOSE, .span = 30},
    {.name = "decoding with distances, blocks", .heads = 2, .d = 32, .items = 7, .q_least = 0, .q_most = 1,
     .k_least = 0, .k_most = 200, .mask = HD_CAUSAL, .span = 64, .block = 40, .k_how = FILL},
    {.name = "local blocks", .heads = 2, .d = 16, .items = 4, .q_least = 0, .q_most = 60, .mask = HD_CAUSAL,
     .block = 7},
    {.name = "local blocks, d 64", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 200,
     .mask = HD_CAUSAL, .block = 30},
    {.name = "local blocks, distances, d 64", .heads = 2, .d = 64, .items = 4, .q_least = 0, .q_most = 300,
     .mask = HD_CAUSAL, .block = 50, .span = 100},
    {.name = "local blocks of 1, distances, d 32", .heads = 2, .d = 32, .items = 3, .q_least = 0, .q_most = 150,
     .mask = HD_CAUSAL, .block = 1, .span = 2, .drop = 0.1f},
    {.name = "all", .heads = 4, .kv = 2, .d = 32, .items = 5, .q_least = 0, .q_most = 40, .mask = HD_CAUSAL,
     .window = 20, .block = 16, .span = 9, .table = BOTH_WAYS, .center = CENTER_EACH, .ragged = RAGGED, .gate = GATE, .drop = 0.1f,
     .q_how = FILL | KEYS | LOOSE},
    {.name = "shared keys", .heads = 2, .d = 32, .items = 6, .q_least = 1, .q_most = 9, .k_least = 3,
     .k_most = 30, .k_how = OVERLAP},
    {.name = "shared keys, d 64", .heads = 4, .d = 64, .items = 8, .q_least = 1, .q_most = 70, .k_least = 0,
     .k_most = 90, .k_how = OVERLAP, .drop = 0.1f},
    {.name = "cached", .heads = 4, .d = 64, .items = 5, .q_least = 1, .q_most = 4, .k_least = 5,
     .k_most = 40, .mask = HD_CAUSAL, .k_how = GAPS | LOOSE},
    {.name = "decoding", .heads = 4, .d = 64, .items = 9, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 70, .mask = HD_CAUSAL, .k_how = GAPS | LOOSE},
    {.name = "decoding, 4 on 2", .heads = 4, .kv = 2, .d = 32, .items = 6, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 50, .k_how = GAPS},
    {.name = "decoding, fill items", .heads = 2, .d = 64, .items = 8, .q_least = 0, .q_most = 1,
     .k_least = 0, .k_most = 20, .k_how = FILL},
    {.name = "decoding on shared keys", .heads = 8, .d = 64, .items = 10, .q_least = 1, .q_most = 1,
     .k_least = 4, .k_most = 45, .k_how = OVERLAP},
    {.name = "decoding, d 20", .heads = 2, .d = 20, .items = 4, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 33},
    /* fast kernels with windows, caps and other columns: lengths around tiles of 64 and 128 */
    {.name = "d 16, dv 24, causal", .heads = 3, .d = 16, .dv = 24, .items = 5, .q_least = 0, .q_most = 140,
     .mask = HD_CAUSAL, .fast = true},
    {.name = "d 48, dv 32, causal", .heads = 4, .d = 48, .dv = 32, .items = 4, .q_least = 1, .q_most = 131,
     .mask = HD_CAUSAL, .q_how = FILL, .fast = true},
    {.name = "d 48, dv 32, cap, window, dropout", .heads = 2, .d = 48, .dv = 32, .items = 4, .q_least = 0,
     .q_most = 150, .mask = HD_CAUSAL, .window = 30, .cap = 1.2f, .drop = 0.2f, .fast = true},
    {.name = "d 80, cross", .heads = 2, .d = 80, .items = 4, .q_least = 0, .q_most = 70, .k_least = 0,
     .k_most = 133, .fast = true},
    {.name = "d 96", .heads = 4, .kv = 2, .d = 96, .items = 4, .q_least = 0, .q_most = 130, .mask = HD_CAUSAL,
     .q_how = LOOSE | FILL, .fast = true},
    {.name = "d 96, full, dropout", .heads = 2, .d = 96, .items = 3, .q_least = 1, .q_most = 129, .drop = 0.1f, .fast = true},
    {.name = "d 96, window, cap", .heads = 2, .d = 96, .items = 4, .q_least = 1, .q_most = 200,
     .mask = HD_CAUSAL, .window = 63, .cap = 2, .fast = true},
    {.name = "d 128, window, 4 on 1", .heads = 4, .kv = 1, .d = 128, .items = 3, .q_least = 1, .q_most = 260,
     .mask = HD_CAUSAL, .window = 64, .fast = true},
    {.name = "d 128, cap", .heads = 2, .d = 128, .items = 4, .q_least = 0, .q_most = 100, .mask = HD_CAUSAL,
     .cap = 0.7f, .fast = true},
    {.name = "d 128, window both ways, cap, dropout", .heads = 2, .d = 128, .items = 3, .q_least = 1,
     .q_most = 200, .window = 20, .cap = 3, .drop = 0.1f, .fast = true},
    {.name = "d 192, dv 128", .heads = 2, .d = 192, .dv = 128, .items = 4, .q_least = 0, .q_most = 200,
     .mask = HD_CAUSAL, .q_how = FILL, .fast = true},
    {.name = "d 192, dv 128, full, dropout", .heads = 2, .d = 192, .dv = 128, .items = 3, .q_least = 1,
     .q_most = 129, .drop = 0.2f, .fast = true},
    {.name = "d 192, dv 128, window, 4 on 2", .heads = 4, .kv = 2, .d = 192, .dv = 128, .items = 3, .q_least = 1,
     .q_most = 300, .mask = HD_CAUSAL, .window = 70, .cap = 2, .fast = true},
    {.name = "d 136, dv 104, cross", .heads = 2, .d = 136, .dv = 104, .items = 3, .q_least = 1, .q_most = 65,
     .k_least = 1, .k_most = 130, .fast = true},
    {.name = "d 192, dv 128, after a cache", .heads = 2, .d = 192, .dv = 128, .items = 4, .q_least = 1,
     .q_most = 90, .k_least = 90, .k_most = 200, .mask = HD_CAUSAL, .fast = true},
    {.name = "d 256", .heads = 2, .d = 256, .items = 4, .q_least = 0, .q_most = 150, .mask = HD_CAUSAL, .fast = true},
    {.name = "d 256, 4 on 1, window, cap, dropout", .heads = 4, .kv = 1, .d = 256, .items = 3, .q_least = 0,
     .q_most = 140, .mask = HD_CAUSAL, .window = 40, .cap = 1.5f, .drop = 0.1f, .fast = true},
    {.name = "d 256, cross", .heads = 1, .d = 256, .items = 3, .q_least = 1, .q_most = 66, .k_least = 1,
     .k_most = 129, .fast = true},
    {.name = "window after a cache", .heads = 4, .kv = 2, .d = 64, .items = 5, .q_least = 1, .q_most = 90,
     .k_least = 60, .k_most = 300, .mask = HD_CAUSAL, .window = 50, .q_how = GAPS, .k_how = GAPS | LOOSE, .fast = true},
    {.name = "window both ways after a cache", .heads = 2, .d = 64, .items = 4, .q_least = 1, .q_most = 90,
     .k_least = 0, .k_most = 200, .window = 65, .fast = true},
    {.name = "window and local blocks", .heads = 2, .d = 32, .items = 4, .q_least = 1, .q_most = 200,
     .mask = HD_CAUSAL, .window = 40, .block = 30, .drop = 0.1f, .fast = true},
    {.name = "no key in the causal window", .heads = 2, .d = 64, .items = 4, .q_least = 80, .q_most = 200,
     .k_least = 0, .k_most = 30, .mask = HD_CAUSAL, .window = 5, .cap = 4, .fast = true},
    {.name = "a window wider than all", .heads = 2, .d = 64, .items = 3, .q_least = 1, .q_most = 140,
     .mask = HD_CAUSAL, .window = 2147483647, .fast = true},
    {.name = "decoding, window, cap", .heads = 4, .kv = 2, .d = 64, .items = 9, .q_least = 1, .q_most = 1,
     .k_least = 1, .k_most = 200, .mask = HD_CAUSAL, .window = 33, .cap = 1.5f},
    {.name = "decoding, d 192, dv 128", .heads = 4, .d = 192, .dv = 128, .items = 5, .q_least = 0, .q_most = 1,
     .k_least = 0, .k_most = 90},
    {.name = "many of 32", .heads = 4, .d = 64, .items = 60, .q_least = 1, .q_most = 32, .mask = HD_CAUSAL,
     .drop = 0.1f},
    {.name = "many of 32, cross", .heads = 2, .d = 32, .items = 50, .q_least = 0, .q_most = 32, .k_least = 0,
     .k_most = 31},
    {.name = "many of 64", .heads = 4, .d = 64, .items = 30, .q_least = 20, .q_most = 64, .q_how = FILL},
    {.name = "many of 1", .heads = 2, .d = 64, .items = 70, .q_least = 1, .q_most = 1, .mask = HD_CAUSAL},
    {.name = "0 to 300", .heads = 8, .d = 64, .items = 16, .q_least = 0, .q_most = 300, .mask = HD_CAUSAL,
     .drop = 0.1f, .large = true},
    {.name = "0 to 300, cross", .heads = 8, .d = 64, .items = 16, .q_least = 0, .q_most = 300, .k_least = 0,
     .k_most = 300, .large = true},
    {.name = "0 to 300, d 128, 8 on 2", .heads = 8, .kv = 2, .d = 128, .items = 10, .q_least = 0,
     .q_most = 300, .mask = HD_CAUSAL, .large = true},
    {.name = "0 to 300, table", .heads = 8, .d = 64, .items = 8, .q_least = 0, .q_most = 300,
     .table = BOTH_WAYS, .large = true},
    {.name = "600 to 1100", .heads = 4, .d = 64, .items = 2, .q_least = 600, .q_most = 1100,
     .mask = HD_CAUSAL, .drop = 0.1f, .large = true},
    {.name = "600 to 1100, window", .heads = 2, .d = 64, .items = 2, .q_least = 600, .q_most = 1100,
     .mask = HD_CAUSAL, .window = 100, .large = true},
    {.name = "600 to 1100, window, cap, 8 on 2", .heads = 8, .kv = 2, .d = 128, .items = 2, .q_least = 600,
     .q_most = 1100, .mask = HD_CAUSAL, .window = 256, .cap = 5, .large = true, .fast = true},
    {.name = "600 to 1100, d 192, dv 128", .heads = 4, .d = 192, .dv = 128, .items = 2, .q_least = 600,
     .q_most = 1100, .mask = HD_CAUSAL, .large = true, .fast = true},
    {.name = "600 to 1100, d 256, 4 on 1", .heads = 4, .kv = 1, .d = 256, .items = 2, .q_least = 600,
     .q_most = 1100, .mask = HD_CAUSAL, .window = 512, .large = true, .fast = true},
    {.name = "600 to 1100, d 96", .heads = 2, .d = 96, .items = 2, .q_least = 600, .q_most = 1100,
     .mask = HD_CAUSAL, .large = true, .fast = true},
    {.name = "600 to 1100, distances", .heads = 4, .d = 64, .items = 2, .q_least = 600, .q_most = 1100,
     .mask = HD_CAUSAL, .drop = 0.1f, .span = 1100, .large = true},
    {.name = "600 to 1100, distances beyond the table", .heads = 2, .d = 128, .items = 6, .q_least = 600,
     .q_most = 1100, .mask = HD_CAUSAL, .span = 300, .large = true},
    {.name = "1100, distances, some heads at a time", .heads = 4, .d = 32, .items = 4, .q_least = 1040, .q_most = 1100,
     .mask = HD_CAUSAL, .span = 1100, .large = true},
    {.name = "1100, distances, some items at a time", .heads = 1, .d = 32, .items = 20, .q_least = 800, .q_most = 1100,
     .mask = HD_CAUSAL, .span = 700, .large = true},
    {.name = "4200, distances, some tiles at a time", .heads = 1, .d = 32, .items = 1, .q_least = 4200, .q_most = 4200,
     .mask = HD_CAUSAL, .span = 4200, .large = true},
    {.name = "4200, distances, d 64, some tiles at a time", .heads = 1, .d = 64, .items = 1, .q_least = 4200,
     .q_most = 4200, .mask = HD_CAUSAL, .span = 1000, .drop = 0.1f, .large = true},
    {.name = "600 to 1100, distances, blocks of 256", .heads = 2, .d = 32, .items = 3, .q_least = 600,
     .q_most = 1100, .mask = HD_CAUSAL, .span = 512, .block = 256, .large = true},
    {.name = "600 to 1100, cross", .heads = 2, .d = 32, .items = 3, .q_least = 3, .q_most = 40,
     .k_least = 600, .k_most = 1100, .large = true},
    {.name = "decoding to 700", .heads = 8, .d = 64, .items = 24, .q_least = 1, .q_most = 1, .k_least = 1,
     .k_most = 700, .k_how = GAPS, .large = true},
    {.name = "decoding to 700, d 128, 8 on 2", .heads = 8, .kv = 2, .d = 128, .items = 12, .q_least = 1,
     .q_most = 1, .k_least = 1, .k_most = 700, .large = true},
    {.name = "a batch of sentences", .heads = 8, .d = 64, .items = 100, .q_least = 3, .q_most = 60,
     .mask = HD_CAUSAL, .drop = 0.1f, .q_how = FILL | KEYS, .large = true},
};
/* clang-format on */

#define EACH_ATTENDING(p, c)                                                              \
    for ((p)->layout = 0; (p)->layout < LAYOUTS; (p)->layout++)                           \
        for (const attending *c = attendings; c < attendings + COUNT_OF(attendings); c++) \
            if ((!c->large || (!small_only() && (p)->layout == EIGHTS)) &&                \
                (!c->fast || ((p)->bf16 ? (p)->layout != ODD : (p)->layout == DENSE)))

typedef struct scene {
    size_t h, hk, d, dv, total; /* total: rows of ragged */
    twin_seg *qs, *ks;
    twin *q, *k, *v, *additive, *table, *distance, *center, *ragged, *gate;
    twin_ints *begin; /* of items in ragged layouts */
    hd_attention at[2];
} scene;

static float *ragged_scores(pair *p, const scene *s, int how)
{
    float *v = normals(p, s->total * s->h, 1);
    size_t at = 0;
    for (size_t i = 0; i < s->qs->items; i++)
        for (int32_t a = 0; a < s->qs->len[i]; a++)
            for (int32_t j = 0; j < s->ks->len[i]; j++, at++)
                for (size_t h = 0; how == RAGGED_HOLES && h < s->h; h++)
                    if (a % 4 == 3 || (a + j) % 3 == 1)
                        v[at * s->h + h] = -INFINITY; /* every fourth sees nothing */
    return v;
}

/* A parameter of f32, which the fast kernels read in bf16: rounded, so that both sides have the same. */
static twin *vectors(pair *p, size_t rows, size_t cols)
{
    float *x = normals(p, rows * cols, 0.5);
    uint16_t *small = pair_take(p, 2, rows * cols * sizeof *small);
    hd_convert(small, HD_BF16, x, HD_F32, rows * cols);
    hd_convert(x, HD_F32, small, HD_BF16, rows * cols);
    return twin_from(p, "distance", rows, cols, REAL | FLAT, x);
}

static scene *scene_of(pair *p, const attending *c)
{
    scene *s = pair_take(p, 2, sizeof *s);
    s->h = (size_t)c->heads, s->hk = (size_t)(c->kv ? c->kv : c->heads), s->d = (size_t)c->d;
    s->dv = (size_t)(c->dv ? c->dv : c->d);
    bool self = !c->k_most && !c->k_how;
    s->qs = seg_from(p, lengths(p, c->items, c->q_least, c->q_most), c->items, c->q_how);
    int32_t *keys = self ? NULL : lengths(p, c->items, c->k_least, c->k_most);
    s->ks = self                ? s->qs
            : c->k_how == PAGED ? seg_paged(p, keys, c->items)
                                : seg_from(p, keys, c->items, c->k_how);
    s->q = twin_owned(p, "q", s->qs, s->h * s->d, ACT, 1);
    s->k = twin_owned(p, "k", s->ks, s->hk * s->d, ACT, 1);
    s->v = twin_owned(p, "v", s->ks, s->hk * s->dv, ACT, 1);
    int32_t *begin = pair_take(p, 2, (c->items + 1) * sizeof *begin);
    for (size_t i = 0; i < c->items; i++) {
        begin[i] = (int32_t)s->total;
        s->total += (size_t)s->qs->len[i] * (size_t)s->ks->len[i];
    }
    s->begin = ints_from(p, begin, c->items);
    if (c->score == HD_ADDITIVE) s->additive = twin_normal(p, "additive", 1, s->h * s->d, REAL | FLAT, 0.5);
    if (c->table) s->table = twin_normal(p, "table", 16, s->h, REAL | FLAT, 1);
    if (c->span) s->distance = vectors(p, s->h * (size_t)c->span, s->d);
    if (c->center) {
        size_t n = c->center == ONE_CENTER ? 1 : s->h;
        float *x = normals(p, s->qs->rows * n, 3);
        for (size_t i = 0; i < s->qs->rows * n; i++) x[i] = fabsf(x[i]);
        s->center = twin_from(p, "center", s->qs->rows, n, ACT, x);
    }
    if (c->ragged) /* explicit scores come as constants, too: f32 whatever the compute type */
        s->ragged = twin_from(p, "ragged", s->total, s->h, p->layout == ODD ? REAL : ACT,
                              ragged_scores(p, s, c->ragged));
    if (c->gate) {
        float *x = normals(p, s->h, 1);
        if (c->gate == GATE_ZERO) x[s->h / 2] = 0;
        s->gate = twin_from(p, "gate", 1, s->h, REAL | FLAT, x);
    }
    for (int side = 0; side < 2; side++)
        s->at[side] = (hd_attention){.heads = c->heads,
                                     .kv_heads = (int)s->hk,
                                     .cap = c->cap,
                                     .scale = c->scale > 0              ? c->scale
                                              : c->score == HD_ADDITIVE ? 1
                                                                        : (float)(1 / sqrt((double)c->d)),
                                     .mask = c->mask,
                                     .window = c->window,
                                     .block = c->block,
                                     .distance = ON(s->distance),
                                     .score = c->score,
                                     .additive = ON(s->additive),
                                     .table = ON(s->table),
                                     .table_both_ways = c->table == BOTH_WAYS,
                                     .table_reach = 32,
                                     .center = ON(s->center),
                                     .sigma = 2.5f,
                                     .ragged = ON(s->ragged),
                                     .ragged_begin = s->ragged ? s->begin->on[side] : NULL,
                                     .gate = ON(s->gate),
                                     .qseg = ON(s->qs),
                                     .kseg = ON(s->ks),
                                     .draw = DRAW(p, c->drop, s->qs)};
    return s;
}

#endif
