#!/bin/bash
# Kills `heed train` with signal 9 at random moments, N times (default 50), resuming each time, and compares what
# the runs leave in the end with a run that nobody touched. Needs $HEED, the program. Prints one line; exit 0: all
# the same bytes.
#   HEED=build/heed tests/cli/kill.sh [N] [SEED]
set -u
wanted=${1:-50}
RANDOM=${2:-1}
HEED=${HEED:?the program}
folder=$(mktemp -d "${TMPDIR:-/tmp}/heed-kill-XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fail() { echo "kill.sh: $*"; exit 1; }

"$HEED" corpus -q --pairs 300 --valid 20 --test 0 --out corpus || exit 1
options="--device cpu --encoder-layers 1 --decoder-layers 1 --width 16 --ffn-size 32 --heads 2 --tokenizer words --batch-tokens 100
 --max-length 40 --max-positions 64 --lr 0.01 --warmup 5 --schedule inverse_sqrt --dropout 0.2 --attention-dropout 0.1
 --ema 0.9 --micro-batches 2 --valid-every 7 --bleu-sentences 5 --report-every 2 --steps 120 --threads 1 -q
 --train corpus/train.en corpus/train.de --valid corpus/valid.en corpus/valid.de"
"$HEED" train $options --save-every 5 --out whole || fail "the run without kills failed"
last=$(cat whole/train/current)

kills=0 runs=0 sittings=0
while [ "$kills" -lt "$wanted" ]; do
    run=run-$runs every=$((RANDOM % 5 + 1))
    runs=$((runs + 1))
    while :; do
        if [ -e "$run/train/current" ]; then how="--resume"
        elif [ -e "$run/training.yml" ]; then how="$options --save-every $every --overwrite"
        else how="$options --save-every $every"; fi
        sittings=$((sittings + 1))
        "$HEED" train $how --quiet --out "$run" 2>error &
        process=$!
        if [ "$kills" -lt "$wanted" ]; then
            sleep "0.$(printf %03d $((RANDOM % 200)))"
            kill -9 "$process" 2>/dev/null
        fi
        wait "$process" 2>/dev/null
        status=$?
        case $status in
        0) break ;;
        137) kills=$((kills + 1)) ;;
        *) fail "after $kills kills: heed train $how --out $run: status $status: $(cat error)" ;;
        esac
    done
    cmp -s "whole/model.safetensors" "$run/model.safetensors" || fail "$run: model.safetensors differs"
    [ "$(cat "$run/train/current")" = "$last" ] || fail "$run: ends at $(cat "$run/train/current")"
    diff -r "whole/train/$last" "$run/train/$last" >/dev/null || fail "$run: train/$last differs"
    [ -z "$(find "$run" -name '*.tmp.*')" ] || fail "$run: temporary files are left"
    [ "$(ls -d "$run"/train/step-* | wc -l)" = 1 ] || fail "$run: more than one checkpoint is left"
    rm -rf "$run"
done
echo "$kills kills in $runs runs of $sittings sittings: all end with the same bytes"
