/* heed: train, run and explain attention models.

       #include <heed.h>
       #include <stdio.h>

       int main(void)
       {
           const char *lines[] = {"I ate an apple .", "You ate it , too ."};
           heed_error error;
           heed_model *model = NULL;
           heed_context *context = NULL;
           heed_results *results = NULL;
           heed_translate_options options;
           heed_translate_options_init(&options, sizeof options);
           options.beam = 8;
           heed_status s = heed_model_open(&model, "model", NULL, &error);
           if (!s) s = heed_context_new(&context, model, NULL, &error);
           if (!s) s = heed_translate(context, lines, 2, &options, &results, &error);
           if (s) fprintf(stderr, "%s\n", error.text);
           for (size_t i = 0; !s && i < results->count; i++) printf("%s\n", results->translation[i]->text);
           heed_results_free(results);
           heed_context_free(context);
           heed_model_free(model);
           return s;
       }

       cc example.c $(pkg-config --cflags --libs heed)

   Errors. The library never prints, exits or aborts. A function that can fail returns a heed_status and,
   if asked, a message in a heed_error; after a failure its output arguments are unchanged.

   Threads. Any number of threads may share a model. A context belongs to one thread at a time: create one per
   thread. Functions of different contexts may run concurrently; so may those that take no context.

   Versions. The option structs carry their size and are initialized by their init function; the structs the
   library returns are only reached through pointers. Later versions may add members at the end of both, and
   programs compiled against an older header keep working. */
#ifndef HEED_H
#define HEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0

#if defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

typedef enum heed_status {
    HEED_OK = 0,
    HEED_ENOMEM = 1,   /* out of memory */
    HEED_EARG = 2,     /* invalid argument */
    HEED_ESHAPE = 3,   /* shapes do not fit */
    HEED_EFILE = 4,    /* file cannot be read or written */
    HEED_EFORMAT = 5,  /* malformed file */
    HEED_ELIMIT = 6,   /* limit exceeded */
    HEED_ENUMBER = 7,  /* not a finite number */
    HEED_EMISSING = 8, /* not available in this build or on this device */
    HEED_EDEVICE = 9,  /* the device failed */
    HEED_ESTOPPED = 10 /* stopped by heed_context_stop */
} heed_status;

/* Version of the library in use, "major.minor.patch"; the header's may differ. Any thread. */
HEED_API const char *heed_version(void);

/* Short English text of a status; never NULL, even for an invalid number. Any thread. */
HEED_API const char *heed_status_text(heed_status status);

/* What went wrong in one call: one line of UTF-8 that names the file, line, key or argument at fault. It is
   the caller's memory and needs no initialization; every function that takes one sets it, to HEED_OK and ""
   on success. NULL is accepted. */
typedef struct heed_error {
    heed_status status;
    char text[512];
} heed_error;

/* -- models -- */

/* A trained model. Read-only: any number of threads may use it. */
typedef struct heed_model heed_model;

typedef enum heed_checkpoint {
    HEED_CHECKPOINT_BEST = 0, /* the best weights by validation */
    HEED_CHECKPOINT_LAST = 1  /* the last weights of training */
} heed_checkpoint;

/* Type of activations; on the CPU, where they are always f32, of the weights. */
typedef enum heed_precision {
    HEED_PRECISION_AUTO = 0, /* bf16 on a CUDA card, f32 on the CPU */
    HEED_PRECISION_F32 = 1,
    HEED_PRECISION_BF16 = 2,
    HEED_PRECISION_INT8 = 3 /* CPU only */
} heed_precision;

typedef struct heed_model_options {
    size_t size; /* of this struct; set by heed_model_options_init */
    heed_checkpoint checkpoint;
    const char *device; /* "cpu", "cuda", or "auto": a CUDA card if there is one */
    heed_precision precision;
    const char *shortlist; /* a file of `heed shortlist`, "FILE[,FIRST[,BEST]]" as for `heed translate
                              --shortlist`: translations have only its tokens, on the CPU. NULL: all tokens */
} heed_model_options;

/* Sets the defaults: best, "cpu", auto, no shortlist. size is sizeof *options. Any thread. */
HEED_API void heed_model_options_init(heed_model_options *options, size_t size);

