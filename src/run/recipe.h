/* What the options of a run are where they are not given, and which of them have an effect. The columns of
   the table (run/options.h) and the presets say most of it; a task adds a few functions. */
#ifndef HD_RUN_RECIPE_H
#define HD_RUN_RECIPE_H

#include "run/options.h"

enum { HD_RECIPE_TEXT = 256, HD_TRAIN_MOST_ROWS = 256 };

/* A run that begins with a model: which rows that has said. */
typedef struct hd_taking {
    const hd_option_set *set;
    hd_train_options *options;
    bool said[HD_TRAIN_MOST_ROWS];
} hd_taking;

typedef struct hd_recipe {
    /* Where an option stands for several others: gives them what it says. May be NULL. */
    void (*spread)(const hd_option_set *set);
    /* What a run without --preset begins with. */
    hd_status (*choose)(hd_preset *out, const hd_option_set *set, hd_err *err);
    /* --from: calls hd_taking_* for every row that the model says. NULL: the task has no --from. */
    hd_status (*take)(hd_taking *t, hd_err *err);
    /* Values that follow from others; named: --preset was given. */
    hd_status (*derive)(const hd_option_set *set, bool named, hd_err *err);
    /* HD_HAS_... of the model that the options describe. */
    hd_run_parts (*parts)(const hd_train_options *o);
    /* "--model is lstm": the model, for errors. */
    const char *(*shape)(const hd_train_options *o, char to[HD_RECIPE_TEXT]);
} hd_recipe;

/* Gives every row that was not given its value and marks where that is from; HD_EARG where an option belongs
   to another task, contradicts --from or has no effect. */
hd_status hd_recipe_fill(const hd_recipe *r, const hd_option_set *set, hd_err *err);

/* All parts of the run that the options describe. */
hd_run_parts hd_recipe_parts(const hd_recipe *r, const hd_train_options *o);
bool hd_recipe_has_task(const hd_option *row, int task);
/* Whether a row has an effect on a run with these parts. */
bool hd_recipe_applies(const hd_option *row, const hd_train_options *o, hd_run_parts parts);

/* A row gets what the model has, as it would be typed; HD_EARG where something else is given. */
hd_status hd_taking_say(hd_taking *t, const char *option, const char *value, hd_err *err);
hd_status hd_taking_number(hd_taking *t, const char *option, size_t value,
                           hd_err *err); /* or 0, 1 of a flag */
hd_status hd_taking_real(hd_taking *t, const char *option, double value, hd_err *err);
hd_status hd_taking_activation(hd_taking *t, hd_unary act, hd_err *err);

/* A row that is not given gets a value that follows from others. */
hd_status hd_recipe_follow(const hd_option_set *set, const char *option, double value, hd_err *err);
/* For a model that has learned already and a run without a preset: this learning rate, a short warm-up, 3
   epochs. */
hd_status hd_recipe_continue(const hd_option_set *set, double rate, hd_err *err);
/* Such a rate of a Transformer: 5e-5 at a width of 768, and the more the narrower it is. */
double hd_recipe_rate(size_t width);

#endif
