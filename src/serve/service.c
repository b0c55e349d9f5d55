/* The server as a service of systemd: sd_listen_fds(3), sd_notify(3). */
#include "serve/service.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int hd_service_socket(void)
{
    enum { FIRST = 3 };
    const char *process = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    int listens = 0;
    socklen_t size = sizeof listens;
    if (!process || !count || strtol(process, NULL, 10) != (long)getpid() || strtol(count, NULL, 10) < 1)
        return -1;
    if (getsockopt(FIRST, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens) return -1;
    fcntl(FIRST, F_SETFD, FD_CLOEXEC);
    fcntl(FIRST, F_SETFL, fcntl(FIRST, F_GETFL) | O_NONBLOCK);
    unsetenv("LISTEN_PID"), unsetenv("LISTEN_FDS"), unsetenv("LISTEN_FDNAMES");
    return FIRST;
}

/* Opened early: later the server may not be allowed to. */
void hd_service_say(const char *state)
{
    static int to = -1;
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timespec now;
    char text[96];
    if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof at.sun_path) return;
    size_t size = strlen(path);
    memcpy(at.sun_path, path, size);
    if (*path == '@') at.sun_path[0] = 0;
    if (to < 0) to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int n = snprintf(text, sizeof text, "%s\nMONOTONIC_USEC=%lld", state,
                     (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    if (to < 0 || n < 0) return;
    sendto(to, text, (size_t)n, MSG_NOSIGNAL, (const struct sockaddr *)&at,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
}