/* Opens the model in a folder written by `heed train`, whatever its task: heed_translate is for translators,
   heed_generate and heed_chat for language models, heed_fill for masked ones, heed_classify for those that
   give labels; the others say who can do what. options may be NULL: the defaults. The caller owns the model
   in *out and frees it with heed_model_free; the folder is not needed afterwards. Fails with HEED_EFILE or
   HEED_EFORMAT if the folder has no complete model, HEED_EARG for invalid options, HEED_EMISSING for a device
   that does not exist, HEED_EDEVICE for one that fails, HEED_ENOMEM. Any thread. */
HEED_API heed_status heed_model_open(heed_model **out, const char *folder, const heed_model_options *options,
                                     heed_error *error);

/* Frees the model once its contexts and results are freed too, in any order and from any threads. Accepts
   NULL. Any thread, but not while another creates a context for it. */
HEED_API void heed_model_free(heed_model *model);

/* -- contexts -- */

/* What one thread needs to run a model: worker threads and memory. */
typedef struct heed_context heed_context;

typedef enum heed_level {
    HEED_LOG_ERROR = 0,
    HEED_LOG_WARN = 1,
    HEED_LOG_INFO = 2,
    HEED_LOG_DEBUG = 3
} heed_level;

/* Receives a message, one line without a line end, valid during the call. Runs in the thread that uses the
   context and must not use the context. */
typedef void heed_log_fn(void *user, heed_level level, const char *text);

typedef struct heed_context_options {
    size_t size;      /* of this struct; set by heed_context_options_init */
    int threads;      /* including the caller's; 0: as many as there are cores */
    heed_log_fn *log; /* NULL: no messages */
    void *log_user;   /* passed to log */
    heed_level log_most;
} heed_context_options;

/* Sets the defaults: as many threads as cores, no log, HEED_LOG_INFO. size is sizeof *options. Any
   thread. */
HEED_API void heed_context_options_init(heed_context_options *options, size_t size);

/* Creates a context for the model. options may be NULL: the defaults. Results do not depend on the number of
   threads; if every thread of a program has a context, use 1. The caller owns the context in *out and frees
   it with heed_context_free; it keeps the model alive. Fails with HEED_EARG, HEED_ELIMIT if so many threads
   cannot be started, HEED_ENOMEM. Any thread. */
HEED_API heed_status heed_context_new(heed_context **out, heed_model *model,
                                      const heed_context_options *options, heed_error *error);

/* Ends the call that uses the context now: it fails with HEED_ESTOPPED once the step that it computes is
   done. Where none does, nothing happens. Any thread; accepts NULL. */
HEED_API void heed_context_stop(heed_context *context);

/* Multiplies what attention heads give by factors, in all calls that follow:
   "enc.2.self.5=0,dec.*.cross.*=0.5", as `heed translate --heads` takes them. Each call replaces what the one
   before set; NULL or "": none. Fails with HEED_EARG for a head that the model does not have, HEED_ENOMEM;
   then the factors are as before. */
HEED_API heed_status heed_context_heads(heed_context *context, const char *heads, heed_error *error);

/* Frees the context; results stay. Accepts NULL. Any thread, but not during a call that uses the context. */
HEED_API void heed_context_free(heed_context *context);

/* -- translations: owned by the library, read-only, freed with their heed_results -- */

/* One translation of a line. Tokens are written as in the vocabulary ("▁apple", "</s>"). */
typedef struct heed_hypothesis {
    const char *text; /* UTF-8, ends with a zero byte */
    double score; /* log_probability after the length penalty; for a line in several parts the mean of theirs,
                     with HEED_LENGTH_NONE the sum */
    double log_probability;             /* natural; the sum over the tokens */
    bool finished;                      /* reached the end token; false: cut off by the length limit */
    size_t length;                      /* tokens, including the end token if it has one */
    const int32_t *id;                  /* [length] */
    const char *const *token;           /* [length] */
    const float *token_log_probability; /* [length]: of the model, without changes by the search */
    const size_t *part_end;             /* [parts of the line]: tokens up to the end of each part */
} heed_hypothesis;

