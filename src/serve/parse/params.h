/* What a request asks for, whichever way it was written: a JSON object, or names with values in the query, a
   form or the parts of a multipart body, which become an object of strings. Such an object has a member
   without a name, by which it is known: its numbers are written as texts. */
#ifndef HD_SERVE_PARSE_PARAMS_H
#define HD_SERVE_PARSE_PARAMS_H

#include "base/json.h"

enum {
    HD_PARAMS_MOST = 256, /* names with values of a request */
    HD_PARAMS_NAME = 64,  /* bytes of a name */
    HD_PARAMS_DEPTH = 32  /* brackets in brackets in JSON */
};

/* Adds the names and values of "a=1&b=2" to an object; of a name that is there the first value stays. Ends of
   lines in values become "\n". HD_EFORMAT names what is wrong. */
hd_status hd_params_add_form(json_t *to, const char *text, size_t size, hd_err *err);
/* The same of a body of type multipart/form-data; type has its boundary. Parts without a name are left out.
 */
hd_status hd_params_add_multipart(json_t *to, const char *type, const char *body, size_t size, hd_err *err);
/* Adds one; for those above. */
hd_status hd_params_add(json_t *to, const char *name, size_t name_size, const char *value, size_t size,
                        hd_err *err);

/* An object of a body in JSON, which the arena owns. */
hd_status hd_params_json(json_t **out, hd_arena *arena, const char *body, size_t size, hd_err *err);
/* All of it, by the type of the content (NULL: none): JSON alone, or the query and then a form. The arena
   owns the object. */
hd_status hd_params_read(json_t **out, hd_arena *arena, const char *type, const char *query, const char *body,
                         size_t size, hd_err *err);

/* -- reading -- */

/* A text of this name; NULL: there is none, or it is something else. */
const char *hd_params_text(const json_t *params, const char *name);
/* Whether it was a form, and not JSON. */
bool hd_params_is_form(const json_t *params);
/* Whether a value of JSON is a whole number of 64 bits, "5.0" too, and which. */
bool hd_params_integer(const json_t *value, int64_t *out);
/* A whole number, of a form written as a text; `fallback` where there is none or null. False: it is something
   else, or not within [least, most]. */
bool hd_params_whole(const json_t *params, const char *name, long least, long most, long fallback, long *out);

#endif
