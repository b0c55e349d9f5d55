/* Answers each line of standard input: what stands at each [MASK] where the model is a masked language model,
   or its labels where it is a classifier or a tagger.

       cc answer.c $(pkg-config --cflags --libs heed) -o answer
       echo 'The [MASK] barks .' | ./answer MODEL_FOLDER */
#define _POSIX_C_SOURCE 200809L
#include <heed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 3 };

static void show(const heed_answer *answer)
{
    if (answer->status) printf("%s\n", answer->error);
    for (size_t i = 0; i < answer->count; i++)
        for (size_t k = 0; k < answer->at[i]->count; k++)
            printf("%s%s %.4f", k ? "  " : "", answer->at[i]->choice[k]->text,
                   answer->at[i]->choice[k]->probability),
                k + 1 == answer->at[i]->count ? puts("") : 0;
}

int main(int count, char **word)
{
    heed_error error;
    heed_model *model = NULL;
    heed_context *context = NULL;
    char *line = NULL;
    size_t room = 0;
    if (count != 2) return fprintf(stderr, "usage: answer MODEL_FOLDER < LINES\n"), 2;
    heed_status s = heed_model_open(&model, word[1], NULL, &error);
    if (!s) s = heed_context_new(&context, model, NULL, &error);
    while (!s && getline(&line, &room, stdin) >= 0) {
        heed_answers *answers = NULL;
        line[strcspn(line, "\n")] = 0;
        s = heed_classify(context, (const char *const *)&line, 1, TOP, &answers, &error);
        if (s == HEED_EARG) /* it gives no labels */
            s = heed_fill(context, (const char *const *)&line, 1, TOP, &answers, &error);
        if (!s) show(answers->answer[0]);
        heed_answers_free(answers);
    }
    if (s) fprintf(stderr, "%s\n", error.text);
    free(line);
    heed_context_free(context);
    heed_model_free(model);
    return s != HEED_OK;
}
