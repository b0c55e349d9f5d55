/* Keys of preprocessor_config.json. Files are hostile: sizes are checked before anything is read with them.
   Easy to get wrong: the factor of rescaling is a double, and must come back to the last bit. */
#include "model/vision/preprocessor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 1 << 14, FILTERS = HD_FILTER_HAMMING };

/* -- reading -- */

static int side(hd_model_config *c, const char *key)
{
    return (int)hd_model_config_whole(c, key, 1, MOST_SIDE);
}

static bool is_number(const hd_model_config *c, const char *key)
{
    return json_is_integer(json_object_get(c->object, key));
}

static void read_size(hd_model_config *c, hd_image_prepare *p)
{
    static const char KEY[] = "size", SHORTEST[] = "shortest_edge", LONGEST[] = "longest_edge";
    bool by_short = p->shortest > 0;
    if (!hd_model_config_has(c, KEY)) return;
    int one = is_number(c, KEY) ? side(c, KEY) : 0;
    hd_model_config in = hd_model_config_inside(c, KEY);
    bool edges = hd_model_config_has(&in, SHORTEST);
    p->height = p->width = p->shortest = p->longest = 0;
    if (one && by_short)
        p->shortest = one;
    else if (one)
        p->height = p->width = one;
    else if (edges)
        p->shortest = side(&in, SHORTEST);
    else
        p->height = side(&in, "height"), p->width = side(&in, "width");
    if (edges && hd_model_config_has(&in, LONGEST)) p->longest = side(&in, LONGEST);
    if (one && by_short && hd_model_config_has(c, "max_size")) p->longest = side(c, "max_size"); /* of old */
    if (p->longest && p->longest < p->shortest)
        hd_model_config_refuse(&in, "\"%s\" is %d, less than \"%s\"", LONGEST, p->longest, SHORTEST);
    hd_model_config_leave(c, &in);
}

static void read_crop(hd_model_config *c, hd_image_prepare *p)
{
    static const char KEY[] = "crop_size", WHETHER[] = "do_center_crop";
    bool crops = hd_model_config_has(c, WHETHER) ? hd_model_config_switch(c, WHETHER) : p->crop_height > 0;
    if (!crops) p->crop_height = p->crop_width = 0;
    if (!crops || !hd_model_config_has(c, KEY)) return;
    if (is_number(c, KEY)) {
        p->crop_height = p->crop_width = side(c, KEY);
        return;
    }
    hd_model_config in = hd_model_config_inside(c, KEY);
    p->crop_height = side(&in, "height"), p->crop_width = side(&in, "width");
    hd_model_config_leave(c, &in);
}

/* A number for each channel, or one for all. */
static void read_channels(hd_model_config *c, const char *key, float to[3], int channels)
{
    const json_t *list = json_object_get(c->object, key);
    if (!hd_model_config_has(c, key)) return;
    size_t count = json_is_array(list) ? json_array_size(list) : 1;
    if (count != 1 && count != (size_t)channels)
        hd_model_config_refuse(c, "\"%s\" has %zu numbers: pictures have %d channels", key, count, channels);
    for (int i = 0; !c->status && i < channels; i++) {
        const json_t *v = json_is_array(list) ? json_array_get(list, count == 1 ? 0 : (size_t)i) : list;
        if (!json_is_number(v) || !isfinite((float)json_number_value(v)))
            hd_model_config_refuse(c, "\"%s\" is not a number for each channel", key);
        else
            to[i] = (float)json_number_value(v);
    }
}

static void read_normalization(hd_model_config *c, hd_image_prepare *p)
{
    if (hd_model_config_has(c, "do_normalize") && !hd_model_config_switch(c, "do_normalize")) {
        for (int i = 0; i < 3; i++) p->mean[i] = 0, p->deviation[i] = 1;
        return;
    }
    read_channels(c, "image_mean", p->mean, p->channels);
    read_channels(c, "image_std", p->deviation, p->channels);
    for (int i = 0; i < p->channels; i++)
        if (!(p->deviation[i] > 0))
            hd_model_config_refuse(c, "\"image_std\" has a number that is not above 0");
}

void hd_preprocessor_read(hd_model_config *c, hd_image_prepare *p)
{
    if (!c->object) return;
    if (hd_model_config_has(c, "do_resize")) p->resize = hd_model_config_switch(c, "do_resize");
    read_size(c, p);
    if (hd_model_config_has(c, "resample"))
        p->filter = (hd_filter)hd_model_config_whole(c, "resample", 0, FILTERS);
    read_crop(c, p);
    if (hd_model_config_has(c, "rescale_factor")) p->rescale = hd_model_config_real(c, "rescale_factor", 1e9);
    if (hd_model_config_has(c, "do_rescale") && !hd_model_config_switch(c, "do_rescale")) p->rescale = 1;
    read_normalization(c, p);
}

/* -- writing -- */

/* As few digits as give the double back. */
static void put_double(hd_text *to, double x)
{
    char text[HD_REAL_TEXT];
    int digits = 15;
    do snprintf(text, sizeof text, "%.*g", digits, x);
    while (++digits <= 17 && strtod(text, NULL) != x);
    for (char *at = text; *at; at++)
        if (*at == ',') *at = '.'; /* as a locale may have it */
    hd_text_put(to, text);
}

static void put_channels(hd_text *to, const char *key, const float x[3], int channels)
{
    char text[HD_REAL_TEXT];
    hd_text_print(to, ",\n  \"%s\": [", key);
    for (int i = 0; i < channels; i++) {
        hd_text_put(to, i ? ", " : "");
        put_double(to, strtod(hd_model_config_digits(text, (double)x[i]), NULL));
    }
    hd_text_put(to, "]");
}

static const char *truth(bool x)
{
    return x ? "true" : "false";
}

void hd_preprocessor_write(hd_text *to, const hd_image_prepare *p, const char *processor)
{
    bool normal = false;
    for (int i = 0; i < p->channels; i++) normal |= p->mean[i] != 0 || p->deviation[i] != 1;
    hd_text_print(to, "{\"do_resize\": %s", truth(p->resize));
    if (p->resize && p->height)
        hd_text_print(to, ",\n  \"size\": {\"height\": %d, \"width\": %d}", p->height, p->width);
    else if (p->resize && p->longest)
        hd_text_print(to, ",\n  \"size\": {\"shortest_edge\": %d, \"longest_edge\": %d}", p->shortest,
                      p->longest);
    else if (p->resize)
        hd_text_print(to, ",\n  \"size\": {\"shortest_edge\": %d}", p->shortest);
    hd_text_print(to, ",\n  \"resample\": %d", (int)p->filter);
    hd_text_print(to, ",\n  \"do_center_crop\": %s", truth(p->crop_height > 0));
    if (p->crop_height)
        hd_text_print(to, ",\n  \"crop_size\": {\"height\": %d, \"width\": %d}", p->crop_height,
                      p->crop_width);
    hd_text_print(to, ",\n  \"do_rescale\": %s,\n  \"rescale_factor\": ", truth(p->rescale != 1));
    put_double(to, p->rescale);
    hd_text_print(to, ",\n  \"do_normalize\": %s", truth(normal));
    put_channels(to, "image_mean", p->mean, p->channels);
    put_channels(to, "image_std", p->deviation, p->channels);
    if (processor) hd_text_print(to, ",\n  \"image_processor_type\": \"%s\"", processor);
    hd_text_put(to, "}");
}