/* The result for a line. */
typedef struct heed_translation {
    heed_status status;                       /* HEED_OK, or why there is no hypothesis */
    const char *error;                        /* its message, "" for HEED_OK */
    const char *text;                         /* of the first hypothesis; "" if there is none */
    size_t count;                             /* hypotheses; 0 after a failure and for an empty line */
    const heed_hypothesis *const *hypothesis; /* [count], best first; samples in the order they were drawn */
    bool cut;                                 /* the line was too long: only its beginning was translated */
    size_t parts;                             /* number of parts it was translated in; 0 for an empty line */
    size_t source_length;                     /* tokens the model read, each part with its end token */
    const int32_t *source_id;                 /* [source_length] */
    const char *const *source_token;          /* [source_length] */
    const size_t *source_end;                 /* [parts]: tokens up to the end of each part */
} heed_translation;

typedef struct heed_results {
    size_t count;                               /* lines given */
    const heed_translation *const *translation; /* [count], in the order of the lines */
} heed_results;

/* Frees the results and all they point to. Accepts NULL. Any thread. */
HEED_API void heed_results_free(heed_results *results);

/* -- attention -- */

typedef enum heed_attention_kind {
    HEED_ATTENTION_ENCODER = 0, /* rows and columns: the source */
    HEED_ATTENTION_DECODER = 1, /* rows and columns: the decoder's input, starting with the start token */
    HEED_ATTENTION_CROSS = 2    /* rows: the predicted tokens, columns: the source */
} heed_attention_kind;

/* All weights of one kind, for the first hypothesis of a line. Row i of decoder and cross is the same step:
   its input is the decoder's row label, its prediction the other's. Valid during the call that receives it.
 */
typedef struct heed_attention {
    size_t line;                         /* counts from 0 */
    size_t part;                         /* of the line, from 0; there are translation->parts */
    const heed_translation *translation; /* of the line */
    heed_attention_kind kind;
    size_t layers, heads, rows, cols;
    const float *weight;          /* [layers][heads][rows][cols]; rows sum to 1; masked weights are 0 */
    const char *const *row_label; /* [rows] tokens, UTF-8 */
    const char *const *col_label; /* [cols] */
} heed_attention;

/* Receives the weights of one kind; kinds that the model does not have, such as the self-attention of
   recurrent models, are skipped. HEED_OK: continue; any other status ends heed_translate, which returns it.
   Runs in the thread that called heed_translate and must not use its context. */
typedef heed_status heed_attention_fn(void *user, const heed_attention *attention);

/* -- translating -- */

typedef enum heed_search {
    HEED_SEARCH_BEAM = 0,      /* beam search; a beam of 1 is greedy */
    HEED_SEARCH_SAMPLE = 1,    /* n_best samples by probability */
    HEED_SEARCH_EXHAUSTIVE = 2 /* the best of all translations up to max_length; for tiny vocabularies */
} heed_search;

/* What the log-probability is divided by to give the score. */
typedef enum heed_length_penalty {
    HEED_LENGTH_NONE = 0,    /* 1 */
    HEED_LENGTH_AVERAGE = 1, /* the number of tokens */
    HEED_LENGTH_GNMT = 2     /* ((5 + tokens) / 6) ^ alpha */
} heed_length_penalty;

/* When beam search ends for a sentence. */
typedef enum heed_stop {
    HEED_STOP_PROVEN = 0, /* no better hypothesis is possible */
    HEED_STOP_FULL = 1,   /* each that finishes takes a place, what is far behind leaves */
    HEED_STOP_LIMIT = 2,  /* the length limit is reached */
    HEED_STOP_BEST = 3    /* the best in the beam has finished */
} heed_stop;

/* How to treat a line of several sentences. */
typedef enum heed_sentences {
    HEED_SENTENCES_AUTO = 0,  /* split; keep for a T5, whose text begins with an instruction */
    HEED_SENTENCES_SPLIT = 1, /* each sentence is translated by itself */
    HEED_SENTENCES_KEEP = 2   /* they are translated together, up to the longest the model was trained with */
} heed_sentences;

