/* What a language model thinks of each line of standard input: its perplexity, and its tokens. With a list of
   heads and factors, also what it thinks with those.

       cc score.c $(pkg-config --cflags --libs heed) -lm -o score
       echo 'The dog barks .' | ./score MODEL_FOLDER '0.self.1=0' */
#define _POSIX_C_SOURCE 200809L
#include <heed.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one line; NAN where it has no score. */
static heed_status perplexity(double *out, heed_context *context, const char *line, heed_error *error)
{
    heed_verdicts *found = NULL;
    heed_status s = heed_score(context, NULL, &line, 1, &found, error);
    const heed_verdict *v = s ? NULL : found->verdict[0];
    if (v) *out = v->status ? (double)NAN : exp(-v->log_probability / (double)v->tokens);
    heed_verdicts_free(found);
    return s;
}

static heed_status show_tokens(heed_model *model, const char *line, heed_error *error)
{
    heed_tokens *tokens = NULL;
    heed_status s = heed_tokenize(model, HEED_SIDE_SOURCE, line, strlen(line), &tokens, error);
    for (size_t i = 0; !s && i < tokens->length; i++) printf(" %s", tokens->token[i]);
    heed_tokens_free(tokens);
    return s;
}

int main(int count, char **word)
{
    heed_error error;
    heed_model *model = NULL;
    heed_context *context = NULL;
    char *line = NULL;
    size_t room = 0;
    if (count != 2 && count != 3) return fprintf(stderr, "usage: score MODEL_FOLDER [HEADS] < LINES\n"), 2;
    heed_status s = heed_model_open(&model, word[1], NULL, &error);
    if (!s) s = heed_context_new(&context, model, NULL, &error);
    while (!s && getline(&line, &room, stdin) >= 0) {
        double plain = 0, changed = 0;
        line[strcspn(line, "\n")] = 0;
        s = heed_context_heads(context, NULL, &error);
        if (!s) s = perplexity(&plain, context, line, &error);
        if (!s && count == 3) s = heed_context_heads(context, word[2], &error);
        if (!s && count == 3) s = perplexity(&changed, context, line, &error);
        if (!s) printf("%.4f", plain);
        if (!s && count == 3) printf(" %.4f", changed);
        if (!s) s = show_tokens(model, line, &error);
        putchar('\n');
    }
    if (s) fprintf(stderr, "%s\n", error.text);
    free(line);
    heed_context_free(context);
    heed_model_free(model);
    return s != HEED_OK;
}
