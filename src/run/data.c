/* The data of a run. Easy to get wrong: whatever one process does alone, the others must wait for, and learn
   of its failure. */
#include "run/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/ranks.h"
#include "base/file/file.h"
#include "base/system/machine.h"
#include "base/mem.h"
#include "base/rng.h"

enum { MEMORY_SHARE = 4, SAMPLE = 1 << 26 }; /* bytes of text that SentencePiece learns from at most */
#define SAMPLE_SEED 0x766f636162u

hd_status hd_data_files(hd_files *out, const hd_texts *given, hd_err *err)
{
    hd_status s = HD_OK;
    for (int i = 0; !s && i < given->count; i++) s = hd_files_add(out, given->text[i], err);
    return s;
}

/* -- shards -- */

static hd_status default_place(char to[HD_PATH], const hd_train_options *o, hd_err *err)
{
    return o->out ? hd_path(to, o->out, "train/shards", err) : (to[0] = 0, HD_OK);
}

hd_status hd_data_place(char folder[HD_PATH], const hd_session *s, const hd_files *files, hd_err *err)
{
    const hd_train_options *o = s->options;
    size_t all = 0, left = 0;
    hd_machine_memory(&all, &left);
    bool large = left && hd_files_bytes(files) > left / MEMORY_SHARE;
    hd_status st = HD_OK;
    if (o->shards)
        snprintf(folder, HD_PATH, "%s", o->shards);
    else
        st = default_place(folder, o, err);
    uint64_t use = o->shards || (o->resume ? !access(folder, F_OK) : large);
    if (!st && use && s->backend->dry && !hd_shards_there(folder)) { /* which writes nothing */
        use = false;
        if (large)
            st = hd_err_set(
                err, HD_ELIMIT,
                "the data is too large for memory, and there are no token shards of it yet: plan with "
                "a part of it, or train, which writes them");
    }
    if (!st) st = hd_ranks_share(&use, sizeof use, err);
    if (!use) folder[0] = 0;
    return st;
}

hd_status hd_data_identity(hd_shards_opt *out, uint32_t sides, const hd_files *files, uint64_t reading,
                           const hd_tokenizer *const tokenizer[2], hd_err *err)
{
    *out = (hd_shards_opt){.sides = sides};
    hd_status s = hd_rank() ? HD_OK : hd_files_hash(&out->data, files, err);
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = hd_ranks_share(&out->data, sizeof out->data, err);
    out->data = (out->data ^ reading) * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; !s && i < sides; i++) {
        uint64_t hash = 0;
        s = hd_tokenizer_hash(tokenizer[i], &hash, err);
        out->tokenizer = (out->tokenizer ^ hash) * 0xbf58476d1ce4e5b9u;
        out->vocab[i] = hd_tokenizer_size(tokenizer[i]);
    }
    return s;
}

/* The folder of the model is made for them if it is not there yet. */
static hd_status make_parent(hd_session *s, const char *folder, hd_err *err)
{
    char parent[HD_PATH];
    hd_status st = HD_OK;
    if (!s->options->shards) st = hd_session_begin_folder(s, err);
    hd_parent(parent, folder);
    return st ? st : hd_folder_make(parent, NULL, err);
}

static hd_status write_shards(hd_session *s, const char *folder, const hd_shards_opt *opt,
                              hd_shards_write *write, void *context, hd_err *err)
{
    hd_shards_writer *w = NULL;
    hd_status st = make_parent(s, folder, err);
    if (!st) st = hd_shards_begin(&w, folder, opt, err);
    if (st) return st;
    hd_log_say(&s->hooks->log, HD_INFO, "writing token shards to %s", folder);
    return hd_shards_end(w, write(context, w, err), err);
}

hd_status hd_data_shards(hd_shards **out, hd_session *s, const char *folder, const hd_shards_opt *opt,
                         hd_shards_write *write, void *context, hd_err *err)
{
    hd_status st = HD_OK;
    if (!hd_rank() && !hd_shards_there(folder)) st = write_shards(s, folder, opt, write, context, err);
    st = hd_ranks_agree(st, NULL, 0, err);
    return st ? st : hd_shards_open_same(out, folder, opt, err);
}

/* -- vocabulary -- */

/* A file of this process alone. */
static hd_status temporary(char path[HD_PATH], hd_err *err)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, HD_PATH, "%.4000s/heed-vocabulary-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path);
    if (file < 0) return hd_err_set(err, HD_EFILE, "%s: cannot make a temporary file", path);
    close(file);
    return HD_OK;
}

/* What process 0 has learned, as its file has it, for the others. */
static hd_status share(hd_tokenizer **t, hd_tokenizer_kind kind, hd_err *err)
{
    char path[HD_PATH];
    hd_map map = {0};
    uint64_t size = 0;
    hd_status s = temporary(path, err);
    bool made = !s;
    if (!s && !hd_rank()) s = hd_tokenizer_save(*t, path, err);
    if (!s && !hd_rank()) s = hd_map_open(&map, path, err);
    size = map.size;
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = hd_ranks_share(&size, sizeof size, err);
    char *bytes = s ? NULL : hd_mem_new(size);
    if (!s && !bytes) s = hd_err_nomem(err, size);
    if (bytes && map.data) memcpy(bytes, map.data, size);
    s = hd_ranks_agree(s, NULL, 0, err);
    if (!s) s = hd_ranks_share(bytes, size, err);
    if (!s && hd_rank()) s = hd_save_bytes(path, bytes, size, err);
    if (!s && hd_rank()) s = hd_tokenizer_open(t, kind, path, err);
    hd_map_close(&map);
    hd_mem_free(bytes);
    if (made) unlink(path);
    return hd_ranks_agree(s, NULL, 0, err);
}

hd_status hd_data_learn(hd_tokenizer **out, hd_tokenizer_kind kind, hd_feed lines,
                        const hd_tokenizer_opt *opt, hd_err *err)
{
    hd_tokenizer *t = NULL;
    hd_status s = hd_rank() ? HD_OK : hd_tokenizer_train(&t, kind, lines, opt, err);
    if (hd_ranks() > 1) s = hd_ranks_agree(s, NULL, 0, err);
    if (!s && hd_ranks() > 1) s = share(&t, kind, err);
    if (s)
        hd_tokenizer_free(t);
    else
        *out = t;
    return s;
}

double hd_data_sampled(hd_tokenizer_kind kind, uint64_t bytes)
{
    return kind != HD_TOKENIZER_sentencepiece || bytes <= SAMPLE ? 1 : (double)SAMPLE / (double)bytes;
}

bool hd_data_sample(double share, uint64_t line)
{
    const uint32_t counter[4] = {(uint32_t)line, (uint32_t)(line >> 32), 0, 0};
    return share >= 1 || hd_rng_philox(SAMPLE_SEED, counter).v[0] < share * 0x1p32;
}