/* How to treat a sentence, or a line kept whole, that is too long for the model. */
typedef enum heed_long {
    HEED_LONG_SPLIT = 0,    /* it is translated in parts, split at punctuation or else at spaces */
    HEED_LONG_TRUNCATE = 1, /* its beginning is translated */
    HEED_LONG_SKIP = 2      /* it gets the status HEED_ELIMIT */
} heed_long;

typedef struct heed_translate_options {
    size_t size; /* of this struct; set by heed_translate_options_init */

    heed_search search;
    size_t beam;   /* 1 to 1000; 5 */
    size_t n_best; /* hypotheses of each line, 1 to 1000, with HEED_SEARCH_BEAM at most the beam; 1 */
    heed_length_penalty length_penalty; /* HEED_LENGTH_AVERAGE */
    double alpha;                       /* -10 to 10; 0.6 */
    heed_stop stop;                     /* HEED_STOP_FULL */
    size_t max_length;                  /* most tokens; 0: by max_ratio */
    double max_ratio;  /* most tokens: this times those of the source, plus 10; 0.1 to 1000; 2 */
    size_t min_length; /* fewest tokens; 0 */

    double temperature;  /* of HEED_SEARCH_SAMPLE, as the next four: 0 (greedy) to 100; 1 */
    size_t top_k;        /* sample from the k most likely tokens; 0: all */
    double top_p;        /* sample from the most likely tokens whose probabilities add up to this; 0: all */
    uint64_t seed;       /* 1 */
    uint64_t first_line; /* number of the first line, which samples depend on; 0 */

    heed_long too_long;
    size_t max_source; /* tokens from which on a line is too long; 0: what the model takes */
    size_t batch;      /* hypotheses searched in parallel: affects speed and memory, not results; 0: 256 */

    const size_t *line_size;   /* [count] bytes of each line; NULL: each ends with a zero byte */
    const char *const *prefix; /* [count]: translations continue these; NULL, also for one line: no prefix.
                                  Lines with a prefix are not split */
    const size_t *prefix_size; /* [count] bytes of each prefix; NULL: each ends with a zero byte */
    bool force; /* the prefixes are complete translations, one for each line, which are only scored. Needs
                   n_best 1 */

    heed_attention_fn *attention; /* NULL: none; costs a forward pass for each line */
    void *attention_user;         /* passed to attention */

    heed_sentences sentences; /* lines with a prefix are never split; an empty line inside a line
                                 separates paragraphs and is kept */
} heed_translate_options;

/* Sets the defaults, those of `heed translate`: the numbers above, or else 0, NULL or the first of the enum.
   size is sizeof *options. Any thread. */
HEED_API void heed_translate_options_init(heed_translate_options *options, size_t size);

/* Translates `count` lines of UTF-8. Many lines at once are faster, as lines of similar length are computed
   together; the result of a line does not depend on the others. options may be NULL: the defaults; what they
   point to is borrowed for the call. The caller owns the results in *out and frees them with
   heed_results_free. A line that cannot be translated (not UTF-8, a zero byte, too long) has its own status
   in the results, and the call succeeds. After the search, the attention function is called for each line in
   order, for each of its parts, once for each kind; not for lines without hypotheses. Fails with HEED_EARG
   for invalid arguments or a context already in use, HEED_ELIMIT for a line of more than 2^28 bytes,
   HEED_ENOMEM, HEED_EDEVICE, HEED_ENUMBER if the output is not a number, or the status of the attention
   function. The context can be used again after a failure. */
HEED_API heed_status heed_translate(heed_context *context, const char *const *lines, size_t count,
                                    const heed_translate_options *options, heed_results **out,
                                    heed_error *error);

/* -- texts of language models -- */

/* A text behind a prompt. */
typedef struct heed_text {
    const char *text;       /* UTF-8, without the prompt and without what stopped it; ends with a zero byte */
    size_t size;            /* bytes */
    bool stopped;           /* by a stop or an end token, not by the number of tokens */
    size_t tokens;          /* written */
    double log_probability; /* natural, of the tokens, by the model as it is */
    size_t length;          /* tokens read and written */
    const int32_t *id;      /* [length] */
} heed_text;

typedef struct heed_texts {
    size_t count;                 /* prompts times samples */
    const heed_text *const *text; /* [count]: the samples of the first prompt, of the second ... */
} heed_texts;

