/* A small model of every kind, as the program trains it: what all verbs must do alike is tested with these.
   Include after check.h. */
#ifndef KINDS_H
#define KINDS_H

#include "cli/shell.h"

#define KINDS_TRAIN "$HEED train -q --device cpu --width 16 --batch-size 8 --steps 2 --lr 0.01 --warmup 100 "

/* classifier, tagger, bert, gpt, translator: folders of these names. */
SCRATCH_UNUSED static int kinds_make(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    char out[SHELL_ROOM];
    int status = shell(
        out, "for i in 1 2 3 4 5 6 7 8 9 10; do echo 'the cat sat on the mat'; echo 'the dog ran in "
             "the park'; done "
             "> text; sed 's/the/der/g' text > other; "
             "{ echo 'text\tlabel'; sed 's/.*cat.*/&\tcat/; s/.*dog.*/&\tdog/' text; } > labels.tsv; "
             "awk '{ for (i = 1; i <= NF; i++) print $i \"\\t\" ($i == \"the\" ? \"D\" : \"X\"); print "
             "\"\" }' text > "
             "tags.tsv; set -e; " KINDS_TRAIN
             "--task classify --train labels.tsv --unit char --out classifier; " KINDS_TRAIN
             "--task tag --model transformer --heads 2 --train tags.tsv --out tagger; " KINDS_TRAIN
             "--task mlm --train text --unit word --layers 1 --heads 2 --context 16 --out bert; " KINDS_TRAIN
             "--task lm --model gpt --train text --unit char --layers 1 --heads 2 --context 64 --out gpt; "
             "$HEED train -q $TINY --train text other --steps 2 --out translator");
    if (status) fprintf(stderr, "%s", out);
    return status;
}

#endif
