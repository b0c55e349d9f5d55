/* Signals while a model is trained. Those that end programs (SIGINT, SIGTERM, SIGHUP) end this one at once
   while there is nothing to save; later they are noted, and whoever asks saves and ends. What was ignored
   when the program began, as by nohup, stays so. Nobody who reads the messages is no reason to end. */
#ifndef HD_CLI_FRAME_SIGNALS_H
#define HD_CLI_FRAME_SIGNALS_H

#include "base/file/lock.h"
#include "base/log.h"

/* From now on, until hd_signals_restore. The lock is given back where the program ends; both must stay where
   they are. */
void hd_signals_catch(hd_lock *lock, const hd_log *log);
void hd_signals_note(void); /* from now on there is something to save */
int hd_signals_noted(void); /* the last one, or 0 */
void hd_signals_restore(void);

#endif
