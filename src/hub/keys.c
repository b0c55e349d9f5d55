/* Tables of settings. */
#include "hub/keys.h"

#include "hub/family.h"

static void read_key(hd_model_config *c, const hd_key *k, void *at)
{
    bool said = hd_model_config_has(c, k->name);
    long long whole = (long long)k->otherwise;
    double real = k->otherwise;
    if (said && (k->kind == HD_KEY_INT || k->kind == HD_KEY_SIZE))
        whole = hd_model_config_whole(c, k->name, 1, (long long)k->most);
    if (said && k->kind == HD_KEY_REAL) real = hd_model_config_real(c, k->name, k->most);
    switch (k->kind) {
    case HD_KEY_INT:
        *(int *)at = (int)whole;
        break;
    case HD_KEY_SIZE:
        *(size_t *)at = (size_t)whole;
        break;
    case HD_KEY_REAL:
        *(float *)at = (float)real;
        break;
    case HD_KEY_SWITCH:
        *(bool *)at = hd_family_switch(c, k->name, k->otherwise > 0);
        break;
    case HD_KEY_ACT:
        *(hd_unary *)at =
            said ? hd_family_activation_called(c, hd_model_config_text(c, k->name)) : (hd_unary)k->otherwise;
        break;
    }
}

void hd_keys_read(hd_model_config *c, const hd_key *keys, void *options)
{
    for (const hd_key *k = keys; k->name; k++) read_key(c, k, (char *)options + k->at);
}

static void write_key(hd_text *to, const hd_key *k, const void *at)
{
    size_t whole = k->kind == HD_KEY_INT    ? (size_t) * (const int *)at
                   : k->kind == HD_KEY_SIZE ? *(const size_t *)at
                                            : 0;
    if (whole) hd_text_print(to, ",\n \"%s\": %zu", k->name, whole);
    if (k->kind == HD_KEY_REAL) hd_model_config_put_real(to, k->name, (double)*(const float *)at);
    if (k->kind == HD_KEY_SWITCH)
        hd_text_print(to, ",\n \"%s\": %s", k->name, *(const bool *)at ? "true" : "false");
    if (k->kind == HD_KEY_ACT)
        hd_text_print(to, ",\n \"%s\": \"%s\"", k->name, hd_family_activation_name(*(const hd_unary *)at));
}

void hd_keys_write(hd_text *to, const hd_key *keys, const void *options)
{
    for (const hd_key *k = keys; k->name; k++) write_key(to, k, (const char *)options + k->at);
}
