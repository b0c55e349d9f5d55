/* preprocessor_config.json beside a published model. */
#include "base/file/file.h"
#include "base/file/folder.h"
#include "hub/vision/vit.h"
#include "model/vision/preprocessor.h"

void hd_family_preprocessor_read(hd_model_config *c, const char *folder, hd_image_prepare *p)
{
    hd_model_config file;
    if (c->status) return;
    hd_model_config_read_file(&file, folder, HD_PREPROCESSOR, c->err);
    if (file.object && !json_is_object(file.object)) hd_model_config_refuse(&file, "holds no object of keys");
    if (!file.status) hd_preprocessor_read(&file, p);
    hd_model_config_leave(c, &file);
    hd_model_config_release(&file);
}

/* A class that does all of it, and no more. */
static const char *processor_of(const hd_image_prepare *p)
{
    return p->shortest ? "CLIPImageProcessor" : p->crop_height ? "DeiTImageProcessor" : "ViTImageProcessor";
}

hd_status hd_family_preprocessor_save(const hd_image_prepare *p, const char *processor, const char *folder,
                                      hd_err *err)
{
    char path[HD_PATH];
    hd_text text = {0};
    hd_preprocessor_write(&text, p, processor ? processor : processor_of(p));
    hd_text_put(&text, "\n");
    hd_status s = hd_text_status(&text, err);
    if (!s) s = hd_path(path, folder, HD_PREPROCESSOR, err);
    if (!s) s = hd_save_bytes(path, text.data, text.size, err);
    hd_text_release(&text);
    return s;
}
