/* The worked example as one JSON object; docs/explain.md says what is in it. */
#ifndef HD_VIEW_EXPLAIN_EXPLAIN_JSON_H
#define HD_VIEW_EXPLAIN_EXPLAIN_JSON_H

#include "base/json.h"
#include "base/text.h"
#include "show/lecture.h"

/* Appends the object and a newline to `to`. only: glob pattern of matrix names, or NULL. */
hd_status hd_explain_json(hd_text *to, const hd_explain *x, const char *only, hd_err *err);

/* -- for other views -- */

/* A list of rows [rows, cols], each a list of numbers; minus infinity is the string "-inf". */
json_t *hd_explain_rows(const hd_real *v, size_t rows, size_t cols);
/* Appends an object that was made since hd_json_begin, and a newline; the object is given up. */
hd_status hd_explain_dump(hd_text *to, json_t *all, hd_err *err);

#endif
