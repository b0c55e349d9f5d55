/* The shape of the register tile: TILE_ROWS rows by a strip of STRIP columns, which fills the registers of
   the instruction set. */
#ifndef HD_BACKEND_CPU_PRODUCT_TILE_H
#define HD_BACKEND_CPU_PRODUCT_TILE_H

#include "backend/cpu/vector.h"

#if HD_VECTOR_BYTES == 64
enum { TILE_ROWS = 12, STRIP_VECTORS = 2 };
#elif HD_VECTOR_BYTES == 32
enum { TILE_ROWS = 6, STRIP_VECTORS = 2 };
#elif defined(__aarch64__)
enum { TILE_ROWS = 8, STRIP_VECTORS = 3 };
#else
enum { TILE_ROWS = 4, STRIP_VECTORS = 2 };
#endif
enum { STRIP = STRIP_VECTORS * VL };

#endif