HEED_API void heed_texts_free(heed_texts *texts); /* as heed_results_free */

/* Receives what text `which` of the results has got more, as soon as it cannot begin a stop; whole characters
   that do not end with a zero byte. HEED_OK: continue; any other status ends the call, which returns it.
   Runs in the thread that called heed_generate or heed_chat and must not use its context, but for
   heed_context_stop. */
typedef heed_status heed_text_fn(void *user, size_t which, const char *text, size_t size);

typedef struct heed_generate_options {
    size_t size;          /* of this struct; set by heed_generate_options_init */
    size_t tokens;        /* most for each text, 1 to 100000000; 200 */
    size_t samples;       /* texts for each prompt, 1 to 100000; 1 */
    double temperature;   /* 0: always the likeliest token, to 100; 1 */
    size_t top_k;         /* sample from the k most likely tokens; 0: all */
    double top_p;         /* sample from the most likely tokens whose probabilities add up to this; 0: all */
    double min_p;         /* sample from tokens at least so many times as likely as the likeliest; 0: all */
    double repetition;    /* penalty of tokens that already occur, 0.01 to 100; 1: none */
    size_t no_repeat;     /* no run of so many tokens comes twice; 0: any may */
    uint64_t seed;        /* 1 */
    int32_t first_prompt; /* number of the first prompt, which samples depend on; 0 */
    const char *const *stop; /* [stops]: a text ends before the first of them; none is empty */
    size_t stops;
    const size_t *prompt_size; /* [count] bytes of each prompt; NULL: each ends with a zero byte */
    heed_text_fn *tell;        /* NULL: nobody is told before the end */
    void *tell_user;           /* passed to tell */
} heed_generate_options;

/* Sets the defaults, those of `heed generate`. size is sizeof *options. Any thread. */
HEED_API void heed_generate_options_init(heed_generate_options *options, size_t size);

/* Continues `count` prompts of UTF-8 side by side; none changes what becomes of the others. What the model's
   generation_config.json says of how texts end holds; how tokens are drawn is what the options say. The
   caller frees *out with heed_texts_free. Fails with HEED_EARG for invalid arguments or a model that does not
   write, HEED_ESTOPPED, the status of `tell`, and as heed_translate does. */
HEED_API heed_status heed_generate(heed_context *context, const char *const *prompts, size_t count,
                                   const heed_generate_options *options, heed_texts **out, heed_error *error);

/* A message of a conversation, both of UTF-8 that ends with a zero byte. */
typedef struct heed_message {
    const char *role; /* "system", "user", "assistant", or what else the model's template knows */
    const char *content;
} heed_message;

/* Answers a conversation of `count` messages, `samples` times: they become tokens by the chat template in the
   model's folder, and an answer is what the model says next, up to its end token. It has no more tokens than
   the model's context leaves; prompt_size is not used. Fails as heed_generate does, and with HEED_EARG for a
   model that has no template and for messages that are too long for it. */
HEED_API heed_status heed_chat(heed_context *context, const heed_message *messages, size_t count,
                               const heed_generate_options *options, heed_texts **out, heed_error *error);

/* -- vectors -- */

/* How the rows of a line become one vector. */
typedef enum heed_pooling {
    HEED_POOLING_AUTO = 0, /* as the model's folder says; else the mean */
    HEED_POOLING_MEAN = 1,
    HEED_POOLING_LAST = 2,
    HEED_POOLING_MAX = 3,
    HEED_POOLING_FIRST = 4
} heed_pooling;

typedef struct heed_embed_options {
    size_t size; /* of this struct; set by heed_embed_options_init */
    heed_pooling pooling;
    bool normalize;          /* every vector to length 1 */
    bool whole;              /* a line that is too long has no vector; false: it is cut */
    const size_t *line_size; /* [count] bytes of each line; NULL: each ends with a zero byte */
} heed_embed_options;

typedef struct heed_vector {
    heed_status status; /* HEED_OK, or why there is none */
    const char *error;  /* its message, "" for HEED_OK */
    size_t tokens;      /* read; 0: an empty line has no vector */
    const float *value; /* [width]; NULL: there is none */
} heed_vector;

