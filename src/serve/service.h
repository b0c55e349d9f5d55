/* The server as a service of systemd: the socket that it listened at before, and how it is told what goes on.
   Both are a variable of the environment; libsystemd is not needed. */
#ifndef HD_SERVE_SERVICE_H
#define HD_SERVE_SERVICE_H

#include "base/status.h"

/* A socket that was handed over (LISTEN_FDS); -1: none was. To be asked once. */
int hd_service_socket(void);
/* "READY=1", "RELOADING=1", "STOPPING=1", where somebody wants to know (NOTIFY_SOCKET). */
void hd_service_say(const char *state);

#endif
