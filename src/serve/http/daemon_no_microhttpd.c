/* The HTTP server of a build without libmicrohttpd: none. */
#include <unistd.h>

#include "serve/http/exchange.h"

hd_status hd_http_open(hd_http **out, const hd_http_opt *opt, hd_err *err)
{
    (void)out;
    close(opt->listener);
    return hd_err_set(err, HD_EMISSING,
                      "this build has no HTTP server: install libmicrohttpd-dev and build heed again");
}

void hd_http_quiet(hd_http *h)
{
    (void)h;
}

bool hd_http_busy(hd_http *h)
{
    (void)h;
    return false;
}

void hd_http_close(hd_http *h)
{
    (void)h;
}

void hd_daemon_suspend(void *connection)
{
    (void)connection;
}

void hd_daemon_resume(void *connection)
{
    (void)connection;
}

const char *hd_daemon_header(void *connection, const char *name)
{
    (void)connection, (void)name;
    return NULL;
}
