#!/bin/sh
# The unit of systemd leaves the service little to attack: unit.sh FILE. 77: there is no systemd-analyze.
command -v systemd-analyze > /dev/null || { echo "skipped: no systemd-analyze"; exit 77; }
copy=$(mktemp -d) && trap 'rm -r "$copy"' EXIT
cp "$1" "$copy/heed.service"
level=$(systemd-analyze security --offline=true --no-pager "$copy/heed.service" 2>&1 | sed -n 's/.*exposure level for heed.service: \([0-9.]*\).*/\1/p')
echo "exposure ${level:-not said}"
[ -n "$level" ] && awk "BEGIN { exit !($level <= 2.0) }"
