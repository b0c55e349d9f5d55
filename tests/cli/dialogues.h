/* A model that has learned which animal says what, in folder m of the scratch folder. Include after
 * cli/shell.h. */
#ifndef DIALOGUES_H
#define DIALOGUES_H

#define DIALOGUE_TRAIN                                                                                  \
    "$HEED train -q --task lm --model gpt --train d.jsonl --unit char --layers 2 --heads 2 --width 32 " \
    "--context 96 --batch-size 16 --lr 0.01 --warmup 10 --dropout 0 --seed 1 "

SCRATCH_UNUSED static void dialogues_write(void)
{
    FILE *f = fopen(at("d.jsonl"), "w");
    static const char *const animal[][2] = {{"cat", "meow"}, {"dog", "woof"}, {"cow", "moo"}};
    for (int i = 0; i < 60; i++) {
        const char *const *a = animal[i % 3], *const *b = animal[i / 3 % 3];
        fprintf(f,
                "{\"messages\": [{\"role\": \"user\", \"content\": \"the %s?\"}, {\"role\": \"assistant\", "
                "\"content\": "
                "\"%s\"}, {\"role\": \"user\", \"content\": \"the %s?\"}, {\"role\": \"assistant\", "
                "\"content\": \"%s\"}]}\n",
                a[0], a[1], b[0], b[1]);
    }
    fclose(f);
}

SCRATCH_UNUSED static int dialogues_learn(void **state)
{
    if (scratch_make(state)) return -1;
    shell_prepare();
    dialogues_write();
    must_run(DIALOGUE_TRAIN "--steps 150 --out m");
    return 0;
}

#endif
