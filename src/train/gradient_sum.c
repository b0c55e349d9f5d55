/* Gradients of all processes. Easy to get wrong: a process that has failed must still send every piece, or
   the others wait for ever. */
#include "train/gradient_sum.h"

enum { SMALLEST = 1 << 16 }; /* numbers of a piece: below that a message costs more than its numbers */

/* Backward comes to the last layers first. Within a range parameters lie as they were added, first layers
   first; ranges without weight decay hold what is small, of all layers. */
static void put_in_order(hd_gradient_sum *g)
{
    const hd_params *p = g->params;
    size_t n = 0;
    for (size_t i = 0; i < p->ranges; i++)
        for (size_t k = g->pieces; k--;) {
            size_t at = k * g->watch.piece;
            bool later = i + 1 < p->ranges && at >= p->range[i + 1].begin,
                 sooner = i && at < p->range[i].begin;
            if (!later && !sooner) g->order[n++] = k;
        }
}

static void send(hd_gradient_sum *g, size_t piece)
{
    hd_backend *b = g->params->backend;
    size_t from = piece * g->watch.piece, left = g->watch.count - from;
    hd_status s =
        b->rank_sum_begin(b, piece, g->params->grad + from, left < g->watch.piece ? left : g->watch.piece);
    if (!g->failed) g->failed = s;
}

static void complete(void *context, size_t piece)
{
    hd_gradient_sum *g = context;
    hd_backend *b = g->params->backend;
    g->done[piece] = true;
    if (b->rank_sum_mark) {
        hd_status s = b->rank_sum_mark(b, piece);
        if (!g->failed) g->failed = s;
        return; /* the step may be captured: what is marked is sent when it runs */
    }
    while (g->sent < g->pieces && g->done[g->order[g->sent]]) send(g, g->order[g->sent++]);
}

void hd_gradient_sum_init(hd_gradient_sum *g, hd_params *params)
{
    size_t count = params->trainable, piece = (count + HD_GRADIENT_PIECES - 1) / HD_GRADIENT_PIECES;
    if (piece < SMALLEST) piece = SMALLEST;
    *g = (hd_gradient_sum){.params = params};
    if (!params->backend->rank_sum_begin || !count) return;
    g->watch = (hd_grad_watch){.grad = params->grad,
                               .count = count,
                               .piece = piece,
                               .open = g->open,
                               .complete = complete,
                               .context = g};
    g->pieces = (count + piece - 1) / piece;
    put_in_order(g);
}

void hd_gradient_sum_begin(hd_gradient_sum *g, hd_run *r)
{
    if (!g->pieces) return;
    for (size_t i = 0; i < g->pieces; i++) g->open[i] = 0, g->done[i] = false;
    g->watch.blind = false;
    r->watch = &g->watch;
}

void hd_gradient_sum_rest(hd_gradient_sum *g, const hd_run *r)
{
    for (size_t i = 0; r->watch == &g->watch && !r->err.status && i < g->pieces; i++)
        if (!g->done[i]) complete(g, i);
}

void hd_gradient_sum_send(hd_gradient_sum *g)
{
    while (g->sent < g->pieces) send(g, g->order[g->sent++]);
}

bool hd_gradient_sum_end(hd_gradient_sum *g, hd_run *r)
{
    hd_backend *b = r->backend;
    if (!g->pieces) return false;
    r->watch = NULL;
    hd_gradient_sum_send(g);
    hd_status s = b->rank_sum_end(b);
    if (!g->failed) g->failed = s;
    if (g->failed) hd_call_failed(r, g->failed, "the sum of the gradients over the processes");
    g->sent = 0, g->failed = HD_OK;
    return true;
}
