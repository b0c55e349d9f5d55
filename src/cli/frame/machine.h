/* --device and --precision of a verb that computes, and the backend and run that they choose. */
#ifndef HD_CLI_FRAME_MACHINE_H
#define HD_CLI_FRAME_MACHINE_H

#include "cli/frame/option.h"
#include "op/run.h"

typedef struct hd_machine_options {
    const char *name;
    hd_precision precision;
} hd_machine_options;

/* Rows of a table of options whose owner begins with hd_usual. */
#define HD_MACHINE_ROWS                                                                                      \
    {"device",                                                                                               \
     'd',                                                                                                    \
     "NAME",                                                                                                 \
     "auto",                                                                                                 \
     "where to compute: auto, cpu or cuda",                                                                  \
     HD_TEXT_INTO(hd_usual, machine.name)},                                                                  \
    {                                                                                                        \
        "precision", 0, "KIND", "auto",                                                                      \
            "f32, bf16, int8 or auto; auto is f32 on the CPU, where bf16 and int8 are faster but round the " \
            "weights",                                                                                       \
            HD_CHOICE_INTO(hd_usual, machine.precision, hd_precision_names)                                  \
    }

/* Of verbs without the rows. */
extern const hd_machine_options hd_machine_cpu;

typedef struct hd_machine {
    hd_backend *backend;
    hd_run run;
} hd_machine;

typedef struct hd_command hd_command;
hd_status hd_machine_open(hd_machine *m, const hd_command *c, const hd_machine_options *o, hd_err *err);
void hd_machine_close(hd_machine *m); /* accepts {0} */

#endif
