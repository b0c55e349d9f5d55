/* What the files of OpenAI's interface share. */
#ifndef HD_SERVE_API_OPENAI_H
#define HD_SERVE_API_OPENAI_H

#include "serve/api/call.h"

/* The model that was asked for and does such jobs; NULL: that is answered. */
const hd_served *hd_openai_model(hd_call *c, hd_job_kind kind);
/* An error as an object, without an end of line. */
void hd_openai_error(hd_text *to, int status, const char *text);

#endif
