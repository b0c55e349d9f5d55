/* Commands. What they read lies in a file, so that they may print before they have read all of it. */
#include "base/system/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 << 20, PIECE = 1 << 16 };

extern char **environ;

static hd_status failed(const char *command, const char *what, int code, hd_err *err)
{
    return hd_err_set(err, HD_EFILE, "'%s' %s: %s", command, what, strerror(code));
}

/* Appends all that comes; what is too much is read, too, but not kept. */
static hd_status drain(int from, const char *command, hd_text *to, hd_err *err)
{
    char piece[PIECE];
    for (;;) {
        ssize_t n = read(from, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed(command, "cannot be read from", errno, err);
        if (!n) return hd_text_status(to, err);
        if (to->size + (size_t)n > MOST)
            return hd_err_set(err, HD_EFILE, "'%s' prints more than 64 MiB", command);
        hd_text_add(to, piece, (size_t)n);
    }
}

static int spawn(pid_t *child, const char *command, int in, int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual;
    char *const words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
    int code = posix_spawn_file_actions_init(&files);
    if (code) return code;
    code = posix_spawnattr_init(&how);
    if (code) return posix_spawn_file_actions_destroy(&files), code;
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT), sigaddset(&usual, SIGTERM), sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigdefault(&how, &usual);
    code = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    if (!code) code = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!code) code = posix_spawn(child, "/bin/sh", &files, &how, words, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

static hd_status ended(pid_t child, const char *command, hd_err *err)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return failed(command, "cannot be waited for", errno, err);
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return HD_OK;
    return WIFEXITED(status)
               ? hd_err_set(err, HD_EFILE, "'%s' ended with status %d", command, WEXITSTATUS(status))
               : hd_err_set(err, HD_EFILE, "'%s' was ended by signal %d", command, WTERMSIG(status));
}

static hd_status run(const char *command, int in, hd_text *output, hd_err *err)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC)) return failed(command, "gets no pipe", errno, err);
    int code = spawn(&child, command, in, ends[1]);
    close(ends[1]);
    if (code) {
        close(ends[0]);
        return failed(command, "cannot be run", code, err);
    }
    hd_status s = drain(ends[0], command, output, err);
    close(ends[0]);
    hd_err late = {0};
    hd_status end = ended(child, command, &late);
    return s || !end ? s : hd_err_set(err, end, "%s", late.text);
}

hd_status hd_child_run(const char *command, const char *input, size_t size, hd_text *output, hd_err *err)
{
    FILE *file = tmpfile();
    if (!file) return failed(command, "gets no temporary file", errno, err);
    bool written = fwrite(input, 1, size, file) == size && !fflush(file);
    int in = fileno(file);
    hd_status s = written && !lseek(in, 0, SEEK_SET) ? HD_OK : failed(command, "gets no input", errno, err);
    if (!s) s = run(command, in, output, err);
    fclose(file);
    return s;
}
