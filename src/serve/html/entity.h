/* Characters that HTML writes by a name or a number. */
#ifndef HD_SERVE_HTML_ENTITY_H
#define HD_SERVE_HTML_ENTITY_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes the entity at text has, which begins with '&', and its code point: -1 where it is one of a
   name that is not known here. 0: it is none, and the '&' stands for itself. */
size_t hd_entity_read(const char *text, size_t size, int32_t *point);

#endif
