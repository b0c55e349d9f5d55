/* Translates the lines of standard input with a model, and shows below each translation which source token
   each of its tokens looked at most.

       cc translate.c $(pkg-config --cflags --libs heed) -o translate
       echo 'I ate an apple .' | ./translate MODEL_FOLDER */
#define _POSIX_C_SOURCE 200809L
#include <heed.h>
#include <stdio.h>
#include <stdlib.h>

/* Attention between two tokens: the mean over the heads of the last layer. */
static double weight_of(const heed_attention *a, size_t row, size_t col)
{
    double sum = 0;
    for (size_t head = 0; head < a->heads; head++)
        sum += (double)a->weight[(((a->layers - 1) * a->heads + head) * a->rows + row) * a->cols + col];
    return sum / (double)a->heads;
}

static heed_status show_alignment(void *user, const heed_attention *a)
{
    FILE *to = user;
    if (a->kind != HEED_ATTENTION_CROSS) return HEED_OK;
    if (a->part == 0) fprintf(to, "%s\n", a->translation->text);
    for (size_t row = 0; row < a->rows; row++) {
        size_t best = 0;
        for (size_t col = 1; col < a->cols; col++)
            if (weight_of(a, row, col) > weight_of(a, row, best)) best = col;
        fprintf(to, "    %s <- %s (%.2f)\n", a->row_label[row], a->col_label[best], weight_of(a, row, best));
    }
    return HEED_OK;
}

/* An alignment for each line that has a translation; the rest is said here. */
static heed_status translate_line(heed_context *context, const char *line, heed_error *error)
{
    heed_results *results = NULL;
    heed_translate_options options;
    heed_translate_options_init(&options, sizeof options);
    options.attention = show_alignment;
    options.attention_user = stdout;
    heed_status s = heed_translate(context, &line, 1, &options, &results, error);
    if (!s && results->translation[0]->status)
        fprintf(stderr, "%s: %s\n", line, results->translation[0]->error);
    if (!s && !results->translation[0]->count) printf("\n");
    heed_results_free(results);
    return s;
}

int main(int argc, char **argv)
{
    heed_error error;
    heed_model *model = NULL;
    heed_context *context = NULL;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    if (argc != 2) return fprintf(stderr, "usage: %s MODEL_FOLDER\n", argv[0]), 2;
    heed_status s = heed_model_open(&model, argv[1], NULL, &error);
    if (!s) s = heed_context_new(&context, model, NULL, &error);
    while (!s && (length = getline(&line, &room, stdin)) >= 0) {
        if (length && line[length - 1] == '\n') line[length - 1] = 0;
        s = translate_line(context, line, &error);
    }
    if (s) fprintf(stderr, "%s\n", error.text);
    free(line);
    heed_context_free(context);
    heed_model_free(model);
    return s != HEED_OK;
}
