/* Continues each line of standard input with a language model, and writes the text while it comes. Ctrl-C
   ends a text.

       cc generate.c $(pkg-config --cflags --libs heed) -o generate
       echo 'To be' | ./generate MODEL_FOLDER */
#define _POSIX_C_SOURCE 200809L
#include <heed.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static heed_context *context;

static void interrupt(int number)
{
    (void)number;
    heed_context_stop(context);
}

static heed_status write_on(void *user, size_t which, const char *text, size_t size)
{
    (void)which;
    fwrite(text, 1, size, user);
    fflush(user);
    return HEED_OK;
}

int main(int count, char **word)
{
    heed_error error;
    heed_model *model = NULL;
    char *line = NULL;
    size_t room = 0;
    heed_generate_options options;
    heed_generate_options_init(&options, sizeof options);
    options.tokens = 40;
    options.temperature = 0.8;
    options.tell = write_on;
    options.tell_user = stdout;
    if (count != 2) return fprintf(stderr, "usage: generate MODEL_FOLDER < PROMPTS\n"), 2;
    heed_status s = heed_model_open(&model, word[1], NULL, &error);
    if (!s) s = heed_context_new(&context, model, NULL, &error);
    if (!s) signal(SIGINT, interrupt);
    while (!s && getline(&line, &room, stdin) >= 0) {
        heed_texts *texts = NULL;
        line[strcspn(line, "\n")] = 0;
        fputs(line, stdout);
        s = heed_generate(context, (const char *const *)&line, 1, &options, &texts, &error);
        putchar('\n');
        if (s == HEED_ESTOPPED) s = HEED_OK;
        heed_texts_free(texts);
        options.first_prompt++;
    }
    if (s) fprintf(stderr, "%s\n", error.text);
    free(line);
    heed_context_free(context);
    heed_model_free(model);
    return s != HEED_OK;
}
