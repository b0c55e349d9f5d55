/* The folder of a detector. */
#include "task/detect/detect.h"

void hd_detector_write(hd_text *to, const hd_model_folder *f)
{
    hd_detr_config_write(to, &hd_model_folder_detr(f)->opt);
}

void hd_detector_read(hd_model_folder *f, hd_model_config *c, const char *folder, hd_backend *backend)
{
    hd_detr_opt o;
    hd_detr *m = NULL;
    hd_detr_config_read(c, &o);
    if (!c->status) c->status = hd_model_folder_read_labels(f, folder, c->err);
    if (!c->status && o.labels != f->labels.count)
        hd_model_config_refuse(c, "\"labels\" is %zu, but labels.txt has %zu", o.labels, f->labels.count);
    if (!c->status) c->status = hd_detr_new(&m, backend, &o, false, c->err);
    if (!c->status) hd_model_folder_take(f, HD_TRAIN_DETECT, hd_detr_model(m));
}
