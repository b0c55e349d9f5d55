#!/bin/sh
# What is installed can be compiled against and run: installed_test.sh BUILD SOURCE TINY_MODEL CC [FLAGS...].
# Installs to a folder with a space in its name and builds README's example, as C and as C++, and examples/translate.c
# with what pkg-config says; they run without LD_LIBRARY_PATH.
set -eu
build=$1 source=$2 maker=$3 cc=$4
shift 4
if [ ! -e "$build/man/heed.1" ] || ! command -v pkg-config >/dev/null; then
    echo "skipped: not all is built, or there is no pkg-config"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# install_manifest.txt belongs to the user's own install: that of a component has another name.
cmake --install "$build" --component Unspecified --prefix "$scratch/a prefix" >/dev/null
rm -f "$build/install_manifest_Unspecified.txt"
pc=$(find "$scratch" -name heed.pc)
PKG_CONFIG_LIBDIR=$(dirname "$pc")
export PKG_CONFIG_LIBDIR
flags=$(pkg-config --cflags --libs heed)
echo "$flags"
compile() { eval "\"\$@\" $flags"; } # pkg-config writes spaces in paths as a shell reads them
compile "$cc" -std=c17 -Wall -Wextra -Werror "$@" "$source/examples/translate.c" -o "$scratch/translate"

"$maker" "$scratch/model"
sed -n '/^#include <heed.h>/,/^```/p' "$source/README.md" | grep -v '^```' >"$scratch/example.c"
cp "$scratch/example.c" "$scratch/example.cc"
compile "$cc" -std=c17 -Wall -Wextra -Werror "$@" "$scratch/example.c" -o "$scratch/example"
compile "$cc" -std=c++17 -Wall -Wextra -Werror -fsyntax-only "$@" "$scratch/example.cc"
echo "I ate an apple ." | "$build/heed" translate --device cpu "$scratch/model" >"$scratch/known"
(cd "$scratch" && ./example) | diff - "$scratch/known"
if (cd / && "$scratch/example") 2>"$scratch/error"; then exit 1; fi # there is no model
grep -q 'model' "$scratch/error"

# The module finds the library below the same folder. Not where Python would need the sanitizers' runtime.
module=$(find "$scratch/a prefix" -name heed.py)
if [ -n "$module" ] && [ $# = 0 ]; then
    (cd / && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(dirname "$module") python3 -c "
import heed, sys
with heed.Model(sys.argv[1]) as model: print(model.translate(['I ate an apple .'])[0].text)" "$scratch/model") |
        diff - "$scratch/known"
fi

lines='i ate an apple .
are you tired ?

you ate it'
echo "$lines" | "$scratch/translate" "$scratch/model" >"$scratch/said"
echo "$lines" | "$build/heed" translate --device cpu "$scratch/model" >"$scratch/known"
grep -v ' <- ' "$scratch/said" | diff - "$scratch/known"
grep -qE '^    [^ ]+ <- [^ ]+ \([01]\.[0-9]{2}\)$' "$scratch/said"
if "$scratch/translate" "$scratch/nothing" </dev/null 2>"$scratch/error"; then exit 1; fi
grep -q 'no such folder' "$scratch/error"
