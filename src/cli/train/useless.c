/* Options that a model has no use for. */
#include "cli/train/useless.h"

#include "cli/frame/settings.h"

static bool differs(const hd_option *row, const void *options, const char *without)
{
    hd_train_options other = {0};
    hd_text a = {0}, b = {0};
    if (without) hd_option_read(row, (char *)&other + row->offset, without, &(hd_err){0});
    hd_option_value(&a, row, options);
    hd_option_value(&b, row, &other);
    bool differ = strcmp(a.data ? a.data : "", b.data ? b.data : "") != 0;
    hd_text_release(&a);
    hd_text_release(&b);
    return differ;
}

hd_status hd_train_useless(const hd_option_set sets[2], const char *name, const char *without,
                           const char *owner, const char *model, hd_err *err)
{
    const hd_option *row = hd_option_find(sets, name, strlen(name)).option;
    if (!hd_train_given(sets, name) || !differs(row, sets[0].into, without ? without : row->fallback))
        return HD_OK;
    return hd_err_set(err, HD_EARG, "--%s is for %s, not for %s", name, owner, model);
}
