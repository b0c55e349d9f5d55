/* Chat templates: the part of Jinja that published ones use, as transformers sets it up (trim_blocks,
   lstrip_blocks, loop controls, nothing escaped). A template is a stranger's program: steps, output, memory
   and depth are limited, and it reaches nothing but its variables and the clock.

       hd_template *t;
       hd_marked text = {0};
       hd_template_new(&t, source, size, "chat_template.jinja", &err);
       hd_template_render(t, variables, NULL, &text, &err);
       hd_template_free(t); */
#ifndef HD_TEXT_TEMPLATE_TEMPLATE_H
#define HD_TEXT_TEMPLATE_TEMPLATE_H

#include "base/json.h"
#include "text/template/marked.h"

typedef struct hd_template hd_template;

typedef struct hd_template_opt { /* a limit of 0: the default */
    size_t steps;                /* 20 million; long strings count as several */
    size_t bytes;                /* of the output: 64 MiB */
    size_t memory;               /* of all values: 512 MiB */
    int64_t now;                 /* what strftime_now reads, in seconds since 1970; 0: the clock */
} hd_template_opt;

enum { HD_TEMPLATE_MOST = 1 << 20 }; /* bytes of a source */

/* Keeps no pointer to the source. name: the file, for messages. */
hd_status hd_template_new(hd_template **out, const char *source, size_t size, const char *name, hd_err *err);
void hd_template_free(hd_template *t); /* accepts NULL */

/* Appends the rendered text. variables: an object. Strings that are its own members are marked as the
   template's, those within lists and objects as input, those of messages whose role is "assistant" as
   answers. What raise_exception says is an error of status HD_EARG. Threads may share a template. */
hd_status hd_template_render(const hd_template *t, const json_t *variables, const hd_template_opt *opt,
                             hd_marked *to, hd_err *err);

#endif
