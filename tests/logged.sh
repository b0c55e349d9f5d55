#!/usr/bin/env bash
# Runs a test program and keeps what it said, for scripts/check-lectures: logged.sh LOG PROGRAM.
set -o pipefail
mkdir -p "$(dirname "$1")"
rm -f "$1"
"$2" 2>&1 | tee "$1.part"
status=$?
mv "$1.part" "$1" # a program that was killed leaves no log
exit $status
