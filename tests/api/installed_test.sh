#!/bin/sh
# What is installed can be compiled against and run: installed_test.sh BUILD SOURCE TINY_MODEL CC [FLAGS...].
# Installs below a scratch folder and builds examples/translate.c with what pkg-config says.
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
DESTDIR=$scratch/root cmake --install "$build" --component Unspecified >/dev/null
rm -f "$build/install_manifest_Unspecified.txt"
pc=$(find "$scratch/root" -name heed.pc)
PKG_CONFIG_SYSROOT_DIR=$scratch/root PKG_CONFIG_LIBDIR=$(dirname "$pc")
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
flags=$(pkg-config --cflags --libs heed)
echo "$flags"
# shellcheck disable=SC2086 # flags are words
"$cc" -std=c17 -Wall -Wextra -Werror "$@" "$source/examples/translate.c" -o "$scratch/translate" $flags

LD_LIBRARY_PATH=$(dirname "$(find "$scratch/root" -name libheed.so)")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
"$maker" "$scratch/model"
lines='i ate an apple .
are you tired ?

you ate it'
echo "$lines" | "$scratch/translate" "$scratch/model" >"$scratch/said"
echo "$lines" | "$build/heed" translate --device cpu "$scratch/model" >"$scratch/known"
grep -v ' <- ' "$scratch/said" | diff - "$scratch/known"
grep -qE '^    [^ ]+ <- [^ ]+ \([01]\.[0-9]{2}\)$' "$scratch/said"
if "$scratch/translate" "$scratch/nothing" </dev/null 2>"$scratch/error"; then exit 1; fi
grep -q 'no such folder' "$scratch/error"
