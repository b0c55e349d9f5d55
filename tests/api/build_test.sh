#!/bin/sh
# What someone meets who builds heed where something is missing: build_test.sh SOURCE CC. Nothing is built.
set -eu
source=$1 cc=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
configure() { cmake -S "$source" -B "$scratch/build" -DCMAKE_C_COMPILER="$cc" -DHEED_CUDA=OFF "$@" >/dev/null 2>"$scratch/said"; }
# says WORDS...: the last command failed and its message holds each of these, whatever the line breaks.
says() {
    message=$(tr -s ' \n' '  ' <"$scratch/said")
    for word in "$@"; do
        case $message in
        *"$word"*) ;;
        *) printf 'expected: %s\nsaid: %s\n' "$word" "$message" && exit 1 ;;
        esac
    done
}

# Libraries that are missing are named, all of them, with the remedy.
if PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$scratch configure; then exit 1; fi
says libjansson-dev libsentencepiece-dev libyaml-dev libcmocka-dev 'make deps'

# A compiler that is not there costs nothing.
if make -C "$source" CC=no-such-compiler all >/dev/null 2>"$scratch/said"; then exit 1; fi
says 'CC=no-such-compiler: there is no such compiler'

# One that cannot build heed is refused.
if command -v tcc >/dev/null; then
    cc=tcc
    rm -rf "$scratch/build"
    if configure; then exit 1; fi
    says 'GCC 12' 'TinyCC'
fi

# Uninstalling removes what was installed to that prefix, and says so where nothing was.
mkdir -p "$scratch/at/a b" "$scratch/at/other"
cd "$scratch/at"
touch 'a b/heed' other/heed
for to in 'a b' other; do
    echo "$scratch/at/$to/heed" >install_manifest.txt
    cmake -DPREFIX="$scratch/at/$to" -P "$source/cmake/installed.cmake"
done
cmake -DPREFIX="$scratch/at/a b" -P "$source/cmake/uninstall.cmake" >/dev/null 2>&1
[ ! -e 'a b/heed' ] && [ -e other/heed ]
if cmake -DPREFIX="$scratch/at/a b" -P "$source/cmake/uninstall.cmake" >/dev/null 2>"$scratch/said"; then exit 1; fi
says 'nothing was installed to'
