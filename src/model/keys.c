/* Reading and writing tables of keys. */
#include "model/keys.h"

#include <stdlib.h>
#include <string.h>

/* -- fields of any width -- */

static void set_whole(void *to, size_t size, long long n)
{
    if (size == sizeof(int)) *(int *)to = (int)n;
    if (size == sizeof(size_t)) *(size_t *)to = (size_t)n;
}

static long long whole(const void *from, size_t size)
{
    return size == sizeof(int) ? *(const int *)from : (long long)*(const size_t *)from;
}

static void set_real(void *to, size_t size, double x)
{
    if (size == sizeof(float)) *(float *)to = (float)x;
    if (size == sizeof(double)) *(double *)to = x;
}

static double real(const void *from, size_t size)
{
    return size == sizeof(float) ? (double)*(const float *)from : *(const double *)from;
}

/* -- reading -- */

static hd_unary cell(hd_model_config *c, const char *key)
{
    static const char *const names[] = {"tanh", "sigmoid"};
    return hd_model_config_name(c, key, names, 2) ? HD_sigmoid : HD_tanh;
}

static void read_text(hd_model_config *c, const hd_key *k, char *to)
{
    const char *text = hd_model_config_text(c, k->name);
    if (strlen(text) >= k->size)
        hd_model_config_refuse(c, "there is no %s \"%.40s\"", k->name, text);
    else
        strcpy(to, text);
}

static void read_key(hd_model_config *c, const hd_key *k, void *to)
{
    switch (k->kind) {
    case HD_KEY_WHOLE:
        set_whole(to, k->size, hd_model_config_whole(c, k->name, (long long)k->least, (long long)k->most));
        break;
    case HD_KEY_REAL:
        set_real(to, k->size, hd_model_config_between(c, k->name, k->least, k->most));
        break;
    case HD_KEY_FLAG:
        *(bool *)to = hd_model_config_switch(c, k->name);
        break;
    case HD_KEY_NOT:
        *(bool *)to = !hd_model_config_switch(c, k->name);
        break;
    case HD_KEY_CHOICE:
        set_whole(to, k->size, hd_model_config_name(c, k->name, k->names, k->count));
        break;
    case HD_KEY_UNARY:
        *(hd_unary *)to =
            k->act ? k->act(c, hd_model_config_text(c, k->name)) : hd_model_config_activation(c, k->name);
        break;
    case HD_KEY_CELL:
        *(hd_unary *)to = cell(c, k->name);
        break;
    case HD_KEY_STAGES:
        *(hd_stages *)to = hd_model_config_stages(c, k->name);
        break;
    case HD_KEY_TEXT:
        read_text(c, k, to);
        break;
    }
}

static void set_otherwise(const hd_key *k, void *to)
{
    if (k->kind == HD_KEY_REAL)
        set_real(to, k->size, k->otherwise);
    else if (k->kind == HD_KEY_FLAG)
        *(bool *)to = k->otherwise > 0;
    else
        set_whole(to, k->size, (long long)k->otherwise);
}

void hd_keys_read(hd_model_config *c, const hd_key *keys, unsigned of, void *into)
{
    for (const hd_key *k = keys; k->name; k++) {
        void *field = (char *)into + k->at;
        if (k->of && !(k->of & of)) continue;
        if (!k->when || hd_model_config_has(c, k->name))
            read_key(c, k, field);
        else if (k->when == HD_KEY_ELSE)
            set_otherwise(k, field);
    }
}

/* -- writing -- */

static bool is_zero(const hd_key *k, const void *from)
{
    switch (k->kind) {
    case HD_KEY_REAL:
        return !(real(from, k->size) > 0);
    case HD_KEY_FLAG:
        return !*(const bool *)from;
    case HD_KEY_NOT:
        return *(const bool *)from;
    case HD_KEY_UNARY:
    case HD_KEY_CELL:
        return *(const hd_unary *)from == HD_IDENTITY || *(const hd_unary *)from == HD_tanh;
    case HD_KEY_TEXT:
        return !*(const char *)from;
    default:
        return !whole(from, k->size);
    }
}

/* What is a name; NULL: it is none. */
static const char *name_of(const hd_key *k, const void *from)
{
    if (k->kind == HD_KEY_CHOICE) return k->names[whole(from, k->size)];
    if (k->kind == HD_KEY_TEXT) return from;
    if (k->kind != HD_KEY_UNARY && k->kind != HD_KEY_CELL) return NULL;
    return (k->act_name ? k->act_name : hd_unary_name)(*(const hd_unary *)from);
}

static bool flag(const hd_key *k, const void *from)
{
    return *(const bool *)from == (k->kind == HD_KEY_FLAG);
}

static void write_key(hd_text *to, const hd_key *k, const void *from)
{
    char text[HD_STAGES_TEXT];
    const char *name = k->kind == HD_KEY_STAGES ? hd_stages_text(from, text) : name_of(k, from);
    if (name)
        hd_text_print(to, ",\n \"%s\": \"%s\"", k->name, name);
    else if (k->kind == HD_KEY_WHOLE)
        hd_text_print(to, ",\n \"%s\": %lld", k->name, whole(from, k->size));
    else if (k->kind == HD_KEY_REAL)
        hd_model_config_put_real(to, k->name, real(from, k->size));
    else
        hd_text_print(to, ",\n \"%s\": %s", k->name, flag(k, from) ? "true" : "false");
}

/* Whether it is left out. */
static bool is_left_out(const hd_key *k, const void *from)
{
    if (k->when == HD_KEY_ELSE && k->kind == HD_KEY_WHOLE) return is_zero(k, from);
    return k->when == HD_KEY_RARE && is_zero(k, from);
}

void hd_keys_write(hd_text *to, const hd_key *keys, unsigned of, const void *from)
{
    for (const hd_key *k = keys; k->name; k++) {
        const void *field = (const char *)from + k->at;
        if ((!k->of || k->of & of) && !is_left_out(k, field)) write_key(to, k, field);
    }
}

static json_t *value_of(const hd_key *k, const void *from)
{
    const char *name = name_of(k, from);
    char digits[HD_REAL_TEXT];
    if (name) return json_string(name);
    if (k->kind == HD_KEY_WHOLE) return json_integer(whole(from, k->size));
    if (k->kind != HD_KEY_REAL) return json_boolean(flag(k, from));
    return json_real(strtod(hd_model_config_digits(digits, real(from, k->size)), NULL));
}

void hd_keys_set(json_t *to, const hd_key *keys, const void *from)
{
    for (const hd_key *k = keys; k->name; k++) {
        const void *field = (const char *)from + k->at;
        if (!is_left_out(k, field)) hd_json_set(to, k->name, value_of(k, field));
    }
}
