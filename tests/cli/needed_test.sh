#!/usr/bin/env bash
# needed_test.sh FILE...: no program or library of a CUDA build needs a library of CUDA to start.
set -euo pipefail
command -v readelf >/dev/null || { echo "skipped: no readelf"; exit 77; }
for file in "$@"; do
    needed=$(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
    [ -n "$needed" ] || { echo "$file: readelf lists no library at all"; exit 1; }
    if grep -iE 'cuda|cublas|nccl|nvrtc|nvidia' <<<"$needed"; then
        echo "$file needs these to start: load them at first use (backend/cuda/library.h)"
        exit 1
    fi
done
