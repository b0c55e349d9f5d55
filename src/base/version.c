/* The public version and status texts. Public and internal codes are equal, checked at compile time. */
#include "heed.h"
#include "base/status.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define VERSION    TEXT(HEED_VERSION_MAJOR) "." TEXT(HEED_VERSION_MINOR) "." TEXT(HEED_VERSION_PATCH)

#ifdef HD_VERSION /* the build's version, which names the shared library */
_Static_assert(__builtin_strcmp(VERSION, HD_VERSION) == 0, "heed.h and CMakeLists.txt differ in version");
#endif

#define X(name, text) \
    _Static_assert((int)HEED_##name == (int)HD_##name, "heed_status and hd_status differ: " #name);
HD_STATUS_LIST(X)
#undef X

const char *heed_version(void)
{
    return VERSION;
}

const char *heed_status_text(heed_status status)
{
    return hd_status_text((hd_status)status);
}
