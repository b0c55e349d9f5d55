/* What a model did with a text as one JSON object; docs/explain.md says what is in it. */
#ifndef HD_VIEW_EXPLAIN_EXHIBIT_JSON_H
#define HD_VIEW_EXPLAIN_EXHIBIT_JSON_H

#include "base/text.h"
#include "show/exhibit.h"

/* Appends the object and a newline to `to`. only: glob pattern of names, or NULL. */
hd_status hd_exhibit_json(hd_text *to, const hd_exhibit *x, const char *only, hd_err *err);

#endif
