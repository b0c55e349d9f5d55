/* Locks of folders. Easy to get wrong: the file is removed when the lock is released, so a process that
   opened it before may lock a file that no other process will find; and it names the last holder, which may
   have been killed, until the next one has written its name. */
#include "base/file/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 100, PAUSE = 2000000, HOST = 128, NOTE = 192 }; /* PAUSE: nanoseconds */

static void host_name(char to[HOST])
{
    if (gethostname(to, HOST)) to[0] = 0;
    to[HOST - 1] = 0;
    if (!to[0]) snprintf(to, HOST, "?");
}

/* The holder, as the file says: "PROCESS HOST\n". Waits a moment for it to be written. */
static hd_status held_by(int file, const char *folder, hd_err *err)
{
    char note[NOTE], host[HOST], here[HOST];
    long process = 0;
    host_name(here);
    for (int i = 0; i < TRIES; i++, nanosleep(&(struct timespec){0, PAUSE}, NULL)) {
        ssize_t n = pread(file, note, sizeof note - 1, 0);
        if (n < 1 || note[n - 1] != '\n') continue;
        note[n] = 0;
        if (sscanf(note, "%ld %127s", &process, host) != 2 || process < 1) continue;
        bool elsewhere = strcmp(host, here);
        if (!elsewhere && kill((pid_t)process, 0) && errno == ESRCH) continue;
        return hd_err_set(err, HD_EFILE,
                          "%s: process %ld%s%s is writing to this folder: wait until it has ended, or name "
                          "another folder",
                          folder, process, elsewhere ? " on " : "", elsewhere ? host : "");
    }
    return hd_err_set(
        err, HD_EFILE,
        "%s: another process is writing to this folder: wait until it has ended, or name another folder",
        folder);
}

static bool is_the_file_at(int file, const char *path)
{
    struct stat mine, there;
    return !fstat(file, &mine) && !stat(path, &there) && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

/* Informational only; if it cannot be written, on a full disk, the lock still holds. */
static void sign(int file)
{
    char note[NOTE], host[HOST];
    host_name(host);
    int n = snprintf(note, sizeof note, "%ld %s\n", (long)getpid(), host);
    if (ftruncate(file, 0) || pwrite(file, note, (size_t)n, 0) < n) return;
}

/* HD_OK without l->held: the file was removed in the meantime, try again. */
static hd_status attempt(hd_lock *l, hd_err *err)
{
    bool made = false;
    hd_status s = hd_folder_make(l->folder, &made, err);
    l->made = l->made || made;
    if (s) return s;
    int file = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0 && errno == ENOENT) return HD_OK;
    if (file < 0) return hd_err_set(err, HD_EFILE, "%s: cannot open: %s", l->path, strerror(errno));
    int status;
    while ((status = flock(file, LOCK_EX | LOCK_NB)) && errno == EINTR) continue;
    if (status && errno == EWOULDBLOCK) {
        s = held_by(file, l->folder, err);
        close(file);
        return s;
    }
    /* other failures: a file system without locks, where locking is impossible */
    if (!is_the_file_at(file, l->path)) return close(file), HD_OK;
    l->file = file;
    l->held = true;
    sign(file);
    return HD_OK;
}

hd_status hd_lock_take(hd_lock *l, const char *folder, hd_err *err)
{
    *l = (hd_lock){.file = -1};
    size_t length = strlen(folder);
    if (length >= sizeof l->folder)
        return hd_err_set(err, HD_ELIMIT, "%.80s...: the path is too long", folder);
    memcpy(l->folder, folder, length + 1);
    hd_status s = hd_path(l->path, folder, HD_LOCK_FILE, err);
    for (int i = 0; !s && !l->held && i < TRIES; i++) s = attempt(l, err);
    if (!s && !l->held)
        s = hd_err_set(err, HD_EFILE, "%s: cannot be locked: it keeps appearing and disappearing", l->path);
    if (s && l->made) rmdir(l->folder); /* stays if it is not empty */
    return s;
}

void hd_lock_release(hd_lock *l)
{
    if (!l->held) return;
    l->held = false;
    unlink(l->path);
    close(l->file);
    if (l->made) rmdir(l->folder); /* stays where something is in it */
}
