/* Sockets that listen, by addresses in numbers: names are not looked up. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/http.h"

typedef union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} address;

/* Its length; 0: it is none. */
static socklen_t read_address(address *to, const char *text, int port)
{
    *to = (address){0};
    if (!strcmp(text, "localhost")) text = "127.0.0.1";
    if (inet_pton(AF_INET, text, &to->four.sin_addr) == 1) {
        to->four.sin_family = AF_INET, to->four.sin_port = htons((uint16_t)port);
        return sizeof to->four;
    }
    if (inet_pton(AF_INET6, text, &to->six.sin6_addr) != 1) return 0;
    to->six.sin6_family = AF_INET6, to->six.sin6_port = htons((uint16_t)port);
    return sizeof to->six;
}

hd_status hd_http_listen(int *out, const char *text, int port, bool *loopback, hd_err *err)
{
    enum { QUEUE = 1024 };
    address a;
    socklen_t size = read_address(&a, text, port);
    if (!size) return hd_err_set(err, HD_EARG, "'%s' is no address: give one in numbers, or localhost", text);
    int s = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    if (s < 0 || setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) || bind(s, &a.any, size) ||
        listen(s, QUEUE)) {
        int why = errno;
        if (s >= 0) close(s);
        return hd_err_set(err, HD_EFILE, "cannot listen at %s, port %d: %s", text, port, strerror(why));
    }
    *out = s, *loopback = hd_http_is_loopback(s);
    return HD_OK;
}

bool hd_http_is_loopback(int listener)
{
    address a = {0};
    socklen_t size = sizeof a;
    if (getsockname(listener, &a.any, &size)) return false;
    if (a.any.sa_family == AF_INET) return ntohl(a.four.sin_addr.s_addr) >> 24 == 127;
    return a.any.sa_family == AF_UNIX ||
           (a.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a.six.sin6_addr));
}

const char *hd_http_address(int listener, char to[HD_HTTP_ADDRESS])
{
    address a = {0};
    socklen_t size = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";
    snprintf(to, HD_HTTP_ADDRESS, "?");
    if (getsockname(listener, &a.any, &size)) return to;
    if (a.any.sa_family == AF_INET && inet_ntop(AF_INET, &a.four.sin_addr, host, sizeof host))
        snprintf(to, HD_HTTP_ADDRESS, "%s:%u", host, ntohs(a.four.sin_port));
    else if (a.any.sa_family == AF_INET6 && inet_ntop(AF_INET6, &a.six.sin6_addr, host, sizeof host))
        snprintf(to, HD_HTTP_ADDRESS, "[%s]:%u", host, ntohs(a.six.sin6_port));
    return to;
}
