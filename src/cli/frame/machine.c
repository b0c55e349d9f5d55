/* Where a verb computes. */
#include "cli/frame/machine.h"

#include "cli/frame/verb.h"

const hd_machine_options hd_machine_cpu = {.name = "cpu", .precision = HD_PRECISION_F32};

hd_status hd_machine_open(hd_machine *m, const hd_command *c, const hd_machine_options *o, hd_err *err)
{
    const hd_backend_opt opt = {.threads = c->common.threads, .precision = o->precision, .log = &c->log};
    hd_status s = hd_backend_new(&m->backend, o->name, &opt, err);
    return s ? s : hd_run_init(&m->run, m->backend, err);
}

void hd_machine_close(hd_machine *m)
{
    hd_run_release(&m->run);
    hd_backend_free(m->backend);
    *m = (hd_machine){0};
}
