/* A conversation with a language model that has a chat template: each line of standard input is answered,
   with all that was said before, and the answer is written while it comes.

       cc chat.c $(pkg-config --cflags --libs heed) -o chat
       echo 'Who are you?' | ./chat MODEL_FOLDER */
#define _POSIX_C_SOURCE 200809L
#include <heed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 200 };

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
    heed_context *context = NULL;
    heed_message said[MESSAGES];
    char *line = NULL;
    size_t room = 0, messages = 0;
    heed_generate_options options;
    heed_generate_options_init(&options, sizeof options);
    options.temperature = 0.7;
    options.tell = write_on;
    options.tell_user = stdout;
    if (count != 2) return fprintf(stderr, "usage: chat MODEL_FOLDER < LINES\n"), 2;
    heed_status s = heed_model_open(&model, word[1], NULL, &error);
    if (!s) s = heed_context_new(&context, model, NULL, &error);
    while (!s && messages + 2 <= MESSAGES && getline(&line, &room, stdin) >= 0) {
        heed_texts *answer = NULL;
        line[strcspn(line, "\n")] = 0;
        said[messages++] = (heed_message){"user", strdup(line)};
        s = heed_chat(context, said, messages, &options, &answer, &error);
        putchar('\n');
        if (!s) said[messages++] = (heed_message){"assistant", strdup(answer->text[0]->text)};
        heed_texts_free(answer);
    }
    if (s) fprintf(stderr, "%s\n", error.text);
    for (size_t i = 0; i < messages; i++) free((char *)said[i].content);
    free(line);
    heed_context_free(context);
    heed_model_free(model);
    return s != HEED_OK;
}
