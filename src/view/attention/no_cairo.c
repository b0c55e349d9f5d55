/* PNG and PDF in a build without Cairo. */
#include "view/attention/format.h"

static const char missing[] =
    "this heed was built without Cairo. Install it (Debian: libcairo2-dev) and build again, "
    "or write .svg or .html";

const hd_attention_format hd_attention_png = {.single = true, .missing = missing};
const hd_attention_format hd_attention_pdf = {.missing = missing};
