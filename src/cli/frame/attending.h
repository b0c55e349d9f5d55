/* --attention of verbs whose model reads one text or a picture: its attention weights, in files and in the
 * terminal. */
#ifndef HD_CLI_FRAME_ATTENDING_H
#define HD_CLI_FRAME_ATTENDING_H

#include "cli/frame/option.h"
#include "model/heads.h"
#include "show/attention.h"
#include "view/attention/file.h"

typedef struct hd_attending_options {
    const char *file;
    bool view;
    int kind, layer, head; /* 0: as hd_attention_pick has it */
} hd_attending_options;

/* Rows of a table of options whose owner begins with hd_usual. */
#define HD_ATTENDING(name, letter, argument, fallback, help, ...)                 \
    {                                                                             \
        name, letter, argument, fallback, help, .group = "Attention", __VA_ARGS__ \
    }
#define HD_ATTENDING_FILE                                                                            \
    HD_ATTENDING(                                                                                    \
        "attention", 'a', "FILE", NULL,                                                              \
        "write the attention weights as .json, .html, .svg, .png or .pdf; .svg and .png of several " \
        "texts are numbered",                                                                        \
        HD_FILE_INTO(hd_usual, attending.file))
#define HD_ATTENDING_LAYER                                                       \
    HD_ATTENDING("layer", 0, "N", "0", "0: the last, or all in .json and .html", \
                 HD_INT_INTO(hd_usual, attending.layer, 0, 1000))
#define HD_ATTENDING_HEAD                                                       \
    HD_ATTENDING("head", 0, "N", "0", "0: the mean, or all in .json and .html", \
                 HD_INT_INTO(hd_usual, attending.head, 0, 1024))
/* Factors of heads, which hd_command_run reads. */
#define HD_HEADS_HELP                                                                                     \
    "multiply the output of attention heads: 'enc.2.self.5=0' switches head 5 in layer 2 of the encoder " \
    "off, 'dec.*.cross.*=0.5' halves all of a kind; several separated by commas, of which the last one "  \
    "for a head wins. Layers and heads count from 0, as heed explain names them"
#define HD_ATTENDING_HEADS \
    HD_ATTENDING("heads", 0, "LIST", NULL, HD_HEADS_HELP, HD_TEXT_INTO(hd_usual, heads))
#define HD_ATTENDING_ROWS                                                                 \
    HD_ATTENDING_FILE,                                                                    \
        HD_ATTENDING("view", 0, NULL, NULL, "draw the attention weights below each text", \
                     HD_FLAG_INTO(hd_usual, attending.view)),                             \
        HD_ATTENDING_LAYER, HD_ATTENDING_HEAD, HD_ATTENDING_HEADS

typedef struct hd_command hd_command;

typedef struct hd_attending {
    hd_attending_options o;
    hd_model model;
    hd_attention_file *file;
} hd_attending;

static inline bool hd_attending_wanted(const hd_attending_options *o)
{
    return o->file || o->view;
}

/* What c->model attends to, or the body of a classifier. HD_EARG if it does not have the layer or head. */
/* Bits of hd_attention_ask.kinds where an encoder has too much attention to show it unasked: those of the
   decoder, and the one that --kind names. */
unsigned hd_attending_kinds(const hd_attending_options *o);
hd_status hd_attending_open(hd_command *c, const hd_attending_options *o, hd_err *err);

typedef struct hd_attended { /* a text, all borrowed */
    const int32_t *ids;
    size_t count;
    size_t second;         /* tokens before a second text; 0: there is none */
    hd_line text, written; /* written: after the text, by a language model; {0}: nothing */
    hd_line second_text;   /* of a pair; {0}: there is none */
    double score;          /* NaN: none */
} hd_attended;

/* Adds maps to the file and appends what --view draws of them, where these are wanted. */
hd_status hd_attending_put(const hd_command *c, const hd_attention_maps *maps, hd_text *drawn, hd_err *err);

/* The same of the maps of a text, and shows what is drawn. Does nothing unless attention is wanted. */
hd_status hd_attending_add(hd_command *c, const hd_attended *t, hd_err *err);

typedef struct hd_attended_picture { /* all borrowed */
    const hd_image *image;           /* as decoded */
    const char *name;                /* its file */
    const char *said;                /* a label or a caption; NULL: nothing */
    double score;                    /* of that; NaN: none */
    int32_t start;                   /* of a caption: what the decoder reads first, */
    const int32_t *target;           /* and the ids as a search found them, with the end */
    size_t targets;                  /* 0: no caption */
    const hd_attention_box *box;
    size_t boxes;   /* of a detector: what was found */
    unsigned kinds; /* as hd_attention_ask has them */
} hd_attended_picture;

/* The same of the maps of a picture. */
hd_status hd_attending_picture(hd_command *c, const hd_attended_picture *t, hd_err *err);
/* Gives the machine's run the factors of a list, of c->model; NULL: none. A failure is one of the command
 * line. */
hd_status hd_attending_scale(hd_command *c, const char *list, hd_err *err);
/* Saves unless `s` is a failure. Returns that, or the status of saving. Accepts {0}. */
hd_status hd_attending_close(hd_attending *a, hd_status s, hd_err *err);

#endif
