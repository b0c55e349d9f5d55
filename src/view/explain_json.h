/* The worked example as one JSON object; docs/explain.md says what is in it. */
#ifndef HD_VIEW_EXPLAIN_JSON_H
#define HD_VIEW_EXPLAIN_JSON_H

#include "base/text.h"
#include "task/explain.h"

/* Appends the object and a newline to `to`. only: glob pattern of matrix names, or NULL. */
hd_status hd_explain_json(hd_text *to, const hd_explain *x, const char *only, hd_err *err);

#endif
