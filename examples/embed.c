/* Which lines of standard input mean the same: the cosine of the first line's vector and of each other's.

       cc embed.c $(pkg-config --cflags --libs heed) -o embed
       ./embed MODEL_FOLDER < LINES */
#define _POSIX_C_SOURCE 200809L
#include <heed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

int main(int count, char **word)
{
    static char *line[MOST];
    size_t lines = 0, room = 0;
    heed_error error;
    heed_model *model = NULL;
    heed_context *context = NULL;
    heed_vectors *vectors = NULL;
    heed_embed_options options;
    heed_embed_options_init(&options, sizeof options);
    options.normalize = true;
    if (count != 2) return fprintf(stderr, "usage: embed MODEL_FOLDER < LINES\n"), 2;
    for (; lines < MOST && getline(&line[lines], &room, stdin) >= 0; room = 0, lines++)
        line[lines][strcspn(line[lines], "\n")] = 0;
    heed_status s = heed_model_open(&model, word[1], NULL, &error);
    if (!s) s = heed_context_new(&context, model, NULL, &error);
    if (!s) s = heed_embed(context, (const char *const *)line, lines, &options, &vectors, &error);
    if (s) fprintf(stderr, "%s\n", error.text);
    for (size_t i = 0; !s && i < lines; i++) {
        const heed_vector *first = vectors->vector[0], *v = vectors->vector[i];
        double cosine = 0;
        for (size_t k = 0; first->value && v->value && k < vectors->width; k++)
            cosine += (double)first->value[k] * (double)v->value[k];
        printf("%.4f\t%s%s\n", cosine, line[i], v->value ? "" : v->status ? v->error : " (no vector)");
    }
    for (size_t i = 0; i < MOST; i++) free(line[i]);
    heed_vectors_free(vectors);
    heed_context_free(context);
    heed_model_free(model);
    return s != HEED_OK;
}
