/* Sentences to ids. */
#include "data/ids_encoder.h"

#include "base/mem.h"

enum { GRAIN = 64 };

/* Where the ids of a sentence of the block are. */
struct hd_ids_encoder_found {
    int worker;
    size_t at[2], len[2];
};

struct hd_ids_encoder_worker {
    hd_ids ids[2];
    hd_err err;
};

hd_status hd_ids_encoder_init(hd_ids_encoder *e, const hd_tokenizer *const tokenizer[2], hd_team *team,
                              hd_err *err)
{
    *e = (hd_ids_encoder){.tokenizer = {tokenizer[0], tokenizer[1]}, .team = team};
    e->workers = team ? hd_team_size(team) : 1;
    e->found = hd_mem_array(HD_IDS_ENCODER_BLOCK, sizeof *e->found);
    e->worker = e->found ? hd_mem_array((size_t)e->workers, sizeof *e->worker) : NULL;
    return e->worker ? HD_OK : hd_err_nomem(err, HD_IDS_ENCODER_BLOCK * sizeof *e->found);
}

void hd_ids_encoder_release(hd_ids_encoder *e)
{
    for (int i = 0; e->worker && i < e->workers; i++)
        for (int side = 0; side < 2; side++) hd_ids_release(&e->worker[i].ids[side]);
    hd_mem_free(e->worker);
    hd_mem_free(e->found);
    *e = (hd_ids_encoder){0};
}

static void encode_part(void *arg, size_t begin, size_t end, int worker)
{
    hd_ids_encoder *e = arg;
    struct hd_ids_encoder_worker *w = &e->worker[worker];
    for (size_t i = begin; i < end && !w->err.status; i++) {
        struct hd_ids_encoder_found *f = &e->found[i];
        f->worker = worker;
        for (int side = 0; side < e->from->sides; side++) {
            hd_line text = hd_sentence(e->from, side, e->first + i);
            f->at[side] = w->ids[side].count;
            if (hd_tokenizer_encode_ids(e->tokenizer[side], text.text, text.size, &w->ids[side], &w->err))
                break;
            f->len[side] = w->ids[side].count - f->at[side];
        }
    }
}

hd_status hd_ids_encoder_run(hd_ids_encoder *e, const hd_sentences *from, size_t first, size_t count,
                             hd_err *err)
{
    e->from = from, e->first = first;
    for (int i = 0; i < e->workers; i++) e->worker[i].ids[0].count = e->worker[i].ids[1].count = 0;
    if (e->team)
        hd_team_run(e->team, count, GRAIN, encode_part, e);
    else
        encode_part(e, 0, count, 0);
    for (int i = 0; i < e->workers; i++) {
        const hd_err *failed = &e->worker[i].err;
        if (failed->status) return hd_err_set(err, failed->status, "%s", failed->text);
    }
    return HD_OK;
}

const int32_t *hd_ids_encoder_at(const hd_ids_encoder *e, size_t i, int side, size_t *len)
{
    const struct hd_ids_encoder_found *f = &e->found[i];
    *len = f->len[side];
    return e->worker[f->worker].ids[side].at + f->at[side];
}