typedef struct heed_vectors {
    size_t count, width;
    const heed_vector *const *vector; /* [count], in the order of the lines */
} heed_vectors;

HEED_API void heed_vectors_free(heed_vectors *vectors); /* as heed_results_free */
HEED_API void heed_embed_options_init(heed_embed_options *options, size_t size);

/* A vector for each line, those of `heed embed`: of translators, language models, masked ones, classifiers.
   options may be NULL. */
HEED_API heed_status heed_embed(heed_context *context, const char *const *lines, size_t count,
                                const heed_embed_options *options, heed_vectors **out, heed_error *error);

/* -- missing words, labels, scores -- */

typedef struct heed_choice {
    const char *text;   /* a token as in the vocabulary, or a label; "" for a regression */
    int32_t id;         /* of the token or of the class */
    double probability; /* of a regression: the number */
} heed_choice;

typedef struct heed_choices { /* of one place */
    size_t count;
    const heed_choice *const *choice; /* [count], the likeliest first */
} heed_choices;

typedef struct heed_answer {       /* of one line */
    heed_status status;            /* HEED_OK, or why there is no answer */
    const char *error;             /* its message, "" for HEED_OK */
    size_t count;                  /* of heed_fill: "[MASK]"s; of a tagger: words; else 1 */
    const heed_choices *const *at; /* [count] */
} heed_answer;

typedef struct heed_answers {
    size_t count;
    const heed_answer *const *answer; /* [count], in the order of the lines */
} heed_answers;

HEED_API void heed_answers_free(heed_answers *answers); /* as heed_results_free */

/* What most likely stands at each "[MASK]" of the lines, the `top` best; for masked language models. */
HEED_API heed_status heed_fill(heed_context *context, const char *const *lines, size_t count, size_t top,
                               heed_answers **out, heed_error *error);

/* The labels of the lines, the `top` likeliest, 0: all; of a tagger for each word. A line of a model that
   compares texts has a tab between the two. */
HEED_API heed_status heed_classify(heed_context *context, const char *const *lines, size_t count, size_t top,
                                   heed_answers **out, heed_error *error);

/* What a model thinks of a given text. */
typedef struct heed_verdict {
    heed_status status;     /* HEED_OK, or why there is no score, which is minus infinity then */
    const char *error;      /* its message, "" for HEED_OK */
    double log_probability; /* natural; the sum over the tokens */
    size_t tokens;          /* its end included */
} heed_verdict;

typedef struct heed_verdicts {
    size_t count;
    const heed_verdict *const *verdict; /* [count], in the order of the texts */
} heed_verdicts;

HEED_API void heed_verdicts_free(heed_verdicts *verdicts); /* as heed_results_free */

/* Scores texts, as `heed rank` does: by a translator as translations of the sources, by a language model,
   which reads no sources (NULL), as whole lines. */
HEED_API heed_status heed_score(heed_context *context, const char *const *sources, const char *const *texts,
                                size_t count, heed_verdicts **out, heed_error *error);

/* -- tokens -- */

typedef enum heed_side {
    HEED_SIDE_SOURCE = 0, /* what the model reads */
    HEED_SIDE_TARGET = 1  /* what it writes; for models other than translators the same */
} heed_side;

typedef struct heed_tokens {
    size_t length;
    const int32_t *id;         /* [length] */
    const char *const *token;  /* [length], as in the vocabulary */
    const size_t *begin, *end; /* [length]: bytes of the text that each token stands for */
} heed_tokens;

HEED_API void heed_tokens_free(heed_tokens *tokens); /* as heed_results_free */

/* The tokens of a text, without special ones. text_size: its bytes. Any thread. */
HEED_API heed_status heed_tokenize(heed_model *model, heed_side side, const char *text, size_t text_size,
                                   heed_tokens **out, heed_error *error);

/* The text of tokens: at most room - 1 bytes and a zero byte go to `text`, whose size goes to *text_size,
   also where it did not fit; text may be NULL where room is 0. Any thread. */
HEED_API heed_status heed_detokenize(heed_model *model, heed_side side, const int32_t *id, size_t length,
                                     char *text, size_t room, size_t *text_size, heed_error *error);

#ifdef __cplusplus
}
#endif

#endif
