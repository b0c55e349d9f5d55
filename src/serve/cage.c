/* What a server that was tricked could still do. Easy to get wrong: Landlock is for one thread and those it
   starts, so each thread that handles what others sent enters by itself. */
#include "serve/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* -- files -- */

enum { READ = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR };

/* All that the kernel knows; later kernels know more, which then stays allowed. */
static uint64_t accesses_of(long version)
{
    return version < 2 ? LANDLOCK_ACCESS_FS_REFER - 1 : (LANDLOCK_ACCESS_FS_REFER << 1) - 1;
}

static bool allow(int rules, const char *path)
{
    struct stat about;
    int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0) return false;
    bool file = !fstat(at, &about) && !S_ISDIR(about.st_mode);
    struct landlock_path_beneath_attr beneath = {.allowed_access = file ? LANDLOCK_ACCESS_FS_READ_FILE : READ,
                                                 .parent_fd = at};
    bool good = !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    close(at);
    return good;
}

bool hd_cage_files(const char *const *folder, size_t count, const hd_log *log)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr all = {.handled_access_fs = accesses_of(version)};
    int rules = version < 1 ? -1 : (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    bool good = rules >= 0;
    for (size_t i = 0; good && i < count; i++) good = allow(rules, folder[i]);
    good = good && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_landlock_restrict_self, rules, 0);
    if (!good) hd_log_say(log, HD_INFO, "without Landlock: %s", strerror(errno));
    if (rules >= 0) close(rules);
    return good;
}

/* -- system calls -- */

#ifdef __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

static const int taken[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_setuid,
    SYS_setgid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_capset,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_acct,
    SYS_quotactl,
    SYS_personality,
    SYS_kill,
    SYS_tkill,
};

bool hd_cage_calls(const hd_log *log)
{
    enum { TAKEN = sizeof taken / sizeof *taken, HEAD = 4 };
    bool good = false;
    errno = ENOSYS;
#ifdef MACHINE
    struct sock_filter filter[HEAD + TAKEN + 2] = {
        /* numbers of calls are those of this machine, or else all are refused */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    for (size_t i = 0; i < TAKEN; i++)
        filter[HEAD + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)taken[i],
                                                        (uint8_t)(TAKEN - i), 0);
    filter[HEAD + TAKEN] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[HEAD + TAKEN + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    struct sock_fprog program = {.len = HEAD + TAKEN + 2, .filter = filter};
    good = !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
#endif
    if (!good) hd_log_say(log, HD_INFO, "without seccomp: %s", strerror(errno));
    return good;
}
