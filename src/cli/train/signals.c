/* Signals while a model is trained. Easy to get wrong: a handler runs at any moment and in any thread, so
   what it says was put together before. */
#include "cli/train/train.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "backend/ranks.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { ENDING = sizeof ending / sizeof *ending };

static struct sigaction before[ENDING], pipe_before;
static volatile sig_atomic_t noted, saves;
static hd_lock *held;
static const char *last_words;

static void take_signal(int number)
{
    noted = number;
    if (saves) return;
    hd_lock_release(held);
    if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0) _exit(HD_EXIT_SIGNAL + number);
    _exit(HD_EXIT_SIGNAL + number);
}

/* A second signal ends the program as it would without us: nothing that is saved can be lost. */
void hd_signals_catch(hd_lock *lock, const hd_log *log)
{
    struct sigaction a = {.sa_handler = take_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigemptyset(&a.sa_mask);
    for (int i = 0; i < ENDING; i++) sigaddset(&a.sa_mask, ending[i]);
    held = lock;
    last_words = !hd_rank() && log->most >= HD_INFO
                     ? "heed: stopped before the first update: there is nothing to save\n"
                     : "";
    noted = saves = 0;
    for (int i = 0; i < ENDING; i++) {
        sigaction(ending[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(ending[i], &a, NULL);
    }
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &pipe_before);
}

void hd_signals_note(void)
{
    saves = 1;
}

int hd_signals_noted(void)
{
    return noted;
}

/* Of several processes only some may have got it; the others end as if by the usual one. */
int hd_signals_status(void)
{
    return HD_EXIT_SIGNAL + (noted ? noted : SIGTERM);
}

void hd_signals_restore(void)
{
    for (int i = 0; i < ENDING; i++) sigaction(ending[i], &before[i], NULL);
    sigaction(SIGPIPE, &pipe_before, NULL);
}
