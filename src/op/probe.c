/* Scope names and offers. Without a probe and factors of heads all of this costs one check. */
#include "op/probe.h"

#include <stdio.h>
#include <string.h>

#include "op/tape.h"

void hd_probe_enter(hd_run *r, const char *format, ...)
{
    if (!r->probe && !r->heads) return;
    size_t at = strlen(r->scope);
    if (at && at + 1 < sizeof r->scope) r->scope[at++] = '.', r->scope[at] = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(r->scope + at, sizeof r->scope - at, format, args);
    va_end(args);
}

void hd_probe_leave(hd_run *r)
{
    if (!r->probe && !r->heads) return;
    char *dot = strrchr(r->scope, '.');
    *(dot ? dot : r->scope) = 0;
}

bool hd_probe_here(const hd_run *r)
{
    if (!r->probe) return false;
    const char *within = r->probe->within;
    return !within || !strncmp(r->scope, within, strlen(within));
}

static void full_name(hd_run *r, const char *name, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s", r->scope, *r->scope ? "." : "", name);
}

typedef struct named {
    const hd_probe *probe;
    const hd_seg *seg;
    char name[256];
} named;

static void offer_gradient(hd_run *r, const hd_node *n)
{
    const named *o = n->opt;
    if (n->in[0]->grad)
        o->probe->take(o->probe->context, r,
                       &(hd_offer){.name = o->name, .t = n->in[0]->grad, .seg = o->seg, .gradient = true});
}

hd_tensor *hd_probe_offer(hd_run *r, const char *name, hd_tensor *t, const hd_seg *seg)
{
    if (!hd_probe_here(r) || !t || r->err.status) return t;
    named o = {.probe = r->probe, .seg = seg};
    full_name(r, name, o.name, sizeof o.name);
    if (!r->again) r->probe->take(r->probe->context, r, &(hd_offer){.name = o.name, .t = t, .seg = seg});
    if (r->probe->leaf && r->taping && !strcmp(name, r->probe->leaf)) t->wants_grad = true;
    if (r->probe->gradients && t->wants_grad) {
        /* the node has no result of its own: it must not release the gradient it offers */
        hd_tensor *nothing = hd_host_take(r, sizeof *nothing);
        hd_record_start(r, nothing, offer_gradient, o, t);
    }
    return t;
}

void hd_probe_offer_scores(hd_run *r, const char *name, const hd_tensor *t, const hd_seg *seg,
                           const hd_seg *keys)
{
    char full[256];
    if (!hd_probe_here(r) || !t || r->again || r->err.status) return;
    full_name(r, name, full, sizeof full);
    r->probe->take(r->probe->context, r, &(hd_offer){.name = full, .t = t, .seg = seg, .keys = keys});
}
