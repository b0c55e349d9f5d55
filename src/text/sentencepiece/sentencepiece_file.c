/* A SentencePiece model and its bytes. */
#include "text/sentencepiece/sentencepiece_file.h"

#include "base/file/file.h"
#include "text/sentencepiece/sentencepiece_check.h"

enum { MODEL_MOST = 1 << 28 };

bool hd_spm_take_text(void *context, const char *bytes, size_t size)
{
    hd_text *text = context;
    hd_text_add(text, bytes, size);
    return !text->missed;
}

hd_status hd_spm_file_load(hd_spm_file *f, hd_err *err)
{
    hd_status s = hd_spm_check((const uint8_t *)f->bytes.data, f->bytes.size, err);
    return s ? s : hd_spm_open(&f->model, f->bytes.data, f->bytes.size, err);
}

hd_status hd_spm_file_open(hd_spm_file *f, const char *path, hd_err *err)
{
    hd_map map = {0};
    hd_err why = {0};
    hd_status s = hd_map_open(&map, path, err);
    if (s) return s;
    if (map.size > MODEL_MOST)
        s = hd_err_set(&why, HD_ELIMIT, "%zu bytes are too many for a SentencePiece model", map.size);
    else {
        hd_text_add(&f->bytes, (const char *)map.data, map.size);
        s = hd_text_status(&f->bytes, &why);
    }
    hd_map_close(&map);
    if (!s) s = hd_spm_file_load(f, &why);
    return s ? hd_err_set(err, s, "%s: %s (expected a .model file of spm_train or of heed)", path, why.text)
             : HD_OK;
}

hd_status hd_spm_file_save(const hd_spm_file *f, const char *path, hd_err *err)
{
    return hd_save_bytes(path, f->bytes.data, f->bytes.size, err);
}

void hd_spm_file_release(hd_spm_file *f)
{
    hd_spm_free(f->model);
    hd_text_release(&f->bytes);
    *f = (hd_spm_file){0};
}
